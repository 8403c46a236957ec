// SPDX-License-Identifier: Apache-2.0
#include "shim/torch/groups.h"

#include <cstring>

#include "shim/platform.h"
#include "shim/spin_lock.h"

namespace rollcall::shim::torch {
namespace {

struct KnownStore {
  const void* store = nullptr;
  uint64_t hash = 0;
  char name[64] = {};
};

// A group has two or three stores. Only the most recent stores are looked up.
constexpr uint32_t kStores = 128;
constinit KnownStore g_stores[kStores];
constinit uint32_t g_next = 0;
constinit SpinLock g_lock;

// Holds the lock of the table; false if it could not be taken. The attempts are limited: in a child
// that was forked while another thread held the lock, the lock stays held.
class Held {
 public:
  Held() {
    for (int i = 0; i < 1'000'000 && !held_; ++i) held_ = g_lock.TryLock();
  }
  ~Held() {
    if (held_) g_lock.Unlock();
  }
  Held(const Held&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_ = false;
};

KnownStore* Find(const void* store) {
  for (KnownStore& known : g_stores) {
    if (store != nullptr && known.store == store) return &known;
  }
  return nullptr;
}

bool Is(const char* prefix, uint64_t length, const char* text) {
  return strlen(text) == length && memcmp(prefix, text, length) == 0;
}

// True for a prefix that is the name of a kind of device (from 2.1 on), not of a group.
bool IsDevice(const char* prefix, uint64_t length) {
  for (const char* device : {"cpu", "cuda", "xpu", "hpu", "npu", "mps", "privateuseone"}) {
    if (Is(prefix, length, device)) return true;
  }
  return false;
}

}  // namespace

void NoteStore(const void* store, const char* prefix, uint64_t length, const void* below) {
  const Held held;
  if (!held) return;
  const KnownStore* parent = Find(below);
  KnownStore made;
  made.store = store;
  made.hash = HashBytes(prefix, length, parent != nullptr ? parent->hash : 0x70677374);
  const uint64_t named = length != 0 && prefix[length - 1] == '/' ? length - 1 : length;
  const bool device = parent != nullptr && IsDevice(prefix, named);
  // The first group is called "0", below the prefix "default_pg".
  if (device || (parent != nullptr && Is(prefix, named, "0"))) {
    memcpy(made.name, parent->name, sizeof(made.name));
  } else {
    const uint64_t bytes = named < sizeof(made.name) - 1 ? named : sizeof(made.name) - 1;
    memcpy(made.name, prefix, bytes);
  }
  KnownStore* place = Find(store);  // a store that was destroyed may have had this address
  if (place == nullptr) place = &g_stores[g_next++ % kStores];
  *place = made;
}

namespace {
thread_local uint64_t t_mpi_ranks __attribute__((tls_model("initial-exec"))) = 0;
constexpr uint64_t kAllRanks = 1;
}  // namespace

void NoteMpiRanks(const int* begin, const int* end) {
  const auto bytes = static_cast<uint64_t>(end - begin) * sizeof(int);
  t_mpi_ranks = bytes == 0 ? kAllRanks : HashBytes(begin, bytes, 0x6d7069) | 2;
}

GroupName NameOfMpiGroup() {
  GroupName name;
  name.hash = t_mpi_ranks;
  if (t_mpi_ranks == kAllRanks) memcpy(name.text, "default_pg", sizeof("default_pg"));
  return name;
}

GroupName NameOfGroup(const void* store) {
  const Held held;
  GroupName name;
  if (const KnownStore* known = held ? Find(store) : nullptr) {
    name.hash = known->hash;
    memcpy(name.text, known->name, sizeof(name.text));
  }
  return name;
}

}  // namespace rollcall::shim::torch
