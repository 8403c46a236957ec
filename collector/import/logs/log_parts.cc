// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_parts.h"

#include <algorithm>
#include <utility>

namespace rollcall::logs {

LogParts::LogParts(LogJob* job, Ranks* ranks, int64_t size) : job_(*job), trace_(job->trace) {
  World& world = trace_.worlds.emplace_back();
  world.job_key = 1;
  world.size = static_cast<int32_t>(size);
  world.processes.resize(static_cast<size_t>(std::max<int64_t>(size, ranks->rbegin()->first + 1)),
                         kNoIndex);
  for (auto& [rank, writer] : *ranks) AddProcess(rank, &writer);
}

uint32_t LogParts::AddProcess(int32_t rank, Writer* writer) {
  const auto index = static_cast<uint32_t>(trace_.processes.size());
  trace_.worlds[0].processes[static_cast<size_t>(rank)] = index;
  Process& process = trace_.processes.emplace_back();
  process.world = 0;
  process.rank = rank;
  process.device = !job_.has_mpi;
  process.without_mpi = !job_.has_mpi;
  process.phase = ring::Phase::kRunning;
  process.taken_at_ns = job_.last_ns;
  process.threads.emplace_back().main = true;
  writers_.push_back(writer);
  if (writer == nullptr) return index;
  process.host = writer->host;
  process.pid = writer->pid > 0 ? static_cast<uint32_t>(writer->pid) : 0;
  process.end = writer->end;
  process.exit_mark = writer->exit_mark;
  process.exit_status = writer->exit_status;
  process.ended_by = writer->ended_by;
  process.source = job_.files[writer->file].path;
  if (writer->exception) {
    process.exception = writer->exception;
    process.exception->call_path = PathOf(writer->exception_frames, &job_.interner);
    if (!HasEnded(process.end)) {
      process.end.how = ProcessEnd::How::kVanished;
      process.end.order = static_cast<uint32_t>(writer->raised.order);
    }
  }
  if (writer->ended_by && !HasEnded(process.end)) process.end.how = ProcessEnd::How::kVanished;
  return index;
}

uint32_t LogParts::AddCommunicator(const std::string& name, std::vector<int32_t> ranks) {
  const auto index = static_cast<uint32_t>(trace_.communicators.size());
  Communicator& comm = trace_.communicators.emplace_back();
  comm.key = index + 1;
  comm.world = 0;
  comm.name = name;
  comm.ranks = std::move(ranks);
  by_name_[name] = index;
  return index;
}

Member& LogParts::AddMember(uint32_t process, uint32_t communicator, int32_t rank) {
  Communicator& comm = trace_.communicators[communicator];
  comm.members.push_back(static_cast<uint32_t>(trace_.members.size()));
  Member& member = trace_.members.emplace_back();
  member.process = process;
  member.communicator = communicator;
  member.uid = static_cast<uint32_t>(comm.members.size());
  member.rank = rank;
  return member;
}

void LogParts::AddOpen(uint32_t process, const Event& event) {
  OpenRequest request;
  request.uid = ++requests_;
  request.starts = 1;
  request.event = event;
  std::vector<OpenRequest>& open = trace_.processes[process].open_requests;
  const auto later = [](const OpenRequest& a, const OpenRequest& b) {
    return a.event.start_ns < b.event.start_ns;
  };
  open.insert(std::ranges::upper_bound(open, request, later), request);
}

uint32_t PathOf(const std::vector<LogFrame>& frames, Interner* interner) {
  CallPath path;
  path.end = ring::StackEnd::kComplete;
  for (auto it = frames.rbegin(); it != frames.rend(); ++it) {
    SourceFrame frame;
    frame.function = it->function;
    frame.file = it->file;
    frame.line = it->line;
    frame.language = Language::kPython;
    frame.detail = FrameDetail::kSourceLine;
    path.codes.push_back(interner->PythonCode(frame, 0));
  }
  return path.codes.empty() ? kNoIndex : interner->CallPath(path);
}

void LogParts::AddStatement(uint32_t process, std::string statement) {
  LogLine line = job_.LineOf(writers_[process]->quotes.front());
  line.sequence = 0;
  line.statement = std::move(statement);
  trace_.log_lines.insert(trace_.log_lines.begin(), std::move(line));
}

void LogParts::AddLines() {
  for (uint32_t p = 0; p < writers_.size(); ++p) {
    if (writers_[p] == nullptr) continue;
    for (const Quote& quote : writers_[p]->quotes) quotes_.emplace_back(p, quote);
  }
  for (const auto& [process, quote] : quotes_) {
    const auto comm = by_name_.find(quote.group);
    LogLine& line = trace_.log_lines.emplace_back(job_.LineOf(quote));
    line.process = process;
    if (comm != by_name_.end()) line.communicator = comm->second;
  }
}

}  // namespace rollcall::logs
