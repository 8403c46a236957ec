// SPDX-License-Identifier: Apache-2.0
// The parts of a page, one file each. Each function is pure. If a bound leaves out data, a phrase
// about the data is added to `left_out`.
#ifndef ROLLCALL_COLLECTOR_PAGE_PANELS_H_
#define ROLLCALL_COLLECTOR_PAGE_PANELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/page/values.h"
#include "collector/report/text_report.h"
#include "collector/report/wait_picture.h"

namespace rollcall::page {

// The communicators that a page shows: those with a finding first, then those whose members are at
// different numbers.
std::vector<uint32_t> ShownCommunicators(const AlignedTrace& analysis, const Report& report,
                                         std::vector<std::string>* left_out);

// data.ts, Finding, without `weight` and `page`.
Json Findings(const Analysis& analysis, const Report& report, const TextOptions& text,
              std::vector<std::string>* left_out);

// data.ts, Communicator.
Json Communicators(const AlignedTrace& analysis, const Report& report,
                   const std::vector<uint32_t>& shown, int64_t begin_ns, Calls* calls,
                   std::vector<std::string>* left_out);

// data.ts, Straggler. From the newest collectives of the shown communicators.
Json Stragglers(const AlignedTrace& analysis, const std::vector<uint32_t>& shown);

Json Graph(const WaitPicture& picture);
Json Stacks(const AlignedTrace& analysis);

// The time from which a page shows calls, and the timeline from that time on.
int64_t TimelineBegin(const AlignedTrace& analysis, const WaitPicture& picture);
Json Timeline(const AlignedTrace& analysis, const WaitPicture& picture, int64_t begin_ns,
              Calls* calls);

// data.ts, Difference, of the first culprit and the first waiting rank. null if the first finding
// lacks one of the two, or if they have no calls.
Json Difference(const AlignedTrace& analysis, const Report& report);

Json LookedAt(const AlignedTrace& analysis, const Report& report);

}  // namespace rollcall::page

#endif  // ROLLCALL_COLLECTOR_PAGE_PANELS_H_
