// SPDX-License-Identifier: Apache-2.0
#include "collector/import/ring_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "collector/import/ring_elements.h"
#include "proto/datatypes.h"

namespace rollcall {
namespace {

using ring::SectionKind;

// A file may be damaged in a thousand places; only the first few of each kind are reported.
constexpr int kMaxProblemsPerKind = 3;

class ImageParser {
 public:
  ImageParser(const RingImage& image, RingSnapshot* out) : image_(image), out_(*out) {}

  void Parse() {
    for (uint32_t kind = 0; kind < ring::kSectionKinds; ++kind)
      out_.lost[kind] = image_.tables[kind].lost;
    Thread();
    Members();
    OpenRequests();
    Copy(SectionKind::kChannels, &out_.channels,
         [](const ring::Channel& channel) { return channel.member != 0; });
    PeerCounts();
    Copy(SectionKind::kGpuProgress, &out_.gpu,
         [](const ring::GpuProgress& progress) { return IsInUse(progress); });
    Copy(SectionKind::kMarks, &out_.marks, [](const ring::Mark&) { return true; });
    for (ring::Mark& mark : out_.marks) {
      if (IsBeingWritten(mark.lock)) mark.member = 0;
    }
    Copy(SectionKind::kModules, &out_.modules, [](const ring::Module&) { return true; });
    Copy(SectionKind::kDatatypes, &out_.datatypes, [](const ring::Datatype&) { return true; });
    out_.strings = image_.table(SectionKind::kStrings).bytes;
    PythonCode();
    Data();
    DataMembers();
    Values();
    const ImageTable& paths = image_.table(SectionKind::kCallPaths);
    out_.path_words_at = paths.offset;
    out_.path_words.resize(paths.size());
    if (!paths.bytes.empty()) {
      std::memcpy(out_.path_words.data(), paths.bytes.data(), paths.size() * sizeof(uint64_t));
    }
  }

 private:
  void AddProblem(int* so_far, uint64_t offset, std::string message) {
    if (++*so_far > kMaxProblemsPerKind) return;
    out_.problems.push_back(
        {ProblemCode::kDamaged, std::move(message), out_.source, static_cast<int64_t>(offset)});
  }

  template <typename T, typename Keep>
  void Copy(SectionKind kind, std::vector<T>* to, Keep keep) {
    const ImageTable& table = image_.table(kind);
    for (uint64_t i = 0; i < table.size(); ++i) {
      const T element = table.Get<T>(i);
      if (keep(element)) to->push_back(element);
    }
  }

  void Thread() {
    const ImageTable& table = image_.table(SectionKind::kThreads);
    for (uint64_t i = 0; i < table.size(); ++i) {
      RingThread thread;
      thread.entry = static_cast<uint32_t>(i);
      thread.state = table.Get<ring::ThreadEntry>(i);
      if (thread.state.state == static_cast<uint32_t>(ring::ThreadState::kFree)) continue;
      if (!IsInUse(thread.state)) {
        AddProblem(&thread_problems_, table.OffsetOf(i),
                   fmt::format("damaged: thread entry {} has state {}", i, thread.state.state));
        ++out_.unreadable;
        continue;
      }
      thread.state.name[sizeof(thread.state.name) - 1] = 0;
      for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
        ReadCalls(table.OffsetOf(i), thread.state, kind, &thread.calls[kind]);
        out_.unreadable += thread.calls[kind].unreadable;
      }
      ReadOpenCalls(&thread);
      out_.threads.push_back(std::move(thread));
    }
  }

  void ReadOpenCalls(RingThread* thread) {
    const uint64_t depth = std::min<uint64_t>(thread->state.depth, ring::kMaxNesting);
    for (uint64_t k = 0; k < depth; ++k) {
      const ring::Record& record = thread->state.open[k].record;
      if (!HoldsCall(record)) continue;
      if (IsBeingWritten(record.lock) || record.operation == ring::kContinuation) {
        ++out_.unreadable;
        continue;
      }
      thread->open.push_back(record);
    }
  }

