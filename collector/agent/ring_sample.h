// One cheap look at a ring file: how far the process came and what it is blocked in. Reads the
// header and the tables that movement is counted from and, when something moved, the members:
// never the records. Checks of the file, and what its elements mean, are those of the full reader,
// collector/import/ring_reader.h; each table is read once only.
#ifndef ROLLCALL_COLLECTOR_AGENT_RING_SAMPLE_H_
#define ROLLCALL_COLLECTOR_AGENT_RING_SAMPLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/base/file.h"
#include "collector/import/ring_image.h"
#include "proto/ring_format.h"

namespace rollcall::agent {

struct Mark {
  uint64_t sequence = 0;
  uint64_t semantic_hash = 0;
  friend bool operator==(const Mark&, const Mark&) = default;
};

struct MemberSample {
  uint64_t key = 0;
  int32_t rank = -1;
  int32_t size = -1;
  uint64_t entered = 0;
  uint64_t completed = 0;
  bool concurrent = false;  // ring::kSawConcurrency or kWeakIdentity: hashes prove nothing
  std::vector<Mark> marks;  // by falling sequence
  friend bool operator==(const MemberSample&, const MemberSample&) = default;
};

struct BlockedSample {
  uint16_t operation = 0;
  uint32_t tid = 0;
  uint32_t member = 0;  // uid in the ring
  uint64_t key = 0;     // of the communicator; 0 if none
  uint64_t sequence = 0;
  int64_t since_monotonic_ns = 0;  // CLOCK_MONOTONIC of this node
};

// A thread whose last call was a failed poll.
struct PollingSample {
  uint32_t tid = 0;
  uint64_t streak = 0;  // ring::Polling::since_ticks
  uint64_t polls = 0;
  double inside_share = 0;  // of its time, inside of polls (ring::Polling::inside); 0 if unknown
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
  uint64_t threads_unrecorded = 0;  // that call MPI and have no entry
  ring::Phase phase = ring::Phase::kStarting;
  ring::ExitMark exit_mark = ring::ExitMark::kNone;
  int32_t exit_status = 0;
  std::string host;
  uint64_t activity = 0;  // RingActivity()
  uint64_t polls = 0;
  bool device_works = false;  // a device has told that it is not through with what it was given
  std::vector<MemberSample> members;
  std::vector<BlockedSample> blocked;  // the outermost open call of each thread
  std::vector<PollingSample> polling;
  std::vector<uint32_t> callers;  // thread ids of all that have called MPI and live
};

// Samples one file again and again. Not thread-safe. Never blocks on anything but the file system,
// trusts no size or offset, and uses pread(): a file cut while it is read is an error, not a
// SIGBUS.
class RingSampler {
 public:
  explicit RingSampler(UniqueFd fd) : fd_(std::move(fd)) {}

  // True if the file could be read; else problem() says why. A file whose header is not there yet
  // (the process is still making it) is such an error and may be asked again.
  bool Sample(RingSample* out);
  const std::string& problem() const { return problem_; }
  int fd() const { return fd_.get(); }  // -1: it was closed
  // The same file, opened again, or nothing until then.
  void SetFile(UniqueFd fd) { fd_ = std::move(fd); }

 private:
  void ReadMembers(const ImageTable& table);

  UniqueFd fd_;
  std::string problem_;
  // From the last sample: the members are read again only when something moved.
  bool sampled_ = false;
  bool moved_before_ = false;
  uint64_t last_activity_ = 0;
  std::vector<MemberSample> members_;
  std::vector<uint32_t> member_uids_;  // of members_
};

}  // namespace rollcall::agent

#endif  // ROLLCALL_COLLECTOR_AGENT_RING_SAMPLE_H_
