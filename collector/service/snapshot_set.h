// Ring images as they come in from the agents.
#ifndef ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_
#define ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/rpc/compression.h"
#include "proto/collector.pb.h"

namespace rollcall::service {

struct IncomingRing {
  std::string name;
  uint64_t agent = 0;
  uint64_t total_bytes = 0;  // uncompressed
  bool quiet = false;
  bool alive = true;
  uint64_t activity = 0;
  int64_t idle_ns = 0;
  int64_t cpu_ns = 0;
  int64_t arrived_realtime_ns = 0;
};

struct SnapshotLimits {
  uint64_t held_bytes = UINT64_MAX;      // as they came, their names, and kBytesOfAPlace for each
  uint64_t unpacked_bytes = UINT64_MAX;  // of all images
};

// The answers to one request, or to one and those that ask for more of some processes. What came
// compressed stays so: of a large job images take twenty times as much. Sizes come from the network
// and are bounded: an image to the most that a ring may have, all together to what Begin() says.
// Not thread-safe.
class SnapshotSet {
  struct Answer;

 public:
  // What an image costs besides its bytes, about: an agent may send many that have none.
  static constexpr uint64_t kBytesOfAPlace = 256;

  // Forgets all images, and waits for none.
  void Clear();
  // Begins to wait for the answers of `agents` to `request`. An image that comes replaces the one
  // of its process that is there, once it is whole; one beyond `limits` is dropped, with those that
  // come behind it in one compressed answer.
  void Begin(uint64_t request, std::set<uint64_t> agents, const SnapshotLimits& limits = {});
  // False if the chunk is not what an agent sends: out of order, too large.
  bool Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns);
  // What still comes in answer to the request is of no use.
  void End() { request_.reset(); }
  // That agent will not answer.
  void GiveUpOn(uint64_t agent) { waiting_.erase(agent); }
  bool complete() const { return waiting_.empty(); }
  // Bytes that have come over the network since Begin(), of all agents and of one.
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t ReceivedBytes(uint64_t agent) const;
  // Whether that agent has said all that it had to say.
  bool Answered(uint64_t agent) const { return answered_.contains(agent); }
  // Those that came whole, by ring id.
  const std::map<uint64_t, IncomingRing>& images() const { return images_; }
  // Names of the processes whose image was begun and did not come whole.
  std::vector<std::string> Incomplete() const;
  // Processes of which an image was dropped; of very many not all are counted.
  size_t dropped() const { return dropped_.size(); }

  // Unpacks the images one after the other. The set must not change meanwhile; any thread may read.
  class Reader {
   public:
    struct Image {
      uint64_t id = 0;
      const IncomingRing* ring = nullptr;
      std::span<const uint8_t> bytes;  // until the next call
      bool damaged = false;            // there are no bytes
    };
    explicit Reader(const SnapshotSet& set) : set_(set), answer_(set.answers_.begin()) {}
    // Each of images() once, those of the newest request first: of processes that did the same,
    // the diagnosis looks at the first, and the newest request asked for the most records.
    std::optional<Image> Next();

   private:
    const SnapshotSet& set_;
    std::list<Answer>::const_iterator answer_;
    size_t index_ = 0;      // in that answer
    bool readable_ = true;  // its stream, so far
    rpc::Decompressor decompressor_;
    std::vector<uint8_t> bytes_;
  };

 private:
  // What came of an image.
  struct Packed {
    uint64_t id = 0;
    uint64_t total_bytes = 0;  // of the image
    bool compressed = false;
    const IncomingRing* ring = nullptr;  // in images_; null: on its way, or a newer one is there
    std::string data;
  };
  struct Answer {
    uint64_t agent = 0;
    std::vector<Packed> images;
    uint64_t received_bytes = 0;
    bool cut = false;  // the rest of its images is dropped
    // The last of `images` is on its way.
    bool open = false;
    IncomingRing image;
    uint64_t unpacked_bytes = 0;
    bool dropped = false;
  };
  // Of an image that is whole.
  struct Place {
    Answer* answer = nullptr;
    size_t index = 0;
  };

  void BeginImage(const rpc::SnapshotChunk& chunk, Answer* answer);
  void EndImage(const rpc::SnapshotChunk& chunk, int64_t realtime_ns, Answer* answer);
  // The image on its way is not wanted.
  void Abandon(Answer* answer);
  // Frees what came of an image, unless it is compressed: later ones refer to it.
  void Release(Packed* image);

  std::optional<uint64_t> request_;  // that is waited for
  SnapshotLimits limits_;
  std::set<uint64_t> waiting_;
  std::set<uint64_t> answered_;
  uint64_t received_bytes_ = 0;
  std::list<Answer> answers_;                // of all requests since Clear(), newest first
  std::map<uint64_t, Answer*> open_;         // by agent: to this request
  std::map<uint64_t, IncomingRing> images_;  // by ring id
  std::unordered_map<uint64_t, Place> places_;
  std::set<uint64_t> dropped_;   // ring ids
  uint64_t held_bytes_ = 0;      // of all that came, of the names, and of its places here
  uint64_t unpacked_bytes_ = 0;  // of images_ and those on their way
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_
