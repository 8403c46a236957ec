// SPDX-License-Identifier: Apache-2.0
// Takes a cheap sample of a ring file: the progress of the process and the calls that it is blocked
// in. Reads the header, the tables that count its activity and, when something moved, the members.
// Never reads the records. The file is checked and interpreted as by the full reader,
// collector/import/ring_reader.h, but each table is read only once.
#ifndef ROLLCALL_COLLECTOR_AGENT_RING_SAMPLE_H_
#define ROLLCALL_COLLECTOR_AGENT_RING_SAMPLE_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collector/base/file.h"
#include "collector/import/ring_image.h"
#include "collector/import/ring_tables.h"
#include "proto/ring_format.h"

namespace rollcall::agent {

struct Mark {
  uint64_t sequence = 0;
  uint64_t semantic_hash = 0;
  friend bool operator==(const Mark&, const Mark&) = default;
};

struct MemberSample {
  uint64_t key = 0;
  std::string name;  // NameOfCommunicator(), cleaned
  int32_t rank = -1;
  int32_t size = -1;
  uint64_t entered = 0;
  uint64_t completed = 0;
  bool concurrent = false;  // ring::kSawConcurrency or kWeakIdentity: hashes prove nothing
  std::vector<Mark> marks;  // in descending order of sequence
  // Of the member's data, if the shim examines it (ring::DataMember).
  std::vector<Mark> results;  // hashes by number of results; in no order
  uint64_t non_finite_input = 0;
  uint64_t non_finite_result = 0;
  friend bool operator==(const MemberSample&, const MemberSample&) = default;
};

struct BlockedSample {
  uint16_t operation = 0;
  uint32_t tid = 0;
  uint32_t member = 0;  // uid of the member in the ring
  uint64_t key = 0;     // of the communicator; 0 if none
  uint64_t sequence = 0;
  int64_t since_monotonic_ns = 0;  // CLOCK_MONOTONIC of this node
};

// A thread whose last call was a failed poll.
struct PollingSample {
  uint32_t tid = 0;
  uint64_t streak = 0;  // ring::Polling::since_ticks
  uint64_t polls = 0;
  double inside_share = 0;  // share of its time inside polls (ring::Polling::inside); 0 if unknown
};

struct RingSample {
  uint64_t id = 0;  // RingId()
  uint32_t pid = 0;
  uint64_t process_start_ticks = 0;
  uint64_t pid_namespace = 0;
  uint64_t job_key = 0;
  int32_t world_rank = -1;
  int32_t world_size = -1;
  uint32_t thread_level = 0xffffffff;
  uint64_t threads_unrecorded = 0;  // threads that call MPI without an entry in the ring
  ring::Phase phase = ring::Phase::kStarting;
  ring::ExitMark exit_mark = ring::ExitMark::kNone;
  int32_t exit_status = 0;
  std::string host;
  uint64_t activity = 0;  // RingActivity()
  uint64_t polls = 0;
  bool device_works = false;  // a device has reported that its work is not complete
  std::vector<MemberSample> members;
  std::vector<BlockedSample> blocked;  // the outermost open call of each thread
  std::vector<PollingSample> polling;
  std::vector<uint32_t> callers;  // ids of the living threads that have called MPI
};

// Samples one file repeatedly. Not thread-safe. Blocks only on the file system, trusts no size or
// offset, and uses pread(): a file that is truncated while it is read causes an error, not a
// SIGBUS.
class RingSampler {
 public:
  explicit RingSampler(UniqueFd fd) : fd_(std::move(fd)) {}

  // True if the file could be read; otherwise problem() says why. A file without a header (the
  // process is still creating it) is such an error, and may be sampled again.
  bool Sample(RingSample* out);
  const std::string& problem() const { return problem_; }
  int fd() const { return fd_.get(); }  // -1: the file is closed
  // Replaces the file by the same file, reopened. An invalid `fd` leaves no file open.
  void SetFile(UniqueFd fd) { fd_ = std::move(fd); }

 private:
  void ReadMembers(RingTables* tables, const RingImage& image);
  std::string NameOf(const ring::Member& member, RingTables* tables, const RingImage& image);

  UniqueFd fd_;
  std::string problem_;
  // State of the last sample: the members are read again only when something moved.
  bool sampled_ = false;
  bool moved_before_ = false;
  uint64_t last_activity_ = 0;
  std::vector<MemberSample> members_;
  std::vector<uint32_t> member_uids_;                // uids of members_
  std::unordered_map<uint32_t, std::string> names_;  // by StringRef: a string never changes
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_RING_SAMPLE_H_
