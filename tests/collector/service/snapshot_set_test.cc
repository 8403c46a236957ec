// SPDX-License-Identifier: Apache-2.0
#include "collector/service/snapshot_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collector/rpc/compression.h"

namespace rollcall::service {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::map<uint64_t, std::string> Unpacked(const SnapshotSet& set) {
  std::map<uint64_t, std::string> images;
  SnapshotSet::Reader reader(set);
  while (const auto image = reader.Next()) {
    if (!image->damaged)
      images.emplace(image->id, std::string(image->bytes.begin(), image->bytes.end()));
  }
  return images;
}

std::vector<std::string> Damaged(const SnapshotSet& set) {
  std::vector<std::string> names;
  SnapshotSet::Reader reader(set);
  while (const auto image = reader.Next()) {
    if (image->damaged) names.push_back(image->ring->name);
  }
  return names;
}

// An agent's answer in one compressed stream, with one image per chunk.
class CompressedAnswer {
 public:
  explicit CompressedAnswer(uint64_t request) { chunk_.set_request(request); }

  rpc::SnapshotChunk Image(uint64_t id, std::string_view text) {
    const std::vector<uint8_t> packed =
        compressor_.Compress({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    chunk_.set_id(id);
    chunk_.set_name("ring " + std::to_string(id));
    chunk_.set_total_bytes(text.size());
    chunk_.set_data(packed.data(), packed.size());
    chunk_.set_compressed(true);
    chunk_.set_end_of_file(true);
    return chunk_;
  }

 private:
  rpc::Compressor compressor_{18};
  rpc::SnapshotChunk chunk_;
};

TEST(SnapshotSetTest, AcceptsChunksOnlyInOrder) {
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
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(9, "abcd")));
  EXPECT_FALSE(set.complete());
  rpc::SnapshotChunk last;
  last.set_request(3);
  last.set_last(true);
  EXPECT_TRUE(set.Add(1, last, 0));
  set.GiveUpOn(2);
  EXPECT_TRUE(set.complete());
}

TEST(SnapshotSetTest, LaterAnswerReplacesOneProcessAndKeepsTheOthers) {
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
  EXPECT_EQ(Unpacked(set).at(1), "a") << "until the new one is whole";
  EXPECT_EQ(set.Incomplete().size(), 0u) << "it has no name yet";
  chunk.set_offset(1);
  chunk.set_data("c");
  chunk.set_end_of_file(true);
  EXPECT_TRUE(set.Add(7, chunk, 0));
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(1, "bc"), Pair(2, "a")));
  set.Clear();
  EXPECT_TRUE(set.images().empty());
}

TEST(SnapshotSetTest, DropsImagesThatDoNotFitAndKeepsTheRest) {
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
  set.Begin(1, {7}, {.held_bytes = 2 * SnapshotSet::kBytesOfAPlace + 6});
  send(1, "abcd");
  send(2, "efgh");  // too large together with the first
  send(3, "ij");
  EXPECT_EQ(set.dropped(), 1u);
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(1, "abcd"), Pair(3, "ij")));
  // A newer image of process 1 would replace the older one, but there is no room for both.
  send(1, "k");
  EXPECT_EQ(set.dropped(), 2u);
  EXPECT_EQ(Unpacked(set).at(1), "abcd");
  set.Begin(1, {7}, {.held_bytes = 4 * SnapshotSet::kBytesOfAPlace + 7});
  send(1, "k");
  EXPECT_EQ(Unpacked(set).at(1), "k");
  send(2, "efgh");
  EXPECT_EQ(set.dropped(), 0u);
}

TEST(SnapshotSetTest, CountsEmptyImagesTowardsTheLimit) {
  SnapshotSet set;
  set.Begin(1, {7}, {.held_bytes = 3 * SnapshotSet::kBytesOfAPlace});
  rpc::SnapshotChunk chunk;
  chunk.set_request(1);
  chunk.set_end_of_file(true);
  for (uint64_t id = 1; id <= 5; ++id) {
    chunk.set_id(id);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  }
  EXPECT_EQ(set.images().size(), 3u);
  EXPECT_EQ(set.dropped(), 2u);
}

TEST(SnapshotSetTest, CountsNamesTowardsTheLimit) {
  SnapshotSet set;
  set.Begin(1, {7}, {.held_bytes = 2 * (SnapshotSet::kBytesOfAPlace + 1000)});
  rpc::SnapshotChunk chunk;
  chunk.set_request(1);
  chunk.set_end_of_file(true);
  chunk.set_name(std::string(1000, 'n'));
  for (const uint64_t id : {1, 2, 3}) {
    chunk.set_id(id);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  }
  EXPECT_EQ(set.images().size(), 2u);
  EXPECT_EQ(set.dropped(), 1u);
  chunk.set_name(std::string(1 << 20, 'n'));
  EXPECT_FALSE(set.Add(7, chunk, 0)) << "no file has such a name";
}

TEST(SnapshotSetTest, DoesNotCountNameOfAReplacedImage) {
  SnapshotSet set;
  set.Begin(1, {7}, {.held_bytes = 3 * SnapshotSet::kBytesOfAPlace + 2 * 1000});
  rpc::SnapshotChunk chunk;
  chunk.set_request(1);
  chunk.set_end_of_file(true);
  chunk.set_name(std::string(1000, 'n'));
  for (const uint64_t id : {1, 1, 2}) {
    chunk.set_id(id);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  }
  EXPECT_EQ(set.images().size(), 2u);
  EXPECT_EQ(set.dropped(), 0u);
}

