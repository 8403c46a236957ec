// SPDX-License-Identifier: Apache-2.0
// Runs work that may hang in a library.
#ifndef ROLLCALL_COLLECTOR_BASE_BOUNDED_H_
#define ROLLCALL_COLLECTOR_BASE_BOUNDED_H_

#include <chrono>
#include <functional>

namespace rollcall {

// Runs `work` on a thread of its own and returns whether it has ended within `limit`. If it has
// not, it continues to run: the objects that it uses must stay valid until the process ends. If no
// thread can be started, `work` is not run. Not thread-safe.
bool EndsWithin(std::chrono::milliseconds limit, std::function<void()> work);

// Whether EndsWithin() has ever returned false. The process must then end by _exit(2): a destructor
// of a static object might wait for the work that hangs.
bool WorkWasLeft();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_BOUNDED_H_
