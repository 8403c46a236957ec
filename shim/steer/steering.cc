// SPDX-License-Identifier: Apache-2.0
#include "shim/steer/steering.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "proto/environment.h"
#include "shim/platform.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

using steer::State;

static_assert(steer::kMaxFirst <= 64);  // SteeredCall::chosen_

// Time between two looks of a call that waits.
constexpr long kStepNs = 50'000;
constexpr size_t kStatusBytes = 64;  // more than a status of any library

struct Functions {
  int (*Initialized)(int*) = nullptr;
  int (*Comm_get_parent)(void*) = nullptr;
  int (*Barrier)(Word) = nullptr;
  int (*Iprobe)(int, int, Word, int*, void*) = nullptr;
  int (*Request_get_status)(Word, int*, void*) = nullptr;
};

struct Run {
  steer::Plan plan;
  State* state = nullptr;
  Functions mpi;
  Word world = 0;
  Word self = 0;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint64_t bound_ns = 0;
  std::array<std::atomic<uint32_t>, steer::kMaxRanks> sent{};  // messages, by world rank
  std::array<std::atomic<uint32_t>, steer::kCallsNames.size()> calls{};
  std::atomic<uint64_t> slowed_ns{0};
};

enum Stage : int { kUnknown, kSteered, kNotSteered };

constinit Run g_run;
std::atomic<int> g_stage{kUnknown};
constinit SpinLock g_join_lock;
thread_local int t_depth = 0;

template <typename F>
bool Bind(const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
  return *function != nullptr;
}

bool BindFunctions() {
  Functions* mpi = &g_run.mpi;
  return Bind("PMPI_Initialized", &mpi->Initialized) &&
         Bind("PMPI_Comm_get_parent", &mpi->Comm_get_parent) &&
         Bind("PMPI_Barrier", &mpi->Barrier) && Bind("PMPI_Iprobe", &mpi->Iprobe) &&
         Bind("PMPI_Request_get_status", &mpi->Request_get_status);
}

// Only async-signal-safe calls and a static buffer: this runs in the program's process.
bool ReadPlan(const char* path) {
  static char text[steer::kMaxPlanBytes + 1];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;  // another node: the plan is where the run was started
  size_t size = 0;
  for (ssize_t got; size < sizeof(text) && (got = read(fd, text + size, sizeof(text) - size)) > 0;)
    size += static_cast<size_t>(got);
  close(fd);
  const steer::PlanError error = steer::ParsePlan(std::string_view(text, size), &g_run.plan);
  if (error.what == nullptr) return true;
  fprintf(stderr, "rollcall: %s:%zu: %s; this rank is not steered\n", path, error.line, error.what);
  return false;
}

bool MapState(const char* plan) {
  char path[4096];
  const int length = snprintf(path, sizeof(path), "%s%s", plan, steer::kStateSuffix);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) return false;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info;
  void* map = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size == sizeof(State)) {
    map = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  if (map == MAP_FAILED) return false;
  g_run.state = static_cast<State*>(map);
  return true;
}