TEST(SnapshotSetTest, SmallChunksCountOnlyTheirBytes) {
  SnapshotSet set;
  constexpr uint64_t kBytes = 1000;
  set.Begin(1, {7}, {.held_bytes = SnapshotSet::kBytesOfAPlace + kBytes});
  rpc::SnapshotChunk chunk;
  chunk.set_request(1);
  chunk.set_id(1);
  chunk.set_total_bytes(kBytes);
  for (uint64_t i = 0; i < kBytes; ++i) {
    chunk.set_offset(i);
    chunk.set_data("a");
    EXPECT_TRUE(set.Add(7, chunk, 0));
    chunk.set_data("");
    chunk.set_offset(i + 1);
    chunk.set_end_of_file(i + 1 == kBytes);
    EXPECT_TRUE(set.Add(7, chunk, 0));
  }
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(1, std::string(kBytes, 'a'))));
}

TEST(SnapshotSetTest, RejectsPartlyCompressedImage) {
  SnapshotSet set;
  set.Begin(1, {7});
  rpc::SnapshotChunk chunk = CompressedAnswer(1).Image(1, "abc");
  chunk.set_end_of_file(false);
  EXPECT_TRUE(set.Add(7, chunk, 0));
  chunk.set_compressed(false);
  EXPECT_FALSE(set.Add(7, chunk, 0));
}

// Later images of a stream refer to earlier ones.
TEST(SnapshotSetTest, ReplacesOneImageOfACompressedAnswer) {
  const std::string text(1000, 'x');
  SnapshotSet set;
  set.Begin(1, {7, 8});
  CompressedAnswer first(1);
  EXPECT_TRUE(set.Add(7, first.Image(1, text + "a"), 0));
  EXPECT_TRUE(set.Add(7, first.Image(2, text + "b"), 0));
  EXPECT_TRUE(set.Add(8, CompressedAnswer(1).Image(1, "another agent's"), 0));
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(1, text + "a"), Pair(2, text + "b")));
  set.Begin(2, {7});
  EXPECT_TRUE(set.Add(7, CompressedAnswer(2).Image(1, "c"), 0));
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(1, "c"), Pair(2, text + "b")));
}

// Of equal processes, a diagnosis with few whole rings and many brief ones uses the first.
TEST(SnapshotSetTest, ReadsImagesOfALaterRequestFirst) {
  SnapshotSet set;
  set.Begin(1, {7, 8});
  CompressedAnswer first(1);
  for (const uint64_t id : {1, 2}) EXPECT_TRUE(set.Add(7, first.Image(id, "brief"), 0));
  CompressedAnswer another(1);
  for (const uint64_t id : {3, 4}) EXPECT_TRUE(set.Add(8, another.Image(id, "brief"), 0));
  set.Begin(2, {7, 8});
  EXPECT_TRUE(set.Add(8, CompressedAnswer(2).Image(4, "whole"), 0));
  EXPECT_TRUE(set.Add(7, CompressedAnswer(2).Image(2, "whole"), 0));
  std::vector<std::string> read;
  SnapshotSet::Reader reader(set);
  while (const auto image = reader.Next())
    read.emplace_back(image->bytes.begin(), image->bytes.end());
  EXPECT_THAT(read, ElementsAre("whole", "whole", "brief", "brief"));
}

TEST(SnapshotSetTest, NamesDamagedImagesAndReadsOtherAnswers) {
  SnapshotSet set;
  set.Begin(1, {7, 8});
  CompressedAnswer damaged(1);
  rpc::SnapshotChunk chunk = damaged.Image(1, "abc");
  chunk.set_data("no Zstandard");
  EXPECT_TRUE(set.Add(7, chunk, 0));
  EXPECT_TRUE(set.Add(7, damaged.Image(2, "abc"), 0));
  EXPECT_TRUE(set.Add(8, CompressedAnswer(1).Image(3, "def"), 0));
  rpc::SnapshotChunk more = CompressedAnswer(1).Image(4, std::string(1000, 'x'));
  more.set_total_bytes(999);
  set.Begin(2, {9});
  more.set_request(2);
  EXPECT_TRUE(set.Add(9, more, 0));
  EXPECT_THAT(Damaged(set), UnorderedElementsAre("ring 1", "ring 2", "ring 4"));
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(3, "def")));
}

TEST(SnapshotSetTest, DropsImageThatUnpacksToTooMuchAndTheRestOfItsAnswer) {
  SnapshotSet set;
  set.Begin(1, {7, 8}, {.unpacked_bytes = 1000});
  CompressedAnswer answer(1);
  EXPECT_TRUE(set.Add(7, answer.Image(1, "abc"), 0));
  EXPECT_TRUE(set.Add(7, answer.Image(2, std::string(1000, 'x')), 0));
  EXPECT_TRUE(set.Add(7, answer.Image(3, "def"), 0));
  EXPECT_TRUE(set.Add(8, CompressedAnswer(1).Image(4, "ghi"), 0));
  EXPECT_THAT(Unpacked(set), ElementsAre(Pair(1, "abc"), Pair(4, "ghi")));
  EXPECT_EQ(set.dropped(), 2u);
}

TEST(SnapshotSetTest, IgnoresLateAnswers) {
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
