// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "collector/import/ring_parts.h"

namespace rollcall {
namespace {

class DataReader {
 public:
  DataReader(RingContext* context, RingReferences* references, const RingMembers& members)
      : context_(*context), references_(*references), members_(members) {}

  void Read() {
    for (const ring::DataRecord& record : context_.ring.data) {
      if (HoldsBlocks(record)) {
        Add(BlocksIn(record));
      } else {
        Add(record);
      }
    }
    DropCutBlocks();
    context_.process.data_unreadable = context_.ring.data_unreadable;
    for (const ring::DataMember& member : context_.ring.data_members) Add(member);
    context_.process.reads_data = context_.ring.reads_data;
  }

 private:
  // Null for members that the ring has lost.
  MemberData* DataOf(uint32_t uid) {
    const uint32_t member = members_.Find(uid);
    if (member == kNoIndex) return nullptr;
    std::vector<MemberData>& all = context_.trace.data;
    uint32_t& data = context_.trace.members[member].data;
    if (data == kNoIndex) {
      data = static_cast<uint32_t>(all.size());
      all.emplace_back();
    }
    return &all[data];
  }

  // Unlike RingContext::Time(), does not count as a movement: all of these times are inside calls.
  int64_t TimeOf(uint64_t ticks) const { return context_.clock.ToNs(ticks); }

  void Add(const ring::DataRecord& record) {
    DataRead read;
    read.sequence = record.sequence;
    read.order = record.lock / 2;
    read.at_ns = TimeOf(record.ticks);
    read.start = record.start;
    read.side = static_cast<ring::DataSide>(record.side);
    read.reading = static_cast<ring::DataReading>(record.reading);
    read.call_path = references_.CallPath(record.call_path);
    if (read.IsRead()) {
      read.piece_kind = static_cast<ring::DataPieces>(record.piece_kind);
      read.type_class = static_cast<TypeClass>(record.type_class);
      read.distinct = record.distinct;
      read.nans = record.nans;
      read.infinities = record.infinities;
      read.bytes = record.bytes;
      read.words = {record.words, record.sum, record.weighted_sum, record.squared_sum,
                    record.exclusive};
      read.non_finite = record.non_finite;
      read.non_finite_bits = record.non_finite_bits;
      std::copy(std::begin(record.pieces), std::end(record.pieces), read.pieces.begin());
    }
    if (read.side == ring::DataSide::kReplica) {
      std::string name = CleanName(context_.ring.String(record.name));
      if (!name.empty()) context_.process.replicas.push_back({std::move(name), read});
    } else if (MemberData* data = DataOf(record.member)) {
      data->reads.push_back(read);
    }
  }

  // The parts of one buffer are consecutive among those of their member.
  void Add(const ring::DataBlocks& part) {
    MemberData* data = DataOf(part.member);
    if (data == nullptr) return;
    const auto side = static_cast<ring::DataSide>(part.side);
    std::vector<BlockHashes>& all = data->blocks;
    if (part.first == 0) {
      all.push_back({.sequence = part.sequence,
                     .order = part.lock / 2,
                     .start = part.start,
                     .side = side,
                     .reading = static_cast<ring::DataReading>(part.reading),
                     .hashes = {}});
    } else if (all.empty() || all.back().sequence != part.sequence ||
               all.back().start != part.start || all.back().side != side ||
               all.back().hashes.size() != part.first) {
      return;  // the first parts are overwritten
    }
    all.back().hashes.insert(all.back().hashes.end(), part.hashes, part.hashes + part.count);
  }

  void DropCutBlocks() {
    for (const ring::Member& member : context_.ring.members) {
      const uint32_t index = members_.Find(member.uid);
      if (index == kNoIndex || context_.trace.members[index].data == kNoIndex) continue;
      std::erase_if(context_.trace.data[context_.trace.members[index].data].blocks,
                    [&](const BlockHashes& blocks) {
                      return std::cmp_not_equal(blocks.hashes.size(), member.size);
                    });
    }
  }

  void Add(const ring::DataMember& from) {
    MemberData* data = DataOf(from.uid);
    if (data == nullptr) {
      // The member's communicator is freed, and its place belongs to a communicator without data.
      const bool forgets =
          from.unread != 0 || from.input.sequence != 0 || from.result.sequence != 0;
      if (forgets) ++context_.process.data_unreadable;
      return;
    }
    data->counted = true;
    data->read = from.read;
    data->unread = from.unread;
    data->outside = from.outside;
    data->unread_why = from.unread_why;
    data->input = First(from.input);
    data->result = First(from.result);
    std::copy_if(std::begin(from.recent), std::end(from.recent),
                 std::back_inserter(data->checkpoints),
                 [](const ring::DataCheckpoint& checkpoint) { return checkpoint.results != 0; });
    std::ranges::sort(data->checkpoints, {}, &ring::DataCheckpoint::results);
  }

  std::optional<FirstNonFinite> First(const ring::NonFinite& from) {
    if (from.sequence == 0) return std::nullopt;
    FirstNonFinite first;
    first.sequence = from.sequence;
    first.at_ns = TimeOf(from.ticks);
    first.start = from.start;
    first.call_path = references_.CallPath(from.call_path);
    first.operation = static_cast<Operation>(from.operation);
    first.reduce_op = from.reduce_op;
    first.datatype = references_.Datatype(from.datatype);
    if (from.reading <= static_cast<uint16_t>(ring::DataReading::kLayout)) {
      first.reading = static_cast<ring::DataReading>(from.reading);
    }
    first.count = from.count;
    first.element = from.element;
    first.bits = from.bits;
    first.nans = from.nans;
    first.infinities = from.infinities;
    return first;
  }

  RingContext& context_;
  RingReferences& references_;
  const RingMembers& members_;
};

}  // namespace

void ReadData(RingContext* context, RingReferences* references, const RingMembers& members) {
  DataReader(context, references, members).Read();
}

}  // namespace rollcall
