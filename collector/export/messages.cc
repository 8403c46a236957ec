// SPDX-License-Identifier: Apache-2.0
// Writes the numbers of messages as CSV: for each pair of ranks on a communicator one row with the
// sum over all tags, and one row for each tag.
#include <cstdint>
#include <optional>
#include <string>

#include "collector/export/csv_row.h"
#include "collector/export/exporter.h"
#include "collector/report/message_pairs.h"

namespace rollcall {
namespace {

std::string Number(const std::optional<uint64_t>& count) {
  return count ? std::to_string(*count) : "";
}

// A rank is written as a number only.
std::string EndText(const MessageEnd& end) {
  return end.kind == MessageEnd::Kind::kRank ? std::to_string(end.number) : end.Text();
}

}  // namespace

void ExportMessages(const Subject& subject, std::ostream& out) {
  WriteCsvRow({"communicator", "from", "to", "tag", "sent", "received", "outstanding", "at_most"},
              &out);
  for (const MessagePair& pair : CountMessages(subject.trace)) {
    const auto row = [&](const std::string& tag, const MessageCount& count) {
      const bool outstanding = count.outstanding != 0;
      WriteCsvRow({subject.trace.communicators[pair.communicator].name, EndText(pair.from),
                   EndText(pair.to), tag, Number(count.sent), Number(count.received),
                   outstanding ? std::to_string(count.outstanding) : "",
                   outstanding && count.at_most ? "yes" : ""},
                  &out);
    };
    row("all", pair.all);
    for (const auto& [tag, count] : pair.by_tag) {
      row(tag == ring::kAnyTag ? "any" : std::to_string(tag), count);
    }
  }
}

}  // namespace rollcall
