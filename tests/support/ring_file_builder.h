// SPDX-License-Identifier: Apache-2.0
// Makes ring files for tests from the structs of proto/ring_format.h, without the shim. The files
// are valid; tests of damage change the parts before Build() or the bytes after it.
#ifndef ROLLCALL_TESTS_SUPPORT_RING_FILE_BUILDER_H_
#define ROLLCALL_TESTS_SUPPORT_RING_FILE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/operations.h"
#include "proto/ring_format.h"

namespace rollcall {

class RingFileBuilder {
 public:
  using Bytes = std::vector<uint8_t>;

  // Ticks are nanoseconds of CLOCK_MONOTONIC, which reads 0 at kRealtimeZero.
  static constexpr uint64_t kRealtimeZero = 1'700'000'000'000'000'000;

  RingFileBuilder(int32_t rank, int32_t size) {
    std::memcpy(header.magic, ring::kMagic, sizeof(header.magic));
    header.byte_order = ring::kByteOrder;
    header.version_major = ring::kVersionMajor;
    header.version_minor = ring::kVersionMinor;
    header.header_bytes = sizeof(header);
    header.process_id_random[0] = 0x1000 + static_cast<uint64_t>(rank);
    header.process_id_random[1] = 7;
    header.pid = 100 + static_cast<uint32_t>(rank);
    header.process_start_ticks = 5000;
    header.job_key = 42;
    header.world_rank = rank;
    header.world_size = size;
    header.flavor = static_cast<uint32_t>(ring::Flavor::kOpenMpi);
    header.thread_level = 0;
    header.first_anchor = {10, 10, kRealtimeZero + 10};
    header.last_anchor = header.first_anchor;
    header.phase = static_cast<uint64_t>(ring::Phase::kRunning);
    header.stacks = 1;
    SetText(header.host, "node1");
    SetText(header.executable, "/bin/app");
    strings.resize(4);     // reference 0 means none
    path_words.resize(1);  // call path 0 means none, too
    datatypes.reserve(8);
  }

  template <size_t n>
  static void SetText(char (&to)[n], std::string_view text) {
    std::memset(to, 0, n);
    std::memcpy(to, text.data(), std::min(text.size(), n - 1));
  }

  uint32_t AddString(std::string_view text) {
    const auto ref = static_cast<uint32_t>(strings.size());
    const auto size = static_cast<uint32_t>(text.size());
    strings.resize(strings.size() + sizeof(size) + text.size());
    std::memcpy(strings.data() + ref, &size, sizeof(size));
    std::memcpy(strings.data() + ref + sizeof(size), text.data(), text.size());
    return ref;
  }

  uint32_t AddRanks(const std::vector<ring::RankRun>& runs) {
    return AddString({reinterpret_cast<const char*>(runs.data()), runs.size() * sizeof(runs[0])});
  }

  // Returns the number that frames use for the module.
  uint32_t AddModule(std::string_view path, uint8_t build_id = 0xab) {
    ring::Module module{};
    module.path = AddString(path);
    module.build_id_bytes = 4;
    std::memset(module.build_id, build_id, module.build_id_bytes);
    modules.push_back(module);
    return static_cast<uint32_t>(modules.size());
  }

  uint32_t AddPath(const std::vector<std::pair<uint32_t, uint64_t>>& frames, uint64_t hash = 1,
                   ring::StackEnd end = ring::StackEnd::kComplete) {
    const auto index = static_cast<uint32_t>(path_words.size());
    ring::CallPathHeader path{};
    path.portable_hash = hash;
    path.depth = static_cast<uint16_t>(frames.size());
    path.end = static_cast<uint8_t>(end);
    path_words.resize(path_words.size() + sizeof(path) / sizeof(uint64_t));
    std::memcpy(&path_words[index], &path, sizeof(path));
    for (const auto& [module, vaddr] : frames) {
      path_words.push_back(uint64_t{module} << ring::kFrameModuleShift | vaddr);
    }
    return index;
  }

