// SPDX-License-Identifier: Apache-2.0
// A synthetic training job with tensor, pipeline and data parallel groups, and one planted fault:
// the calls of every rank, and the call of each rank when there is no more progress.
// ring_job_files.h writes its rings; the expected diagnosis is known.
//
// A step of the job, on every rank:
//
//   forward, backward   for each microbatch: exchange with both neighbours of the pipeline,
//                       then collectives of the tensor group, layer by layer
//   optimizer           MPI_Reduce_scatter_block and MPI_Allgather of the data group
//   loss                MPI_Allreduce of all; every 8th step an MPI_Bcast from rank 0
//
// The last steps are run rank by rank, until no rank can continue, to find the calls that block.
#ifndef ROLLCALL_TESTS_SUPPORT_RING_JOB_H_
#define ROLLCALL_TESTS_SUPPORT_RING_JOB_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/datatypes.h"
#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall::ring_job {

enum class Fault : int {
  kNone,      // finishes
  kSkipped,   // the culprit skips a call of its tensor group; its later calls pair with it
  kReplaced,  // it makes another call instead
  kCount,     // it passes half the count; nothing hangs, and the job finishes
  kRoot,      // it names itself as the root of a broadcast to all; nothing hangs
  kInverted,  // it swaps the calls on its data group and on the world
  kShort,     // it leaves the loop one step early
  kRing,      // all ranks of its pipeline receive before they send
  kStalled,   // it stops outside every call
  kExited,    // it calls exit()
};
constexpr std::string_view kFaultNames[] = {"none",     "skipped", "replaced", "count",   "root",
                                            "inverted", "short",   "ring",     "stalled", "exited"};
constexpr std::string_view FaultName(Fault fault) { return kFaultNames[static_cast<int>(fault)]; }

// The groups of a rank, in the order in which its ring lists them.
enum Group : uint32_t { kWorld, kTensor, kPipeline, kData, kGroups };

struct Call {
  Operation operation = Operation::kNone;
  Group group = kWorld;
  uint64_t count = 0;
  int32_t peer = 0;    // p2p: 1 is the next rank of the pipeline, -1 the previous; else the root
  int32_t tag = 0;     // p2p
  uint32_t place = 0;  // its call path; see ring_job_files.h
};

inline bool IsP2p(Operation operation) {
  return operation == Operation::kRecv || operation == Operation::kIrecv ||
         operation == Operation::kIsend || operation == Operation::kWaitall;
}

// The place of a call in the program: the function called by step(), times 64, plus a line.
enum Function : uint32_t { kForward = 1, kBackward, kOptimizer, kLoss, kReport };
constexpr uint32_t PlaceOf(Function function, uint32_t line) { return function * 64 + line; }

struct Shape {
  int32_t ranks = 64;  // a multiple of kTensorSize * kStages
  // Records of every ring, rounded to whole steps: half collectives, half point-to-point.
  uint32_t records = 2000;
  Fault fault = Fault::kNone;
};

class Job {
 public:
  static constexpr int32_t kTensorSize = 8;
  static constexpr int32_t kStages = 4;

  explicit Job(const Shape& shape)
      : shape_(shape),
        culprit_(shape.ranks / 2 + 3),
        steps_(std::max(10u, shape.records / 2 / kP2pPerStep)) {
    for (uint32_t step = 0; step < steps_; ++step) {
      step_begin_.push_back(calls_.size());
      AddStep(step, &calls_);
    }
    step_begin_.push_back(calls_.size());
    AddReport(&calls_);
    Plant();
    Run();
  }

  const Shape& shape() const { return shape_; }
  // In increasing order.
  std::vector<int32_t> Culprits() const {
    std::vector<int32_t> culprits;
    for (int32_t rank = 0; rank < shape_.ranks; ++rank) {
      if (IsCulprit(rank)) culprits.push_back(rank);
    }
    return culprits;
  }
  uint32_t steps() const { return steps_; }
  // The number of first calls that are the same on all ranks and that all ranks complete.
  size_t CallsBeforeTheFault() const { return step_begin_[steps_ - 3]; }
  // The calls that `rank` makes if nothing stops it.
  const std::vector<Call>& CallsOf(int32_t rank) const {
    return IsCulprit(rank) ? culprits_calls_ : calls_;
  }
  // The number of its calls that returned. The next one is open, unless there is none or the rank
  // stopped before it.
  size_t Returned(int32_t rank) const { return at_[static_cast<size_t>(rank)]; }
  bool IsOpen(int32_t rank) const {
    return Returned(rank) < CallsOf(rank).size() &&
           !(IsCulprit(rank) && Returned(rank) >= leaves_at_);
  }

