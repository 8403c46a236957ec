// SPDX-License-Identifier: Apache-2.0
// Writes facts about the application's data into the ring: the sections kData and kDataMembers. Any
// thread; the caller holds a DataLog. Not async-signal-safe, but a signal handler that interrupts
// the holder does not wait: it gets no log.
#ifndef ROLLCALL_SHIM_DATA_DATA_LOG_H_
#define ROLLCALL_SHIM_DATA_DATA_LOG_H_

#include <cstdint>

#include "proto/ring_format.h"
#include "shim/comms.h"

namespace rollcall::shim::data {

// The right to write. No thread waits for it: if two threads want to write at once, one of them
// gets it, and the other does not write.
class DataLog {
 public:
  DataLog();
  ~DataLog();
  DataLog(const DataLog&) = delete;
  DataLog& operator=(const DataLog&) = delete;

  bool held() const { return held_; }  // the functions below require it

  // Ignores the record's lock word.
  void Append(const ring::DataRecord& record);
  void Append(const ring::DataBlocks& blocks);
  // Keeps `found` if it is the first NaN or infinity of the member's inputs, or (`input` false) of
  // its results.
  void KeepFirst(const Comm& comm, bool input, const ring::NonFinite& found);
  // Adds a result that is equal on all members: see Comm::results. `call` is different for each
  // call of a communicator.
  void AddResult(Comm* comm, uint64_t call, uint64_t hash);

 private:
  bool held_;
};

// Count a buffer that was read, a buffer that was not, or a call outside the scope. The caller must
// not hold a DataLog.
void CountRead(const Comm& comm);
void CountUnread(const Comm& comm, ring::Unread why);
void CountOutside(const Comm& comm);

}  // namespace rollcall::shim::data

#endif  // ROLLCALL_SHIM_DATA_DATA_LOG_H_
