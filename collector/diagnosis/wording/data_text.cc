// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/wording/data_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "collector/diagnosis/detectors/data_compare.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/matching/match_rules.h"
#include "collector/model/rank_set.h"

namespace rollcall {
namespace {

std::string CallOf(const Analysis& analysis, const Incident& incident) {
  if (!incident.Of<DataDetails>().replica.empty()) {
    return fmt::format("rollcall_replica \"{}\" #{}", incident.Of<DataDetails>().replica,
                       incident.sequence);
  }
  if (incident.deviating_event != nullptr) return CallText(analysis, *incident.deviating_event);
  return fmt::format("{} #{}", OperationName(incident.Of<DataDetails>().first.operation),
                     incident.sequence);
}

void AddDataSites(const Analysis& analysis, const Incident& incident,
                  const std::vector<uint32_t>& processes, const std::vector<uint32_t>& paths,
                  bool culprit, std::vector<Site>* sites) {
  std::map<uint64_t, size_t> known;
  for (size_t i = 0; i < processes.size(); ++i) {
    const auto [entry, added] = known.emplace(analysis.sites.Id(paths[i]), sites->size());
    if (added) {
      Site site;
      site.culprit = culprit;
      site.call_path = paths[i];
      site.frame = analysis.sites.UserFrame(paths[i]);
      site.communicator = incident.communicator;
      site.what = CallOf(analysis, incident);
      sites->push_back(std::move(site));
    }
    (*sites)[entry->second].ranks.push_back(analysis.RankOf(processes[i]));
  }
}

struct UnreadReason {
  ring::Unread bit;
  std::string_view text;
};
constexpr UnreadReason kUnreadReasons[] = {
    {ring::Unread::kDevice, "memory of a device, or not certain to be the host's"},
    {ring::Unread::kLayout, "a datatype or layout that is not followed"},
    {ring::Unread::kRequests, "more requests than the tables hold"},
    {ring::Unread::kThreads, "more threads than the ring has room for"},
    {ring::Unread::kAtOnce, "two threads at once"},
};

// The number of a member's buffers that were not read, without calls outside the scope.
uint64_t UnreadBuffers(const MemberData& data) {
  const bool forgotten = (data.unread_why & static_cast<uint32_t>(ring::Unread::kEntryReused)) != 0;
  const uint64_t others = data.outside + (forgotten ? 1 : 0);
  return data.unread - std::min(data.unread, others);
}

}  // namespace

Finding DraftOfData(const Analysis& analysis, const Incident& incident, VerdictKind kind) {
  Finding finding = Draft(analysis, incident, kind);
  if (finding.operation == Operation::kNone)
    finding.operation = incident.Of<DataDetails>().first.operation;
  // The end of a rank after the call is unrelated.
  finding.culprit_gone = false;
  finding.sites.clear();
  AddDataSites(analysis, incident, incident.agreeing, incident.Of<DataDetails>().agreeing_paths,
               false, &finding.sites);
  AddDataSites(analysis, incident, incident.deviating, incident.Of<DataDetails>().deviating_paths,
               !incident.tie, &finding.sites);
  for (Site& site : finding.sites) Normalize(&site.ranks);
  if (incident.Of<DataDetails>().sampled) {
    finding.notes.emplace_back("a part of the data was read (--data=sampled)");
  }
  return finding;
}

void AddDataCoverage(const Trace& trace, Report* report) {
  const auto reads_data = [](const Process& process) { return process.reads_data; };
  if (std::ranges::none_of(trace.processes, reads_data)) return;
  DataCoverage all;
  uint32_t why = 0;
  std::vector<int32_t> ranks;
  const auto add_unread = [&](uint64_t buffers, uint32_t reasons, const Process& process) {
    if (buffers == 0) return;
    all.unread += buffers;
    why |= reasons;
    ranks.push_back(process.rank);
  };
  for (const Process& process : trace.processes) {
    // The calls for each name are numbered from 1, so the newest number counts them all.
    std::map<std::string_view, const DataRead*> newest;
    for (const ReplicaRead& replica : process.replicas) newest[replica.name] = &replica.data;
    for (const auto& [name, data] : newest) {
      if (data->IsRead()) {
        all.read += data->sequence;
      } else {
        add_unread(data->sequence, static_cast<uint32_t>(ring::Unread::kDevice), process);
      }
    }
  }
  for (const Member& member : trace.members) {
    if (member.data == kNoIndex || member.process == kNoIndex) continue;
    const MemberData& data = trace.data[member.data];
    all.read += data.read;
    all.outside += data.outside;
    add_unread(UnreadBuffers(data), data.unread_why, trace.processes[member.process]);
  }
  report->data = all;
  if (all.read == 0 && all.unread == 0 && all.outside != 0) {
    report->notes.push_back(fmt::format("no call is in --data-scope, and {} outside", all.outside));
  }
  if (all.unread == 0) return;
  std::vector<std::string_view> reasons;
  for (const UnreadReason& reason : kUnreadReasons) {
    if ((why & static_cast<uint32_t>(reason.bit)) != 0) reasons.push_back(reason.text);
  }
  Normalize(&ranks);
  report->notes.push_back(fmt::format("{} of {} not read{}{}", CountText(all.unread, "buffer"),
                                      RanksPhrase(ranks), reasons.empty() ? "" : ": ",
                                      fmt::join(reasons, "; ")));
}

std::string DifferenceText(const Incident& incident) {
  const DataDifference& difference = incident.Of<DataDetails>().difference;
  const std::string_view unit = ElementBytes(difference.type_class) == 1 ? "byte" : "element";
  if (!difference.exact) {
    return difference.element == difference.last
               ? fmt::format("the first difference is in {} {}", unit, difference.element)
               : fmt::format("the first difference is between {}s {} and {}", unit,
                             difference.element, difference.last);
  }
  // Without the words themselves, this is concluded from their sums.
  std::string text = fmt::format(
      "{} in {} {}",
      difference.has_values ? "the first difference is" : "by the sums, one word differs,", unit,
      difference.element);
  if (difference.has_values) {
    text += fmt::format(": {}, not {}", ValueText(difference.type_class, difference.deviating),
                        ValueText(difference.type_class, difference.agreeing));
  }
  text += fmt::format(" (bits {:#x}", difference.flipped);
  if (difference.has_ulps) {
    text += fmt::format("; {}", CountText(difference.ulps, "ulp"));
  }
  return text + ")";
}

std::string NonFiniteText(const Trace& trace, const FirstNonFinite& first) {
  if (first.datatype != kNoIndex) {
    const TypeClass type = FindBasicType(trace.datatypes[first.datatype].basic).type_class;
    if (IsFloatingPoint(type)) return ValueText(type, first.bits);
  }
  return first.nans != 0 ? "NaN" : "Inf";
}

}  // namespace rollcall