  // The members of one of a rank's groups: every `stride`-th from `first`.
  struct Members {
    int32_t first;
    int32_t stride;
    int32_t count;
    int32_t index;  // of the rank itself

    int32_t operator[](int32_t i) const { return first + i * stride; }
  };
  // Rank numbers increase along the tensor group first, then the pipeline, then the data group.
  Members MembersOf(Group group, int32_t rank) const {
    const int32_t model = kTensorSize * kStages;
    switch (group) {
      case kTensor:
        return {rank - rank % kTensorSize, 1, kTensorSize, rank % kTensorSize};
      case kPipeline:
        return {rank - rank % model + rank % kTensorSize, kTensorSize, kStages,
                rank % model / kTensorSize};
      case kData:
        return {rank % model, model, shape_.ranks / model, rank / model};
      default:
        return {0, 1, shape_.ranks, rank};
    }
  }

 private:
  static constexpr uint32_t kMicrobatches = 4;
  static constexpr uint32_t kLayers = 3;
  static constexpr uint32_t kP2pPerStep = 2 * kMicrobatches * 3;

  bool IsCulprit(int32_t rank) const {
    if (shape_.fault == Fault::kNone) return false;
    if (shape_.fault != Fault::kRing) return rank == culprit_;
    return MembersOf(kPipeline, rank).first == MembersOf(kPipeline, culprit_).first;
  }

  static void AddStep(uint32_t step, std::vector<Call>* calls) {
    for (const Function function : {kForward, kBackward}) {
      const int32_t to = function == kForward ? 1 : -1;
      for (uint32_t microbatch = 0; microbatch < kMicrobatches; ++microbatch) {
        calls->push_back({Operation::kIrecv, kPipeline, 4096, -to, to + 1, PlaceOf(function, 11)});
        calls->push_back({Operation::kIsend, kPipeline, 4096, to, to + 1, PlaceOf(function, 12)});
        calls->push_back({Operation::kWaitall, kPipeline, 2, 0, 0, PlaceOf(function, 13)});
        for (uint32_t layer = 0; layer < kLayers; ++layer) {
          calls->push_back({layer % 2 == 0 ? Operation::kAllreduce : Operation::kAllgather, kTensor,
                            uint64_t{2048} << layer, 0, 0, PlaceOf(function, 20 + layer)});
        }
      }
    }
    calls->push_back(
        {Operation::kReduce_scatter_block, kData, 65536, 0, 0, PlaceOf(kOptimizer, 30)});
    calls->push_back({Operation::kAllgather, kData, 65536, 0, 0, PlaceOf(kOptimizer, 33)});
    calls->push_back({Operation::kAllreduce, kWorld, 1, 0, 0, PlaceOf(kLoss, 40)});
    if (step % 8 == 1) {
      calls->push_back({Operation::kBcast, kWorld, 16, 0, 0, PlaceOf(kLoss, 44)});
    }
  }

  static void AddReport(std::vector<Call>* calls) {
    calls->push_back({Operation::kReduce, kWorld, 8, 0, 0, PlaceOf(kReport, 50)});
    calls->push_back({Operation::kBarrier, kWorld, 0, 0, 0, PlaceOf(kReport, 51)});
  }

  // The index of the culprit's `nth` call of this kind, from the last step but one on.
  size_t Find(Operation operation, Group group, uint32_t nth = 0) const {
    for (size_t i = step_begin_[steps_ - 2]; i < calls_.size(); ++i) {
      if (calls_[i].operation == operation && calls_[i].group == group && nth-- == 0) return i;
    }
    return calls_.size();
  }

  void Plant() {
    culprits_calls_ = calls_;
    const auto call = [this](size_t index) { return culprits_calls_.begin() + ptrdiff_t(index); };
    const size_t data = Find(Operation::kReduce_scatter_block, kData);
    switch (shape_.fault) {
      case Fault::kNone:
        break;
      case Fault::kSkipped:
        culprits_calls_.erase(call(Find(Operation::kAllgather, kTensor, 2)));
        break;
      case Fault::kReplaced:
        call(Find(Operation::kAllgather, kTensor, 2))->operation = Operation::kAllreduce;
        break;
      case Fault::kCount:
        call(Find(Operation::kAllreduce, kTensor, 3))->count /= 2;
        break;
      case Fault::kRoot: {
        size_t last = 0;
        for (size_t i = 0; i < calls_.size(); ++i) {
          if (calls_[i].operation == Operation::kBcast) last = i;
        }
        call(last)->peer = culprit_;
        break;
      }
      case Fault::kInverted: {
        // The call on the world before the two calls on the data group, from another line.
        Call all = *call(data + 2);
        all.place = PlaceOf(kOptimizer, 25);
        culprits_calls_.erase(call(data + 2));
        culprits_calls_.insert(call(data), all);
        break;
      }
      case Fault::kShort:
        culprits_calls_.erase(call(step_begin_[steps_ - 1]), call(step_begin_[steps_]));
        break;
      case Fault::kRing:
        call(Find(Operation::kIrecv, kPipeline, 2))->operation = Operation::kRecv;
        break;
      case Fault::kStalled:
      case Fault::kExited:
        leaves_at_ = data;
        break;
    }
  }

