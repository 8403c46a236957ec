#include "collector/service/snapshot_set.h"

#include <algorithm>
#include <utility>

#include "collector/import/ring_image.h"

namespace rollcall::service {
namespace {

// A decompressor takes a quarter of a megabyte or more.
constexpr size_t kMostSpare = 64;

}  // namespace

void SnapshotSet::Clear() {
  answered_.clear();
  images_.clear();
  dropped_.clear();
}

void SnapshotSet::Begin(uint64_t request, std::set<uint64_t> agents, uint64_t most_bytes) {
  request_ = request;
  waiting_ = std::move(agents);
  answers_.clear();
  received_bytes_ = 0;
  most_bytes_ = most_bytes;
  held_bytes_ = 0;
  for (const auto& [id, image] : images_) held_bytes_ += image.bytes.size();
}

rpc::Decompressor* SnapshotSet::DecompressorOf(Answer* answer) {
  if (!answer->decompressor) {
    if (spare_.empty()) {
      answer->decompressor.emplace();
    } else {
      answer->decompressor = std::move(spare_.back());
      answer->decompressor->Restart();
      spare_.pop_back();
    }
  }
  return &*answer->decompressor;
}

bool SnapshotSet::Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns) {
  if (chunk.request() != request_ || !waiting_.contains(agent)) return true;  // late: of no use
  if (chunk.last()) {
    waiting_.erase(agent);
    answered_.insert(agent);
    std::optional<rpc::Decompressor>& decompressor = answers_[agent].decompressor;
    if (decompressor && spare_.size() < kMostSpare) spare_.push_back(std::move(*decompressor));
    decompressor.reset();
    return true;
  }
  if (chunk.total_bytes() > kMaxImageBytes) return false;
  Answer& answer = answers_[agent];
  IncomingRing& image = answer.image;
  if (answer.id != chunk.id()) {
    held_bytes_ -= image.bytes.size();
    image = {};
  }
  image.agent = agent;
  answer.id = chunk.id();
  answer.received_bytes += chunk.data().size();
  received_bytes_ += chunk.data().size();
  const uint64_t begin = image.received_bytes;
  const size_t held = image.bytes.size();
  const uint64_t room = chunk.total_bytes() - std::min(chunk.total_bytes(), begin);
  if (chunk.compressed()) {
    if (!DecompressorOf(&answer)->Append(chunk.data(), room, &image.bytes)) {
      answer.decompressor.reset();
      return false;
    }
  } else {
    if (chunk.offset() != begin || chunk.data().size() > room) return false;
    image.bytes.insert(image.bytes.end(), chunk.data().begin(), chunk.data().end());
  }
  image.received_bytes += image.bytes.size() - held;
  held_bytes_ += image.bytes.size() - held;
  image.dropped |= held_bytes_ > most_bytes_;
  if (image.dropped) {
    held_bytes_ -= image.bytes.size();
    image.bytes = {};
  }
  image.name = chunk.name();
  image.total_bytes = chunk.total_bytes();
  if (!chunk.end_of_file()) return true;
  if (image.received_bytes != image.total_bytes) return false;
  answer.id = 0;
  if (image.dropped) {
    dropped_.insert(chunk.id());
    image = {};
    return true;
  }
  dropped_.erase(chunk.id());
  image.whole = true;
  image.quiet = chunk.quiet();
  image.alive = chunk.alive();
  image.activity = chunk.activity();
  image.idle_ns = chunk.idle_ns();
  image.cpu_ns = chunk.cpu_ns();
  image.arrived_realtime_ns = realtime_ns;
  IncomingRing& known = images_[chunk.id()];
  // Two agents may see one process: the first one is believed.
  if (known.agent == 0 || known.agent == agent) std::swap(known, image);
  held_bytes_ -= image.bytes.size();
  image = {};
  return true;
}

std::vector<std::string> SnapshotSet::Incomplete() const {
  std::vector<std::string> names;
  for (const auto& [agent, answer] : answers_) {
    if (!answer.image.name.empty() && !answer.image.whole) names.push_back(answer.image.name);
  }
  return names;
}

std::map<uint64_t, IncomingRing> SnapshotSet::TakeImages() {
  waiting_.clear();
  return std::exchange(images_, {});
}

}  // namespace rollcall::service
