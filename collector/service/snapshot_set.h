// SPDX-License-Identifier: Apache-2.0
// Ring images received from the agents.
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
  uint64_t held_bytes = UINT64_MAX;      // images as received, names, and kBytesOfAPlace for each
  uint64_t unpacked_bytes = UINT64_MAX;  // of all images
};

// The answers to one request, and to further requests for more data of some processes. Compressed
// answers stay compressed: images of a large job take twenty times as much. Sizes come from the
// network and are bounded: an image by the largest possible ring, all images by the limits of
// Begin(). Not thread-safe.
class SnapshotSet {
  struct Answer;

 public:
  // Approximate memory of an image besides its bytes: an agent may send many empty ones.
  static constexpr uint64_t kBytesOfAPlace = 256;

  // Forgets all images and waits for none.
  void Clear();
  // Begins to wait for the answers of `agents` to `request`. A complete image replaces the previous
  // one of its process. An image beyond `limits` is dropped, with those that follow it in the same
  // compressed answer.
  void Begin(uint64_t request, std::set<uint64_t> agents, const SnapshotLimits& limits = {});
  // False if the chunk breaks the protocol: out of order, or too large.
  bool Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns);
  // Further answers to the request are ignored.
  void End() { request_.reset(); }
  // The agent will not answer.
  void GiveUpOn(uint64_t agent) { waiting_.erase(agent); }
  bool complete() const { return waiting_.empty(); }
  // Bytes that have arrived over the network since Begin(), of all agents or of one.
  uint64_t received_bytes() const { return received_bytes_; }
  uint64_t ReceivedBytes(uint64_t agent) const;
  // Whether the agent has sent its whole answer to the newest request of it.
  bool Answered(uint64_t agent) const { return answered_.contains(agent); }
  // The complete images, by ring id.
  const std::map<uint64_t, IncomingRing>& images() const { return images_; }
  // Names of processes whose image was begun and is incomplete.
  std::vector<std::string> Incomplete() const;
  // The number of processes whose image was dropped; bounded.
  size_t dropped() const { return dropped_.size(); }

  // Unpacks the images one at a time. The set must not change meanwhile; any thread may read.
  class Reader {
   public:
    struct Image {
      uint64_t id = 0;
      const IncomingRing* ring = nullptr;
      std::span<const uint8_t> bytes;  // until the next call
      bool damaged = false;            // there are no bytes
    };
    explicit Reader(const SnapshotSet& set) : set_(set), answer_(set.answers_.begin()) {}
    // Returns each of images() once, the images of the newest request first. The newest request
    // asked for the most records, and among processes that made the same calls, the diagnosis
    // examines the first one.
    std::optional<Image> Next();

   private:
    const SnapshotSet& set_;
    std::list<Answer>::const_iterator answer_;
    size_t index_ = 0;      // in that answer
    bool readable_ = true;  // its stream has been readable so far
    rpc::Decompressor decompressor_;
    std::vector<uint8_t> bytes_;
  };

 private:
  // The received data of an image.
  struct Packed {
    uint64_t id = 0;
    uint64_t total_bytes = 0;  // of the image
    bool compressed = false;
    // in images_; null: incomplete, or replaced by a newer image
    const IncomingRing* ring = nullptr;
    std::string data;
  };
  struct Answer {
    uint64_t agent = 0;
    std::vector<Packed> images;
    uint64_t received_bytes = 0;
    bool cut = false;  // the remaining images are dropped
    // The last of `images` is incomplete.
    bool open = false;
    IncomingRing image;
    uint64_t unpacked_bytes = 0;
    bool dropped = false;
  };
  // A complete image.
  struct Place {
    Answer* answer = nullptr;
    size_t index = 0;
  };

  void BeginImage(const rpc::SnapshotChunk& chunk, Answer* answer);
  void EndImage(const rpc::SnapshotChunk& chunk, int64_t realtime_ns, Answer* answer);
  // Drops the incomplete image.
  void Abandon(Answer* answer);
  // Frees the data of an image, unless it is compressed: later images refer to it.
  void Release(Packed* image);

  std::optional<uint64_t> request_;  // the request that is waited for
  SnapshotLimits limits_;
  std::set<uint64_t> waiting_;
  std::set<uint64_t> answered_;
  uint64_t received_bytes_ = 0;
  std::list<Answer> answers_;                // of all requests since Clear(), newest first
  std::map<uint64_t, Answer*> open_;         // by agent: to this request
  std::map<uint64_t, IncomingRing> images_;  // by ring id
  std::unordered_map<uint64_t, Place> places_;
  std::set<uint64_t> dropped_;   // ring ids
  uint64_t held_bytes_ = 0;      // of received data, names, and kBytesOfAPlace for each image
  uint64_t unpacked_bytes_ = 0;  // of images_ and of incomplete images
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_SNAPSHOT_SET_H_
