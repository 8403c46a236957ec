// SPDX-License-Identifier: Apache-2.0
#include "shim/nccl/profiler_events.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "proto/environment.h"
#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/nccl/binding.h"
#include "shim/nccl/driver.h"
#include "shim/nccl/group.h"
#include "shim/nccl/kernels.h"
#include "shim/nccl/operations.h"
#include "shim/nccl/progress.h"
#include "shim/nccl/start.h"
#include "shim/stack/stack.h"

namespace rollcall::shim::nccl::profiler {

struct Context {
  std::atomic<bool> used;
  Comm* comm;  // null until the communicator's identity is known
};

namespace {

constexpr uint32_t kMaxContexts = 1024;
constinit Context g_contexts[kMaxContexts] = {};

// --- handles -------------------------------------------------------------------------------------

enum class Tag : uint64_t { kGroup = 1, kKernel, kMessage, kCollective, kChannel };
constexpr unsigned kTagBits = 3;

uint64_t Handle(Tag tag, uint64_t number) {
  return number == 0 ? 0 : number << kTagBits | static_cast<uint64_t>(tag);
}
// 0 if the handle has another tag.
uint64_t NumberOf(uint64_t handle, Tag tag) {
  return (handle & ((1 << kTagBits) - 1)) == static_cast<uint64_t>(tag) ? handle >> kTagBits : 0;
}

// --- communicators -------------------------------------------------------------------------------

bool SwitchedOff() {
  const char* text = getenv(env::kNcclPlugin);
  return text != nullptr && text[0] == '0' && text[1] == '\0';
}

Context* Take() {
  for (Context& context : g_contexts) {
    bool free = false;
    if (context.used.compare_exchange_strong(free, true, std::memory_order_acq_rel)) {
      context.comm = nullptr;
      return &context;
    }
  }
  return nullptr;
}

void Identify(Context* context, const Identity& identity) {
  if (identity.hash == 0) return;
  // If the size is unknown, members that are missing from the creation cannot be found.
  const Creation creation{.operation =
                              identity.size > 0 ? Operation::kNcclCommInitRank : Operation::kNone};
  const KnownIdentity known{Mix64(identity.hash, 0x9f), identity.rank, identity.size};
  if (identity.size > 0) SetUnknownWorld(known);
  Comm* comm = context->comm = RegisterWithKey(NcclLibrary(), creation, known);
  if (comm != nullptr && identity.name != nullptr && identity.name[0] != '\0') {
    NameComm(comm, identity.name);
  }
}

// --- events that are late or missing -------------------------------------------------------------

// Up to version 4, NCCL reports operations when they are launched. If CUDA graphs are alive, or
// launches block, it reports them from a thread of the driver and on some ranks only
// (hostStreamPlanTask in NCCL's src/enqueue.cc). The counts are meaningless then.
std::atomic<bool> g_unreliable{false};

ROLLCALL_COLD void StopRecording(const char* why) {
  if (g_unreliable.exchange(true)) return;
  for (Context& context : g_contexts) {
    if (!context.used.load(std::memory_order_acquire) || context.comm == nullptr) continue;
    MarkUncounted(context.comm->uid);
  }
  __atomic_fetch_add(&g_process.header->calls_captured, 1, __ATOMIC_RELAXED);
  PrintLine("NCCL's operations are no longer recorded", why);
}

// The reason why an event cannot be trusted; null if it can.
const char* UnreliableReason(CallerFrame frame) {
  CodeRange driver;
  if (!g_process.stacks) return "call paths are off, and this NCCL needs them";
  if (!FindDriverCode(&driver)) return "the CUDA driver was not found";
  uint64_t pcs[kMaxStackDepth];
  StackEnd end;
  uint64_t hash;
  const int depth = CaptureStack(frame, pcs, kMaxStackDepth, &end, &hash);
  for (int i = 0; i < depth; ++i) {
    if (driver.Contains(pcs[i])) return "this NCCL does not report all operations of CUDA graphs";
  }
  return depth == 0 ? "call paths cannot be taken" : nullptr;
}

// --- records -------------------------------------------------------------------------------------

// Treats an event of NCCL as a call of the program: runs `act` inside the bracket of a call, where
// a record may be written.
template <typename Act>
void AsCall(const Caller& caller, Operation operation, const Act& act) {
  if (!Recording()) return;
  Call call = MakeCall(FindOperation(static_cast<uint16_t>(operation)), false, caller.frame,
                       caller.address, NcclLibrary());
  if (!calls::OpenBracket(&call)) return;
  act(&call);
  calls::FinishCall(&call);
}

Arguments ArgumentsOf(const Called& called) {
  Arguments a;
  a.stream = called.stream;
  a.count = called.count;
  a.datatype = called.datatype;
  a.root_or_peer = called.root_or_peer;
  return a;
}

// A stream number for operations whose stream is unknown. There is one number per communicator,
// because NCCL keeps the operations of a communicator in order. No real stream has such a handle.
uint64_t StreamOf(const Comm& comm) { return uint64_t{1} << 63 | comm.uid; }

void Enqueue(uint32_t slot, uint64_t launch) {
  if (slot == kNoSlot) return;
  MarkEnqueued(slot, launch);
  SetDeviceReports(slot, false);
}

// --- messages that wait for their group's end ----------------------------------------------------

// A ring of cells. If a later message has overwritten the cell of a message, the message is lost,
// and counted.
struct Waiting {
  std::atomic<uint64_t> number;
  uint64_t stream;
  uint64_t launch;
  InternedPath path;
};
constexpr uint32_t kMaxWaiting = 4096;
constinit Waiting g_waiting[kMaxWaiting] = {};
std::atomic<uint64_t> g_messages{0};

uint64_t AddWaiting(uint64_t stream, uint64_t launch, const InternedPath& path) {
  const uint64_t number = g_messages.fetch_add(1, std::memory_order_relaxed) + 1;
  Waiting& cell = g_waiting[number % kMaxWaiting];
  cell.number.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  cell.stream = stream;
  cell.launch = launch;
  cell.path = path;
  cell.number.store(number, std::memory_order_release);
  return number;
}

struct Known {
  uint64_t stream = 0;
  uint64_t launch = 0;
  InternedPath path;
};
bool FindWaiting(uint64_t number, Known* known) {
  const Waiting& cell = g_waiting[number % kMaxWaiting];
  if (cell.number.load(std::memory_order_acquire) != number) return false;
  *known = {cell.stream, cell.launch, cell.path};
  std::atomic_thread_fence(std::memory_order_acquire);
  return cell.number.load(std::memory_order_relaxed) == number;
}

}  // namespace

Context* Open(const Caller& caller, int version, const Identity& identity) {
  if (SwitchedOff() || IsInsideNccl(caller.address)) return nullptr;
  Start();
  if (!Recording() || (version < 5 && g_unreliable.load(std::memory_order_relaxed))) return nullptr;
  Context* context = Take();
  if (context == nullptr) return nullptr;
  if (g_process.gpu || version < 5)
    FindDriver();  // UnreliableReason() needs the driver's code range
  SetClock();
  ring::FileHeader* header = g_process.header;
  if (header->library[0] == '\0') {
    snprintf(header->library, sizeof(header->library), "NCCL, by its profiler events (v%d)",
             version);
  }
  Identify(context, identity);
  SetPhase(ring::Phase::kRunning);
  return context;
}

void Close(Context* context) {
  if (context->comm != nullptr && Recording()) {
    CompleteAll(context->comm->uid);
    UnregisterComm(context->comm);
  }
  context->used.store(false, std::memory_order_release);
}

bool WantsKernels() { return g_process.marks; }

uint64_t BeginGroup(const Context*, const Caller& caller, bool alone) {
  uint64_t launch = 0;
  AsCall(caller, Operation::kNcclGroupStart, [&](Call* call) {
    Group& group = Group::Of(call->log);
    // NCCL reports outermost groups only. If a group is still open here, its end was not reported.
    while (NcclLibrary()->core_end == 0 && group.open()) group.End(call->log, true);
    group.Start(call->log, CurrentCallPath(call->frame).id);
    group.SetAlone(alone);
    launch = group.launch();
  });
  return Handle(Tag::kGroup, launch);
}

void EndGroup(uint64_t handle, const Caller& caller) {
  const uint64_t launch = NumberOf(handle, Tag::kGroup);
  if (launch == 0) return;
  AsCall(caller, Operation::kNcclGroupEnd, [&](Call* call) {
    Group& group = Group::Of(call->log);
    if (!group.open() || group.launch() != launch) return;
    group.End(call->log, true);
    for (uint32_t i = 0; i < group.slot_count(); ++i) SetDeviceReports(group.slot(i), false);
  });
}

uint64_t Collective(Context* context, const Caller& caller, const Called& called) {
  if (called.operation == Operation::kNone || context->comm == nullptr) return 0;
  uint64_t number = 0;
  AsCall(caller, called.operation, [&](Call* call) {
    Group& group = Group::Of(call->log);
    const uint64_t launch = group.open() ? group.launch() : 0;
    const uint64_t stream = StreamNumber(*call->log, called.stream);
    Arguments arguments = ArgumentsOf(called);
    arguments.stream = stream;
    RecordOperation(call, arguments,
                    {.comm = context->comm, .captured = called.captured, .launch = launch});
    if (called.captured) return;
    const uint32_t slot = SlotOf(context->comm, stream);
    if (group.open()) {
      group.AddOperation(call->log, slot);
    } else {
      Enqueue(slot, call->record.detail);
    }
    if (WantsKernels()) number = kernels::Add({slot, call->record.detail, group.alone(), 0});
  });
  return Handle(Tag::kCollective, number);
}

uint64_t Message(Context* context, const Caller& caller, const Called& called) {
  if (called.operation == Operation::kNone || context->comm == nullptr) return 0;
  uint64_t number = 0;
  AsCall(caller, called.operation, [&](Call* call) {
    if (called.captured) {
      return RecordOperation(call, ArgumentsOf(called), {.comm = context->comm, .captured = true});
    }
    const Group& group = Group::Of(call->log);
    const uint64_t launch = group.open() ? group.launch() : NextLaunch();
    number =
        AddWaiting(StreamNumber(*call->log, called.stream), launch, CurrentCallPath(call->frame));
  });
  return Handle(Tag::kMessage, number);
}

void MessageLaunched(Context* context, const Caller& caller, uint64_t message,
                     const Called& called) {
  // A message without a parent is part of a collective.
  const uint64_t number = NumberOf(message, Tag::kMessage);
  if (number == 0 || called.operation == Operation::kNone || context->comm == nullptr) return;
  Known known;
  if (!FindWaiting(number, &known)) {
    __atomic_fetch_add(&g_process.header->calls_unrecorded, 1, __ATOMIC_RELAXED);
    return;
  }
  AsCall(caller, called.operation, [&](Call* call) {
    Called whole = called;
    whole.stream = known.stream;
    RecordOperation(call, ArgumentsOf(whole),
                    {.comm = context->comm, .launch = known.launch, .path = &known.path});
    Enqueue(SlotOf(context->comm, known.stream), known.launch);
  });
}

uint64_t CollectiveLaunched(uint64_t collective, uint32_t channels) {
  const uint64_t number = NumberOf(collective, Tag::kCollective);
  if (number == 0 || !kernels::SetChannels(number, channels)) return 0;
  return collective;
}

uint64_t BeginKernel() { return Recording() ? Handle(Tag::kKernel, NextLaunch()) : 0; }

uint64_t Launched(Context* context, const Caller& caller, uint64_t kernel, const Identity& identity,
                  const Called& called, uint32_t channels) {
  if (!Recording() || g_unreliable.load(std::memory_order_relaxed)) return 0;
  if (const char* reason = UnreliableReason(caller.frame)) {
    StopRecording(reason);
    return 0;
  }
  if (called.operation == Operation::kNone) return 0;
  uint64_t number = 0;
  AsCall(caller, called.operation, [&](Call* call) {
    if (context->comm == nullptr) Identify(context, identity);
    Comm* comm = context->comm;
    if (comm == nullptr) return;
    Called whole = called;
    whole.stream = StreamOf(*comm);
    RecordOperation(call, ArgumentsOf(whole),
                    {.comm = comm, .launch = NumberOf(kernel, Tag::kKernel)});
    const uint32_t slot = SlotOf(comm, whole.stream);
    Enqueue(slot, call->record.detail);
    if (channels != 0 && WantsKernels()) {
      number = kernels::Add({slot, call->record.detail, false, channels});
    }
  });
  return Handle(Tag::kCollective, number);
}

uint64_t ChannelStarted(uint64_t collective) {
  const uint64_t number = NumberOf(collective, Tag::kCollective);
  if (number == 0 || !Recording() || !kernels::ChannelStarted(number)) return 0;
  return Handle(Tag::kChannel, number);
}

void Stopped(uint64_t handle, const Caller& caller) {
  if (const uint64_t number = NumberOf(handle, Tag::kChannel)) {
    if (Recording()) kernels::ChannelStopped(number);
  } else {
    EndGroup(handle, caller);
  }
}

}  // namespace rollcall::shim::nccl::profiler
