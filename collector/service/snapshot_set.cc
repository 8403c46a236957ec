// SPDX-License-Identifier: Apache-2.0
#include "collector/service/snapshot_set.h"

#include <utility>

#include "collector/base/assert.h"
#include "collector/base/find.h"
#include "collector/import/ring_image.h"

namespace rollcall::service {
namespace {

// An image is named like its file.
constexpr size_t kMaxImageNameBytes = 4096;
// Dropped images are counted up to this number, which no real job exceeds.
constexpr size_t kMaxDropped = 1 << 18;

}  // namespace

void SnapshotSet::Clear() {
  waiting_.clear();
  answered_.clear();
  open_.clear();
  answers_.clear();
  images_.clear();
  places_.clear();
  dropped_.clear();
  held_bytes_ = 0;
  unpacked_bytes_ = 0;
}

void SnapshotSet::Begin(uint64_t request, std::set<uint64_t> agents, const SnapshotLimits& limits) {
  for (const auto& [agent, answer] : open_) Abandon(answer);
  open_.clear();
  request_ = request;
  limits_ = limits;
  for (const uint64_t agent : agents) answered_.erase(agent);
  waiting_ = std::move(agents);
  received_bytes_ = 0;
}

uint64_t SnapshotSet::ReceivedBytes(uint64_t agent) const {
  Answer* const* answer = FindOrNull(open_, agent);
  return answer == nullptr ? 0 : (*answer)->received_bytes;
}

void SnapshotSet::Abandon(Answer* answer) {
  if (!answer->open) return;
  ROLLCALL_ASSERT(!answer->images.empty() && unpacked_bytes_ >= answer->image.total_bytes);
  answer->open = false;
  unpacked_bytes_ -= answer->image.total_bytes;
  held_bytes_ -= answer->image.name.size();
  answer->image.name = {};
  Release(&answer->images.back());
  if (!answer->images.back().data.empty()) return;
  held_bytes_ -= kBytesOfAPlace;
  answer->images.pop_back();
}

void SnapshotSet::Release(Packed* image) {
  if (image->compressed) return;
  ROLLCALL_ASSERT(held_bytes_ >= image->data.size());
  held_bytes_ -= image->data.size();
  image->data = {};
}

void SnapshotSet::BeginImage(const rpc::SnapshotChunk& chunk, Answer* answer) {
  Abandon(answer);
  answer->open = true;
  answer->image = {};
  answer->image.name = chunk.name();
  answer->image.agent = answer->agent;
  answer->image.total_bytes = chunk.total_bytes();
  answer->images.push_back({.id = chunk.id(),
                            .total_bytes = chunk.total_bytes(),
                            .compressed = chunk.compressed(),
                            .data = {}});
  answer->unpacked_bytes = 0;
  unpacked_bytes_ += chunk.total_bytes();
  held_bytes_ += kBytesOfAPlace + chunk.name().size();
  answer->dropped = answer->cut || unpacked_bytes_ > limits_.unpacked_bytes;
}

void SnapshotSet::EndImage(const rpc::SnapshotChunk& chunk, int64_t realtime_ns, Answer* answer) {
  const auto [known, is_new] = images_.try_emplace(chunk.id());
  // Two agents may report one process: the first report is used.
  if (!is_new && known->second.agent != answer->agent) return Abandon(answer);
  IncomingRing& image = answer->image;
  image.quiet = chunk.quiet();
  image.alive = chunk.alive();
  image.activity = chunk.activity();
  image.idle_ns = chunk.idle_ns();
  image.cpu_ns = chunk.cpu_ns();
  image.arrived_realtime_ns = realtime_ns;
  Place& place = places_[chunk.id()];
  if (!is_new) {
    ROLLCALL_ASSERT(place.answer != nullptr && place.index < place.answer->images.size());
    Packed& older = place.answer->images[place.index];
    older.ring = nullptr;
    Release(&older);
    unpacked_bytes_ -= known->second.total_bytes;
    held_bytes_ -= known->second.name.size();
  }
  known->second = std::move(image);
  place = {answer, answer->images.size() - 1};
  answer->images.back().ring = &known->second;
  dropped_.erase(chunk.id());
  answer->open = false;
}

bool SnapshotSet::Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns) {
  if (chunk.request() != request_ || !waiting_.contains(agent)) return true;  // late: not needed
  if (chunk.last()) {
    waiting_.erase(agent);
    answered_.insert(agent);
    return true;
  }
  if (chunk.total_bytes() > kMaxImageBytes || chunk.name().size() > kMaxImageNameBytes)
    return false;
  Answer*& open = open_[agent];
  if (open == nullptr) {
    open = &answers_.emplace_front();
    open->agent = agent;
  }
  Answer& answer = *open;
  if (!answer.open || answer.images.back().id != chunk.id()) BeginImage(chunk, &answer);
  Packed& packed = answer.images.back();
  if (chunk.compressed() != packed.compressed) return false;
  answer.received_bytes += chunk.data().size();
  received_bytes_ += chunk.data().size();
  const uint64_t total_bytes = answer.image.total_bytes;
  if (!chunk.compressed()) {
    if (chunk.offset() != answer.unpacked_bytes) return false;
    if (chunk.data().size() > total_bytes - answer.unpacked_bytes) return false;
    answer.unpacked_bytes += chunk.data().size();
    if (chunk.end_of_file() && answer.unpacked_bytes != total_bytes) return false;
  }
  answer.dropped |= held_bytes_ + chunk.data().size() > limits_.held_bytes;
  if (answer.dropped) {
    answer.cut |= chunk.compressed();
    if (!chunk.end_of_file()) return true;
    Abandon(&answer);
    if (dropped_.size() < kMaxDropped) dropped_.insert(chunk.id());
    return true;
  }
  held_bytes_ += chunk.data().size();
  packed.data += chunk.data();
  if (!chunk.end_of_file()) return true;
  packed.data.shrink_to_fit();
  EndImage(chunk, realtime_ns, &answer);
  return true;
}

std::vector<std::string> SnapshotSet::Incomplete() const {
  std::vector<std::string> names;
  for (const auto& [agent, answer] : open_) {
    if (answer->open && !answer->image.name.empty()) names.push_back(answer->image.name);
  }
  return names;
}

std::optional<SnapshotSet::Reader::Image> SnapshotSet::Reader::Next() {
  for (; answer_ != set_.answers_.end(); ++answer_, index_ = 0) {
    while (index_ < answer_->images.size()) {
      if (index_ == 0) {
        decompressor_.Restart();
        readable_ = true;
      }
      const Packed& packed = answer_->images[index_++];
      bytes_.clear();
      if (packed.compressed) {
        readable_ = readable_ && decompressor_.Append(packed.data, packed.total_bytes, &bytes_);
      }
      if (packed.ring == nullptr) continue;
      Image image{packed.id, packed.ring, bytes_};
      if (!packed.compressed) {
        image.bytes = {reinterpret_cast<const uint8_t*>(packed.data.data()), packed.data.size()};
      }
      image.damaged = (packed.compressed && !readable_) || image.bytes.size() != packed.total_bytes;
      return image;
    }
  }
  return std::nullopt;
}

}  // namespace rollcall::service
