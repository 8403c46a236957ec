// SPDX-License-Identifier: Apache-2.0
// The terminal while a program fills its screen. Only terminal.cc includes ncurses, whose macros
// break other headers.
#ifndef ROLLCALL_CLI_TERMINAL_H_
#define ROLLCALL_CLI_TERMINAL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "collector/base/result.h"
#include "collector/top/layout.h"

namespace rollcall {

// Keys that are no characters.
enum class Key : int {
  kNone = -1,
  kUp = 0x200000,
  kDown,
  kPageUp,
  kPageDown,
  kEnter,
  kEscape,
  kErase,
  kOther
};

// There is one at a time. The caller must not write to stdout while it exists.
class Terminal {
 public:
  // Takes over the terminal of stdin and stdout. An error if there is no terminal, or an
  // unknown one.
  static Result<std::unique_ptr<Terminal>> Open();
  // Gives the terminal back as it was.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  size_t width() const;
  size_t height() const;
  void Draw(const std::vector<top::Line>& lines);
  // The next key that was pressed, a byte or a Key; kNone if there is none.
  int Take();
  // After SIGWINCH.
  void Resize();
  // Stops this process, for SIGTSTP. Returns when the process continues.
  void Suspend();

 private:
  Terminal() = default;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_TERMINAL_H_