bool IsOnPlansHost() {
  if (g_run.plan.host[0] == '\0') return true;
  char name[steer::kMaxHostName + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 && strcmp(name, g_run.plan.host) == 0;
}

// Handles of the predefined communicators: MPI_Fint 0 and 1 in Open MPI.
Word Predefined(const Library& library, Word known, int fortran) {
  if (known != 0 || library.query.Comm_f2c == nullptr) return known;
  return library.Handle(library.query.Comm_f2c(fortran));
}

// False for a process of another MPI_COMM_WORLD than the first: of a spawn, or of a second job.
bool TakeSeat() {
  State* state = g_run.state;
  uint32_t none = 0;
  if (!state->world_size.compare_exchange_strong(none, g_run.size) && none != g_run.size) {
    return false;
  }
  none = 0;
  if (!state->pids[g_run.rank].compare_exchange_strong(none, static_cast<uint32_t>(getpid()))) {
    return false;
  }
  if (state->joined.fetch_add(1) + 1 == g_run.size) {
    uint32_t open = State::kOpen;
    state->here.compare_exchange_strong(open, State::kAllHere);
  }
  return true;
}

bool Join(const Library& library) {
  const char* path = getenv(env::kSteer);
  if (path == nullptr || path[0] == '\0') return false;
  if (!ReadPlan(path) || !IsOnPlansHost() || !MapState(path)) return false;
  g_run.bound_ns = uint64_t{g_run.plan.bound_ms} * 1'000'000;
  g_run.world = Predefined(library, library.abi.world, 0);
  g_run.self = Predefined(library, library.abi.self, 1);
  const Queries& query = library.query;
  int rank = -1;
  int size = 0;
  if (query.Comm_rank == nullptr || query.Comm_rank(g_run.world, &rank) != 0 ||
      query.Comm_size == nullptr || query.Comm_size(g_run.world, &size) != 0 || rank < 0 ||
      size <= 0 || static_cast<uint32_t>(size) > steer::kMaxRanks) {
    return false;
  }
  g_run.rank = static_cast<uint32_t>(rank);
  g_run.size = static_cast<uint32_t>(size);
  uint64_t parent = 0;
  const bool spawned =
      g_run.mpi.Comm_get_parent(&parent) == 0 && library.Load(&parent) != library.abi.comm_null;
  if (!spawned && TakeSeat()) return true;
  // A barrier would wait for ranks that may be of another job.
  uint32_t open = State::kOpen;
  g_run.state->here.compare_exchange_strong(open, State::kNotAllHere);
  g_run.state->strangers.fetch_add(1);
  return false;
}

// Lets MPI make progress: what this rank has sent may have to be delivered for the others to go on.
void Progress(const Library& library) {
  alignas(8) char status[kStatusBytes];
  int flag = 0;
  g_run.mpi.Iprobe(library.abi.any_source, library.abi.any_tag, g_run.self, &flag, status);
}

// Waits until `done` is true, for `limit_ns` at most. Returns what `done` returned last.
template <typename Done>
bool WaitUntil(const Library& library, uint64_t limit_ns, const Done& done) {
  const ErrnoGuard keeper;
  const uint64_t begin = MonotonicNs();
  bool came = false;
  g_run.state->holding.fetch_add(1);
  while (!(came = done()) && MonotonicNs() - begin < limit_ns) {
    Progress(library);
    const timespec step{.tv_sec = 0, .tv_nsec = kStepNs};
    nanosleep(&step, nullptr);
  }
  g_run.state->holding.fetch_sub(1);
  return came;
}

void Sleep(const Library& library, uint64_t ns) {
  WaitUntil(library, ns, [] { return false; });
}

// Waits because of a line with `first`.
template <typename Done>
bool Hold(const Library& library, const Done& done) {
  const bool came = WaitUntil(library, g_run.bound_ns, done);
  if (!came) g_run.state->given_up.fetch_add(1);
  return came;
}

// The rank in MPI_COMM_WORLD of the process that has the rank `peer` in the communicator, or in the
// other group of an intercommunicator; -1 if there is none.
int64_t WorldRank(const Library& library, Word comm, int32_t peer) {
  if (peer < 0) return -1;
  if (library.Handle(comm) == g_run.world) {
    return static_cast<uint32_t>(peer) < g_run.size ? peer : -1;
  }
  const Queries& query = library.query;
  int inter = 0;
  uint64_t group = 0;
  uint64_t all = 0;
  if (query.Comm_test_inter(comm, &inter) != 0) return -1;
  if ((inter != 0 ? query.Comm_remote_group(comm, &group) : query.Comm_group(comm, &group)) != 0 ||
      query.Comm_group(g_run.world, &all) != 0) {
    return -1;
  }
  int rank = -1;
  query.Group_translate_ranks(library.Load(&group), 1, &peer, library.Load(&all), &rank);
  query.Group_free(&group);
  query.Group_free(&all);
  return rank >= 0 && static_cast<uint32_t>(rank) < g_run.size ? rank : -1;
}

// Whether all ranks of the run are steered. The answer is the same on all of them: a barrier that
// some ranks lack would make the program hang.
bool AllAreHere(const Library& library) {
  State* state = g_run.state;
  WaitUntil(library, g_run.bound_ns, [&] { return state->here.load() != State::kOpen; });
  uint32_t open = State::kOpen;
  if (state->here.compare_exchange_strong(open, State::kNotAllHere)) state->given_up.fetch_add(1);
  return state->here.load() == State::kAllHere;
}

// Whether all members of the intracommunicator are ranks of the run, which are steered. The answer
// is the same on all of them.
bool HasOnlySteered(const Library& library, Word comm, int size) {
  if (library.Handle(comm) == g_run.world) return true;
  if (static_cast<uint32_t>(size) > g_run.size) return false;
  const Queries& query = library.query;
  uint64_t group = 0;
  uint64_t all = 0;
  if (query.Comm_group(comm, &group) != 0) return false;
  if (query.Comm_group(g_run.world, &all) != 0) {
    query.Group_free(&group);
    return false;
  }
  constexpr int kAtOnce = 256;
  int members[kAtOnce];
  int ranks[kAtOnce];
  bool only = true;
  for (int begin = 0; begin < size && only; begin += kAtOnce) {
    const int count = std::min(kAtOnce, size - begin);
    for (int i = 0; i < count; ++i) members[i] = begin + i;
    only = query.Group_translate_ranks(library.Load(&group), count, members, library.Load(&all),
                                       ranks) == 0 &&
           std::all_of(ranks, ranks + count, [](int rank) { return rank >= 0; });
  }
  query.Group_free(&group);
  query.Group_free(&all);
  return only;
}

// Depends only on what all members pass alike: the communicator and the root. MPI rejects a call
// with a wrong root on every member. Which other arguments MPI ignores or rejects differs between
// members, and a barrier that some members lack would make the program hang.
void BeginWithBarrier(const Library& library, const Arguments& arguments) {
  const Word comm = arguments.comm;
  if (library.Handle(comm) == library.abi.comm_null || !AllAreHere(library)) return;
  int inter = 1;
  int size = 0;
  if (library.query.Comm_test_inter(comm, &inter) != 0 || inter != 0 ||
      library.query.Comm_size(comm, &size) != 0) {
    return;
  }
  const int32_t root = arguments.root_or_peer;
  if (arguments.has_peer && (root < 0 || root >= size)) return;
  if (!HasOnlySteered(library, comm, size)) return;
  g_run.state->barriers.fetch_add(1);
  g_run.mpi.Barrier(comm);
}

void Delay(const Library& library, steer::Calls calls) {
  const steer::Plan& plan = g_run.plan;
  const uint32_t number = g_run.calls[static_cast<size_t>(calls)].fetch_add(1) + 1;
  for (size_t i = 0; i < plan.delay_count; ++i) {
    const steer::Delay& delay = plan.delays[i];
    if (delay.rank != g_run.rank || delay.calls != calls || delay.number != number) continue;
    g_run.state->delays.fetch_add(1);
    Sleep(library, uint64_t{delay.ms} * 1'000'000);
  }
  if (plan.slow_rank != g_run.rank || g_run.slowed_ns.load() >= g_run.bound_ns) return;
  const uint64_t ns = uint64_t{plan.slow_us} * 1000;
  g_run.slowed_ns.fetch_add(ns);
  g_run.state->delays.fetch_add(1);
  Sleep(library, ns);
}

}  // namespace

