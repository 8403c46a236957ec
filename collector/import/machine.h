// What the import of traces asks the machine that it runs on.
#ifndef ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_
#define ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "proto/ring_format.h"

namespace rollcall {

// Tests put another one in its place.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string Hostname() = 0;
  // Of the process whose ring `header` is of. One that is not found and is in another pid namespace
  // may live unseen.
  enum class Life : uint8_t { kAlive, kGone, kUnknown };
  virtual Life LifeOf(const ring::FileHeader& header) = 0;
  virtual int64_t NowNs() = 0;  // CLOCK_REALTIME
  virtual void Wait(std::chrono::milliseconds time) = 0;
};

// This machine. Owned by the library; thread-safe.
Machine& ThisMachine();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_
