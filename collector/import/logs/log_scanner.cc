// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "collector/base/text.h"

namespace rollcall::logs {
namespace {

constexpr size_t kMaxQuoteBytes = 400;
constexpr size_t kMaxStacks = 64;
constexpr size_t kMaxStackFrames = 256;
constexpr int kMaxStackLines = 2000;
// After an exception, Python says within so many lines that it was raised while another one was
// handled.
constexpr int kMaxChainLines = 3;
// Lines of other writers may stand between.
constexpr uint64_t kMaxLinesBetween = 200;
constexpr int kMaxStatementsOfALine = 64;

uint64_t CountLines(std::string_view text) {
  // memchr() looks at many bytes at once, which std::count() does not in an ordinary build.
  uint64_t lines = 0;
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    ++lines;
  }
  return lines;
}

// Without the sequences that move the cursor and set colours (ECMA-48: ESC [ … letter).
std::string WithoutControls(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033') {
      plain += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    }
  }
  return plain;
}

// Whether a line with the prefix of `line` may be of the writer of `fact`. Only the first line of a
// message has all prefixes.
bool IsOf(const LogFact& line, const LogFact& fact) {
  return (line.rank < 0 || line.rank == fact.rank) &&
         (line.local_rank < 0 || line.local_rank == fact.local_rank) &&
         (line.host.empty() || line.host == fact.host) && (line.pid < 0 || line.pid == fact.pid);
}
bool HasWriter(const LogFact& fact) {
  return fact.rank >= 0 || fact.local_rank >= 0 || !fact.host.empty() || fact.pid >= 0 ||
         fact.group_rank >= 0;
}

// "ValueError: bad batch", "torch.OutOfMemoryError", "KeyError: 'x'". The type, or "".
std::string_view ExceptionType(std::string_view text) {
  size_t size = 0;
  while (size < text.size() && (std::isalnum(static_cast<unsigned char>(text[size])) != 0 ||
                                text[size] == '.' || text[size] == '_')) {
    ++size;
  }
  const bool ends = size == text.size() || text[size] == ':';
  const std::string_view type = text.substr(0, size);
  const std::string_view name = type.substr(type.rfind('.') + 1);
  constexpr std::string_view kEndings[] = {"Error",         "Exception", "Exit",    "Interrupt",
                                           "Warning",       "Timeout",   "Failure", "Aborted",
                                           "StopIteration", "error"};
  const bool named = std::ranges::any_of(
      kEndings, [name](std::string_view ending) { return name.ends_with(ending); });
  return ends && named && std::isdigit(static_cast<unsigned char>(type[0])) == 0 ? type : "";
}

}  // namespace

void LogScanner::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (cut_) {
      const size_t end = bytes.find('\n');
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      cut_ = false;
    } else if (partial_.empty() && bytes.find('\n') != std::string_view::npos) {
      const size_t whole = bytes.rfind('\n') + 1;
      FeedLines(bytes.substr(0, whole));
      bytes.remove_prefix(whole);
    } else {
      const size_t end = std::min(bytes.find('\n'), bytes.size());
      partial_ += bytes.substr(0, std::min(end, kMaxLineBytes - partial_.size()));
      cut_ = partial_.size() == kMaxLineBytes && end > 0;
      if (!cut_ && end == bytes.size()) return;
      FeedLines(std::exchange(partial_, {}) + '\n');
      if (!cut_) bytes.remove_prefix(end + 1);
    }
  }
}

void LogScanner::Finish() {
  if (!partial_.empty()) FeedLines(std::exchange(partial_, {}) + '\n');
  for (OpenStack& open : stacks_) {
    std::ranges::reverse(open.fact.frames);
    if (open.fact.says == Says::kStack && !open.fact.frames.empty()) visit_(open.fact);
  }
  stacks_.clear();
  // What was only searched for keys is read once more, for its writers.
  const std::string tail = std::exchange(tail_, {});
  line_ = tail_line_;
  for (size_t at = 0; at < tail.size();) {
    const size_t end = std::min(tail.find('\n', at), tail.size());
    ++line_;
    NotePresence(std::string_view(tail).substr(at, std::min(end - at, kMaxLineBytes)));
    at = end + 1;
  }
}