  // A code object of Python 3.11 whose bytes 4 i to 4 i + 3 are on line first_line + i, for 8
  // lines. Returns the number that frames use for it.
  uint32_t AddPythonCode(std::string_view file, std::string_view name, uint32_t first_line) {
    std::string table;
    for (int i = 0; i < 8; ++i) {
      table += static_cast<char>(128 | 13 << 3 | 1);    // two units, line without columns
      table += static_cast<char>(i == 0 ? 0 : 1 << 1);  // next line
    }
    ring::PythonCode code{};
    code.portable_hash = 7 + python_code.size();
    code.file = AddString(file);
    code.name = AddString(name);
    code.line_table = AddString(table);
    code.first_line = first_line;
    code.version = 3 << 8 | 11;
    python_code.push_back(code);
    return static_cast<uint32_t>(python_code.size());
  }
  static uint64_t PythonFrame(uint32_t code, uint32_t offset, bool entry) {
    return uint64_t{code} << ring::kPythonFrameCodeShift | (entry ? ring::kPythonFrameEntry : 0) |
           offset;
  }
  // Adds Python frames, innermost first, to the most recent path.
  void AddPythonFrames(uint32_t path, const std::vector<uint64_t>& frames,
                       ring::PythonEnd end = ring::PythonEnd::kComplete) {
    ring::CallPathHeader header;
    std::memcpy(&header, &path_words[path], sizeof(header));
    header.python_depth = static_cast<uint16_t>(frames.size());
    header.python_end = static_cast<uint8_t>(end);
    std::memcpy(&path_words[path], &header, sizeof(header));
    path_words.insert(path_words.end(), frames.begin(), frames.end());
  }

  // Returns the thread's number. Slots are powers of two.
  uint32_t AddThread(uint32_t tid, uint64_t collective_slots = 8, uint64_t p2p_slots = 4) {
    ring::ThreadEntry thread{};
    thread.tid = tid;
    thread.state = static_cast<uint32_t>(ring::ThreadState::kLive);
    thread.flags = threads.empty() ? 1 : 0;
    SetText(thread.name, "worker");
    for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
      thread.ring_first[kind] = records.size();
      thread.ring_slots[kind] = kind == ring::kCollectiveRing ? collective_slots : p2p_slots;
      records.resize(records.size() + thread.ring_slots[kind]);
    }
    threads.push_back(thread);
    return static_cast<uint32_t>(threads.size() - 1);
  }

  // A communicator with consecutive ranks from 0. Returns its uid.
  uint32_t AddMember(uint64_t key, int32_t rank, int32_t size, uint32_t flags = 0) {
    ring::Member member{};
    member.uid = static_cast<uint32_t>(members.size() + 1);
    member.state = static_cast<uint32_t>(ring::MemberState::kLive);
    member.key = key;
    member.flags = flags;
    member.rank = rank;
    member.size = size;
    member.ranks = AddRanks({{0, 1, static_cast<uint32_t>(size)}});
    members.push_back(member);
    return member.uid;
  }

  static ring::Record MakeRecord(Operation operation, uint64_t start_ticks, uint32_t member = 0,
                                 uint64_t sequence = 0) {
    ring::Record record{};
    record.operation = static_cast<uint16_t>(operation);
    record.start_ticks = start_ticks;
    record.member = member;
    record.sequence = sequence;
    record.root_or_peer = ring::kNoPeer;
    record.tag = ring::kNoTag;
    return record;
  }

  // Writes the next record of a ring; returns it as written.
  ring::Record Append(uint32_t thread, ring::Record record,
                      ring::RingKind kind = ring::kCollectiveRing) {
    ring::ThreadEntry& entry = threads[thread];
    const uint64_t index = entry.ring_head[kind]++;
    record.lock = 2 * index + 2;
    records[entry.ring_first[kind] + index % entry.ring_slots[kind]] = record;
    return record;
  }

