// SPDX-License-Identifier: Apache-2.0
// The installed Python interpreters, and scripts that run under them until they block.
#ifndef ROLLCALL_TESTS_COLLECTOR_LIVE_PYTHON_SCRIPT_H_
#define ROLLCALL_TESTS_COLLECTOR_LIVE_PYTHON_SCRIPT_H_

#include <glob.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/collector/live/live_child.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::testing {

struct Installed {
  std::string path;
  int minor = 0;
};

// The interpreters of pyenv and of the system.
inline std::vector<Installed> Interpreters() {
  std::vector<Installed> all;
  const char* home = getenv("HOME");
  for (const std::string& root :
       {std::string(home == nullptr ? "" : home) + "/.pyenv/versions/3.*/bin/",
        std::string("/usr/bin/")}) {
    glob_t found{};
    if (glob((root + "python3.*").c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        const std::string path = found.gl_pathv[i];
        const std::string minor = path.substr(path.rfind("python3.") + 8);
        if (minor.empty() || minor.find_first_not_of("0123456789") != std::string::npos) continue;
        all.push_back({path, atoi(minor.c_str())});
      }
    }
    globfree(&found);
  }
  return all;
}

inline constexpr int kOldestKnown = 8;
inline constexpr int kNewestKnown = 14;
inline bool IsKnown(const Installed& python) {
  return python.minor >= kOldestKnown && python.minor <= kNewestKnown;
}

// The interpreters whose frames rollcall reads. A sample reads all debug information of an
// interpreter. A sanitizer build therefore tests only the oldest, the newest and the last one (that
// of the system); the release build tests all of them.
inline std::vector<Installed> KnownInterpreters() {
  std::vector<Installed> known;
  std::set<int> minors;
  for (const Installed& python : Interpreters()) {
    if (!IsKnown(python)) continue;
    known.push_back(python);
    minors.insert(python.minor);
  }
  for (int minor = kOldestKnown; minor <= kNewestKnown; ++minor) {
    if (!minors.contains(minor)) printf("Python 3.%d: skipped, it is not installed\n", minor);
  }
  if (kSanitized && known.size() > 3) {
    const auto older = [](const Installed& a, const Installed& b) { return a.minor < b.minor; };
    const auto [oldest, newest] = std::minmax_element(known.begin(), known.end(), older);
    known = {*oldest, *newest, known.back()};
  }
  return known;
}

// A script that runs until its main thread has written a byte to its standard output and blocks in
// a read from its standard input.
class Script {
 public:
  Script(const Installed& python, const TemporaryDirectory& dir, const std::string& text)
      : path_(dir.path() + "/looked at.py"),
        child_([&](LiveChild& self) { return Run(self, python); }) {
    std::ofstream(path_) << text;
    child_.LetGo();  // the script is written
    close(told_[1]);
    ExpectTold();
    child_.WaitUntilBlockedIn(SYS_read);
  }
  ~Script() { close(told_[0]); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // Lets the main thread continue until it blocks again.
  void GoOn() const {
    child_.LetGo();
    ExpectTold();
    child_.WaitUntilBlockedIn(SYS_read);
  }
  const LiveChild& child() const { return child_; }
  const std::string& path() const { return path_; }

 private:
  int Run(LiveChild& self, const Installed& python) {
    self.BlockInRead();
    dup2(self.command_fd(), 0);
    dup2(told_[1], 1);
    execl(python.path.c_str(), python.path.c_str(), "-S", "-B", path_.c_str(), nullptr);
    return 98;
  }

  void ExpectTold() const {
    char what = 0;
    EXPECT_EQ(read(told_[0], &what, 1), 1) << "the script failed";
  }

  struct Pipe {
    int ends[2] = {-1, -1};
    Pipe() { EXPECT_EQ(pipe(ends), 0); }
    int operator[](int i) const { return ends[i]; }
  };
  Pipe told_;
  std::string path_;
  LiveChild child_;
};

}  // namespace rollcall::testing

#endif  // ROLLCALL_TESTS_COLLECTOR_LIVE_PYTHON_SCRIPT_H_