  // In a ring of n slots, slot s has the last record i < head with i mod n = s, if the writer has
  // completed it; the slot's lock shows whether it has.
  void ReadCalls(uint64_t where, const ring::ThreadEntry& state, uint32_t kind, RingCalls* calls) {
    const ImageTable& pool = image_.table(SectionKind::kRings);
    const uint64_t first = state.ring_first[kind];
    const uint64_t slots = state.ring_slots[kind];
    const uint64_t head = state.ring_head[kind];
    calls->head = head;
    if (slots == 0 || !image_.has_records) return;
    if ((slots & (slots - 1)) != 0 || slots > pool.capacity || first > pool.capacity - slots ||
        head >= uint64_t{1} << 62) {
      AddProblem(
          &ring_problems_, where,
          fmt::format("damaged: a ring of {} slots at {} with {} records", slots, first, head));
      ++calls->unreadable;
      return;
    }
    // Rings never share slots, so together they have no more than the pool. Without this check, a
    // small file could claim the same slots in thousands of threads.
    const uint64_t there = first < pool.size() ? std::min(slots, pool.size() - first) : 0;
    slots_read_ += there;
    if (slots_read_ > pool.size()) {
      AddProblem(&ring_problems_, where, "damaged: rings of different threads overlap");
      ++calls->unreadable;
      return;
    }
    const uint64_t oldest = head > slots ? head - slots : 0;
    calls->lost = oldest;
    calls->records.reserve(std::min(there, head - oldest));
    uint64_t continuations_from = kNone;  // index of the first record of an unbroken run
    for (uint64_t index = oldest; index < head; ++index) {
      const uint64_t slot = index & (slots - 1);
      if (slot >= there) {
        ++calls->unreadable;  // truncated; reported with the section
        // From here to the end of the ring nothing is present: continue with the next lap.
        const uint64_t skip = std::min(slots - slot - 1, head - index - 1);
        calls->unreadable += skip;
        index += skip;
        continuations_from = kNone;
        continue;
      }
      const auto record = pool.Get<ring::Record>(first + slot);
      const uint64_t expected = 2 * index + 2;
      if (record.lock != expected) {
        if (record.lock > expected) {
          ++calls->lost;  // a later record was written, or is being written
        } else {
          ++calls->unreadable;
          AddProblem(&record_problems_, pool.OffsetOf(first + slot),
                     fmt::format("torn or damaged: record {} of thread {} has lock {}", index,
                                 state.tid, record.lock));
        }
        continuations_from = kNone;
        continue;
      }
      if (record.operation == ring::kContinuation) {
        if (continuations_from == kNone) continuations_from = index;
        continue;
      }
      RingRecord out;
      out.index = index;
      out.record = record;
      AddCounts(pool, first, slots, continuations_from, &out);
      calls->records.push_back(out);
      continuations_from = kNone;
    }
  }

  // Joins the continuation records directly before `out`. If some are missing, the arrays are
  // unknown, which differs from a call without arrays.
  void AddCounts(const ImageTable& pool, uint64_t first, uint64_t slots, uint64_t run_begin,
                 RingRecord* out) {
    const uint64_t wanted = out->record.continuations;
    if (wanted == 0) return;
    const uint64_t begin = out->index - std::min<uint64_t>(wanted, out->index);
    std::array<std::vector<uint64_t>, 2> arrays;
    bool whole = run_begin != kNone && run_begin <= begin && out->index - begin == wanted;
    for (uint64_t index = begin; whole && index < out->index; ++index) {
      const auto part = pool.Get<ring::Continuation>(first + (index & (slots - 1)));
      if (part.array > 1 || part.value_count > ring::kContinuationValues ||
          part.first != arrays[part.array].size() ||
          arrays[part.array].size() + part.value_count > ring::kMaxCountValues) {
        AddProblem(&count_problems_, pool.OffsetOf(first + (index & (slots - 1))),
                   "damaged: a count array does not fit together");
        ++out_.unreadable;
        whole = false;
        break;
      }
      arrays[part.array].insert(arrays[part.array].end(), part.values,
                                part.values + part.value_count);
    }
    if (!whole) {
      out->record.flags |= ring::kCountsCut;
      return;
    }
    uint32_t* const fields[] = {&out->send_counts, &out->recv_counts};
    for (size_t k = 0; k < 2; ++k) {
      if (arrays[k].empty()) continue;
      *fields[k] = static_cast<uint32_t>(out_.count_arrays.size());
      out_.count_arrays.push_back(std::move(arrays[k]));
    }
  }

