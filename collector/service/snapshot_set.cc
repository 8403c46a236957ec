#include "collector/service/snapshot_set.h"

#include <utility>

#include "collector/import/ring_image.h"

namespace rollcall::service {

void SnapshotSet::Begin(uint64_t request, std::set<uint64_t> agents) {
  request_ = request;
  waiting_ = std::move(agents);
  answered_.clear();
  bytes_.clear();
  images_.clear();
}

bool SnapshotSet::Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns) {
  if (chunk.request() != request_ || !waiting_.contains(agent)) return true;  // late: of no use
  if (chunk.last()) {
    waiting_.erase(agent);
    answered_.insert(agent);
    return true;
  }
  if (chunk.total_bytes() > kMaxImageBytes) return false;
  IncomingRing& image = images_[chunk.id()];
  if (image.agent != 0 && image.agent != agent) return true;  // two agents see one process
  if (image.whole || chunk.offset() != image.bytes.size() ||
      chunk.data().size() > chunk.total_bytes() - chunk.offset()) {
    return false;
  }
  uint64_t& bytes = bytes_[agent];
  bytes += chunk.data().size();
  if (bytes > kMostBytesPerAgent) return false;
  image.agent = agent;
  image.name = chunk.name();
  image.total_bytes = chunk.total_bytes();
  image.bytes.insert(image.bytes.end(), chunk.data().begin(), chunk.data().end());
  if (chunk.end_of_file()) {
    image.whole = true;
    image.quiet = chunk.quiet();
    image.alive = chunk.alive();
    image.activity = chunk.activity();
    image.idle_ns = chunk.idle_ns();
    image.cpu_ns = chunk.cpu_ns();
    image.arrived_realtime_ns = realtime_ns;
  }
  return true;
}

std::map<uint64_t, IncomingRing> SnapshotSet::TakeImages() {
  waiting_.clear();
  return std::exchange(images_, {});
}

}  // namespace rollcall::service
