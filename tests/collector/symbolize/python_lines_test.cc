// SPDX-License-Identifier: Apache-2.0
#include "collector/symbolize/python_lines.h"

#include <glob.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace rollcall {
namespace {

constexpr uint32_t kPython38 = 3 << 8 | 8;
constexpr uint32_t kPython310 = 3 << 8 | 10;
constexpr uint32_t kPython311 = 3 << 8 | 11;

std::string BytesOf(std::initializer_list<int> bytes) {
  std::string text;
  for (const int byte : bytes) text += static_cast<char>(byte);
  return text;
}

TEST(PythonLines, ReadsLineStepsOfPython38) {
  // The example of lnotab_notes.txt: offsets 0, 6, 50, 350, 361 on lines 1, 2, 7, 207, 208.
  const std::string table = BytesOf({6, 1, 44, 5, 255, 0, 45, 127, 0, 73, 11, 1});
  EXPECT_EQ(PythonLine(kPython38, table, 1, 0), 1);
  EXPECT_EQ(PythonLine(kPython38, table, 1, 5), 1);
  EXPECT_EQ(PythonLine(kPython38, table, 1, 6), 2);
  EXPECT_EQ(PythonLine(kPython38, table, 1, 50), 7);
  EXPECT_EQ(PythonLine(kPython38, table, 1, 349), 7);
  EXPECT_EQ(PythonLine(kPython38, table, 1, 350), 207);
  EXPECT_EQ(PythonLine(kPython38, table, 1, 361), 208);
  EXPECT_EQ(PythonLine(kPython38, BytesOf({4, 256 - 3}), 10, 4), 7);  // line numbers may decrease
}

TEST(PythonLines, ReadsLineRangesOfPython310) {
  // PEP 626's table: [0, 6) line 100, [6, 50) line 101, [50, 350) line 106, then without a line.
  const std::string table = BytesOf({6, 0, 44, 1, 254, 5, 46, 0, 8, 128, 2, 200 - 256});
  EXPECT_EQ(PythonLine(kPython310, table, 100, 0), 100);
  EXPECT_EQ(PythonLine(kPython310, table, 100, 6), 101);
  EXPECT_EQ(PythonLine(kPython310, table, 100, 349), 106);
  EXPECT_EQ(PythonLine(kPython310, table, 100, 350), 0);
  EXPECT_EQ(PythonLine(kPython310, table, 100, 358), 50);
  EXPECT_EQ(PythonLine(kPython310, table, 100, 360), 0);  // after the end
}

TEST(PythonLines, ReadsLocationsOfPython311) {
  const auto entry = [](int form, int units) { return 128 | form << 3 | (units - 1); };
  const std::string table = BytesOf({entry(0, 2), 0x12,                  // [0, 4) no change
                                     entry(11, 1), 3, 9,                 // [4, 6) next line
                                     entry(13, 8), 0x40 | 8, 4,          // [6, 22) 132 lines later
                                     entry(15, 1),                       // [22, 24) no line
                                     entry(14, 1), 2 << 1 | 1, 1, 5, 6,  // [24, 26) 2 lines earlier
                                     entry(12, 1), 0, 0});               // [26, 28) 2 lines later
  EXPECT_EQ(PythonLine(kPython311, table, 20, 2), 20);
  EXPECT_EQ(PythonLine(kPython311, table, 20, 4), 21);
  EXPECT_EQ(PythonLine(kPython311, table, 20, 20), 153);
  EXPECT_EQ(PythonLine(kPython311, table, 20, 22), 0);
  EXPECT_EQ(PythonLine(kPython311, table, 20, 24), 151);
  EXPECT_EQ(PythonLine(kPython311, table, 20, 26), 153);
  EXPECT_EQ(PythonLine(kPython311, table, 20, 28), 0);
}

TEST(PythonLines, DamagedTablesGiveNoLine) {
  EXPECT_EQ(PythonLine(kPython311, BytesOf({0x70, 1}), 5, 0), 0);  // no entry begins with this byte
  EXPECT_EQ(PythonLine(kPython311, BytesOf({0xf0}), 5, 0), 0);     // truncated
  EXPECT_EQ(PythonLine(kPython311, std::string(1, '\xe8') + std::string(100, '\xff'), 5, 0), 0);
  EXPECT_EQ(PythonLine(kPython311, "", 5, 0), 0);
  EXPECT_EQ(PythonLine(kPython310, "", 5, 0), 0);
  EXPECT_EQ(PythonLine(kPython38, "", 5, 0), 5);
  EXPECT_EQ(PythonLine(kPython38, BytesOf({0, 256 - 100}), 5, 0),
            0);  // before the beginning of the file
  EXPECT_EQ(PythonLine(kPython310, BytesOf({2, 127}), 0xffffffff, 0), 0);
}

// Every installed interpreter decodes its own tables with this script.
constexpr char kAsk[] = R"(
import dis, sys, types
SOURCE = '''
import functools
def plain(a, b=(1,
                2)):
    c = a + \\
        b[0]

    return (c,
            [x for x in b
             if x],
            lambda: c)
''' + "\n" * 300 + '''
@functools.lru_cache(
    maxsize=None)
def generator(n):
    try:
        for i in range(n):
            yield (i,
                   i)
        else:
            pass
    except (ValueError,
            KeyError) as e:
        raise RuntimeError(
            str(e)) from e
    finally:
        with open("x") as f: f.read(); f.close()
class C:
    """doc"""
    @property
    def p(self): return {k: v
                         for k, v in
                         self.d.items()}
    async def q(self):
        async with self as s: await s
''' + "".join("v%d = %d\n" % (i, i) for i in range(300))
def walk(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from walk(const)
for code in walk(compile(SOURCE, "<test>", "exec")):
    lines = {}
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                lines[offset] = line or 0
    else:
        starts = dict(dis.findlinestarts(code))
        line = 0
        for offset in range(0, len(code.co_code), 2):
            line = starts.get(offset, line)
            lines[offset] = line
    table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
    print(sys.version_info[0] << 8 | sys.version_info[1], code.co_firstlineno, table.hex() or "-",
          len(lines), *["%d %d" % item for item in sorted(lines.items())])
)";

std::vector<std::string> InstalledPythons() {
  std::vector<std::string> found;
  const char* home = std::getenv("HOME");
  const std::string pyenv = std::string(home == nullptr ? "" : home) + "/.pyenv/versions/3.*/bin/";
  for (const std::string& pattern :
       {pyenv + "python3.[89]", pyenv + "python3.1[0-9]", std::string("/usr/bin/python3.[89]"),
        std::string("/usr/bin/python3.1[0-9]")}) {
    glob_t paths;
    if (glob(pattern.c_str(), 0, nullptr, &paths) == 0) {
      found.insert(found.end(), paths.gl_pathv, paths.gl_pathv + paths.gl_pathc);
    }
    globfree(&paths);
  }
  return found;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST(PythonLines, AgreeWithAllInstalledInterpreters) {
  const std::vector<std::string> interpreters = InstalledPythons();
  if (interpreters.empty()) GTEST_SKIP() << "no Python 3.8 or later is installed";
  const std::string script = ::testing::TempDir() + "/rollcall_python_lines.py";
  std::ofstream(script) << kAsk;
  for (const std::string& python : interpreters) {
    SCOPED_TRACE(python);
    std::FILE* pipe = popen((python + " -I -S " + script).c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string output;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;)
      output.append(buffer, got);
    ASSERT_EQ(pclose(pipe), 0);
    std::istringstream words(output);
    uint32_t version = 0;
    uint32_t first_line = 0;
    std::string hex;
    size_t count = 0;
    size_t compared = 0;
    while (words >> version >> first_line >> hex >> count) {
      const std::string table = FromHex(hex);
      for (size_t i = 0; i < count; ++i) {
        uint32_t offset = 0;
        int line = 0;
        words >> offset >> line;
        ASSERT_EQ(PythonLine(version, table, first_line, offset), line) << version << " " << offset;
        ++compared;
      }
    }
    EXPECT_GT(compared, 500u);
  }
  std::remove(script.c_str());
}

}  // namespace
}  // namespace rollcall
