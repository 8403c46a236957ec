// SPDX-License-Identifier: Apache-2.0
// A stand-in for libtorch_cuda.so: ProcessGroupNCCL on the simulated NCCL.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/torch_sim/c10d.h"

namespace c10d {
namespace {

constexpr cudaStream_t kCurrentStream = nullptr;  // the caller's

// PyTorch's rank 0 gives the id to the others through the store.
ncclUniqueId IdOf(const Store* store) {
  ncclUniqueId id;
  memset(&id, 0, sizeof(id));
  uint32_t hash = 0;
  for (const char c : store->Prefix()) {
    hash = hash * 31 + static_cast<unsigned char>(c);
  }
  snprintf(id.internal, sizeof(id.internal), "%.60s-%x", getenv("TORCHELASTIC_RUN_ID"), hash);
  return id;
}

ncclDataType_t TypeOf(const at::Tensor& tensor) {
  return tensor->scalar_type == 7   ? ncclFloat64
         : tensor->scalar_type == 3 ? ncclInt32
                                    : ncclFloat32;
}

std::shared_ptr<cudaEvent_t> NewEvent() {
  auto* event = new cudaEvent_t;
  cudaEventCreate(event);
  return {event, [](cudaEvent_t* old) {
            cudaEventDestroy(*old);
            delete old;
          }};
}

}  // namespace

ProcessGroupNCCL::WorkNCCL::WorkNCCL(int its_rank, OpType its_type,
                                     const std::optional<Tensors>& inputs)
    : Work(its_rank, its_type, "nccl", inputs), rank(its_rank), type(its_type), end(NewEvent()) {}
ProcessGroupNCCL::WorkNCCL::WorkNCCL(const WorkNCCL& other)
    : Work(other.rank, other.type),
      std::enable_shared_from_this<WorkNCCL>(other),
      rank(other.rank),
      type(other.type),
      end(other.end) {}
ProcessGroupNCCL::WorkNCCL::~WorkNCCL() = default;

bool ProcessGroupNCCL::WorkNCCL::wait(milliseconds) {
  cudaStreamWaitEvent(kCurrentStream, *end, 0);
  if (const char* blocks = getenv("TORCH_NCCL_BLOCKING_WAIT"); blocks != nullptr) {
    while (cudaEventQuery(*end) != 0) usleep(2000);
  }
  if (type == OpType::BARRIER) cudaStreamSynchronize(kCurrentStream);
  return true;
}

ProcessGroupNCCL::ProcessGroupNCCL(c10::intrusive_ptr<Store> store, int rank, int size,
                                   c10::intrusive_ptr<Options>)
    : Backend(rank, size), store_(std::move(store)) {
  cudaStreamCreate(&stream_);
  cudaEventCreate(&ready_);
  watchdog_ = std::thread(&ProcessGroupNCCL::Watch, this);
}

ProcessGroupNCCL::~ProcessGroupNCCL() {
  stop_ = true;
  watchdog_.join();
  if (comm_ != nullptr) ncclCommDestroy(comm_);
}

void ProcessGroupNCCL::Watch() {
  while (!stop_) {
    {
      const std::lock_guard lock(mutex_);
      works_.remove_if([](const WorkNCCL& work) { return cudaEventQuery(*work.end) == 0; });
    }
    usleep(20'000);
  }
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::Enqueued(OpType type,
                                                    const std::optional<Tensors>& inputs) {
  auto work = c10::make_intrusive<WorkNCCL>(rank_, type, inputs);
  cudaEventRecord(*work->end, stream_);
  const std::lock_guard lock(mutex_);
  works_.emplace_back(*work);
  return work;
}

template <typename Enqueue>
c10::intrusive_ptr<Work> ProcessGroupNCCL::Operate(OpType type, const Tensors& inputs,
                                                   Enqueue enqueue) {
  if (comm_ == nullptr) {
    // Not in a group, where it would be made only at the group's end.
    if (coalescing_) ncclGroupEnd();
    ncclCommInitRank(&comm_, size_, IdOf(store_.get()), rank_);
    if (coalescing_) ncclGroupStart();
  }
  cudaEventRecord(ready_, kCurrentStream);
  cudaStreamWaitEvent(stream_, ready_, 0);
  ncclGroupStart();
  for (const at::Tensor& tensor : inputs) enqueue(tensor);
  ncclGroupEnd();
  if (coalescing_) return {};
  return Enqueued(type, inputs);
}

void ProcessGroupNCCL::startCoalescing() {
  coalescing_ = true;
  ncclGroupStart();
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::endCoalescing() {
  ncclGroupEnd();
  coalescing_ = false;
  return Enqueued(OpType::COALESCED, std::nullopt);
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::broadcast(Tensors& tensors,
                                                     const BroadcastOptions& options) {
  return Operate(OpType::BROADCAST, tensors, [&](const at::Tensor& tensor) {
    ncclBroadcast(tensor->data, tensor->data, static_cast<size_t>(tensor->numel), TypeOf(tensor),
                  static_cast<int>(options.rootRank), comm_, stream_);
  });
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::allreduce(Tensors& tensors,
                                                     const AllreduceOptions& options) {
  return Operate(OpType::ALLREDUCE, tensors, [&](const at::Tensor& tensor) {
    ncclAllReduce(tensor->data, tensor->data, static_cast<size_t>(tensor->numel), TypeOf(tensor),
                  options.reduceOp.op == 0 ? ncclSum : ncclMax, comm_, stream_);
  });
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                     const AllgatherOptions&) {
  return Operate(OpType::ALLGATHER, inputs, [&](const at::Tensor& input) {
    for (int root = 0; root < size_; ++root) {
      const at::Tensor& part = outputs[0][static_cast<size_t>(root)];
      ncclBroadcast(root == rank_ ? input->data : part->data, part->data,
                    static_cast<size_t>(part->numel), TypeOf(part), root, comm_, stream_);
    }
  });
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                           const AllgatherOptions&) {
  return Operate(OpType::ALLGATHER, {input}, [&](const at::Tensor& tensor) {
    ncclAllGather(tensor->data, output->data, static_cast<size_t>(tensor->numel), TypeOf(tensor),
                  comm_, stream_);
  });
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::send(Tensors& tensors, int peer, int) {
  return Operate(OpType::SEND, tensors, [&](const at::Tensor& tensor) {
    ncclSend(tensor->data, static_cast<size_t>(tensor->numel), TypeOf(tensor), peer, comm_,
             stream_);
  });
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::recv(Tensors& tensors, int peer, int) {
  return Operate(OpType::RECV, tensors, [&](const at::Tensor& tensor) {
    ncclRecv(tensor->data, static_cast<size_t>(tensor->numel), TypeOf(tensor), peer, comm_,
             stream_);
  });
}

c10::intrusive_ptr<Work> ProcessGroupNCCL::barrier(const BarrierOptions&) {
  static float one[1] = {1};
  static at::TensorImpl impl{one, 1, 6};
  return Operate(OpType::BARRIER, {at::Tensor(&impl)}, [&](const at::Tensor& tensor) {
    ncclAllReduce(tensor->data, tensor->data, 1, ncclFloat32, ncclSum, comm_, stream_);
  });
}

}  // namespace c10d
