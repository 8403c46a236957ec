// SPDX-License-Identifier: Apache-2.0
#include "collector/agent/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "collector/agent/ring_copy.h"
#include "collector/base/clock.h"
#include "collector/base/memory_rings.h"
#include "collector/live/cgroup_memory.h"
#include "proto/run_directory.h"

namespace rollcall::agent {
namespace {

// A file without a valid header may still be in preparation. After this time the file is considered
// foreign.
constexpr int64_t kMakingNs = 5'000'000'000;
// Sampling period for such files. It is short because a process must be watched before it can die:
// after its death, only its parent knows how it ended.
constexpr int64_t kMakingPeriodNs = 5'000'000;
// How long a parent on a busy machine may take to wait for its ended child.
constexpr int64_t kReapNs = 1'000'000'000;
// The sender that asks rollcall to stop may have asked the launcher and the ranks this long before.
constexpr int64_t kSameMomentNs = 100'000'000;
// Limit per pass: reading one ring takes about a millisecond.
constexpr int kMaxReleasesPerPass = 8;
// Limit per pass for copies of rings, which may have to wait for a disk.
constexpr int kCopiesAtOnce = 2;

// Whether two descriptors are free: for a pidfd, and for a file of /proc.
bool HasFreeDescriptors(int any) {
  const UniqueFd first(fcntl(any, F_DUPFD_CLOEXEC, 0));
  return first && UniqueFd(fcntl(any, F_DUPFD_CLOEXEC, 0));
}

// Includes the namespace: ranks in containers may have equal pids and start in one clock tick.
bool IsOfSameProcess(const RingSample& a, const RingSample& b) {
  return a.pid == b.pid && a.process_start_ticks == b.process_start_ticks &&
         a.pid_namespace == b.pid_namespace;
}

void Drain(int fd) {
  char buffer[4096];
  while (read(fd, buffer, sizeof(buffer)) > 0) {
  }
}

uint64_t NewId() {
  uint64_t id = 0;
  // With id 0 (no randomness available yet) the agent is identified by host and run directory.
  if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != sizeof(id)) return 0;
  return id;
}

}  // namespace

Agent::Agent(AgentOptions options, Transport* transport)
    : options_(std::move(options)),
      transport_(transport),
      realtime_offset_ns_(Now(CLOCK_REALTIME) - Now(CLOCK_MONOTONIC)),
      inotify_fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      journal_(options_.run_directory),
      request_worker_(options_.run_directory,
                      [this](uint64_t connection, rpc::AgentMessage message) {
                        {
                          const std::lock_guard lock(answers_mutex_);
                          answers_.emplace_back(connection, std::move(message));
                        }
                        Wake();
                      }),
      id_(NewId()) {
  const std::string rings = options_.run_directory + "/" + kRingsDirectory;
  if (inotify_fd_) {
    inotify_add_watch(inotify_fd_.get(), rings.c_str(), IN_CREATE | IN_MOVED_TO);
    // The journal may not exist yet, so its directory is watched.
    inotify_add_watch(inotify_fd_.get(), options_.run_directory.c_str(), IN_MODIFY | IN_CREATE);
  } else {
    problems_.push_back(
        "no inotify instance is free (fs.inotify.max_user_instances): the end of a process that is "
        "shorter than the time between two samples is not seen");
  }
  const Result<> listens = socket_.Listen(options_.run_directory);
  if (!listens) problems_.push_back(listens.error());
}