  // A record with its count arrays before it.
  ring::Record AppendWithCounts(uint32_t thread, ring::Record record,
                                const std::vector<uint64_t>& send_counts,
                                const std::vector<uint64_t>& recv_counts) {
    uint16_t parts = 0;
    uint16_t array = 0;
    for (const auto* counts : {&send_counts, &recv_counts}) {
      for (uint32_t first = 0; first < counts->size(); first += ring::kContinuationValues) {
        ring::Continuation part{};
        part.operation = ring::kContinuation;
        part.array = array;
        part.first = first;
        while (part.value_count < ring::kContinuationValues &&
               first + part.value_count < counts->size()) {
          part.values[part.value_count] = (*counts)[first + part.value_count];
          ++part.value_count;
        }
        ring::Record slot;
        std::memcpy(&slot, &part, sizeof(slot));
        Append(thread, slot);
        ++parts;
      }
      ++array;
    }
    record.continuations = parts;
    return Append(thread, record);
  }

  // Writes the next record of data into a ring of so many slots.
  void AppendData(ring::DataRecord record, uint64_t slots = 8) {
    if (data.empty()) data.resize(slots);
    const uint64_t index = data_written++;
    record.lock = 2 * index + 2;
    data[index % data.size()] = record;
  }
  void AppendData(const ring::DataBlocks& blocks) {
    ring::DataRecord record;
    std::memcpy(&record, &blocks, sizeof(record));
    AppendData(record);
  }
  static ring::DataRecord MakeData(ring::DataSide side, uint32_t member, uint64_t sequence,
                                   uint64_t bytes = 16) {
    ring::DataRecord record{};
    record.sequence = sequence;
    record.ticks = 100 * sequence;
    record.member = member;
    record.side = static_cast<uint16_t>(side);
    record.reading = static_cast<uint16_t>(ring::DataReading::kWhole);
    record.bytes = bytes;
    record.words = (bytes + 7) / 8;
    return record;
  }

  // The call is in flight. `record` is as Append() returned it.
  void Open(uint32_t thread, const ring::Record& record) {
    ring::ThreadEntry& entry = threads[thread];
    entry.open[entry.depth++].record = record;
  }

  // Marks every collective entered so far as returned.
  void CountCalls() {
    for (ring::ThreadEntry& thread : threads) {
      thread.calls_ended = thread.ring_head[0] + thread.ring_head[1] - thread.depth;
    }
  }

  Bytes Build() const {
    ring::FileHeader built = header;
    Bytes bytes(sizeof(built));
    uint32_t index = 0;
    const auto put = [&](ring::SectionKind kind, const auto& elements) {
      using T = std::remove_reference_t<decltype(elements[0])>;
      ring::Section& section = built.sections[index++];
      section.kind = static_cast<uint32_t>(kind);
      section.element_bytes = sizeof(T);
      section.offset = bytes.size();
      section.used = elements.size();
      section.capacity = std::max(section.used, min_capacity[static_cast<uint32_t>(kind)]);
      section.lost = lost[static_cast<uint32_t>(kind)];
      bytes.resize((bytes.size() + section.capacity * sizeof(T) + 63) / 64 * 64);
      if (!elements.empty()) {
        std::memcpy(bytes.data() + section.offset, elements.data(), elements.size() * sizeof(T));
      }
    };
    put(ring::SectionKind::kThreads, threads);
    put(ring::SectionKind::kMembers, members);
    put(ring::SectionKind::kOpenRequests, open_requests);
    put(ring::SectionKind::kChannels, channels);
    put(ring::SectionKind::kGpuProgress, gpu);
    put(ring::SectionKind::kModules, modules);
    put(ring::SectionKind::kDatatypes, datatypes);
    put(ring::SectionKind::kStrings, strings);
    put(ring::SectionKind::kCallPaths, path_words);
    put(ring::SectionKind::kRings, records);
    put(ring::SectionKind::kPythonCode, python_code);
    put(ring::SectionKind::kMarks, marks);
    put(ring::SectionKind::kData, data);
    put(ring::SectionKind::kDataMembers, data_members);
    if (header.version_minor >= 11) put(ring::SectionKind::kPeerCounts, peer_counts);
    if (header.version_minor >= 14) put(ring::SectionKind::kValues, values);
    built.section_count = index;
    built.file_bytes = bytes.size();
    std::memcpy(bytes.data(), &built, sizeof(built));
    return bytes;
  }

