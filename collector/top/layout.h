// SPDX-License-Identifier: Apache-2.0
// The screen of `rollcall top` as text.
#ifndef ROLLCALL_COLLECTOR_TOP_LAYOUT_H_
#define ROLLCALL_COLLECTOR_TOP_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/collector.pb.h"

namespace rollcall::top {

enum class Sort : uint8_t { kRanks, kTime, kShare, kRate };
inline constexpr int kSorts = 4;

// What the user has chosen.
struct View {
  Sort sort = Sort::kRanks;
  std::string filter = {};  // only communicators whose label contains it
  size_t selected = 0;      // row of the classes shown
  // A text in place of the tables: its lines, and how many are scrolled away. Empty: none.
  std::vector<std::string> text = {};
  size_t scrolled = 0;
  // The last line; empty: the keys.
  std::string message = {};
};

struct Line {
  enum class Style : uint8_t { kPlain, kTitle, kSelected, kAlarm };
  std::string text = {};  // UTF-8 without control characters, at most as wide as the screen
  Style style = Style::kPlain;
};

// The name of a communicator, or another text that identifies it.
std::string Label(const rpc::WatchState& state, uint64_t communicator);

// The classes that the view shows, in its order: indices of WatchState::classes.
std::vector<int> ShownClasses(const rpc::WatchState& state, const View& view);

// Exactly `height` lines. A pure function.
std::vector<Line> Layout(const rpc::WatchState& state, const View& view, size_t width,
                         size_t height);

// The answer to a question, as View::text.
std::vector<std::string> TextLines(std::string_view answer);

}  // namespace rollcall::top

#endif  // ROLLCALL_COLLECTOR_TOP_LAYOUT_H_