void Agent::Wait(int timeout_ms) {
  std::vector<pollfd> entries;
  const auto add = [&entries](int fd) {
    if (fd >= 0) entries.push_back({fd, POLLIN, 0});
  };
  add(wake_.get());
  add(inotify_fd_.get());
  if (transport_ != nullptr) add(transport_->wake_fd());
  for (const int fd : socket_.fds()) add(fd);
  for (const auto& process : processes_) {
    if (!process->ended) add(process->watch.fd());
  }
  int64_t until_sample_ns = std::max<int64_t>(0, next_sample_ns_ - Now(CLOCK_MONOTONIC));
  const bool making =
      std::ranges::any_of(processes_, [](const auto& process) { return IsBeingMade(*process); });
  if (making) until_sample_ns = std::min(until_sample_ns, kMakingPeriodNs);
  const int64_t until_sample_ms = (until_sample_ns + 999'999) / 1'000'000;
  const int timeout = static_cast<int>(std::min<int64_t>(timeout_ms, until_sample_ms));
  const bool copies =
      snapshots_.empty() &&
      std::ranges::any_of(processes_, [](const auto& process) { return process->copy_due; });
  if (poll(entries.data(), entries.size(), rescan_ || copies ? 0 : timeout) <= 0) return;
  wake_.Clear();
  if (transport_ != nullptr && transport_->wake_fd() >= 0) Drain(transport_->wake_fd());
  if (inotify_fd_) {
    for (const pollfd& entry : entries) {
      if (entry.fd == inotify_fd_.get() && entry.revents != 0) {
        Drain(inotify_fd_.get());
        rescan_ = true;
      }
    }
  }
}

void Agent::RunOnce(int timeout_ms) {
  Wait(timeout_ms);
  for (ReceivedRing& ring : socket_.Accept()) {
    if (ring.fd) {
      AddRing(ring.name, std::move(ring.fd), ring.pid, /*in_directory=*/false);
    } else {
      ++refusals_[ring.name];
    }
  }
  const bool sample = Now(CLOCK_MONOTONIC) >= next_sample_ns_;
  if (rescan_ || sample) ScanRings();
  SampleRingsBeingMade();
  SendAnswers();
  NoticeEnds(/*may_wait=*/true);
  if (sample) {
    next_sample_ns_ = Now(CLOCK_MONOTONIC) + options_.sample_period_ns;
    SampleAll();
    ReleaseEnded();
  }
  if (transport_ != nullptr) SendUpdates();
  if (snapshots_.empty()) PumpCopies();  // the diagnosis waits for snapshots
}

size_t Agent::alive() const {
  return static_cast<size_t>(std::ranges::count_if(
      processes_, [](const auto& p) { return p->readable && !p->ended && !p->hidden; }));
}

void Agent::ScanRings() {
  rescan_ = false;
  if (!std::exchange(adopted_, true)) AdoptMemoryRings();  // the directory may have older copies
  const std::string directory = options_.run_directory + "/" + kRingsDirectory;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kRingSuffix) || names_.contains(name)) continue;
    UniqueFd fd = OpenRing(name);
    if (fd) AddRing(name, std::move(fd), 0, /*in_directory=*/true);
  }
}

void Agent::AdoptMemoryRings() {
  if (!SawProcesses(options_.run_directory)) return;  // there was no earlier agent
  const std::string directory = options_.run_directory + "/" + kRingsDirectory;
  for (MemoryRing& ring : FindMemoryRings(geteuid(), proc_).rings) {
    const std::filesystem::path path = ring.path;
    if (path.parent_path() != directory) continue;
    if (ring.fd) {
      AddRing(path.filename().string(), std::move(ring.fd), 0, /*in_directory=*/false);
    } else {
      problems_.push_back(fmt::format("the ring of process {} cannot be opened in its memory: {}",
                                      ring.pid, ring.error));
    }
  }
}

void Agent::AddRing(const std::string& name, UniqueFd fd, pid_t peer_pid, bool in_directory) {
  if (!names_.insert(name).second) return;
  auto process = std::make_unique<Process>();
  process->name = name;
  process->sampler = std::make_unique<RingSampler>(std::move(fd));
  process->in_directory = in_directory;
  process->peer_pid = peer_pid;
  process->moved_ns = Now(CLOCK_MONOTONIC);
  SampleOne(process.get());
  processes_.push_back(std::move(process));
}

