// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

#include "collector/import/logs/log_beside_records.h"
#include "collector/import/logs/log_calls.h"
#include "collector/import/logs/log_ends.h"
#include "collector/import/logs/log_groups.h"
#include "collector/import/logs/log_parts.h"
#include "collector/import/logs/log_ranks.h"
#include "collector/import/logs/log_ras.h"
#include "collector/import/logs/log_starts.h"
#include "collector/import/trace_builder.h"
#include "collector/model/signal_name.h"

namespace rollcall::logs {
namespace {

constexpr size_t kMaxNodes = 1 << 12;

}  // namespace

void LogTraceBuilder::BeginFile(const std::string& path, const std::string& directory,
                                const std::string& name, std::optional<uint64_t> lines_before) {
  // The last number of the name; or the name of the directory, in which torchrun has one file each.
  const auto number_of = [](const std::string& text, std::string* prefix) {
    const size_t end = text.find_last_of("0123456789");
    if (end == std::string::npos) return -1;
    const size_t before = text.find_last_not_of("0123456789", end);
    const size_t begin = before == std::string::npos ? 0 : before + 1;
    if (end + 1 - begin > 7) return -1;
    *prefix = text.substr(0, begin) + "*" + text.substr(end + 1);
    return std::stoi(text.substr(begin, end + 1 - begin));
  };
  File file{.path = path, .lines_before = lines_before, .series = {}};
  std::string prefix;
  std::string stem = name;
  for (const char* suffix : {".gz", ".xz", ".zst", ".bz2", ".log", ".txt", ".out", ".err"}) {
    if (stem.ends_with(suffix)) stem.erase(stem.size() - std::string_view(suffix).size());
  }
  file.number = number_of(stem, &prefix);
  file.series = directory + "/" + prefix;
  if (file.number < 0) {
    const size_t slash = directory.find_last_of('/') + 1;  // npos + 1 is 0
    file.number = number_of(directory.substr(slash), &prefix);
    file.series = directory.substr(0, slash) + prefix + "/" + name;
  }
  job_.files.push_back(std::move(file));
  job_.in_worker = false;
}

void LogTraceBuilder::NoteYear(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  std::tm year = {};
  year.tm_mday = 1;
  year.tm_year = parts.tm_year;
  constexpr int64_t kYear2000 = 946'684'800;
  year_ns_ = (timegm(&year) - kYear2000) * 1'000'000'000;
}

void LogTraceBuilder::Add(const LogFact& fact) {
  if (fact.time_ns != kNoTime && !fact.yearless) {
    NoteYear(fact.time_ns);
  } else if (fact.time_ns != kNoTime && year_ns_ != 0) {
    LogFact dated = fact;
    dated.time_ns += year_ns_;
    dated.yearless = false;
    return Add(dated);
  }
  job_.last_ns = std::max(job_.last_ns, fact.time_ns);
  if (fact.size > 0 && fact.says == Says::kPresent) {
    ++job_.sizes[std::min<int64_t>(fact.size, kMaxRanks)];
  }
  const auto each = [&](auto&& visit) {
    if (fact.ranks.empty()) return visit(job_.WriterOf(fact));
    for (const int32_t rank : fact.ranks) visit(job_.WriterOfRank(rank));
  };
  switch (fact.says) {
    case Says::kWaits:
    case Says::kCounts:
      each([&](Writer* writer) { AddWait(&job_, writer, fact); });
      break;
    case Says::kLacks:
      AddLacking(&job_, fact);
      break;
    case Says::kNeedsId:
      job_.NoteWait(fact);
      if (Writer* writer = job_.WriterOf(fact)) {
        writer->lacks_id_of = fact.ranks.empty() ? 0 : fact.ranks.front();
        job_.AddQuote(writer, fact, "", 0);
      }
      break;
    case Says::kStack: {
      Writer* writer = job_.WriterOf(fact);
      if (writer == nullptr) break;
      for (auto& [name, position] : writer->groups) {
        for (auto& [number, wait] : position.waits) {
          if (wait.frames.empty()) wait.frames = fact.frames;
        }
      }
      break;
    }
    case Says::kMember:
      AddCommunicator(job_.WriterOf(fact), fact);
      break;
    case Says::kCall: {
      Writer* writer = job_.WriterOf(fact);
      NoteLineAfterException(job_, writer, fact);
      AddCall(&job_, writer, fact);
      break;
    }
    case Says::kException:
      AddException(&job_, job_.WriterOf(fact), fact);
      break;
    case Says::kPassed:
      job_.tests_passed = job_.Now(fact);
      break;
    case Says::kEnded:
    case Says::kStopped:
      job_.has_tasks |= fact.of_agent || (fact.says == Says::kStopped && fact.pid >= 0);
      if (fact.of_task && job_.has_tasks) {
        const bool stopped = job_.ended.order >= 0 || fact.signal == SIGTERM;
        if (!stopped) job_.AddStatement(fact, "a task of srun that started several ranks ended");
        break;
      }
      each([&](Writer* writer) { AddEnd(&job_, writer, fact); });
      break;
    case Says::kAborted:
    case Says::kErrorRank:
    case Says::kErrorClass:
    case Says::kErrorFatal:
    case Says::kMpiError:
      AddMpiEnd(&job_, fact);
      break;
    case Says::kReport:
    case Says::kWorker:
      AddWorker(&job_, fact);
      break;
    case Says::kOutOfMemory:
      AddOutOfMemory(&job_, fact);
      break;
    case Says::kJobEnded:
      if (job_.ended.order < 0 && !fact.message.starts_with("NODE FAILURE")) {
        job_.ended = job_.Now(fact);
        job_.ended_by_limit =
            fact.message.starts_with("TIME LIMIT") || fact.message.starts_with("PREEMPTION");
      }
      break;
    case Says::kNode:
      if (job_.failed_nodes.size() < kMaxNodes) {
        job_.failed_nodes.emplace(fact.host, job_.QuoteOf(fact, "", 0));
      }
      job_.AddStatement(
          fact,
          fmt::format("the node {} failed; the log does not say which ranks ran there", fact.host));
      break;
    case Says::kLost:
      if (job_.ended.order >= 0 || fact.signal == SIGTERM || fact.signal == SIGINT) break;
      job_.AddStatement(
          fact, fmt::format("a process was ended by {}; the log does not say which rank it was",
                            SignalName(fact.signal)));
      break;
    case Says::kRestarted:
      job_.Restart();
      break;
    case Says::kRas:
      AddRas(&job_, fact);
      break;
    case Says::kRasJson:
      AddRasJson(&job_, fact);
      break;
    case Says::kStatement:
      // A rank that lost its connection to another does not say that it waits.
      if (fact.message.starts_with("NCCL error")) {
        if (Writer* writer = job_.WriterOf(fact)) writer->lacks_others = true;
      } else {
        job_.NoteWait(fact);
      }
      job_.AddStatement(
          fact,
          fmt::format("{} says: {}", fact.function.empty() ? "NCCL" : fact.function, fact.message));
      break;
    case Says::kStore:
      job_.store = fact;
      job_.size = std::max(job_.size, std::min<int64_t>(fact.size, kMaxRanks));
      [[fallthrough]];
    case Says::kGaveUp:
      job_.NoteWait(fact);
      job_.AddStatement(fact, "operations timed out; the log does not say which rank did not come");
      break;
    case Says::kFolded:
      job_.folded = true;
      break;
    case Says::kDeviceError: {
      LogFact exception = fact;
      exception.function = "CUDA error";
      AddException(&job_, job_.WriterOf(fact), exception);
      break;
    }
    case Says::kDevice:
      if (Writer* writer = job_.WriterOfPid(fact.pid, fact.host))
        job_.AddQuote(writer, fact, "", 0);
      break;
    case Says::kIgnored:
    case Says::kTraceback:
    case Says::kFrame:
      break;
    case Says::kPresent:
      if (RunsAgain(&job_, fact)) job_.Restart();
      AddPlainLine(&job_, job_.WriterOf(fact), fact);
      break;
  }
}

Trace LogTraceBuilder::Finish() {
  TakeRas(&job_);
  FoundRanks found = FindRanks(&job_);
  AssignUnknown(&found);
  Ranks& ranks = found.ranks;
  DropConsequences(&job_, &ranks);
  Trace& trace = job_.trace;
  trace.evidence = Trace::Evidence::kLogs;
  trace.log_lines = std::move(job_.statements);
  if (ranks.empty()) return std::move(trace);
  int64_t size = job_.size;
  bool stalled = false;  // operations timed out
  for (const auto& [rank, writer] : ranks) {
    if (job_.size >= 0) size = std::max<int64_t>(size, rank + 1);
    for (const Calls& calls : writer.communicators) size = std::max(size, calls.size);
    stalled |= !writer.groups.empty();
  }
  if (size < 0 && stalled) size = ranks.rbegin()->first + 1;
  LogParts parts(&job_, &ranks, size);
  if (!AddCalls(&parts, stalled)) AddGroups(&parts);
  AddStarts(&parts);
  parts.AddLines();
  if (job_.last_ns != kNoTime) trace.taken_at_ns = job_.last_ns;
  return std::move(trace);
}

void LogTraceBuilder::AddEnds(Trace* trace) {
  if (trace->worlds.size() != 1) return;
  if (!found_) {
    found_ = FindRanks(&job_);
    DropConsequences(&job_, &found_->ranks);
  }
  AddToRecords(job_, *found_, trace);
}

}  // namespace rollcall::logs
