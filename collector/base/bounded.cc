// SPDX-License-Identifier: Apache-2.0
#include "collector/base/bounded.h"

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace rollcall {
namespace {

bool g_work_was_left = false;

}  // namespace

bool EndsWithin(std::chrono::milliseconds limit, std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  const std::future<void> end = task.get_future();
  try {
    std::thread thread(std::move(task));
    if (end.wait_for(limit) == std::future_status::ready) {
      thread.join();
      return true;
    }
    thread.detach();
  } catch (const std::system_error&) {  // no thread
  }
  g_work_was_left = true;
  return false;
}

bool WorkWasLeft() { return g_work_was_left; }

}  // namespace rollcall
