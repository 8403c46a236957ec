// SPDX-License-Identifier: Apache-2.0
// Names and identities of process groups, from the prefixes of stores that exist only as addresses.
#include "shim/torch/groups.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace rollcall::shim::torch {
namespace {

// The table is shared by the whole process and keeps the most recent stores, so that every store of
// these tests has an address of its own.
const void* NewStore() {
  static uintptr_t last = 0x1000;
  return reinterpret_cast<const void*>(last += 16);
}

// A store that puts these prefixes, from the outermost one, before the keys of a TCPStore.
const void* Prefixed(std::initializer_list<std::string_view> prefixes) {
  const void* store = NewStore();
  for (const std::string_view prefix : prefixes) {
    const void* above = NewStore();
    NoteStore(above, prefix.data(), prefix.size(), store);
    store = above;
  }
  return store;
}

std::string Name(std::initializer_list<std::string_view> prefixes) {
  return NameOfGroup(Prefixed(prefixes)).text;
}
uint64_t Hash(std::initializer_list<std::string_view> prefixes) {
  return NameOfGroup(Prefixed(prefixes)).hash;
}

// Prefixes as 1.13 and 2.6 make them (init_process_group, _new_process_group_helper).
TEST(GroupNames, FirstGroupIsCalledByItsStoresPrefix) {
  EXPECT_EQ(Name({"default_pg"}), "default_pg");
  EXPECT_EQ(Name({"default_pg", "0/"}), "default_pg");
  EXPECT_EQ(Name({"default_pg", "0/", "cpu/"}), "default_pg");
  EXPECT_EQ(Name({"default_pg", "0", "cuda"}), "default_pg");
}

TEST(GroupNames, OtherGroupsHaveTheirOwnName) {
  EXPECT_EQ(Name({"default_pg", "2/"}), "2");
  EXPECT_EQ(Name({"default_pg", "2/", "cpu/"}), "2");
  EXPECT_EQ(Name({"default_pg", "pipeline/"}), "pipeline");
  EXPECT_EQ(Name({"default_pg", "10/"}), "10");
}

TEST(GroupNames, WithoutAStoreBelowAPrefixIsAName) {
  EXPECT_EQ(Name({"cpu/"}), "cpu");
  EXPECT_EQ(Name({"0/"}), "0");
  EXPECT_EQ(Name({""}), "");
  const void* const store = NewStore();
  NoteStore(store, "cpu/", 4, nullptr);
  EXPECT_STREQ(NameOfGroup(store).text, "cpu");
}

TEST(GroupNames, AreKnownAtTheSameTime) {
  const void* const first = Prefixed({"default_pg", "1/"});
  const void* const second = Prefixed({"default_pg", "2/"});
  EXPECT_STREQ(NameOfGroup(first).text, "1");
  EXPECT_STREQ(NameOfGroup(second).text, "2");
}

TEST(GroupNames, LongNameIsCut) {
  const std::string digits(200, '7');
  const size_t room = sizeof(GroupName::text) - 1;
  EXPECT_EQ(Name({"default_pg", digits}), digits.substr(0, room));
  const std::string_view shorter = std::string_view(digits).substr(0, room - 1);  // not terminated
  EXPECT_EQ(Name({"default_pg", shorter}), shorter);
}

TEST(GroupNames, UnknownStoreHasNone) {
  const GroupName name = NameOfGroup(NewStore());
  EXPECT_EQ(name.hash, 0u);
  EXPECT_STREQ(name.text, "");
  EXPECT_EQ(NameOfGroup(nullptr).hash, 0u);
}

TEST(GroupNames, StoreAtTheAddressOfAnOldOneHasItsOwnName) {
  const void* const below = Prefixed({"default_pg"});
  const void* const store = NewStore();
  NoteStore(store, "1/", 2, below);
  NoteStore(store, "2/", 2, below);
  EXPECT_STREQ(NameOfGroup(store).text, "2");
}

TEST(GroupNames, OldStoresAreForgotten) {
  const void* const store = Prefixed({"default_pg"});
  for (int i = 0; i < 200; ++i) Prefixed({"other"});
  EXPECT_EQ(NameOfGroup(store).hash, 0u);
}

// The members of a group have the same prefixes at different addresses.
TEST(GroupIdentity, IsThatOfThePrefixes) {
  EXPECT_NE(Hash({"default_pg", "2/"}), 0u);
  EXPECT_EQ(Hash({"default_pg", "2/"}), Hash({"default_pg", "2/"}));
  EXPECT_NE(Hash({"default_pg", "2/"}), Hash({"default_pg", "3/"}));
  EXPECT_NE(Hash({"default_pg", "2/"}), Hash({"other_pg", "2/"}));
  // A group has a backend for each kind of device, which are different communicators.
  EXPECT_NE(Hash({"default_pg", "2/", "cpu/"}), Hash({"default_pg", "2/", "cuda/"}));
}

// The MPI backend's, which has no store.
TEST(GroupIdentity, OfAGroupOfMpiIsThatOfItsRanks) {
  NoteMpiRanks(nullptr, nullptr);
  const GroupName all = NameOfMpiGroup();
  EXPECT_STREQ(all.text, "default_pg");
  const int some[] = {0, 2}, others[] = {1, 3};
  NoteMpiRanks(some, some + 2);
  const GroupName first = NameOfMpiGroup();
  NoteMpiRanks(others, others + 2);
  const GroupName second = NameOfMpiGroup();
  EXPECT_STREQ(first.text, "");
  EXPECT_NE(first.hash, 0u);
  EXPECT_NE(first.hash, second.hash);
  EXPECT_NE(first.hash, all.hash);
}

}  // namespace
}  // namespace rollcall::shim::torch