void Agent::SampleOne(Process* process) {
  if (process->gave_up) return;
  const int64_t now = Now(CLOCK_MONOTONIC);
  RingSample sample;
  if (!process->sampler->Sample(&sample)) {
    if (!process->readable && now - process->moved_ns > kMakingNs) {
      process->gave_up = true;
      problems_.push_back(fmt::format("{}: {}", process->name, process->sampler->problem()));
    }
    return;
  }
  const RingSample& last = process->sample;
  if (!process->readable || sample.activity != last.activity ||
      sample.exit_mark != last.exit_mark) {
    process->moved_ns = now;
    process->quiet = false;
    process->polling = false;
    process->threads.Reset();
  } else if (now - process->moved_ns >= options_.sample_period_ns) {
    process->quiet = true;
    // A process whose device makes no progress waits, even if its host code is active: it may be
    // polling for a result of the device.
    process->threads.Sample(proc_, process->pid, sample, now);
    process->polling = sample.polls != last.polls || sample.device_works ||
                       !process->threads.TightPolls(realtime_offset_ns_).empty();
  }
  process->readable = true;
  process->sampled_ns = now;
  process->sample = std::move(sample);
  if (!process->watch_tried) WatchProcess(process);
}

void Agent::WatchProcess(Process* process) {
  const RingSample& sample = process->sample;
  ProcessTable::Result found{ProcessTable::Life::kFound, process->peer_pid};
  if (process->peer_pid == 0) {
    found = ProcessTable(proc_, options_.pid_namespace)
                .Find({sample.pid, sample.process_start_ticks, sample.pid_namespace});
  }
  process->pid = found.pid;
  const bool watched =
      process->pid != 0 && process->watch.Open(process->pid, sample.process_start_ticks);
  // A lack of descriptors must not make a process look ended: the next sample retries.
  if (!watched && !HasFreeDescriptors(wake_.get())) return;
  process->watch_tried = true;
  Journal(journal::ProcessSeen{
      .process = NameOf(*process), .ring_name = process->name, .at_ns = Now(CLOCK_REALTIME)});
  // exec() leaves the previous program's ring. That program has ended, although its pid lives.
  for (const auto& other : processes_) {
    if (other.get() == process || !other->readable || !IsOfSameProcess(other->sample, sample)) {
      continue;
    }
    other->ended = true;
    other->end_known = true;
  }
  if (watched) {
    const ProcSource proc;
    process->oom_counter = OomCounterPath(proc, process->pid);
    process->oom_kills = ReadOomKills(proc, process->oom_counter).value_or(0);
    return;
  }
  if (found.life == ProcessTable::Life::kHidden) {
    if (!std::exchange(hidden_sent_, true)) {
      problems_.push_back(
          "ranks are in a pid namespace that this agent cannot see: their ends and stacks are "
          "unknown; start the job, or the node's `rollcall agent`, outside of their "
          "containers");
    }
    process->hidden = true;
    return;
  }
  MarkEnded(process);  // it ended before it was seen
}

void Agent::MarkEnded(Process* process) {
  process->ended = true;
  process->ended_ns = Now(CLOCK_MONOTONIC);
  process->ended_realtime_ns = Now(CLOCK_REALTIME);
}

bool Agent::IsBeingMade(const Process& process) { return !process.readable && !process.gave_up; }

void Agent::SampleRingsBeingMade() {
  for (const auto& process : processes_) {
    if (IsBeingMade(*process)) SampleOne(process.get());
  }
}

void Agent::SampleAll() {
  for (const auto& process : processes_) {
    if (!process->ended) SampleOne(process.get());
  }
}