  void Members() {
    const ImageTable& table = image_.table(SectionKind::kMembers);
    for (uint64_t i = 0; i < table.size(); ++i) {
      const auto member = table.Get<ring::Member>(i);
      if (IsBeingWritten(member.lock)) {
        ++out_.unreadable;
        continue;
      }
      if (member.uid == 0 || member.state == static_cast<uint32_t>(ring::MemberState::kFree)) {
        continue;
      }
      if (member.state > static_cast<uint32_t>(ring::MemberState::kFreed)) {
        AddProblem(&member_problems_, table.OffsetOf(i),
                   fmt::format("damaged: communicator entry {} has state {}", i, member.state));
        ++out_.unreadable;
        continue;
      }
      out_.members.push_back(member);
    }
    if (const uint64_t dropped = SortByUid(&out_.members); dropped != 0) {
      AddProblem(&member_problems_, table.offset, "damaged: communicator entries share a number");
      out_.unreadable += dropped;
    }
  }

  // Sorts entries by their key and keeps the first entry of each key. Returns the number of entries
  // that it drops.
  template <typename Entry, typename Key>
  static uint64_t SortBy(std::vector<Entry>* all, Key key) {
    std::ranges::stable_sort(*all, {}, key);
    const auto same = [key](const Entry& a, const Entry& b) { return key(a) == key(b); };
    const auto end = std::unique(all->begin(), all->end(), same);
    const auto dropped = static_cast<uint64_t>(all->end() - end);
    all->erase(end, all->end());
    return dropped;
  }
  template <typename Entry>
  static uint64_t SortByUid(std::vector<Entry>* all) {
    return SortBy(all, [](const Entry& entry) { return entry.uid; });
  }

  void PythonCode() {
    const ImageTable& table = image_.table(SectionKind::kPythonCode);
    out_.python_code.reserve(table.size());
    for (uint64_t i = 0; i < table.size(); ++i) {
      auto code = table.Get<ring::PythonCode>(i);
      // The hash is written last: without it the entry is still being written, and nothing refers
      // to it.
      if (code.portable_hash != 0) {
        for (const uint32_t ref : {code.file, code.name, code.line_table}) {
          if (ref == 0 || HasString(out_.strings, ref)) continue;
          AddProblem(&code_problems_, table.OffsetOf(i),
                     fmt::format("damaged: Python code {} refers to a string at {}", i, ref));
          ++out_.unreadable;
          code.portable_hash = 0;
          break;
        }
      }
      out_.python_code.push_back(code);
    }
  }

  // Record i is in slot i modulo the number of slots. Its lock contains i.
  void Data() {
    const ImageTable& table = image_.table(SectionKind::kData);
    for (uint64_t i = 0; i < table.size(); ++i) {
      const auto record = table.Get<ring::DataRecord>(i);
      if (record.lock == 0) continue;  // handed out, not yet written
      if (IsBeingWritten(record.lock)) {
        ++out_.data_unreadable;
        continue;
      }
      const bool in_place = (record.lock / 2 - 1) % table.capacity == i;
      if (!in_place ||
          !(HoldsBlocks(record) ? IsPlausible(BlocksIn(record)) : IsPlausible(record))) {
        AddProblem(&data_problems_, table.OffsetOf(i),
                   fmt::format("damaged: data record in slot {} with lock {}", i, record.lock));
        ++out_.data_unreadable;
        continue;
      }
      out_.data.push_back(record);
    }
    std::ranges::sort(out_.data, {}, &ring::DataRecord::lock);
  }

