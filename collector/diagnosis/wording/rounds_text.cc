// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/rounds_text.h"

#include <fmt/format.h>

#include "collector/diagnosis/wording/call_text.h"

namespace rollcall {

std::string RoundsText(const Analysis& analysis, const Incident& incident) {
  const RoundDetails& rounds = incident.Of<RoundDetails>();
  const int32_t waiter = analysis.RankOf(rounds.waiter);
  const int32_t awaited = analysis.RankOf(rounds.awaited);
  const std::string tag =
      rounds.message.tag == ring::kAnyTag ? "" : fmt::format(" with tag {}", rounds.message.tag);
  const std::string count = rounds.before == 0   ? "no message"
                            : rounds.before == 1 ? "1 message"
                                                 : fmt::format("{} messages", rounds.before);
  const std::string next = rounds.before == 0 ? "one" : "the " + Ordinal(rounds.before + 1);
  if (rounds.message.sends) {
    return fmt::format("rank {} received {}{} from rank {}, which waits to send {}", awaited, count,
                       tag, waiter, next);
  }
  if (rounds.others == 0) {
    return fmt::format("rank {} sent rank {} {}{}, and rank {} waits for {}", awaited, waiter,
                       count, tag, waiter, next);
  }
  if (rounds.relayed) {
    return fmt::format(
        "rank {} received {} messages{}, and sent rank {} only {}; rank {} waits for {}", awaited,
        rounds.others, tag, waiter, rounds.before, waiter, next);
  }
  const bool any = rounds.message.peer == ring::kAnySource;
  return any ? fmt::format(
                   "rank {} sent rank {} {}{}, and each of the other ranks {}; rank {} waits "
                   "for one more",
                   awaited, waiter, count, tag, rounds.others, waiter)
             : fmt::format(
                   "rank {} sent rank {} {}{}, and each of its other peers {}; rank {} "
                   "waits for {}",
                   awaited, waiter, count, tag, rounds.others, waiter, next);
}

}  // namespace rollcall
