#include "collector/service/snapshot_set.h"

#include <algorithm>
#include <utility>

#include "collector/import/ring_image.h"
#include "collector/rpc/compression.h"

namespace rollcall::service {

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
  waiting_ = std::move(agents);
  received_bytes_ = 0;
}

uint64_t SnapshotSet::ReceivedBytes(uint64_t agent) const {
  const auto answer = open_.find(agent);
  return answer == open_.end() ? 0 : answer->second->received_bytes;
}

void SnapshotSet::Abandon(Answer* answer) {
  if (!answer->id) return;
  Release({.answer = answer, .begin = answer->begin, .end = answer->pieces.size()});
  unpacked_bytes_ -= answer->image.total_bytes;
  answer->id.reset();
}

void SnapshotSet::Release(const Place& place) {
  for (size_t i = place.begin; i < place.end; ++i) {
    Piece& piece = place.answer->pieces[i];
    if (piece.compressed) continue;
    held_bytes_ -= piece.data.size();
    piece.data = {};
  }
}

void SnapshotSet::BeginImage(const rpc::SnapshotChunk& chunk, Answer* answer) {
  Abandon(answer);
  answer->id = chunk.id();
  answer->image = {};
  answer->image.name = chunk.name();
  answer->image.agent = answer->agent;
  answer->image.total_bytes = chunk.total_bytes();
  answer->begin = answer->pieces.size();
  answer->unpacked_bytes = 0;
  unpacked_bytes_ += chunk.total_bytes();
  answer->dropped = answer->cut || unpacked_bytes_ > limits_.unpacked_bytes;
}

void SnapshotSet::EndImage(const rpc::SnapshotChunk& chunk, int64_t realtime_ns, Answer* answer) {
  const auto [known, is_new] = images_.try_emplace(chunk.id());
  // Two agents may see one process: the first one is believed.
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
    Release(place);
    unpacked_bytes_ -= known->second.total_bytes;
  }
  known->second = std::move(image);
  place = {answer, answer->begin, answer->pieces.size(), &known->second};
  dropped_.erase(chunk.id());
  answer->id.reset();
}

bool SnapshotSet::Add(uint64_t agent, const rpc::SnapshotChunk& chunk, int64_t realtime_ns) {
  if (chunk.request() != request_ || !waiting_.contains(agent)) return true;  // late: of no use
  if (chunk.last()) {
    waiting_.erase(agent);
    answered_.insert(agent);
    return true;
  }
  if (chunk.total_bytes() > kMaxImageBytes) return false;
  Answer*& open = open_[agent];
  if (open == nullptr) {
    open = &answers_.emplace_back();
    open->agent = agent;
  }
  Answer& answer = *open;
  const bool first = answer.id != chunk.id();
  if (first) BeginImage(chunk, &answer);
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
    dropped_.insert(chunk.id());
    return true;
  }
  held_bytes_ += chunk.data().size();
  answer.pieces.push_back({.id = chunk.id(),
                           .total_bytes = total_bytes,
                           .data = chunk.data(),
                           .compressed = chunk.compressed(),
                           .first = first,
                           .last = chunk.end_of_file()});
  if (chunk.end_of_file()) EndImage(chunk, realtime_ns, &answer);
  return true;
}

std::vector<std::string> SnapshotSet::Incomplete() const {
  std::vector<std::string> names;
  for (const auto& [agent, answer] : open_) {
    if (answer->id && !answer->image.name.empty()) names.push_back(answer->image.name);
  }
  return names;
}

std::vector<std::string> SnapshotSet::Read(const Visit& visit) const {
  std::vector<std::string> damaged;
  rpc::Decompressor decompressor;
  std::vector<uint8_t> bytes;
  for (const Answer& answer : answers_) {
    decompressor.Restart();
    bool readable = true;
    for (size_t i = 0; i < answer.pieces.size(); ++i) {
      const Piece& piece = answer.pieces[i];
      if (piece.first) bytes.clear();
      const uint64_t room = piece.total_bytes - std::min<uint64_t>(piece.total_bytes, bytes.size());
      if (!piece.compressed) {
        bytes.insert(bytes.end(), piece.data.begin(), piece.data.end());
      } else if (readable) {
        readable = decompressor.Append(piece.data, room, &bytes);
      }
      if (!piece.last) continue;
      const auto place = places_.find(piece.id);
      const bool wanted =
          place != places_.end() && place->second.answer == &answer && place->second.end == i + 1;
      if (!wanted) continue;
      const IncomingRing& image = *place->second.image;
      if ((piece.compressed && !readable) || bytes.size() != piece.total_bytes) {
        damaged.push_back(image.name);
      } else {
        visit(piece.id, image, bytes);
      }
    }
  }
  return damaged;
}

}  // namespace rollcall::service
