// SPDX-License-Identifier: Apache-2.0
// Shows how many messages each pair of ranks has exchanged.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/model/rank_set.h"
#include "collector/report/columns.h"
#include "collector/report/message_pairs.h"
#include "collector/report/show.h"

namespace rollcall {
namespace {

// Limits of the output. Outstanding messages are shown first.
constexpr size_t kMaxPairs = 64;
constexpr size_t kMaxTags = 8;
constexpr size_t kMaxShownCommunicators = 8;

std::string Number(const std::optional<uint64_t>& count) {
  return count ? std::to_string(*count) : "?";
}

std::string Outstanding(const MessageCount& count) {
  if (count.outstanding == 0) return {};
  return fmt::format("{}{} on {} way", count.at_most ? "at most " : "", count.outstanding,
                     count.outstanding == 1 ? "its" : "their");
}

std::string TagText(int32_t tag) {
  return tag == ring::kAnyTag ? "any tag" : fmt::format("tag {}", tag);
}

bool IsAlike(const MessageCount& a, const MessageCount& b) {
  return a.sent == b.sent && a.received == b.received && a.outstanding == b.outstanding;
}

// If there are more than `most` items, moves outstanding ones to the front and drops the rest.
// Returns the number of dropped items.
template <typename T, typename IsOutstanding>
size_t Shorten(std::vector<T>* all, size_t most, const IsOutstanding& outstanding) {
  if (all->size() <= most) return 0;
  std::stable_partition(all->begin(), all->end(), outstanding);
  const size_t left_out = all->size() - most;
  all->resize(most);
  return left_out;
}

class MessageTable {
 public:
  void Add(const MessagePair& pair) {
    std::string name = fmt::format("{} → {}", pair.from.Text(), pair.to.Text());
    const auto row = [&](std::string tag, const MessageCount& count) {
      rows_.push_back({std::move(name), std::move(tag), "sent " + Number(count.sent),
                       "received " + Number(count.received), Outstanding(count)});
      name.clear();
    };
    using Tagged = std::pair<int32_t, const MessageCount*>;
    std::vector<Tagged> tags;
    for (const auto& [tag, count] : pair.by_tag) tags.emplace_back(tag, &count);
    const bool is_sum = tags.size() != 1 || !IsAlike(*tags.front().second, pair.all);
    if (is_sum) row("all tags", pair.all);
    const size_t left_out = Shorten(
        &tags, kMaxTags, [](const Tagged& tagged) { return tagged.second->outstanding != 0; });
    for (const auto& [tag, count] : tags) row(TagText(tag), *count);
    if (left_out != 0) rows_.push_back({"", fmt::format("… and {} more tags", left_out)});
  }

  std::string Text() const {
    std::string text;
    for (const std::string& line : AlignColumns(rows_)) text += "  " + line + '\n';
    return text;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string CommunicatorText(const AlignedTrace& analysis, uint32_t communicator,
                             std::vector<MessagePair> pairs) {
  std::string text =
      fmt::format("{} · messages between {} of ranks\n\n", analysis.CommunicatorName(communicator),
                  CountText(pairs.size(), "pair"));
  const size_t left_out =
      Shorten(&pairs, kMaxPairs, [](const MessagePair& pair) { return pair.all.outstanding != 0; });
  MessageTable table;
  for (const MessagePair& pair : pairs) table.Add(pair);
  text += table.Text();
  if (left_out != 0) {
    text += fmt::format("  … and {} more pairs: --rank R shows those of one rank\n", left_out);
  }
  return text;
}

}  // namespace

Shown ShowMessages(const AlignedTrace& analysis, const std::string& communicator, int32_t rank) {
  const auto concerns = [rank](const MessageEnd& end) {
    return rank < 0 || (end.kind == MessageEnd::Kind::kRank && end.number == rank);
  };
  std::map<uint32_t, std::vector<MessagePair>> pairs;
  bool exact = false;  // a communicator has exactly that name
  for (MessagePair& pair : CountMessages(analysis.trace)) {
    const std::string& name = analysis.CommunicatorName(pair.communicator);
    if (name.find(communicator) == std::string::npos) continue;
    if (!concerns(pair.from) && !concerns(pair.to)) continue;
    exact |= name == communicator;
    pairs[pair.communicator].push_back(std::move(pair));
  }
  if (exact) {
    std::erase_if(pairs, [&](const auto& entry) {
      return analysis.CommunicatorName(entry.first) != communicator;
    });
  }
  if (pairs.empty()) return {"", "no such message is counted"};
  Shown shown;
  size_t count = 0;
  for (auto& [index, of] : pairs) {
    if (++count > kMaxShownCommunicators) break;
    if (count != 1) shown.text += '\n';
    shown.text += CommunicatorText(analysis, index, std::move(of));
  }
  if (pairs.size() > kMaxShownCommunicators) {
    shown.text += fmt::format("\n… and {} more communicators: --communicator NAME shows one\n",
                              pairs.size() - kMaxShownCommunicators);
  }
  return shown;
}

}  // namespace rollcall