  ring::FileHeader header{};
  std::vector<ring::ThreadEntry> threads;
  std::vector<ring::Member> members;
  std::vector<ring::OpenRequest> open_requests;
  std::vector<ring::Channel> channels;
  std::vector<ring::PeerCount> peer_counts;
  std::vector<ring::GpuProgress> gpu;
  std::vector<ring::Mark> marks;
  std::vector<ring::Module> modules;
  std::vector<ring::Datatype> datatypes;
  Bytes strings;
  std::vector<uint64_t> path_words;
  std::vector<ring::Record> records;
  std::vector<ring::PythonCode> python_code;
  std::vector<ring::DataRecord> data;
  uint64_t data_written = 0;
  std::vector<ring::DataMember> data_members;
  std::vector<ring::NamedValues> values;
  uint64_t lost[ring::kSectionKinds] = {};          // by SectionKind
  uint64_t min_capacity[ring::kSectionKinds] = {};  // likewise: room for more elements
};

// Reads and changes one struct in a built file.
template <typename T>
T GetAt(const RingFileBuilder::Bytes& bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}
template <typename T>
void PutAt(RingFileBuilder::Bytes* bytes, size_t offset, const T& value) {
  std::memcpy(bytes->data() + offset, &value, sizeof(T));
}
inline size_t SectionAt(const RingFileBuilder::Bytes& bytes, ring::SectionKind kind) {
  for (uint32_t i = 0; i < ring::kMaxSections; ++i) {
    const size_t at = offsetof(ring::FileHeader, sections) + i * sizeof(ring::Section);
    if (GetAt<ring::Section>(bytes, at).kind == static_cast<uint32_t>(kind)) return at;
  }
  return 0;
}