void Agent::NoticeEnds(bool may_wait) {
  for (const auto& process : processes_) {
    if (!process->ended && process->watch.HasEnded()) {
      MarkEnded(process.get());
      SampleOne(process.get());  // its final state
      process->quiet = true;
      process->polling = false;
    }
    if (process->ended && !process->end_known) ResolveEnd(process.get(), may_wait);
    if (process->ended && process->journaled_end) ReclassifyInterruptedEnd(process.get());
  }
}

// The parent reports how its child ended, but does not know of an interruption.
void Agent::ReclassifyInterruptedEnd(Process* process) {
  ProcessEnd end = *process->journaled_end;
  if (end.by_launcher || end.oom_killed || FinalizedCleanly(*process) ||
      !EndedInterrupted(*process))
    return;
  end.by_launcher = true;
  end.by_rollcall = by_rollcall_;
  process->journaled_end = end;
  Journal(journal::ProcessEnded{.process = NameOf(*process), .end = end});
}

bool Agent::EndedInterrupted(const Process& process) const {
  return interrupted_ns_.has_value() && process.ended_ns >= *interrupted_ns_;
}

// The lines that an answer has appended to the journal are sent before the answer: the collector
// uses them when it has the answer.
void Agent::SendAnswers() {
  std::vector<std::pair<uint64_t, rpc::AgentMessage>> answers;
  {
    const std::lock_guard lock(answers_mutex_);
    answers.swap(answers_);
  }
  ReadJournalLines();
  if (transport_ == nullptr) return;
  for (auto& [connection, message] : answers) transport_->Send(connection, std::move(message));
}

// The journal's lines come from `rollcall exec`, from this agent, and from an earlier agent in the
// same directory. All of them are trusted equally.
void Agent::ReadJournalLines() {
  rpc::AgentMessage message;
  for (const std::string& line : journal_.ReadNew()) {
    const Result<JournalEvent> event = ParseJournalLine(line);
    if (event && std::holds_alternative<journal::ProcessEnded>(*event)) {
      const auto& ended = std::get<journal::ProcessEnded>(*event);
      for (const auto& process : processes_) {
        const journal::ProcessName name = NameOf(*process);
        const bool same = ended.process.ring_id != 0
                              ? ended.process.ring_id == name.ring_id
                              : ended.process.host == name.host && ended.process.pid == name.pid;
        if (!process->readable || !same) continue;
        process->end_known = true;
        const bool has_status = ended.end.how == ProcessEnd::How::kExited ||
                                ended.end.how == ProcessEnd::How::kSignaled;
        if (has_status) process->journaled_end = ended.end;
        if (process->hidden && ended.process.ring_id != 0) MarkEnded(process.get());
      }
    }
    message.mutable_journal()->mutable_lines()->append(line + "\n");
  }
  if (transport_ != nullptr && connection_ != 0 && message.has_journal()) {
    transport_->Send(connection_, std::move(message));
  }
}

bool Agent::FinalizedCleanly(const Process& process) const {
  return process.sample.phase >= ring::Phase::kFinalized &&
         process.sample.exit_mark != ring::ExitMark::kMpiAbort;
}

void Agent::ReleaseEnded() {
  const int64_t since_ns = Now(CLOCK_MONOTONIC) - options_.release_after_ns;
  int left = kMaxReleasesPerPass;
  size_t open_ended = 0;
  for (auto entry = processes_.rbegin(); entry != processes_.rend(); ++entry) {
    Process* process = entry->get();
    const bool over = process->readable && process->ended && process->end_known;
    if (!over || process->ended_ns > since_ns) continue;
    if (!process->released && left-- > 0) ReleaseProcess(process);
    if (process->sampler->fd() < 0 || ++open_ended <= options_.max_open_ended) continue;
    // OpenRing() opens it again by name on request.
    if (process->released && process->in_directory && FinalizedCleanly(*process))
      process->sampler->SetFile({});
  }
}

