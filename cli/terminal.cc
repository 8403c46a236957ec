// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#define NCURSES_NOMACROS
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rollcall {
namespace {

// How long to wait for the rest of a key's sequence after an escape.
constexpr int kEscapeMs = 50;

attr_t AttributeOf(top::Line::Style style) {
  switch (style) {
    case top::Line::Style::kPlain:
      break;
    case top::Line::Style::kTitle:
      return A_BOLD;
    case top::Line::Style::kSelected:
      return A_REVERSE;
    case top::Line::Style::kAlarm:
      return A_BOLD | A_UNDERLINE;
  }
  return A_NORMAL;
}

}  // namespace

Terminal::~Terminal() { endwin(); }

size_t Terminal::width() const { return static_cast<size_t>(getmaxx(stdscr)); }
size_t Terminal::height() const { return static_cast<size_t>(getmaxy(stdscr)); }

void Terminal::Draw(const std::vector<top::Line>& lines) {
  erase();
  for (size_t i = 0; i < lines.size(); ++i) {
    attrset(static_cast<int>(AttributeOf(lines[i].style)));
    mvaddstr(static_cast<int>(i), 0, lines[i].text.c_str());
  }
  refresh();
}

int Terminal::Take() {
  const int key = getch();
  switch (key) {
    case ERR:
      return static_cast<int>(Key::kNone);
    case KEY_UP:
      return static_cast<int>(Key::kUp);
    case KEY_DOWN:
      return static_cast<int>(Key::kDown);
    case KEY_PPAGE:
      return static_cast<int>(Key::kPageUp);
    case KEY_NPAGE:
      return static_cast<int>(Key::kPageDown);
    case KEY_ENTER:
    case '\n':
    case '\r':
      return static_cast<int>(Key::kEnter);
    case KEY_BACKSPACE:
    case '\b':
    case 0x7F:
      return static_cast<int>(Key::kErase);
    case 0x1B:
      return static_cast<int>(Key::kEscape);
    default:
      return key < 0x100 ? key : static_cast<int>(Key::kOther);
  }
}

void Terminal::Resize() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    resizeterm(size.ws_row, size.ws_col);
  }
}

void Terminal::Suspend() {
  endwin();
  raise(SIGSTOP);
  Resize();
  refresh();
}

Result<std::unique_ptr<Terminal>> Terminal::Open() {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return Error{"this is no terminal; --once prints one state"};
  }
  setlocale(LC_CTYPE, "");
  // The locale may be missing, for example over ssh that does not pass it on. Terminals are UTF-8
  // nevertheless.
  if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0) setlocale(LC_CTYPE, "C.UTF-8");
  if (newterm(nullptr, stdout, stdin) == nullptr) {
    return Error{"the terminal is unknown: TERM names none; --once prints one state"};
  }
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  curs_set(0);
  set_escdelay(kEscapeMs);
  return std::unique_ptr<Terminal>(new Terminal);
}

}  // namespace rollcall
