// SPDX-License-Identifier: Apache-2.0
#include "shim/torch/call.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "proto/signature.h"
#include "proto/store_key.h"
#include "shim/block.h"
#include "shim/call_inline.h"
#include "shim/call_paths.h"
#include "shim/channels.h"
#include "shim/job_environment.h"
#include "shim/nccl/start.h"
#include "shim/requests.h"
#include "shim/spin_lock.h"
#include "shim/torch/binding.h"
#include "shim/torch/groups.h"
#include "shim/torch/layout.h"

namespace rollcall::shim::torch {
namespace {

uint64_t HandleOf(const void* object) { return reinterpret_cast<uint64_t>(object); }

bool IsMessage(const Call& call) { return call.info->rule == Rule::kP2p; }

// Fills in the data. A barrier has none.
void FillData(const OperationInfo& info, const Arguments& a, ring::Record* record) {
  const bool message = info.rule == Rule::kP2p;
  Block block{.root_or_peer = message ? a.peer : RootOf(a), .reduce_op = ReductionOf(a)};
  const TensorData data = DataOf(a);
  if (data.known && info.rule != Rule::kBarrier) {
    block.count = data.count;
    block.datatype = data.datatype;
    block.signature = UniformSignature(static_cast<uint32_t>(data.type_class), data.count);
  }
  FillBlock(info, block, record);
  if (message) record->tag = a.tag;
}

// A request of a DDP reducer: a bucket whose all_reduce has been enqueued.
struct Bucket {
  const void* reducer = nullptr;
  uint32_t slot = kNoRequest;
  uint64_t uid = 0;
};
constexpr uint32_t kBuckets = 256;
constinit Bucket g_buckets[kBuckets];
constinit SpinLock g_bucket_lock;
// The reducers whose backward pass has begun and is not complete. The program may have several
// reducers.
constexpr uint32_t kReducers = 16;
constinit std::atomic<const void*> g_unreduced[kReducers];
std::atomic<uint32_t> g_unreduced_count{0};

void SetUnreduced(const void* reducer, bool unreduced) {
  for (auto& cell : g_unreduced) {
    if (cell.load(std::memory_order_relaxed) != reducer) continue;
    if (unreduced) return;
    cell.store(nullptr, std::memory_order_relaxed);
    g_unreduced_count.fetch_sub(1, std::memory_order_relaxed);
  }
  for (auto& cell : g_unreduced) {
    const void* expected = nullptr;
    if (!unreduced || !cell.compare_exchange_strong(expected, reducer)) continue;
    g_unreduced_count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

thread_local const void* t_reducer __attribute__((tls_model("initial-exec"))) = nullptr;

// The number of the next bucket, from 1, in the order in which the backward pass reduces them.
uint64_t NextBucket() {
  const SpinGuard guard(g_bucket_lock);
  uint64_t number = 1;
  for (const Bucket& bucket : g_buckets) number += bucket.reducer == t_reducer;
  return number;
}

void AddBucket(uint32_t slot, uint64_t uid) {
  const SpinGuard guard(g_bucket_lock);
  for (Bucket& bucket : g_buckets) {
    if (bucket.reducer != nullptr) continue;
    bucket = {t_reducer, slot, uid};
    return;
  }
}

void ForgetBuckets(const void* reducer) {
  const SpinGuard guard(g_bucket_lock);
  for (Bucket& bucket : g_buckets) {
    if (bucket.reducer == reducer) bucket = {};
  }
}

bool IsOpen(uint32_t slot, uint64_t uid) { return RequestAt(slot).uid == uid; }

// One system call per thread.
bool IsMainThread() {
  enum class Known : uint8_t { kNot, kMain, kOther };
  static thread_local Known known __attribute__((tls_model("initial-exec"))) = Known::kNot;
  if (known == Known::kNot) {
    known = syscall(SYS_gettid) == getpid() ? Known::kMain : Known::kOther;
  }
  return known == Known::kMain;
}

// Sets the call path of a wait. If the wait follows directly after its operation, the same line
// made both, such as `dist.all_reduce(x)`: the wait then gets the operation's path.
void SetPathOfWait(Call* call) {
  constexpr uint64_t kAtOnceTicks = uint64_t{1} << 16;
  ring::Record& record = call->record;
  const ThreadLog& log = *call->log;
  if (log.c10d_request == record.request &&
      record.start_ticks - log.last_end_ticks < kAtOnceTicks) {
    record.call_path = log.c10d_path;
    record.context_path = log.c10d_context;
    return;
  }
  SetCallPath(&record, CurrentCallPath(call->frame));
}

void NameLibrary() {
  ring::FileHeader* header = g_process.header;
  const int version = TorchVersion();
  if (header->library[0] != '\0') return;
  if (version == 0) {
    snprintf(header->library, sizeof(header->library), "PyTorch");
  } else {
    snprintf(header->library, sizeof(header->library), "PyTorch %d.%d", version / 100,
             version % 100);
  }
}

}  // namespace

void BeginOperation(Call* call, const Arguments& a) {
  if (!calls::OpenBracket<false>(call)) return;
  Comm* comm = call->comm = FindByHandle(HandleOf(a.backend));
  calls::StartRecord(call);
  ring::Record& record = call->record;
  FillData(*call->info, a, &record);
  const InternedPath path = CurrentCallPath(call->frame);
  SetCallPath(&record, path);
  if (call->info->kind != Kind::kCollective) record.request = NextRequestUid();
  if (comm == nullptr) {
    record.flags |= ring::kUnknownComm;
  } else if (!IsMessage(*call)) {
    record.sequence = NextSequence(comm);
    if (t_reducer != nullptr) {
      record.detail = NextBucket();
    } else if (g_unreduced_count.load(std::memory_order_relaxed) != 0) {
      record.detail = ring::kDuringUnreducedBackward;
    }
    Checkpoint(comm, record.sequence, record.semantic_hash, path.portable_hash);
  } else if (call->info->kind == Kind::kIsend) {
    record.detail = CountSent(comm, record.root_or_peer, record.tag);
  }
  call->log->c10d_request = record.request;
  call->log->c10d_path = record.call_path;
  call->log->c10d_context = record.context_path;
  calls::WriteRecord(call, IsMessage(*call) ? ring::kP2pRing : ring::kCollectiveRing);
  calls::CloseBracket();
}

void EndOperation(Call* call) {
  if (!calls::ReopenBracket(call, 0)) return;
  if (call->info->kind == Kind::kCollective && call->comm != nullptr) {
    Increment(&call->comm->entry->completed);
  }
  calls::FinishCall(call);
}

void WorkMade(const void* work, CallerFrame frame) {
  Call* call = calls::EnclosingCall(frame);
  if (call == nullptr || !call->recorded || !IsC10d(call->info->operation)) return;
  const Kind kind = call->info->kind;
  if (IsWait(kind) || call->record.request == 0 || call->slot != kNoRequest) return;
  call->slot = AddRequest(TorchLibrary(), HandleOf(work), call->record, call->comm,
                          {.sends = kind == Kind::kIsend,
                           .receives = kind == Kind::kIrecv,
                           .peer = call->record.root_or_peer,
                           .tag = call->record.tag});
  if (t_reducer != nullptr && call->slot != kNoRequest) {
    AddBucket(call->slot, call->record.request);
  }
}

void WorkDone(const void* work, bool failed) {
  const uint32_t slot = DetachRequest(*TorchLibrary(), HandleOf(work));
  // A failed Work is not completed: the table then shows which operation the rank waited for when
  // the exception ended the wait.
  if (slot < kMaxRequests && !failed) CompleteRequest(slot, {});
}

void WorkGone(const void* work) {
  const uint32_t slot = DetachRequest(*TorchLibrary(), HandleOf(work));
  if (slot < kMaxRequests) DropRequest(slot);
}

void BeginWait(Call* call, const void* work) {
  const uint32_t slot = FindRequest(*TorchLibrary(), HandleOf(work));
  if (slot >= kMaxRequests || !calls::OpenBracket<false>(call)) return;
  call->slot = slot;
  calls::StartRecord(call);
  call->record.request = RequestAt(slot).uid;
  SetPathOfWait(call);
  SetWaiter(slot, call->log->index + 1);
  calls::WriteRecord(call, ring::kP2pRing);
  calls::CloseBracket();
}

void EndWait(Call* call) {
  if (!calls::ReopenBracket(call, 0)) return;
  if (IsOpen(call->slot, call->record.request)) SetWaiter(call->slot, 0);
  calls::FinishCall(call);
}

void PrepareForBackward(const void* reducer) {
  // An exception may have ended the last backward pass early.
  t_reducer = nullptr;
  ForgetBuckets(reducer);
  SetUnreduced(reducer, true);
}
void EnterReducer(const void* reducer) { t_reducer = reducer; }
void LeaveReducer() { t_reducer = nullptr; }

void BeginReducerWait(Call* call, const void* reducer) {
  if (!calls::OpenBracket<false>(call)) return;
  calls::StartRecord(call);
  ring::Record& record = call->record;
  {
    const SpinGuard guard(g_bucket_lock);
    for (const Bucket& bucket : g_buckets) {
      if (bucket.reducer != reducer || !IsOpen(bucket.slot, bucket.uid)) continue;
      SetWaiter(bucket.slot, call->log->index + 1);
      if (record.request == 0) record.request = bucket.uid;
      ++record.detail;
    }
  }
  SetCallPath(&record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kP2pRing);
  calls::CloseBracket();
}

void EndReducerWait(Call* call, const void* reducer) {
  SetUnreduced(reducer, false);
  ForgetBuckets(reducer);
  if (!calls::ReopenBracket(call, 0)) return;
  calls::FinishCall(call);
}

void BeginRendezvous(Call* call, const Rendezvous& rendezvous) {
  if (!calls::OpenBracket<false>(call)) return;
  static constinit std::atomic<Comm*> first{nullptr};
  call->comm = first.load(std::memory_order_acquire);
  if (call->comm == nullptr) {
    nccl::SetClock();
    char endpoint[128];
    const int host = static_cast<int>(rendezvous.host_length < 100 ? rendezvous.host_length : 100);
    snprintf(endpoint, sizeof(endpoint), "%.*s:%u", host, rendezvous.host, rendezvous.port);
    const KnownIdentity identity{.key = Mix64(0x72656e64657a, g_process.header->job_key),
                                 .rank = EarlyRank(),
                                 .size = EarlySize(),
                                 .flag = ring::kIsC10d,
                                 .name = InternString(endpoint)};
    call->comm = RegisterWithKey(TorchLibrary(), {.operation = call->info->operation}, identity);
    first.store(call->comm, std::memory_order_release);
  }
  if (call->comm != nullptr) StoreRelaxed(&call->comm->entry->in_flight, uint64_t{1});
  calls::StartRecord(call);
  SetCallPath(&call->record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kCollectiveRing);
  calls::CloseBracket();
}

void EndRendezvous(Call* call) {
  if (!calls::ReopenBracket(call, 0)) return;
  if (call->comm != nullptr) StoreRelease(&call->comm->entry->in_flight, uint64_t{0});
  calls::FinishCall(call);
}

void BeginStoreWait(Call* call, const StoreKeyView& key) {
  if (!IsMainThread() || !calls::OpenBracket<false>(call)) return;
  call->comm = nullptr;
  calls::StartRecord(call);
  ring::Record& record = call->record;
  const StoreKey end = StoreKeyOf(key.text, key.length);
  record.send_count = end.words[0];
  record.recv_count = end.words[1];
  record.send_signature = end.words[2];
  record.recv_signature = end.words[3];
  record.semantic_hash = HashBytes(key.text, key.length, 0x6b6579);
  SetCallPath(&record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kP2pRing);
  calls::CloseBracket();
}

void EndStoreWait(Call* call) {
  if (!calls::ReopenBracket(call, 0)) return;
  calls::FinishCall(call);
}

void BeginGroup(Call* call, const NewGroup& group) {
  const GroupName& name = group.name;
  const uint32_t carrier = group.on_device ? uint32_t{ring::kIsNccl} : 0;
  KnownIdentity identity{.rank = group.rank, .size = group.size, .flag = ring::kIsC10d | carrier};
  const bool known = name.hash != 0;
  identity.key = NthKey(
      Mix64(known ? name.hash : static_cast<uint64_t>(group.size), g_process.header->job_key),
      group.rank);
  if (name.text[0] != '\0') identity.name = InternString(name.text);
  nccl::SetUnknownWorld(identity);
  nccl::SetClock();
  NameLibrary();
  if (!calls::OpenBracket<false>(call)) return;
  call->comm = RegisterWithKey(TorchLibrary(), {.operation = call->info->operation}, identity);
  if (call->comm != nullptr) {
    if (!known) __atomic_fetch_or(&call->comm->entry->flags, ring::kWeakIdentity, __ATOMIC_RELAXED);
    BindHandle(call->comm, HandleOf(group.backend));
    StoreRelaxed(&call->comm->entry->in_flight, uint64_t{1});
  }
  calls::StartRecord(call);
  call->record.root_or_peer = group.rank;
  call->record.send_count = static_cast<uint64_t>(group.size);
  SetCallPath(&call->record, CurrentCallPath(call->frame));
  calls::WriteRecord(call, ring::kCollectiveRing);
  calls::CloseBracket();
}

void EndGroup(Call* call) {
  if (!calls::ReopenBracket(call, 0)) return;
  if (call->comm != nullptr) StoreRelease(&call->comm->entry->in_flight, uint64_t{0});
  SetPhase(ring::Phase::kRunning);
  calls::FinishCall(call);
}

void GroupGone(const void* backend) {
  if (Comm* comm = FindByHandle(HandleOf(backend))) UnregisterComm(comm);
}

}  // namespace rollcall::shim::torch
