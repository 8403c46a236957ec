// SPDX-License-Identifier: Apache-2.0
// CMakeLists.txt has the version, and one header of each format has the format's version. The pages
// that repeat these numbers must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "tests/cli/command_line.h"

namespace rollcall {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

std::string Page(const std::string& name) {
  std::ifstream file(std::string(ROLLCALL_SOURCE_DIR "/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

class VersionTest : public ::testing::Test {
 protected:
  const std::string printed_ = RunCommand({ROLLCALL_BIN, "--version"}).out;
};

TEST_F(VersionTest, NamesVersionCommitAndFormats) {
  EXPECT_THAT(printed_,
              MatchesRegex("rollcall [0-9]+\\.[0-9]+\\.[0-9]+\n"
                           "commit   (unknown|[0-9a-f]+(-dirty)?)\n"
                           "formats  ring [0-9]+\\.[0-9]+, journal [0-9]+, bundle [0-9]+, "
                           "stacks [0-9]+, JSON [0-9]+, protocol [0-9]+\n"));
}

TEST_F(VersionTest, PageOfFormatsShowsTheOutputAndHasTheRow) {
  const std::string page = Page("docs/formats.md");
  const size_t formats = printed_.find("\nformats ");
  EXPECT_THAT(page, HasSubstr(printed_.substr(0, printed_.find('\n') + 1)));
  EXPECT_THAT(page, HasSubstr(printed_.substr(formats)));

  std::string row = "| ";  // | 0.2.0 | 1.13 | 1 | ...
  const std::regex number("[a-zA-Z]+ ([0-9.]+)");
  std::string numbers = printed_.substr(0, printed_.find('\n')) + printed_.substr(formats);
  for (std::smatch match; std::regex_search(numbers, match, number); numbers = match.suffix()) {
    row += match[1].str() + " | ";
  }
  row.back() = '\n';
  EXPECT_THAT(page, HasSubstr(row));
}

TEST_F(VersionTest, ChangelogAndCitationNameTheVersion) {
  const std::string version = printed_.substr(9, printed_.find('\n') - 9);
  EXPECT_THAT(Page("CHANGELOG.md"), HasSubstr("\n## [" + version + "]"));
  EXPECT_THAT(Page("CITATION.cff"), HasSubstr("\nversion: " + version + "\n"));
}

}  // namespace
}  // namespace rollcall