void LogScanner::FeedLines(std::string_view lines) {
  size_t at = 0;
  while (at < lines.size()) {
    const bool in_head = read_ + at < kHeadBytes;
    CloseOldStacks();
    if (in_head || !stacks_.empty() || !broken_.empty()) {
      at = ReadLine(lines, at, in_head);
      continue;
    }
    const auto key = patterns_.FindKey(lines, at);
    const size_t stop = key ? lines.rfind('\n', key->at) + 1 : lines.size();
    const size_t next = std::max(at, stop);
    const std::string_view skipped = lines.substr(at, next - at);
    line_ += CountLines(skipped);
    if (key) {
      at = ReadLine(lines, next, false);
    } else {
      at = next;
    }
  }
  read_ += lines.size();
  // The last lines, for Finish().
  if (read_ > kHeadBytes) {
    const std::string_view last = lines.substr(lines.size() - std::min(lines.size(), kTailBytes));
    const size_t begin = last.size() == lines.size() ? 0 : last.find('\n') + 1;
    if (tail_.size() + last.size() > 2 * kTailBytes) tail_.clear();
    if (tail_.empty()) tail_line_ = line_ - CountLines(last.substr(begin));
    tail_ += last.substr(begin);
  }
}

void LogScanner::CloseOldStacks() {
  std::erase_if(stacks_, [this](const OpenStack& open) { return open.until < line_; });
}

size_t LogScanner::ReadLine(std::string_view lines, size_t at, bool any_writer) {
  const size_t end = std::min(lines.find('\n', at), lines.size());
  ++line_;
  framed_ = at == 0 || lines.substr(0, at - 1).ends_with("----------");
  std::string_view line = lines.substr(at, std::min(end - at, kMaxLineBytes));
  std::string plain;
  if (line.find('\033') != std::string_view::npos) {
    plain = WithoutControls(line);
    line = plain;
  }
  while (true) {
    const size_t back = line.find('\r');
    const std::string_view piece = line.substr(0, back);
    if (!piece.empty()) ReadPiece(piece, any_writer);
    if (back == std::string_view::npos) break;
    line.remove_prefix(back + 1);
  }
  return end + 1;
}

void LogScanner::ReadPiece(std::string_view piece, bool any_writer) {
  if (!broken_.empty()) ReadBroken(piece);
  size_t begin = 0;  // what precedes a match belongs to it, but not what another match has taken
  size_t from = 0;
  bool any = false;
  for (int count = 0; count < kMaxStatementsOfALine; ++count) {
    const auto key = patterns_.FindKey(piece, from);
    if (!key) break;
    LogFact fact;
    from = key->at + key->size;
    const auto end = patterns_.Match(piece.substr(begin), {key->at - begin, key->size}, &fact);
    if (!end) {
      broken_ = piece.substr(begin);  // a terminal's width may have broken the line
      broken_framed_ = framed_;
      continue;
    }
    broken_.clear();
    any = true;
    from = begin = std::max(begin + *end, from);
    Emit(&fact, piece);
  }
  if (!any && !stacks_.empty() && ContinueStack(piece)) return;
  if (!any && any_writer) NotePresence(piece);
}

// Reads the line before together with this one.
void LogScanner::ReadBroken(std::string_view piece) {
  const std::string whole = std::exchange(broken_, {}) + std::string(piece);
  LogFact prefix;
  patterns_.ReadPrefixes(piece, &prefix);
  if (HasWriter(prefix) || whole.size() > kMaxLineBytes) return;
  for (size_t from = 0; const auto key = patterns_.FindKey(whole, from);) {
    from = key->at + key->size;
    LogFact fact;
    if (!patterns_.Match(whole, *key, &fact)) continue;
    framed_ = broken_framed_;
    return Emit(&fact, whole);
  }
}