  struct GroupState {
    std::vector<int32_t> inside;
    bool differs = false;  // the operations differ: no rank returns
  };

  uint32_t GroupIndex(Group group, int32_t rank) const {
    const Members members = MembersOf(group, rank);
    const auto first = static_cast<uint32_t>(members.first);
    const auto ranks = static_cast<uint32_t>(shape_.ranks);
    return group * ranks + first;
  }

  // All steps except the last few are the same on all ranks and need not be run.
  void Run() {
    const size_t from = step_begin_[steps_ - 10];
    const auto ranks = static_cast<size_t>(shape_.ranks);
    at_.assign(ranks, from);
    inside_.assign(ranks, false);
    groups_.resize(kGroups * ranks);
    for (std::vector<int64_t>& count : messages_) count.assign(ranks, 0);
    std::vector<int32_t> work;
    for (int32_t rank = shape_.ranks; rank-- > 0;) work.push_back(rank);
    while (!work.empty()) {
      const int32_t rank = work.back();
      work.pop_back();
      Advance(rank, &work);
    }
  }

  void Advance(int32_t rank, std::vector<int32_t>* work) {
    size_t& at = at_[static_cast<size_t>(rank)];
    while (IsOpen(rank)) {
      const Call& call = CallsOf(rank)[at];
      if (call.operation == Operation::kIsend) {
        const Members stages = MembersOf(kPipeline, rank);
        const int32_t to = stages[(stages.index + call.peer + kStages) % kStages];
        ++Messages(to, call.tag);
        work->push_back(to);
      } else if (call.operation == Operation::kRecv || call.operation == Operation::kWaitall) {
        const Call& receive = call.operation == Operation::kRecv ? call : CallsOf(rank)[at - 2];
        if (Messages(rank, receive.tag) == 0) return;
        --Messages(rank, receive.tag);
      } else if (call.operation != Operation::kIrecv && !Enter(rank, call, work)) {
        return;
      }
      ++at;
    }
  }

  int64_t& Messages(int32_t to, int32_t tag) {
    return messages_[static_cast<size_t>(tag)][static_cast<size_t>(to)];
  }

  // True if the call is complete; ranks that waited in it have then continued and are added to
  // `work`.
  bool Enter(int32_t rank, const Call& call, std::vector<int32_t>* work) {
    if (inside_[static_cast<size_t>(rank)]) return false;
    GroupState& group = groups_[GroupIndex(call.group, rank)];
    if (!group.inside.empty()) {
      const int32_t other = group.inside.front();
      group.differs |= CallsOf(other)[Returned(other)].operation != call.operation;
    }
    const int32_t members = MembersOf(call.group, rank).count;
    if (group.differs || static_cast<int32_t>(group.inside.size()) + 1 < members) {
      group.inside.push_back(rank);
      inside_[static_cast<size_t>(rank)] = true;
      return false;
    }
    for (const int32_t other : group.inside) {
      ++at_[static_cast<size_t>(other)];
      inside_[static_cast<size_t>(other)] = false;
      work->push_back(other);
    }
    group.inside.clear();
    return true;
  }

  const Shape shape_;
  const int32_t culprit_;
  const uint32_t steps_;
  std::vector<Call> calls_;
  std::vector<size_t> step_begin_;
  std::vector<Call> culprits_calls_;
  size_t leaves_at_ = ~size_t{0};
  std::vector<size_t> at_;
  std::vector<bool> inside_;  // whether a rank is inside a collective
  std::vector<GroupState> groups_;
  std::array<std::vector<int64_t>, 3>
      messages_;  // by tag: messages sent to a rank and not received
};

}  // namespace rollcall::ring_job

#endif  // ROLLCALL_TESTS_SUPPORT_RING_JOB_H_
