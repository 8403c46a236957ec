// What the import of traces asks the machine that it runs on.
#ifndef ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_
#define ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace rollcall {

// Tests put another one in its place.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string Hostname() = 0;
  // Start time in clock ticks since boot (/proc/<pid>/stat field 22); 0 if there is no such
  // process.
  virtual uint64_t StartTicks(uint32_t pid) = 0;
  virtual int64_t NowNs() = 0;  // CLOCK_REALTIME
  virtual void Wait(std::chrono::milliseconds time) = 0;
};

// This machine. Owned by the library; thread-safe.
Machine& ThisMachine();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_