// A small file with something in every table: the seed of damage tests and of the fuzzer.
inline RingFileBuilder MakeFullRing(int32_t rank = 1, int32_t size = 4) {
  RingFileBuilder builder(rank, size);
  const uint32_t module = builder.AddModule("/bin/app");
  const uint32_t path = builder.AddPath({{module, 0x1234}, {module, 0x2345}, {0, 0x99}});
  const uint32_t thread = builder.AddThread(100);
  const uint32_t world = builder.AddMember(0xfeed, rank, size, ring::kIsWorld);
  const uint32_t child = builder.AddMember(0xbeef, rank, size);
  ring::Member& split = builder.members[child - 1];
  split.parent_key = 0xfeed;
  split.parent_sequence = 2;
  split.creating_operation = static_cast<uint16_t>(Operation::kComm_split);
  split.neighbors_in = builder.AddRanks({{0, 2, 2}});
  ring::Member& all = builder.members[world - 1];
  all.entered = 4;
  all.completed = 3;
  all.recent[0] = {3, 33, 44};
  all.history[0] = {1, 11, 22};
  ring::Datatype derived{77, 3, 24, 15, builder.AddString("three doubles")};
  builder.datatypes.push_back(derived);

  ring::Record record = builder.MakeRecord(Operation::kInit, 1000);
  builder.Append(thread, record);
  record = builder.MakeRecord(Operation::kBcast, 2000, world, 1);
  record.prev_end_ticks = 1500;
  record.send_count = 3;
  record.send_datatype = 256;
  record.root_or_peer = 0;
  record.call_path = path;
  builder.Append(thread, record);
  record = builder.MakeRecord(Operation::kComm_split, 3000, world, 2);
  record.prev_end_ticks = 2500;
  record.detail = uint64_t{5} << 32;
  builder.Append(thread, record);
  record = builder.MakeRecord(Operation::kAlltoallv, 4000, world, 3);
  record.prev_end_ticks = 3500;
  builder.AppendWithCounts(thread, record, {1, 2, 3, 4}, {5, 6, 7, 8});
  record = builder.MakeRecord(Operation::kIrecv, 4500, world);
  record.prev_end_ticks = 4200;
  record.request = 9;
  record.root_or_peer = 2;
  record.tag = 8;
  const ring::Record receive = builder.Append(thread, record, ring::kP2pRing);
  builder.open_requests.push_back(
      {2, 9, static_cast<uint32_t>(ring::RequestState::kActive), thread + 1, 0, receive});
  builder.channels.push_back({world, 2, 8, 0, 3, 4});
  builder.peer_counts.push_back({world, 2, 0, 0, 30, 40});
  builder.gpu.push_back({world, 1, 0x10, 5, 4, 3, {}});
  record = builder.MakeRecord(Operation::kBarrier, 5000, world, 4);
  record.prev_end_ticks = 4600;
  record.call_path = path;
  builder.Open(thread, builder.Append(thread, record));
  builder.threads[thread].last_end_ticks = 4600;
  builder.CountCalls();
  ring::DataRecord data = builder.MakeData(ring::DataSide::kResult, world, 1, 24);
  data.call_path = path;
  builder.AppendData(data);
  ring::DataBlocks blocks{};
  blocks.sequence = 3;
  blocks.member = world;
  blocks.side = static_cast<uint16_t>(ring::DataSide::kInputBlocks);
  blocks.reading = static_cast<uint16_t>(ring::DataReading::kWhole);
  blocks.count = 4;
  for (uint64_t k = 0; k < 4; ++k) blocks.hashes[k] = k + 1;
  builder.AppendData(blocks);
  data = builder.MakeData(ring::DataSide::kReplica, 0, 1);
  data.name = builder.AddString("weights");
  builder.AppendData(data);
  ring::DataMember of_world{};
  of_world.lock = 2;
  of_world.uid = world;
  of_world.read = 2;
  of_world.unread_why = static_cast<uint32_t>(ring::Unread::kLayout);
  of_world.unread = 5;
  of_world.outside = 3;
  of_world.recent[0] = {3, 99};
  builder.data_members.push_back(of_world);
  ring::NamedValues values{};
  values.lock = 20;
  values.count = 9;
  values.name = builder.AddString("batches");
  for (uint64_t number = 2; number <= 9; ++number) {
    values.recent[(number - 1) % ring::kRecentValues] = {
        100 * number, 1000 + number, path, static_cast<uint16_t>(ring::ValueType::kSigned), 0};
  }
  builder.values.push_back(values);
  return builder;
}

// The same for a process that runs Python: one call from Python, and one from a thread without it.
inline RingFileBuilder MakePythonRing(int32_t rank = 1, int32_t size = 4) {
  RingFileBuilder builder = MakeFullRing(rank, size);
  builder.header.python_version = 0x030b02f0;
  builder.header.python_state = static_cast<uint32_t>(ring::PythonState::kOn);
  const uint32_t python = builder.AddModule("/usr/bin/python3.11", 0xcd);
  const uint32_t extension = builder.AddModule("/lib/MPI.so", 0xef);
  const uint32_t step = builder.AddPythonCode("/src/train.py", "step", 10);
  const uint32_t top = builder.AddPythonCode("/src/train.py", "<module>", 1);
  const uint32_t path = builder.AddPath({{extension, 0x10}, {python, 0x20}, {python, 0x30}});
  builder.AddPythonFrames(
      path, {builder.PythonFrame(step, 8, false), builder.PythonFrame(top, 12, true)});
  const uint32_t engine = builder.AddPath({{extension, 0x50}});
  builder.AddPythonFrames(engine, {}, ring::PythonEnd::kNoFrames);
  ring::Record record = builder.MakeRecord(Operation::kBarrier, 6000, 1, 5);
  record.call_path = path;
  builder.Append(0, record);
  record = builder.MakeRecord(Operation::kBarrier, 7000, 1, 6);
  record.call_path = engine;
  record.context_path = path;
  builder.Append(0, record);
  builder.members[0].entered = 6;
  return builder;
}

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_SUPPORT_RING_FILE_BUILDER_H_