void JoinSteeredRun(const Library& library) {
  if (g_stage.load(std::memory_order_acquire) != kUnknown) return;
  const SpinGuard guard(g_join_lock);
  if (g_stage.load(std::memory_order_relaxed) != kUnknown) return;
  const ErrnoGuard keeper;
  int initialized = 0;
  const bool bound = BindFunctions();
  if (bound && (g_run.mpi.Initialized(&initialized) != 0 || initialized == 0)) return;
  g_stage.store(bound && Join(library) ? kSteered : kNotSteered, std::memory_order_release);
}

SteeredCall::SteeredCall(const OperationInfo& info, const Library* library,
                         const Arguments& arguments)
    : info_(info), library_(library) {
  // A PMPI tool may call a function from its wrapper: the call of the program is counted once.
  if (t_depth++ != 0) library_ = nullptr;
  if (library_ == nullptr) return;
  JoinSteeredRun(*library_);
  if (g_stage.load(std::memory_order_acquire) != kSteered) library_ = nullptr;
  if (library_ == nullptr) return;
  Delay(*library_, steer::CallsOf(info_.kind));
  if (steer::IsNumberedSend(info_.operation)) SteerSend(arguments);
  if (g_run.plan.barriers && steer::MayReturnEarly(info_)) {
    BeginWithBarrier(*library_, arguments);
  }
}

SteeredCall::~SteeredCall() { --t_depth; }

CoveredCall::CoveredCall() { ++t_depth; }
CoveredCall::~CoveredCall() { --t_depth; }

void SteeredCall::SteerSend(const Arguments& arguments) {
  const steer::Plan& plan = g_run.plan;
  const int64_t to = WorldRank(*library_, arguments.comm, arguments.root_or_peer);
  if (to < 0) return;
  const uint32_t number = g_run.sent[static_cast<size_t>(to)].fetch_add(1) + 1;
  const auto is_this = [number](const steer::Sent& sent) {
    return sent.source == g_run.rank && sent.number == number;
  };
  for (size_t i = 0; i < plan.first_count; ++i) {
    const steer::First& first = plan.first[i];
    if (first.to != to) continue;
    if (is_this(first.chosen)) chosen_ |= uint64_t{1} << i;
    for (uint32_t held = first.held_begin; held < first.held_end; ++held) {
      if (!is_this(plan.held[held])) continue;
      g_run.state->held[i].fetch_add(1);
      Hold(*library_, [i] { return g_run.state->received[i].load() != 0; });
    }
  }
  if (!steer::IsStandardSend(info_.operation)) return;
  const bool by_plan =
      plan.synchronous && (plan.synchronous_rank < 0 || plan.synchronous_rank == g_run.rank);
  synchronous_ = by_plan || chosen_ != 0;
  if (by_plan) g_run.state->sends.fetch_add(1);
}

void SteeredCall::Finish(int returned, const Arguments& arguments) {
  if (chosen_ == 0 || returned != 0) return;
  bool received = true;
  if (arguments.request != nullptr) {
    // A synchronous send is complete when its receive has begun.
    const uint64_t request = library_->Load(arguments.request);
    received = Hold(*library_, [&] {
      alignas(8) char status[kStatusBytes];
      int flag = 0;
      return g_run.mpi.Request_get_status(request, &flag, status) == 0 && flag != 0;
    });
  }
  for (size_t i = 0; i < steer::kMaxFirst; ++i) {
    if (received && (chosen_ >> i & 1) != 0) g_run.state->received[i].store(1);
  }
}

}  // namespace rollcall::shim
