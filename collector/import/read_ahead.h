// SPDX-License-Identifier: Apache-2.0
// Reads many items with several threads and returns the results in order. Items are joined on one
// thread while later items are read on other threads. Only a few results are kept waiting, so
// memory does not depend on the number of items.
#ifndef ROLLCALL_COLLECTOR_IMPORT_READ_AHEAD_H_
#define ROLLCALL_COLLECTOR_IMPORT_READ_AHEAD_H_

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "collector/base/assert.h"

namespace rollcall {

// As many threads as can read beside the joining thread without waiting for a processor.
inline unsigned ReadingThreads() { return std::clamp(std::thread::hardware_concurrency(), 1u, 8u); }

template <typename Result>
class ReadAhead {
 public:
  // `read(index)` is called once for each index below `count`, from `threads` threads, or by Next()
  // if no thread can be started. Objects that it uses must outlive this object.
  ReadAhead(size_t count, unsigned threads, std::function<Result(size_t)> read)
      : count_(count), read_(std::move(read)) {
    const size_t wanted = std::min<size_t>(threads, count);
    try {
      for (size_t i = 0; i < wanted; ++i) threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // With fewer threads it is slower.
    }
  }
  // Does not wait for reads that have not begun.
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      count_ = 0;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // The next result, `count` times. Throws what read() threw for it.
  Result Next() {
    ROLLCALL_ASSERT(taken_ < count_);
    if (threads_.empty()) return read_(taken_++);
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[taken_ % kAhead];
    done_.wait(lock, [&slot] { return slot.result || slot.error; });
    const std::exception_ptr error = std::exchange(slot.error, nullptr);
    std::optional<Result> result = std::exchange(slot.result, std::nullopt);
    ++taken_;
    lock.unlock();
    room_.notify_one();
    if (error) std::rethrow_exception(error);
    return std::move(*result);
  }

 private:
  static constexpr size_t kAhead = 8;

  struct Slot {
    std::optional<Result> result;
    std::exception_ptr error;
  };

  void Work() {
    while (true) {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] { return next_ < taken_ + kAhead || next_ >= count_; });
      if (next_ >= count_) return;
      const size_t index = next_++;
      lock.unlock();
      Slot made;
      try {
        made.result.emplace(read_(index));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      slots_[index % kAhead] = std::move(made);
      lock.unlock();
      done_.notify_one();
    }
  }

  size_t count_;
  const std::function<Result(size_t)> read_;
  std::mutex mutex_;  // guards count_ and the members below, except threads_
  std::condition_variable room_;
  std::condition_variable done_;
  std::array<Slot, kAhead> slots_;  // of index i: i % kAhead
  size_t next_ = 0;                 // to be read
  size_t taken_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_READ_AHEAD_H_