void LogScanner::NotePresence(std::string_view piece) {
  LogFact fact;
  patterns_.ReadPrefixes(piece, &fact);
  fact.says = Says::kPresent;
  fact.line = line_;
  visit_(fact);
}

void LogScanner::Emit(LogFact* fact, std::string_view piece) {
  fact->line = line_;
  fact->text = CleanText(piece, kMaxQuoteBytes, 8);
  fact->lacks_frame &= !framed_;
  if (fact->says == Says::kIgnored) {
    ignore_next_ = true;
    return;
  }
  if (fact->says == Says::kTraceback && std::exchange(ignore_next_, false)) return;
  if (fact->says != Says::kTraceback && fact->says != Says::kStack) return visit_(*fact);
  LogFact whole = std::move(*fact);
  for (auto it = stacks_.begin(); it != stacks_.end(); ++it) {
    if (!IsOf(whole, it->fact) || !IsOf(it->fact, whole)) continue;
    // "Original Traceback": of a data loader's worker, whose exception the rank raised again.
    const bool original = piece.find("Original Traceback (most") != std::string_view::npos;
    whole.replaces = it->done && whole.says == Says::kTraceback && (it->fact.replaces || original);
    stacks_.erase(it);
    break;
  }
  if (stacks_.size() >= kMaxStacks) stacks_.pop_front();
  stacks_.push_back({.fact = std::move(whole), .until = line_ + kMaxLinesBetween});
}

// Whether the piece belongs to a stack.
bool LogScanner::ContinueStack(std::string_view piece) {
  LogFact prefix;
  const size_t begin = patterns_.ReadPrefixes(piece, &prefix);
  const std::string_view text = piece.substr(begin);
  auto stack = stacks_.rbegin();
  // Each line of a traceback has the prefix of its first one; the stack of a failed operation is
  // one message of several lines.
  if (HasWriter(prefix) || (HasWriter(stack->fact) && stack->fact.says == Says::kTraceback)) {
    stack = std::find_if(stacks_.rbegin(), stacks_.rend(), [&](const OpenStack& open) {
      return IsOf(prefix, open.fact) && (HasWriter(prefix) || !HasWriter(open.fact));
    });
    if (stack == stacks_.rend()) return false;
  }
  const auto close = [&] { stacks_.erase(std::next(stack).base()); };
  LogFact& fact = stack->fact;
  stack->until = line_ + kMaxLinesBetween;
  if (++stack->lines > (stack->done ? kMaxChainLines : kMaxStackLines)) {
    close();
    return false;
  }
  if (stack->done) {
    fact.replaces |= text.find("During handling of the above exception") == 0 ||
                     text.find("The above exception was the direct cause") == 0;
    if (fact.replaces) stack->lines = 0;
    return fact.replaces;
  }
  LogFact frame;
  if (patterns_.MatchFrame(text, &frame)) {
    if (fact.frames.size() < kMaxStackFrames) fact.frames.push_back(std::move(frame.frame));
    return true;
  }
  if (fact.says == Says::kStack) {
    // It has no line that ends it.
    std::ranges::reverse(fact.frames);
    if (!fact.frames.empty()) visit_(fact);
    close();
    return false;
  }
  const std::string_view type = ExceptionType(text);
  if (type.empty() || fact.frames.empty()) return text.empty() || text.front() == ' ';
  LogFact exception = fact;
  exception.says = Says::kException;
  exception.line = line_;
  exception.text = CleanText(piece, kMaxQuoteBytes, 8);
  exception.function = CleanText(type, 200);
  const size_t colon = text.find(": ");
  exception.message = colon == std::string_view::npos ? "" : CleanText(text.substr(colon + 2), 400);
  if (prefix.time_ns != kNoTime) exception.time_ns = prefix.time_ns;
  visit_(exception);
  stack->done = true;
  stack->lines = 0;
  fact.frames.clear();
  fact.replaces = false;
  return true;
}

}  // namespace rollcall::logs
