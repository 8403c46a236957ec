// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collector/import/trace_builder.h"

namespace rollcall::logs {
namespace {

constexpr size_t kMaxQuotes = 6;
constexpr size_t kMaxStatements = 8;

}  // namespace

bool Moment::IsBefore(const Moment& other) const {
  if (order < 0 || other.order < 0) return false;
  if (ns != kNoTime && other.ns != kNoTime) return ns < other.ns;
  return file == other.file && order < other.order;
}

Writer* LogJob::WriterOf(const LogFact& fact) {
  const bool in_default = fact.group.empty() || fact.group == kDefaultGroup;
  int32_t rank = fact.rank;
  if (rank < 0 && fact.local_rank < 0 && in_default && fact.says == Says::kWaits) {
    rank = fact.group_rank;
  }
  std::string key;
  if (rank >= 0) {
    if (rank >= static_cast<int32_t>(kMaxRanks)) return nullptr;
    key = fmt::format("r{}", rank);
  } else if (fact.local_rank >= 0) {
    key = fmt::format("f{} t{} l{} {}", file(), fact.task, fact.local_rank, fact.host);
  } else if (fact.pid >= 0) {
    const auto known = pids.find({fact.pid, fact.host});
    key = known != pids.end() ? known->second : fmt::format("p{} {}", fact.pid, fact.host);
  } else {
    key = fmt::format("f{} {}", file(), fact.host);
  }
  if (writers.size() >= kMaxWriters && !writers.contains(key)) return nullptr;
  const auto [entry, added] = writers.try_emplace(key);
  Writer& writer = entry->second;
  writer.file = file();
  has_tasks |= fact.of_agent;
  writer.named |= rank >= 0;
  if (rank >= 0) writer.rank = rank;
  if (added) writer.by_group = rank >= 0 && fact.rank < 0;
  writer.by_group &= fact.rank < 0;
  writer.weak &= rank < 0 || fact.weak;
  writer.prefixed |= fact.rank >= 0 && fact.says == Says::kWaits;
  if (fact.local_rank >= 0) writer.local_rank = fact.local_rank;
  if (!fact.host.empty()) writer.host = fact.host;
  if (fact.device >= 0) writer.device = fact.device;
  if (fact.pid > 0) {
    writer.pid = fact.pid;
    pids[{fact.pid, fact.host}] = key;
  }
  return &writer;
}

Writer* LogJob::WriterOfRank(int32_t rank) {
  LogFact fact;
  fact.rank = rank;
  return rank < 0 ? nullptr : WriterOf(fact);
}

// A number without a host is that of the only process that has it.
Writer* LogJob::WriterOfPid(int64_t pid, const std::string& host) {
  Writer* found = nullptr;
  for (auto it = pids.lower_bound({pid, ""}); it != pids.end() && it->first.first == pid; ++it) {
    if (!host.empty() && !it->first.second.empty() && it->first.second != host) continue;
    const auto writer = writers.find(it->second);
    if (writer == writers.end() || &writer->second == found) continue;
    if (found != nullptr) return nullptr;
    found = &writer->second;
  }
  return found;
}

Moment LogJob::Now(const LogFact& fact) {
  files.back().last_stated_line = fact.line;
  return {file(), fact.line, order++, fact.time_ns};
}

void LogJob::NoteWait(const LogFact& fact) {
  const Moment now = Now(fact);
  if (first_wait.order < 0 || now.IsBefore(first_wait)) first_wait = now;
}

Quote LogJob::QuoteOf(const LogFact& fact, const std::string& group, int64_t number) const {
  return {file(), files.back().lines_before.value_or(0) + fact.line, fact.text, group,
          static_cast<uint64_t>(std::max<int64_t>(number, 0))};
}

void LogJob::AddQuote(Writer* writer, const LogFact& fact, const std::string& group,
                      int64_t number) const {
  if (writer->quotes.size() >= kMaxQuotes) return;
  for (const Quote& quote : writer->quotes) {
    if (quote.group == group && number > 0 && quote.number == static_cast<uint64_t>(number)) return;
  }
  writer->quotes.push_back(QuoteOf(fact, group, number));
}

LogLine LogJob::LineOf(const Quote& quote) const {
  return {.sequence = quote.number,
          .file = files[quote.file].path,
          .line = quote.line,
          .text = quote.text};
}

void LogJob::AddStatement(const Quote& quote, std::string statement) {
  for (const LogLine& line : statements) {
    if (line.statement == statement) return;
  }
  if (statements.size() >= kMaxStatements) return;
  statements.push_back(LineOf(quote));
  statements.back().statement = std::move(statement);
}

// What was before is of another job: its numbers begin again.
void LogJob::Restart() {
  writers.clear();
  pids.clear();
  statements.clear();
  store.reset();
  ras.clear();
  ras_json.clear();
  failed_nodes.clear();
  worker = mpi_error = mpi_abort = {};
  in_worker = false;
  ran_out_of_memory = 0;
  listed_rank = -1;
  listed_exits.clear();
  first_wait = ended = tests_passed = {};
  first_after_ended_ns = last_end_ns = kNoTime;
  lines_after_ended = lines_after_end = 0;
  ended_by_limit = false;
  calls_kept = 0;
}

}  // namespace rollcall::logs