  static bool IsPlausible(const ring::DataRecord& record) {
    if (record.side == 0 || record.side > static_cast<uint16_t>(ring::DataSide::kReplica) ||
        record.reading > static_cast<uint16_t>(ring::DataReading::kLayout) ||
        record.type_class > static_cast<uint16_t>(TypeClass::kF8e5m2)) {
      return false;
    }
    const uint64_t all = record.bytes / 8 + (record.bytes % 8 != 0);
    const auto reading = static_cast<ring::DataReading>(record.reading);
    const bool read =
        reading == ring::DataReading::kWhole || reading == ring::DataReading::kSampled;
    if (!read) return true;
    if (reading == ring::DataReading::kWhole ? record.words != all : record.words > all)
      return false;
    return record.piece_kind <= static_cast<uint16_t>(ring::DataPieces::kParts) &&
           (record.piece_kind != static_cast<uint16_t>(ring::DataPieces::kWords) ||
            record.words <= ring::kDataPieces);
  }

  static bool IsPlausible(const ring::DataBlocks& blocks) {
    return blocks.count <= ring::kDataBlocksPerRecord &&
           blocks.first + blocks.count <= int{ring::kMaxDataBlocks} &&
           (blocks.reading == static_cast<uint16_t>(ring::DataReading::kWhole) ||
            blocks.reading == static_cast<uint16_t>(ring::DataReading::kSampled));
  }

  void DataMembers() {
    const ImageTable& table = image_.table(SectionKind::kDataMembers);
    out_.reads_data = table.capacity != 0;  // a packed one has no empty tables
    for (uint64_t i = 0; i < table.size(); ++i) {
      const auto member = table.Get<ring::DataMember>(i);
      if (IsBeingWritten(member.lock)) {
        ++out_.data_unreadable;
      } else if (member.uid != 0) {
        out_.data_members.push_back(member);
      }
    }
    if (const uint64_t dropped = SortByUid(&out_.data_members); dropped != 0) {
      AddProblem(&data_problems_, table.offset, "damaged: data of communicators share a number");
      out_.data_unreadable += dropped;
    }
  }

  void Values() {
    constexpr uint64_t kMaxCount = uint64_t{1} << 62;
    const ImageTable& table = image_.table(SectionKind::kValues);
    for (uint64_t i = 0; i < table.size(); ++i) {
      const auto values = table.Get<ring::NamedValues>(i);
      if (values.lock == 0 || IsBeingWritten(values.lock)) continue;
      const bool sound = HasString(out_.strings, values.name) && values.count <= kMaxCount &&
                         std::ranges::all_of(values.recent, [](const ring::RecordedValue& value) {
                           return value.type <= static_cast<uint16_t>(ring::ValueType::kHash);
                         });
      if (sound) {
        out_.values.push_back(values);
      } else {
        AddProblem(&value_problems_, table.OffsetOf(i),
                   fmt::format("damaged: recorded values, entry {}", i));
      }
    }
  }

  void PeerCounts() {
    const ImageTable& table = image_.table(SectionKind::kPeerCounts);
    out_.counts_peers = table.capacity != 0;
    Copy(SectionKind::kPeerCounts, &out_.peer_counts,
         [](const ring::PeerCount& sum) { return sum.member != 0; });
    const uint64_t dropped = SortBy(&out_.peer_counts, [](const ring::PeerCount& sum) {
      return std::pair(sum.member, sum.peer);
    });
    if (dropped == 0) return;
    AddProblem(&sum_problems_, table.offset, "damaged: sums of messages share a peer");
    out_.unreadable += dropped;
  }

