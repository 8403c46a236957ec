// SPDX-License-Identifier: Apache-2.0
// Bundles that are damaged or malicious, and files that are not bundles.
#include "collector/bundle/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "collector/bundle/format.h"
#include "tests/collector/bundle/bundle_file.h"
#include "tests/support/problem_codes.h"

namespace rollcall::bundle {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct Read {
  std::vector<std::string> members;  // "name=text"
  std::vector<Problem> problems;

  std::string Messages() const {
    std::string text;
    for (const Problem& problem : problems) text += problem.source + ": " + problem.message + "\n";
    return text;
  }
};

Read ReadAll(const Bytes& bytes) {
  Read read;
  MemorySource source(bytes);
  ReadBundle(
      source, "b",
      [&](Member member) {
        read.members.push_back(member.name + "=" +
                               std::string(member.bytes.begin(), member.bytes.end()));
      },
      [&](Problem problem) { read.problems.push_back(std::move(problem)); });
  return read;
}

// Writes the checksum of a ustar header: the sum of its bytes, with spaces in the checksum field.
void PutChecksum(Bytes* tar, size_t header) {
  std::fill_n(tar->begin() + static_cast<long>(header) + 148, 8, ' ');
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += (*tar)[header + i];
  std::snprintf(reinterpret_cast<char*>(&(*tar)[header + 148]), 8, "%06o", sum);
}

TEST(BundleReader, ReturnsMembersInOrder) {
  TarFile tar;
  tar.AddManifest().Add("0/a", "first").Add("0/b/c.ring", "second").Add("empty", "");
  const Read read = ReadAll(tar.Bundle());
  EXPECT_THAT(read.members, ElementsAre("0/a=first", "0/b/c.ring=second", "empty="));
  EXPECT_EQ(read.Messages(), "");
}

TEST(BundleReader, ModificationTimesAreExact) {
  TarFile tar;
  tar.AddManifest().Add("a", "x", [](archive_entry* entry) {
    archive_entry_set_mtime(entry, 1'700'000'000, 123'456'789);
  });
  const Bytes bytes = tar.Bundle();
  MemorySource source(bytes);
  int64_t modified_ns = 0;
  ReadBundle(
      source, "b", [&](Member member) { modified_ns = member.modified_ns; }, [](const Problem&) {});
  EXPECT_EQ(modified_ns, 1'700'000'000'123'456'789);
}

TEST(BundleReader, TruncatedBundleGivesTheMembersBeforeTheCut) {
  // Random text, because it does not compress: a Zstandard block has 128 KiB and is either complete
  // or missing.
  std::mt19937 random(1);
  std::string text(150'000, '\0');
  for (char& c : text) c = static_cast<char>(random());
  TarFile tar;
  tar.AddManifest().Add("a", text).Add("b", text + text).Add("c", text);
  const Bytes whole = tar.Bundle();
  std::set<size_t> counts;
  const auto read_first = [&](size_t size) {
    const Read read = ReadAll(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
    ASSERT_THAT(Codes(read.problems), ElementsAre(ProblemCode::kTruncated)) << "cut at " << size;
    EXPECT_LE(static_cast<size_t>(read.problems[0].offset), size);
    for (const std::string& member : read.members) {
      EXPECT_EQ(member.size(), (member[0] == 'b' ? 2 : 1) * text.size() + 2);
    }
    counts.insert(read.members.size());
  };
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 7919) read_first(size);
  for (size_t size = whole.size() - 40; size < whole.size(); ++size) read_first(size);
  EXPECT_THAT(counts, ElementsAre(0, 1, 2));
}

TEST(BundleReader, DetectsEveryChangedByte) {
  TarFile tar;
  tar.AddManifest().Add("a", "some text that is not repeated: 0123456789 qwertyuiop");
  Bytes tar_bytes = tar.Tar();
  // With a checksum, as the writer makes it.
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  Bytes whole(ZSTD_compressBound(tar_bytes.size()));
  whole.resize(
      ZSTD_compress2(context, whole.data(), whole.size(), tar_bytes.data(), tar_bytes.size()));
  ZSTD_freeCCtx(context);
  ASSERT_EQ(ReadAll(whole).Messages(), "");
  for (size_t at = 0; at < whole.size(); ++at) {
    Bytes changed = whole;
    changed[at] ^= 0x10;
    const Read read = ReadAll(changed);
    // A bit in the header of the frame may have no effect on these bytes.
    EXPECT_TRUE(!read.problems.empty() || at < 8) << "byte " << at;
  }
}

TEST(BundleReader, SkipsAndReportsHarmfulMembers) {
  TarFile tar;
  tar.AddManifest()
      .Add("../up", "x")
      .Add("/etc/passwd", "x")
      .Add("a/../../b", "x")
      .Add("a//b", "x")
      .Add("esc\033[2J", "x")
      .Add(std::string(kMaxNameBytes + 1, 'n'), "x")
      .Add("hard", "", [](archive_entry* e) { archive_entry_set_hardlink(e, "good"); })
      .Add("soft", "",
           [](archive_entry* e) {
             archive_entry_set_filetype(e, AE_IFLNK);
             archive_entry_set_symlink(e, "/etc/passwd");
           })
      .Add("pipe", "", [](archive_entry* e) { archive_entry_set_filetype(e, AE_IFIFO); })
      .Add("holes", std::string(4, 'x'),
           [](archive_entry* e) {
             archive_entry_set_size(e, 1 << 20);
             archive_entry_sparse_add_entry(e, 0, 4);
           })
      .Add("good", "1")
      .Add("good", "2");
  const Read read = ReadAll(tar.Bundle());
  EXPECT_THAT(read.members, ElementsAre("good=1"));
  const std::vector<ProblemCode> codes = Codes(read.problems);
  ASSERT_THAT(codes, SizeIs(11));
  const std::string messages = read.Messages();
  EXPECT_THAT(messages, HasSubstr("b: ../up: not a name that a bundle has"));
  EXPECT_THAT(messages, HasSubstr("b: /etc/passwd: not a name"));
  EXPECT_THAT(messages, HasSubstr("a/../../b: not a name"));
  EXPECT_THAT(messages, HasSubstr("a//b: not a name"));
  EXPECT_EQ(messages.find('\033'), std::string::npos) << "the terminal is not driven";
  EXPECT_THAT(messages, HasSubstr("b: hard: a link"));
  EXPECT_THAT(messages, HasSubstr("b: soft: a link"));
  EXPECT_THAT(messages, HasSubstr("b: pipe: not a file"));
  EXPECT_THAT(messages, HasSubstr("b: holes: a sparse file"));
  EXPECT_THAT(messages, HasSubstr("b: good: occurs twice"));
  EXPECT_THAT(std::vector(codes.begin(), codes.end() - 1), Each(ProblemCode::kRefused));
  EXPECT_EQ(codes.back(), ProblemCode::kDuplicate);
}

TEST(BundleReader, CountsProblemsBeyondTheLimit) {
  TarFile tar;
  tar.AddManifest();
  for (int i = 0; i < 100; ++i) tar.Add("../x", "");
  const Read read = ReadAll(tar.Bundle());
  EXPECT_THAT(read.problems, SizeIs(17));
  EXPECT_THAT(read.Messages(), HasSubstr("84 more members are left out"));
}

// 256 MiB of zeros in less than 100 KiB.
TEST(BundleReader, DoesNotUnpackDecompressionBombs) {
  TarFile tar;
  const Bytes head = tar.AddManifest().Add("a", "x").Tar();
  Bytes bomb;
  // The end marker of the archive is in `head`; the bytes after it are read only for the checksum.
  ZSTD_CCtx* context = ZSTD_createCCtx();
  Bytes out(ZSTD_CStreamOutSize());
  const auto add = [&](const Bytes& bytes, ZSTD_EndDirective how) {
    ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
    for (size_t left = 1; how == ZSTD_e_end ? left != 0 : input.pos < input.size;) {
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      left = ZSTD_compressStream2(context, &output, &input, how);
      bomb.insert(bomb.end(), out.begin(), out.begin() + static_cast<long>(output.pos));
    }
  };
  add(head, ZSTD_e_continue);
  const Bytes zeros(1 << 20);
  for (int i = 0; i < 256; ++i) add(zeros, ZSTD_e_continue);
  add({}, ZSTD_e_end);
  ZSTD_freeCCtx(context);
  ASSERT_LT(bomb.size(), size_t{100} << 10);
  const Read read = ReadAll(bomb);
  EXPECT_THAT(read.members, ElementsAre("a=x"));
  EXPECT_THAT(Codes(read.problems), ElementsAre(ProblemCode::kOverLimit));
}

// Headers that claim large sizes, without data after them.
TEST(BundleReader, DoesNotReserveClaimedSizes) {
  TarFile tar;
  Bytes bytes = tar.AddManifest().Add("huge", "x").Tar();
  std::string size = "00000000001";  // octal, of one byte
  auto at = std::search(bytes.begin(), bytes.end(), size.begin(), size.end());
  ASSERT_NE(at, bytes.end());
  for (const size_t claimed : {size_t{1} << 28, size_t{1} << 32}) {
    Bytes changed = bytes;
    const size_t header = static_cast<size_t>(at - bytes.begin()) - 124;
    std::snprintf(reinterpret_cast<char*>(&changed[header + 124]), 12, "%011zo", claimed);
    PutChecksum(&changed, header);
    const Read read = ReadAll(Compressed(changed));
    EXPECT_THAT(read.members, IsEmpty());
    EXPECT_THAT(read.problems, Not(IsEmpty()));
  }
}

TEST(BundleReader, RejectsFilesThatAreNotBundles) {
  EXPECT_THAT(Codes(ReadAll({}).problems), ElementsAre(ProblemCode::kTruncated));
  EXPECT_THAT(Codes(ReadAll(Compressed({'h', 'e', 'l', 'l', 'o'})).problems),
              ElementsAre(ProblemCode::kDamaged));
  EXPECT_EQ(ReadAll(TarFile().Bundle()).Messages(), "b: not a rollcall bundle\n");
  EXPECT_THAT(Codes(ReadAll(TarFile().Add("a", "x").AddManifest().Bundle()).problems),
              ElementsAre(ProblemCode::kForeign));
  const Read newer =
      ReadAll(TarFile().AddManifest(R"({"format":"rollcall-bundle","version":2})").Bundle());
  EXPECT_THAT(Codes(newer.problems), ElementsAre(ProblemCode::kUnknownVersion));
  EXPECT_EQ(newer.Messages(), "b: bundle version 2: this rollcall reads 1\n");
  const Read other = ReadAll(TarFile().AddManifest("[]").Add("a", "x").Bundle());
  EXPECT_EQ(other.Messages(), "b: not a rollcall bundle\n");
  EXPECT_THAT(other.members, IsEmpty());
}

TEST(BundleReader, ChecksMemberNames) {
  for (const char* good : {"a", "0/rings/node1-12-ab.ring", "x/_dump_12", "a.b", "..a", "a/.b"}) {
    EXPECT_TRUE(IsMemberName(good)) << good;
  }
  for (const char* bad : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b", "a b",
                          "a\\b", "C:x", "\n", "\xc3\xa4"}) {
    EXPECT_FALSE(IsMemberName(bad)) << bad;
  }
}

}  // namespace
}  // namespace rollcall::bundle
