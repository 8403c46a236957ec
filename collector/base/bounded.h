// Work that may hang in a library.
#ifndef ROLLCALL_COLLECTOR_BASE_BOUNDED_H_
#define ROLLCALL_COLLECTOR_BASE_BOUNDED_H_

#include <chrono>
#include <functional>

namespace rollcall {

// Runs `work` on a thread of its own and returns whether it has ended within `limit`. If not, it
// goes on: what it uses must stay valid until the process ends. If no thread can be started, `work`
// is not run. Not thread-safe.
bool EndsWithin(std::chrono::milliseconds limit, std::function<void()> work);

// Whether EndsWithin() has ever returned false. The process must then end by _exit(2): a destructor
// of a static object might wait for what hangs.
bool WorkWasLeft();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_BOUNDED_H_
