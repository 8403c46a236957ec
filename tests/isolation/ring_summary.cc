// SPDX-License-Identifier: Apache-2.0
// Prints what the rings below a directory say, one JSON object a line, for the isolation tests.
// Reads the format by its header alone, apart from the collector's reader, so that a mistake in
// that one cannot hide a mistake of the writer. The writers have ended.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "proto/operations.h"
#include "proto/ring_format.h"
#include "proto/run_directory.h"

namespace {

using namespace rollcall;  // NOLINT(google-build-using-namespace)

struct Summary {
  std::map<std::string, uint64_t> calls;  // records still there, by function
  uint64_t torn = 0;                      // being written when the process ended
  uint64_t wrong = 0;                     // a lock that cannot be, or a mixture of two calls
  uint64_t nested = 0;                    // of `calls`: made inside another MPI call
  uint64_t open = 0;                      // calls in flight
  uint64_t open_requests = 0;
  uint64_t live_threads = 0;
  uint64_t complete_paths = 0, cut_paths = 0;  // of records
};

class Ring {
 public:
  explicit Ring(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  bool usable() const {
    return bytes_.size() >= sizeof(ring::FileHeader) &&
           std::memcmp(header().magic, ring::kMagic, sizeof(ring::kMagic)) == 0 &&
           header().file_bytes == bytes_.size();
  }
  const ring::FileHeader& header() const {
    return *reinterpret_cast<const ring::FileHeader*>(bytes_.data());
  }
  bool has(ring::SectionKind kind) const {
    return &section(kind) != header().sections + header().section_count;
  }
  const ring::Section& section(ring::SectionKind kind) const {
    const auto* end = header().sections + header().section_count;
    return *std::find_if(header().sections, end, [&](const ring::Section& section) {
      return section.kind == static_cast<uint32_t>(kind);
    });
  }
  template <typename T>
  const T* table(ring::SectionKind kind) const {
    return reinterpret_cast<const T*>(bytes_.data() + section(kind).offset);
  }

 private:
  std::vector<char> bytes_;
};

// Of all communicators.
uint32_t UnreadWhy(const Ring& ring) {
  uint32_t why = 0;
  if (!ring.has(ring::SectionKind::kDataMembers)) return why;
  const auto* members = ring.table<ring::DataMember>(ring::SectionKind::kDataMembers);
  for (uint64_t i = 0; i < ring.section(ring::SectionKind::kDataMembers).used; ++i) {
    why |= members[i].unread_why;
  }
  return why;
}

// Pairs of communicator and peer whose sum is not that of their channels. The programs use few
// tags, so that each message is in a channel.
uint64_t WrongSums(const Ring& ring) {
  struct Sum {
    uint64_t sent = 0, received = 0;
    uint32_t flags = 0;
    bool operator==(const Sum&) const = default;
  };
  using Sums = std::map<std::pair<uint32_t, int32_t>, Sum>;
  const auto add = [](const auto* table, const ring::Section& section, Sums* sums) {
    for (uint64_t i = 0; i < std::min(section.used, section.capacity); ++i) {
      Sum& sum = (*sums)[{table[i].member, table[i].peer}];
      sum.sent += table[i].sent;
      sum.received += table[i].received;
      sum.flags |= table[i].flags;
    }
  };
  Sums of_channels, sums;
  add(ring.table<ring::Channel>(ring::SectionKind::kChannels),
      ring.section(ring::SectionKind::kChannels), &of_channels);
  const auto& section = ring.section(ring::SectionKind::kPeerCounts);
  add(ring.table<ring::PeerCount>(ring::SectionKind::kPeerCounts), section, &sums);
  uint64_t wrong = section.used - sums.size();  // two entries of one pair
  for (const auto& [key, sum] : of_channels) wrong += sums[key] == sum ? 0 : 1;
  return wrong + (sums.size() - of_channels.size());
}

// What only a mixture of two records can say. The programs reduce single ints on MPI_COMM_SELF.
bool Mixed(const ring::Record& record) {
  const auto operation = static_cast<Operation>(record.operation);
  if (operation == Operation::kBarrier) return record.send_count != 0 || record.send_datatype != 0;
  if (operation == Operation::kAllreduce)
    return record.send_count != 1 || record.send_datatype == 0;
  return false;
}

void Add(const Ring& ring, const ring::Record& record, Summary* summary) {
  if (record.operation == ring::kContinuation) return;
  const OperationInfo& info = FindOperation(record.operation);
  ++summary->calls[info.name.empty() ? "#" + std::to_string(record.operation)
                                     : std::string(info.name)];
  summary->wrong += Mixed(record) ? 1 : 0;
  summary->nested += (record.flags & ring::kNested) != 0 ? 1 : 0;
  if (record.call_path == 0) return;
  const auto* words = ring.table<uint64_t>(ring::SectionKind::kCallPaths);
  ring::CallPathHeader path;
  std::memcpy(&path, words + record.call_path, sizeof(path));
  const bool complete = path.end == static_cast<uint8_t>(ring::StackEnd::kComplete);
  ++(complete ? summary->complete_paths : summary->cut_paths);
}

Summary Summarize(const Ring& ring) {
  Summary summary;
  const auto& threads = ring.section(ring::SectionKind::kThreads);
  const auto* entries = ring.table<ring::ThreadEntry>(ring::SectionKind::kThreads);
  const auto* records = ring.table<ring::Record>(ring::SectionKind::kRings);
  for (uint64_t i = 0; i < std::min(threads.used, threads.capacity); ++i) {
    const ring::ThreadEntry& entry = entries[i];
    summary.live_threads += entry.state == static_cast<uint32_t>(ring::ThreadState::kLive) ? 1 : 0;
    for (const ring::OpenCall& open : entry.open) summary.open += open.record.lock != 0 ? 1 : 0;
    for (uint32_t kind = 0; kind < ring::kRingKinds; ++kind) {
      const uint64_t head = entry.ring_head[kind], slots = entry.ring_slots[kind];
      for (uint64_t at = head > slots ? head - slots : 0; at < head; ++at) {
        const ring::Record& record = records[entry.ring_first[kind] + at % slots];
        if (record.lock == 2 * at + 2) {
          Add(ring, record, &summary);
        } else if (record.lock == 2 * (at + slots) + 1) {
          ++summary.torn;
        } else {
          ++summary.wrong;
        }
      }
    }
  }
  const auto& requests = ring.section(ring::SectionKind::kOpenRequests);
  const auto* request = ring.table<ring::OpenRequest>(ring::SectionKind::kOpenRequests);
  for (uint64_t i = 0; i < std::min(requests.used, requests.capacity); ++i) {
    const bool is_free = request[i].state == static_cast<uint32_t>(ring::RequestState::kFree);
    summary.open_requests += is_free ? 0 : 1;
  }
  return summary;
}

void Print(const std::filesystem::path& path) {
  const Ring ring(path);
  std::printf("{\"file\": \"%s\", \"usable\": %s", path.filename().c_str(),
              ring.usable() ? "true" : "false");
  if (ring.usable()) {
    const ring::FileHeader& header = ring.header();
    const Summary summary = Summarize(ring);
    const auto number = [](const char* name, uint64_t value) {
      std::printf(", \"%s\": %lld", name, static_cast<long long>(value));
    };
    number("bytes", header.file_bytes);
    number("pid", header.pid);
    number("world_rank", static_cast<uint64_t>(static_cast<int64_t>(header.world_rank)));
    number("phase", header.phase);
    number("exit_mark", header.exit_mark);
    number("exit_status", header.exit_status);
    number("errors_seen", header.errors_seen);
    number("threads_unrecorded", header.threads_unrecorded);
    number("data_unread_why", UnreadWhy(ring));
    number("wrong_sums", WrongSums(ring));
    number("stacks", header.stacks);
    number("communicators", ring.section(ring::SectionKind::kMembers).used);
    number("live_threads", summary.live_threads);
    number("torn", summary.torn);
    number("wrong", summary.wrong);
    number("nested", summary.nested);
    number("open", summary.open);
    number("open_requests", summary.open_requests);
    number("complete_paths", summary.complete_paths);
    number("cut_paths", summary.cut_paths);
    std::printf(", \"calls\": {");
    const char* separator = "";
    for (const auto& [name, count] : summary.calls) {
      std::printf("%s\"%s\": %llu", separator, name.c_str(),
                  static_cast<unsigned long long>(count));
      separator = ", ";
    }
    std::printf("}");
  }
  std::printf("}\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path rings = std::filesystem::path(argv[1]) / kRingsDirectory;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(rings, error)) Print(entry.path());
  return 0;
}
