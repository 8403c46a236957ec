// SPDX-License-Identifier: Apache-2.0
// The functions of a machine that the import of traces uses.
#ifndef ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_
#define ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "collector/base/memory_rings.h"
#include "proto/ring_format.h"

namespace rollcall {

// Tests replace it.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::string Hostname() = 0;
  // The state of the process that wrote the ring of `header`. A process of another pid namespace
  // may be alive although it is not found.
  enum class Life : uint8_t { kAlive, kGone, kUnknown };
  virtual Life LifeOf(const ring::FileHeader& header) = 0;
  // The rings of all run directories of that user on this machine.
  virtual MemoryRings FindMemoryRings(uid_t user) = 0;
  virtual int64_t NowNs() = 0;  // CLOCK_REALTIME
  virtual void Wait(std::chrono::milliseconds time) = 0;
};

// This machine. Owned by the library; thread-safe.
Machine& ThisMachine();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_MACHINE_H_
