#include "collector/service/snapshot_set.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rollcall::service {
namespace {

TEST(SnapshotSetTest, TakesChunksInOrderOnly) {
  SnapshotSet set;
  set.Begin(3, {1, 2});
  rpc::SnapshotChunk chunk;
  chunk.set_request(3);
  chunk.set_id(9);
  chunk.set_total_bytes(4);
  chunk.set_data("ab");
  EXPECT_TRUE(set.Add(1, chunk, 0));
  EXPECT_FALSE(set.Add(1, chunk, 0)) << "the same piece again";
  chunk.set_offset(2);
  chunk.set_data("cde");
  EXPECT_FALSE(set.Add(1, chunk, 0)) << "more than the whole";
  chunk.set_data("cd");
  chunk.set_end_of_file(true);
  EXPECT_TRUE(set.Add(1, chunk, 0));
  EXPECT_TRUE(set.images().at(9).whole);
  EXPECT_FALSE(set.complete());
  rpc::SnapshotChunk last;
  last.set_request(3);
  last.set_last(true);
  EXPECT_TRUE(set.Add(1, last, 0));
  set.GiveUpOn(2);
  EXPECT_TRUE(set.complete());
}

TEST(SnapshotSetTest, ALaterAnswerReplacesOneProcessAndKeepsTheOthers) {
  SnapshotSet set;
  rpc::SnapshotChunk chunk;
  chunk.set_total_bytes(1);
  chunk.set_end_of_file(true);
  set.Begin(1, {7});
  chunk.set_request(1);
  chunk.set_data("a");
  for (const uint64_t id : {1, 2}) {
    chunk.set_id(id);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  }
  set.Begin(2, {7});
  chunk.set_request(2);
  chunk.set_id(1);
  chunk.set_total_bytes(2);
  chunk.set_data("b");
  chunk.set_end_of_file(false);
  EXPECT_TRUE(set.Add(7, chunk, 0));
  EXPECT_EQ(set.images().at(1).bytes, std::vector<uint8_t>{'a'}) << "until the new one is whole";
  EXPECT_EQ(set.Incomplete().size(), 0u) << "it has no name yet";
  chunk.set_offset(1);
  chunk.set_data("c");
  chunk.set_end_of_file(true);
  EXPECT_TRUE(set.Add(7, chunk, 0));
  EXPECT_EQ(set.images().at(1).bytes, (std::vector<uint8_t>{'b', 'c'}));
  EXPECT_EQ(set.images().at(2).bytes, std::vector<uint8_t>{'a'});
  set.Clear();
  EXPECT_TRUE(set.images().empty());
}

TEST(SnapshotSetTest, WhatDoesNotFitIsDroppedAndTheRestIsKept) {
  SnapshotSet set;
  rpc::SnapshotChunk chunk;
  chunk.set_request(1);
  const auto send = [&](uint64_t id, const std::string& text) {
    chunk.set_id(id);
    chunk.set_total_bytes(text.size());
    chunk.set_offset(0);
    chunk.set_data(text.substr(0, text.size() / 2));
    chunk.set_end_of_file(false);
    EXPECT_TRUE(set.Add(7, chunk, 0));
    chunk.set_offset(text.size() / 2);
    chunk.set_data(text.substr(text.size() / 2));
    chunk.set_end_of_file(true);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  };
  set.Begin(1, {7}, 6);
  send(1, "abcd");
  send(2, "efgh");  // too large together with the first
  send(3, "ij");
  EXPECT_EQ(set.dropped(), 1u);
  EXPECT_EQ(set.images().size(), 2u);
  EXPECT_EQ(set.images().at(3).bytes, (std::vector<uint8_t>{'i', 'j'}));
  // The newer one of the first takes the older one's place: there is room for both no longer.
  send(1, "k");
  EXPECT_EQ(set.dropped(), 2u);
  EXPECT_EQ(set.images().at(1).bytes.size(), 4u);
  set.Begin(1, {7}, 7);
  send(1, "k");
  EXPECT_EQ(set.images().at(1).bytes, std::vector<uint8_t>{'k'});
  send(2, "efgh");
  EXPECT_EQ(set.dropped(), 0u);
}

TEST(SnapshotSetTest, LateAnswersAreIgnored) {
  SnapshotSet set;
  set.Begin(4, {1});
  rpc::SnapshotChunk chunk;
  chunk.set_request(3);
  chunk.set_id(9);
  chunk.set_offset(77);
  EXPECT_TRUE(set.Add(1, chunk, 0));
  EXPECT_TRUE(set.images().empty());
}

}  // namespace
}  // namespace rollcall::service
