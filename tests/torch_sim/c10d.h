// SPDX-License-Identifier: Apache-2.0
// The part of PyTorch 2.6's C++ interface (c10d) that the stand-ins of this directory have, under
// the real names and with the layouts that librollcall.so relies on. Declared from its
// documentation and symbols; no header of PyTorch is needed.
#ifndef ROLLCALL_TESTS_TORCH_SIM_C10D_H_
#define ROLLCALL_TESTS_TORCH_SIM_C10D_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/nccl_sim/nccl_api.h"

namespace c10 {

struct intrusive_ptr_target {
  virtual ~intrusive_ptr_target() = default;
  std::atomic<uint32_t> refcount{0};
  uint32_t weakcount = 0;
};

namespace detail {
template <typename T>
struct intrusive_target_default_null_type {};
}  // namespace detail

template <typename T, typename Null = detail::intrusive_target_default_null_type<T>>
class intrusive_ptr {
 public:
  intrusive_ptr() = default;
  explicit intrusive_ptr(T* target) : target_(target) { Take(); }
  intrusive_ptr(const intrusive_ptr& other) : target_(other.target_) { Take(); }
  template <typename U>
  intrusive_ptr(const intrusive_ptr<U>& other) : target_(other.get()) {  // NOLINT: as the real one
    Take();
  }
  intrusive_ptr& operator=(intrusive_ptr other) {
    std::swap(target_, other.target_);
    return *this;
  }
  ~intrusive_ptr() {
    if (target_ != nullptr && --target_->refcount == 0) delete target_;
  }
  T* get() const { return target_; }
  T* operator->() const { return target_; }
  T& operator*() const { return *target_; }
  explicit operator bool() const { return target_ != nullptr; }

 private:
  void Take() {
    if (target_ != nullptr) ++target_->refcount;
  }
  T* target_ = nullptr;
};

template <typename T, typename... Args>
intrusive_ptr<T> make_intrusive(Args&&... args) {
  return intrusive_ptr<T>(new T(std::forward<Args>(args)...));
}

}  // namespace c10

namespace at {

struct TensorImpl {
  void* data;
  int64_t numel;
  int32_t scalar_type;
};
// Of device memory that is never freed.
class Tensor {
 public:
  explicit Tensor(TensorImpl* impl) : impl_(impl) {}
  Tensor(const Tensor& other) : impl_(other.impl_) {}  // NOLINT: not trivial
  Tensor& operator=(const Tensor&) = default;
  ~Tensor() {}  // NOLINT
  TensorImpl* operator->() const { return impl_; }

 private:
  TensorImpl* impl_;
};

}  // namespace at

namespace c10d {

using std::chrono::milliseconds;
using Tensors = std::vector<at::Tensor>;

enum class OpType : uint8_t {
  BROADCAST = 0,
  ALLREDUCE = 1,
  ALLGATHER = 3,
  SEND = 15,
  RECV = 16,
  BARRIER = 18,
  COALESCED = 21
};  // NOLINT: PyTorch's names

struct ReduceOp : c10::intrusive_ptr_target {
  uint8_t op = 0;  // SUM
  void* supplement = nullptr;
};
struct AllreduceOptions {
  ReduceOp reduceOp;
};
struct BroadcastOptions {
  int64_t rootRank = 0;
};
struct AllgatherOptions {};
struct BarrierOptions {};

class Store : public c10::intrusive_ptr_target {
 public:
  virtual std::string Prefix() const { return {}; }  // with those below
};
class PrefixStore : public Store {
 public:
  PrefixStore(std::string prefix, c10::intrusive_ptr<Store> below);
  ~PrefixStore() override;
  std::string Prefix() const override { return prefix_; }

 private:
  std::string prefix_;
};

class Work : public c10::intrusive_ptr_target {
 public:
  Work(int rank, OpType type, const char* title = nullptr,
       const std::optional<Tensors>& inputs = std::nullopt);
  ~Work() override;
  virtual bool wait(milliseconds timeout);
};

class Backend : public c10::intrusive_ptr_target {
 public:
  Backend(int rank, int size);
  ~Backend() override;
  virtual void startCoalescing() = 0;
  virtual c10::intrusive_ptr<Work> endCoalescing() = 0;
  virtual c10::intrusive_ptr<Work> broadcast(Tensors&, const BroadcastOptions&) = 0;
  virtual c10::intrusive_ptr<Work> allreduce(Tensors&, const AllreduceOptions&) = 0;
  virtual c10::intrusive_ptr<Work> allgather(std::vector<Tensors>&, Tensors&,
                                             const AllgatherOptions&) = 0;
  virtual c10::intrusive_ptr<Work> _allgather_base(at::Tensor&, at::Tensor&,
                                                   const AllgatherOptions&) = 0;
  virtual c10::intrusive_ptr<Work> send(Tensors&, int peer, int tag) = 0;
  virtual c10::intrusive_ptr<Work> recv(Tensors&, int peer, int tag) = 0;
  virtual c10::intrusive_ptr<Work> barrier(const BarrierOptions&) = 0;

 protected:
  int rank_;
  int size_;
};

// A communicator of NCCL that is made for the first operation, a stream for its operations, and a
// thread that asks which of them are complete.
class ProcessGroupNCCL : public Backend {
 public:
  class WorkNCCL : public Work, public std::enable_shared_from_this<WorkNCCL> {
   public:
    WorkNCCL(int rank, OpType type, const std::optional<Tensors>& inputs);
    WorkNCCL(const WorkNCCL& other);
    ~WorkNCCL() override;
    // The caller's stream waits, not the host: but for a barrier, and with
    // TORCH_NCCL_BLOCKING_WAIT=1.
    bool wait(milliseconds timeout) override;

    int rank;
    OpType type;
    std::shared_ptr<cudaEvent_t> end;
  };
  struct Options : c10::intrusive_ptr_target {};

  ProcessGroupNCCL(c10::intrusive_ptr<Store> store, int rank, int size,
                   c10::intrusive_ptr<Options> options);
  ~ProcessGroupNCCL() override;
  void startCoalescing() override;
  c10::intrusive_ptr<Work> endCoalescing() override;
  c10::intrusive_ptr<Work> broadcast(Tensors&, const BroadcastOptions&) override;
  c10::intrusive_ptr<Work> allreduce(Tensors&, const AllreduceOptions&) override;
  // Of parts of different sizes: a broadcast of each member.
  c10::intrusive_ptr<Work> allgather(std::vector<Tensors>&, Tensors&,
                                     const AllgatherOptions&) override;
  c10::intrusive_ptr<Work> _allgather_base(at::Tensor&, at::Tensor&,
                                           const AllgatherOptions&) override;
  c10::intrusive_ptr<Work> send(Tensors&, int peer, int tag) override;
  c10::intrusive_ptr<Work> recv(Tensors&, int peer, int tag) override;
  c10::intrusive_ptr<Work> barrier(const BarrierOptions&) override;

  cudaStream_t Stream() const { return stream_; }  // for faults of the device

 private:
  template <typename Enqueue>
  c10::intrusive_ptr<Work> Operate(OpType type, const Tensors& inputs, Enqueue enqueue);
  c10::intrusive_ptr<Work> Enqueued(OpType type, const std::optional<Tensors>& inputs);
  void Watch();

  c10::intrusive_ptr<Store> store_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  bool coalescing_ = false;
  std::mutex mutex_;
  std::list<WorkNCCL> works_;
  std::atomic<bool> stop_{false};
  std::thread watchdog_;
};

}  // namespace c10d

#endif  // ROLLCALL_TESTS_TORCH_SIM_C10D_H_
