// SPDX-License-Identifier: Apache-2.0
#include "collector/import/trace_assembly.h"

#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/base/file.h"
#include "collector/import/append_trace.h"
#include "collector/import/logs/log_file.h"
#include "collector/import/node_clock.h"

namespace rollcall {
namespace {

// The time between the two samples of processes that are alive.
constexpr std::chrono::milliseconds kSettle{100};

std::string WithoutSlash(const std::string& directory) {
  return directory.substr(0, directory.find_last_not_of('/') + 1);
}

}  // namespace

TraceAssembly::TraceAssembly(const flight_recorder::RankPattern& pattern, Machine* machine,
                             KeptSources* sources)
    : machine_(*machine), sources_(*sources), host_(machine->Hostname()), dumps_(pattern) {}

void TraceAssembly::AddJournal(const InputFile& file, Journal journal) {
  if (const auto clock = CorrectTimes(&journal)) clocks_[WithoutSlash(file.directory)] = *clock;
  journals_.push_back(std::move(journal));
  journal_files_.push_back(file);
}

std::optional<NodeClock> TraceAssembly::ClockOf(const InputFile& ring) const {
  const std::string directory = WithoutSlash(ring.directory);
  auto found = clocks_.find(directory);
  if (found == clocks_.end()) {
    found = clocks_.find(directory.substr(0, directory.rfind('/')));
  }
  return found == clocks_.end() ? std::nullopt : std::optional(found->second);
}

void TraceAssembly::AddRing(const InputFile& file, RingSnapshot ring) {
  const bool is_copy = IsRingCopy(file.name);
  ring_names_.insert(WithoutCopySuffix(file.name));
  const std::optional<NodeClock> clock = ClockOf(file);
  if (file.in_bundle) {
    // Observations on this machine do not apply to the ring's process. The bundle contains the
    // observations of the machine on which the process ran.
    const bool known = ring.usable && builder_.FindProcess(RingId(ring.header)).has_value();
    known_members_ += known ? 1 : 0;
    if (known) return;
    if (clock) CorrectTimes(*clock, &ring);
    builder_.Add(ring);
    return;
  }
  const bool on_this_host = ring.usable && !host_.empty() && host_ == ring.header.host;
  const Machine::Life life = on_this_host ? machine_.LifeOf(ring.header) : Machine::Life::kUnknown;
  const bool alive = life == Machine::Life::kAlive;
  if (alive && !is_copy) ring.taken_at_ns = machine_.NowNs();
  if (clock) CorrectTimes(*clock, &ring);
  const std::optional<uint32_t> index = builder_.Add(ring);
  if (index && is_copy) copies_.push_back(*index);
  any_alive_ |= alive;
  if (!index || life == Machine::Life::kUnknown) return;
  ProcessEnd& end = builder_.trace()->processes[*index].end;
  end.how = alive ? ProcessEnd::How::kAlive : ProcessEnd::How::kVanished;
  if (alive && !is_copy) live_.push_back({file.PathToOpen(), *index, RingId(ring.header)});
  if (alive && is_copy) {
    AddProblem({ProblemCode::kUnreadable,
                "an older copy: what the process has done since is not known", file.path});
  }
}

void TraceAssembly::ReadBundle(const std::string& path) {
  const auto opened = OpenRegularFile(path, kMaxInputBytes);
  if (!opened) return AddProblem({ProblemCode::kUnreadable, opened.error(), path});
  FileSource source(opened->fd.get());
  known_members_ = 0;
  bundle::ReadBundle(
      source, path, [&](const bundle::Member& member) { AddMember(path, member); },
      [this](Problem problem) { AddProblem(std::move(problem)); });
  if (known_members_ == 0) return;
  AddProblem({ProblemCode::kDuplicate,
              fmt::format("{} of its processes are duplicates: left out", known_members_), path});
}

void TraceAssembly::AddMember(const std::string& bundle, const bundle::Member& member) {
  const size_t name_at = member.name.rfind('/') + 1;  // npos + 1 is 0
  const InputFile file{.path = bundle + ": " + member.name,
                       .directory = bundle + ": " + member.name.substr(0, name_at),
                       .name = member.name.substr(name_at),
                       .in_bundle = true,
                       .modified_ns = member.modified_ns};
  MemorySource bytes(member.bytes);
  // Other members are of a newer version, or for users to read.
  if (const AddContent add = ReadContent(file, bytes).add) add(this);
}

// `from`: what logs::ReadLog() reads.
template <typename Source>
void TraceAssembly::ReadLogOf(const InputFile& file, Source&& from) {
  if (logs_ == nullptr) {
    patterns_ = std::make_unique<logs::LogPatterns>();
    logs_ = std::make_unique<logs::LogTraceBuilder>();
  }
  logs_asked_for_ |= file.asked_for;
  logs_->BeginFile(file.path, WithoutSlash(file.directory), file.name);
  std::optional<Problem> problem =
      logs::ReadLog(from, patterns_.get(), [this](const logs::LogFact& fact) { logs_->Add(fact); });
  if (!problem) return;
  problem->source = file.path;
  AddProblem(std::move(*problem));
}

void TraceAssembly::AddLog(const InputFile& file) {
  const auto opened = OpenRegularFile(file.PathToOpen(), kMaxInputBytes);
  if (!opened) return AddProblem({ProblemCode::kUnreadable, opened.error(), file.path});
  FileSource source(opened->fd.get());
  ReadLogOf(file, source);
}

void TraceAssembly::AddLog(int fd, const std::string& name) {
  ReadLogOf({.path = name, .directory = "", .name = name, .asked_for = true}, fd);
}

void TraceAssembly::AddStacks(StacksText stacks) {
  stacks_bytes_ += stacks.text.size();
  if (stacks_bytes_ > kMaxStacksTextBytes) {
    return AddProblem(
        {ProblemCode::kOverLimit, "more stacks than are read: left out", stacks.source});
  }
  stacks_.push_back(std::move(stacks));
}

// The second sample. It begins after the first sample of all processes has ended.
void TraceAssembly::SampleLiveProcesses() {
  if (live_.empty()) return;
  machine_.Wait(kSettle);
  for (const Live& live : live_) {
    const auto opened = OpenRegularFile(live.path, kMaxInputBytes);
    if (!opened) continue;
    FileSource source(opened->fd.get());
    const RingSnapshot now = ReadRing(source, live.path, ImageDepth::kState);
    Process& process = builder_.trace()->processes[live.process];
    process.quiet = now.usable && !now.moved && RingId(now.header) == live.ring_id &&
                    now.activity == builder_.Activity(live.process) &&
                    machine_.LifeOf(now.header) == Machine::Life::kAlive;
    std::unordered_map<uint32_t, uint64_t> polls;
    for (const RingThread& thread : now.threads) polls[thread.state.tid] = thread.state.polls;
    for (Thread& thread : process.threads) {
      const auto later = polls.find(thread.tid);
      if (later != polls.end() && later->second > thread.polls) thread.polling = true;
    }
  }
}

// Journals in bundles are skipped: a bundle itself names the nodes of which it has no rings.
void TraceAssembly::ReportMissingRings(const InputFile& file, const Journal& journal) {
  if (file.in_bundle || file.asked_for) return;
  std::set<std::string> missing;
  for (const JournalEvent& event : journal.events) {
    const auto* seen = std::get_if<journal::ProcessSeen>(&event);
    if (seen != nullptr && !ring_names_.contains(seen->ring_name)) missing.insert(seen->ring_name);
  }
  if (missing.empty()) return;
  std::string text = fmt::format(
      "{} of the processes that it names left no trace: their memory ended with them, or the file "
      "was removed",
      missing.size());
  if (denied_ > 0) {
    text += fmt::format("; {} processes of this user do not let their mappings be read", denied_);
  }
  AddProblem({ProblemCode::kMissing, text, file.path});
}

Trace TraceAssembly::Finish() {
  for (const std::string& path : bundles_) ReadBundle(path);
  for (size_t i = 0; i < journals_.size(); ++i) ReportMissingRings(journal_files_[i], journals_[i]);
  SampleLiveProcesses();
  std::vector<const Journal*> journals;
  journals.reserve(journals_.size());
  for (const Journal& journal : journals_) journals.push_back(&journal);
  ApplyJournals(journals, &builder_);
  // The journal shows that nothing moved when a copy was made. Live processes may have moved since.
  if (any_alive_) {
    for (const uint32_t copy : copies_) builder_.trace()->processes[copy].quiet = false;
  }
  Trace trace = builder_.Finish();
  AppendTrace(dumps_.Load(), &trace);
  if (logs_ != nullptr && trace.processes.empty()) {
    AppendTrace(logs_->Finish(), &trace);
  } else if (logs_asked_for_) {
    logs_->AddEnds(&trace);
  }
  return trace;
}

}  // namespace rollcall