// If the end was not observed, only the process's own exit mark shows that it writes no more.
void Agent::ReleaseProcess(Process* process) {
  process->released = true;
  const bool seen = process->watch.open() && process->watch.HasEnded();
  if (!seen && process->sample.exit_mark == ring::ExitMark::kNone) return;
  process->watch = {};
  FreeUnusedPages(process->sampler->fd());
  process->copy_due = !process->in_directory;
}

UniqueFd Agent::OpenRing(const std::string& name) const {
  const std::string path = options_.run_directory + "/" + kRingsDirectory + "/" + name;
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

bool Agent::EarlierAbnormalEnd(const Process& process) const {
  return interrupted_ns_.has_value() || std::ranges::any_of(processes_, [&](const auto& other) {
           return other.get() != &process && other->ended &&
                  other->ended_ns <= process.ended_ns - options_.end_order_blur_ns &&
                  !FinalizedCleanly(*other);
         });
}

// In order of reliability: the parent's report (through the journal), the kernel's, the process's
// own exit mark.
void Agent::ResolveEnd(Process* process, bool may_wait) {
  const RingSample& sample = process->sample;
  ProcessEnd end;
  end.at_ns = process->ended_realtime_ns;
  int64_t timeout_ns = options_.parent_report_timeout_ns;
  if (process->pid > 0 && IsZombie(process->pid)) timeout_ns = std::max(timeout_ns, kReapNs);
  const bool timed_out = Now(CLOCK_MONOTONIC) - process->ended_ns >= timeout_ns;
  std::optional<int> status = process->watch.WaitStatus();
  // If rollcall ended the job, it is clear which processes the launcher killed, and a launcher that
  // ends itself reaps none of them. In other cases all processes that were killed at once would
  // look alike.
  if (!status && process->pid > 0 && by_rollcall_) {
    status = ZombieStatus(process->pid, sample.process_start_ticks);
  }
  if (status) {
    end.how = WIFSIGNALED(*status) ? ProcessEnd::How::kSignaled : ProcessEnd::How::kExited;
    end.status = WIFSIGNALED(*status) ? WTERMSIG(*status) : WEXITSTATUS(*status);
  } else if (may_wait && !timed_out) {
    return;
  } else if (sample.exit_mark == ring::ExitMark::kExit ||
             sample.exit_mark == ring::ExitMark::kQuickExit) {
    end.how = ProcessEnd::How::kExited;
    end.status = sample.exit_status & 0xff;
  } else {
    end.how = ProcessEnd::How::kVanished;
  }
  const ProcSource proc;
  const uint64_t oom_kills = ReadOomKills(proc, process->oom_counter).value_or(0);
  const bool killed = end.how == ProcessEnd::How::kVanished ||
                      (end.how == ProcessEnd::How::kSignaled && end.status == SIGKILL);
  end.oom_killed = killed && oom_kills > process->oom_kills;
  // After the launcher was asked to stop, a rank may also exit with a code or crash. Open MPI's
  // ranks do so when they lose their daemon (4.1.0: by SIGSEGV), other ranks do so in a signal
  // handler of their own.
  const bool launcher_like =
      end.how == ProcessEnd::How::kVanished ||
      (end.how == ProcessEnd::How::kSignaled && (end.status == SIGTERM || end.status == SIGKILL)) ||
      EndedInterrupted(*process);
  end.by_launcher = launcher_like && !end.oom_killed && EarlierAbnormalEnd(*process);
  end.by_rollcall = end.by_launcher && by_rollcall_;
  process->end_known = true;
  Journal(journal::ProcessEnded{.process = NameOf(*process), .end = end});
  if (!FinalizedCleanly(*process))
    RequestCopies(/*min_age_ns=*/0);  // the others may be killed with it
}

journal::ProcessName Agent::NameOf(const Process& process) {
  const RingSample& sample = process.sample;
  return {sample.id, sample.host, sample.pid, sample.world_rank};
}

void Agent::Journal(const JournalEvent& event) {
  Append(event);
  ReadJournalLines();  // sends it to the collector like all other lines
}

void Agent::Append(const JournalEvent& event) {
  if (!journal_writer_) {
    journal_writer_ = JournalWriter::Open(options_.run_directory + "/" + kJournalFile);
  }
  if (journal_writer_ && journal_writer_->Append(event)) return;
  if (transport_ == nullptr || connection_ == 0) return;
  rpc::AgentMessage message;
  message.mutable_journal()->set_lines(FormatJournalLine(event));
  transport_->Send(connection_, std::move(message));
}

void Agent::NoteInterrupted(bool by_rollcall, int64_t at_ns) {
  const int64_t since_ns = by_rollcall ? at_ns : at_ns - kSameMomentNs;
  interrupted_ns_ = std::min(interrupted_ns_.value_or(since_ns), since_ns);
  by_rollcall_ = by_rollcall_ || by_rollcall;
  RequestCopies(/*min_age_ns=*/0);  // the sender may end this agent, too
}

bool Agent::EndsAreKnown() const {
  return std::ranges::all_of(processes_, [](const auto& process) {
    // The parent's report may arrive before this agent has seen the end. The ring must then be
    // sampled once more.
    return !process->readable || process->hidden || (process->ended && process->end_known);
  });
}

void Agent::SignalAll(int signal) {
  for (const auto& process : processes_) {
    if (!process->ended) process->watch.Signal(signal);
  }
}

bool Agent::CopyToDirectory(Process* process) {
  process->copy_due = false;
  const uint64_t activity = process->sample.activity;  // the copy contains at least this
  const std::string directory = options_.run_directory + "/" + kRingsDirectory;
  const std::string copy = process->name + kRingCopySuffix;
  const std::string& name = process->ended ? process->name : copy;
  if (!CopyRing(process->sampler->fd(), directory, name)) return false;
  if (process->ended) {
    unlink((directory + "/" + copy).c_str());
    process->in_directory = true;
  }
  process->copied_activity = activity;
  process->copied_ns = Now(CLOCK_MONOTONIC);
  return true;
}

size_t Agent::PreserveRings() {
  size_t failed = 0;
  for (const auto& process : processes_) {
    if (!process->readable || process->sampler->fd() < 0) continue;
    if (process->in_directory && OpenRing(process->name)) continue;
    if (!CopyToDirectory(process.get())) ++failed;
  }
  return failed;
}

void Agent::RequestCopies(int64_t min_age_ns) {
  const int64_t before_ns = Now(CLOCK_MONOTONIC) - min_age_ns;
  for (const auto& process : processes_) {
    if (!process->readable || process->in_directory) continue;
    const bool moved = process->copied_activity != process->sample.activity;
    if (process->copied_ns == 0 || (moved && process->copied_ns <= before_ns)) {
      process->copy_due = true;
    }
  }
}

void Agent::PumpCopies() {
  int left = kCopiesAtOnce;
  for (const auto& process : processes_) {
    if (!process->copy_due) continue;
    if (left-- == 0) return;
    process->copy_due = false;
    // The job may need the disk, so half of the free space is left to it.
    struct stat ring;
    struct statvfs disk;
    const bool fits = fstat(process->sampler->fd(), &ring) == 0 &&
                      statvfs(options_.run_directory.c_str(), &disk) == 0 &&
                      static_cast<uint64_t>(ring.st_size) <= disk.f_bavail * disk.f_frsize / 2;
    if ((!fits || !CopyToDirectory(process.get())) && !std::exchange(copies_failed_, true)) {
      problems_.push_back(
          "no room for copies of rings in memory: they are lost if the job and this agent are "
          "killed");
    }
  }
}

Agent::Process* Agent::FindById(uint64_t id) {
  for (const auto& process : processes_) {
    if (process->readable && process->sample.id == id) return process.get();
  }
  return nullptr;
}

}  // namespace rollcall::agent
