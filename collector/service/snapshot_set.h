// Ring images as they come in from the agents.
#ifndef ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_
#define ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collector/rpc/compression.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

struct IncomingRing {
  std::string name;
  uint64_t agent = 0;
  std::vector<uint8_t> bytes;
  uint64_t received_bytes = 0;  // uncompressed; more than `bytes` of one that is dropped
  uint64_t total_bytes = 0;
  bool whole = false;
  bool dropped = false;  // there was no room for it
  bool quiet = false;
  bool alive = true;
  uint64_t activity = 0;
  int64_t idle_ns = 0;
  int64_t cpu_ns = 0;
  int64_t arrived_realtime_ns = 0;
};

// The answers to one request, or to one and those that ask for more of some processes. Sizes come
// from the network and are bounded: an image to the most that a ring may have, all together to what
// Begin() says, and one image.
class SnapshotSet {
 public:
  // Forgets all images.
  void Clear();
  // Begins to wait for the answers of `agents` to `request`. An image that comes replaces the one
  // of its process that is there, once it is whole; one that would take the images beyond
  // `most_bytes` is dropped.
  void Begin(uint64_t request, std::set<uint64_t> agents, uint64_t most_bytes = UINT64_MAX);
  // False if the chunk is not what an agent sends: out of order, too large.
  bool Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns);
  // That agent will not answer.
  void GiveUpOn(uint64_t agent) { waiting_.erase(agent); }
  bool complete() const { return waiting_.empty(); }
  // Bytes that have come over the network since Begin(), of all agents and of one.
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t ReceivedBytes(uint64_t agent) const {
    const auto answer = answers_.find(agent);
    return answer == answers_.end() ? 0 : answer->second.received_bytes;
  }
  // Whether that agent has said all that it had to say.
  bool Answered(uint64_t agent) const { return answered_.contains(agent); }
  const std::map<uint64_t, IncomingRing>& images() const { return images_; }
  // Names of the processes whose image was begun and did not come whole.
  std::vector<std::string> Incomplete() const;
  // Processes of which an image was dropped.
  size_t dropped() const { return dropped_.size(); }
  // Hands the images over; what still comes is late.
  std::map<uint64_t, IncomingRing> TakeImages();

 private:
  struct Answer;
  rpc::Decompressor* DecompressorOf(Answer* answer);

  uint64_t request_ = 0;
  std::set<uint64_t> waiting_;
  std::set<uint64_t> answered_;
  uint64_t received_bytes_ = 0;
  struct Answer {
    uint64_t received_bytes = 0;
    std::optional<rpc::Decompressor> decompressor;  // of a compressed answer
    uint64_t id = 0;                                // of the process whose image is on its way
    IncomingRing image;
  };
  std::map<uint64_t, Answer> answers_;       // by agent
  std::vector<rpc::Decompressor> spare_;     // of answers that are over
  std::map<uint64_t, IncomingRing> images_;  // by ring id
  std::set<uint64_t> dropped_;               // ring ids
  uint64_t most_bytes_ = UINT64_MAX;
  uint64_t held_bytes_ = 0;  // of images_ and answers_
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_