  void OpenRequests() {
    const ImageTable& table = image_.table(SectionKind::kOpenRequests);
    for (uint64_t i = 0; i < table.size(); ++i) {
      const auto request = table.Get<ring::OpenRequest>(i);
      if (IsBeingWritten(request.lock) ||
          request.state > static_cast<uint32_t>(ring::RequestState::kDone) ||
          request.record.operation == ring::kContinuation) {
        ++out_.unreadable;
        continue;
      }
      if (request.state == static_cast<uint32_t>(ring::RequestState::kFree)) continue;
      out_.open_requests.push_back(request);
    }
  }

  static constexpr uint64_t kNone = ~uint64_t{0};

  const RingImage& image_;
  RingSnapshot& out_;
  uint64_t slots_read_ = 0;
  int thread_problems_ = 0;
  int ring_problems_ = 0;
  int record_problems_ = 0;
  int count_problems_ = 0;
  int member_problems_ = 0;
  int sum_problems_ = 0;
  int code_problems_ = 0;
  int data_problems_ = 0;
  int value_problems_ = 0;
};

}  // namespace

std::vector<ring::RankRun> RingSnapshot::RankList(uint32_t ref, uint64_t max_ranks) const {
  const std::string_view bytes = String(ref);
  std::vector<ring::RankRun> runs(bytes.size() / sizeof(ring::RankRun));
  if (runs.empty()) return runs;
  std::memcpy(runs.data(), bytes.data(), runs.size() * sizeof(ring::RankRun));
  uint64_t ranks = 0;
  for (const ring::RankRun& run : runs) ranks += run.count;
  if (ranks > max_ranks) runs.clear();
  return runs;
}

std::optional<RingSnapshot::PathView> RingSnapshot::Path(uint64_t index) const {
  constexpr uint64_t kHeaderWords = sizeof(ring::CallPathHeader) / sizeof(uint64_t);
  if (index == 0 || index >= path_words.size() || path_words.size() - index < kHeaderWords)
    return {};
  PathView view;
  std::memcpy(&view.header, &path_words[index], sizeof(view.header));
  const uint64_t begin = index + kHeaderWords;
  if (view.header.depth > kMaxPathDepth || view.header.depth > path_words.size() - begin) return {};
  view.frames = {path_words.data() + begin, view.header.depth};
  ring::CallPathHeader& path = view.header;
  if (header.version_minor == 0) {  // these words were reserved then
    path.python_depth = 0;
    path.python_end = static_cast<uint8_t>(ring::PythonEnd::kNone);
  }
  const uint64_t python_begin = begin + path.depth;
  if (path.python_depth > kMaxPathDepth || path.python_depth > path_words.size() - python_begin ||
      path.python_end > static_cast<uint8_t>(ring::PythonEnd::kUnreadable)) {
    path.python_depth = 0;
    path.python_end = static_cast<uint8_t>(ring::PythonEnd::kUnreadable);
    view.python_damaged = true;
  }
  view.python = {path_words.data() + python_begin, path.python_depth};
  return view;
}

RingSnapshot ParseImage(const RingImage& image) {
  RingSnapshot snapshot;
  snapshot.source = image.source;
  snapshot.usable = image.usable;
  snapshot.moved = image.moved;
  snapshot.header = image.header;
  snapshot.problems = image.problems;
  if (!image.usable) return snapshot;
  snapshot.activity = RingActivity(image);
  ImageParser(image, &snapshot).Parse();
  return snapshot;
}

RingSnapshot ReadRing(ByteSource& bytes, std::string source, ImageDepth depth) {
  return ParseImage(TakeImage(bytes, std::move(source), depth));
}

uint64_t RingId(const ring::FileHeader& header) {
  const uint64_t high = header.process_id_random[1];
  return header.process_id_random[0] ^ (high << 32 | high >> 32);
}

}  // namespace rollcall
