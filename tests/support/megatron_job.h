// SPDX-License-Identifier: Apache-2.0
// A job with the structure of a Megatron job, executed by a small simulator with a planted fault,
// and the dumps that its ranks would leave. Nothing here depends on how a verdict is found.
//
// Each rank runs a program of operations. Its host enqueues them in order, and waits where the
// program requires it (to print a loss, for example). Its device begins an operation when all older
// operations on the same stream and all older operations that were not asynchronous have completed.
// A collective completes when all members have begun it, and a message when both ends have.
// MegatronJob::Simulate() implements the effects of the faults.
#ifndef ROLLCALL_TESTS_SUPPORT_MEGATRON_JOB_H_
#define ROLLCALL_TESTS_SUPPORT_MEGATRON_JOB_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/dump_writer.h"

namespace rollcall::flight_recorder {

struct Shape {
  int tensor = 2;
  int pipeline = 2;
  int data = 2;
  int expert = 1;  // divides tensor * data: all experts of a group are in one stage
  int iterations = 3;
  int microbatches = 2;
  int layers = 2;
  int Ranks() const { return tensor * pipeline * data; }
};

struct JobGroup {
  std::string desc;
  std::vector<int> ranks;
};

struct JobOperation {
  int group = 0;
  std::string name;  // "all_reduce"; "send" or "recv" for messages
  int peer = -1;     // rank in the group
  int64_t count = 1;
  std::string dtype = "BFloat16";
  int line = 0;
  bool async = false;   // later operations do not wait for it on the device
  bool sync = false;    // the host waits for it
  uint64_t number = 0;  // among the group's collectives, or the messages with this peer, from 1
  bool IsMessage() const { return peer >= 0; }
};

enum class DeviceState : uint8_t { kNone, kEnqueued, kBegun, kDone };

struct JobRank {
  std::vector<JobOperation> program;
  std::vector<DeviceState> states;
  size_t host_stops_at = ~size_t{0};    // the host never reaches this operation
  size_t device_stops_at = ~size_t{0};  // the device never completes this one and begins no other
  bool device_begins_last = true;       // it begins it, so that other ranks can complete it
};

struct DumpStyle {
  bool only_active = false;
  bool started = false;  // with timing enabled, the begin on the device is known
  bool frames = true;
  bool json = false;
  size_t ring = ~size_t{0};  // entries kept; rings of ranks begin at slightly different ones
  int64_t age_ns = 600'000'000'000;  // age of the newest entry when the dump is written
  std::string version = "2.9";
};

class MegatronJob {
 public:
  explicit MegatronJob(const Shape& shape) : shape_(shape), ranks_(size_t(shape.Ranks())) {
    // Like Megatron: all groups of one kind before those of the next, in the same order on all
    // ranks.
    std::vector<int> all;
    for (int r = 0; r < shape_.Ranks(); ++r) all.push_back(r);
    AddGroup("default_pg", all);
    const auto rank = [&](int t, int d, int p) {
      return t + shape_.tensor * (d + shape_.data * p);
    };
    for (int p = 0; p < shape_.pipeline; ++p) {
      for (int t = 0; t < shape_.tensor; ++t) {
        std::vector<int> members;
        for (int d = 0; d < shape_.data; ++d) members.push_back(rank(t, d, p));
        AddGroup("DATA_PARALLEL_GROUP", members);
      }
    }
    for (int p = 0; p < shape_.pipeline; ++p) {
      for (int d = 0; d < shape_.data; ++d) {
        std::vector<int> members;
        for (int t = 0; t < shape_.tensor; ++t) members.push_back(rank(t, d, p));
        AddGroup("TENSOR_MODEL_PARALLEL_GROUP", members);
        AddGroup("TENSOR_AND_CONTEXT_PARALLEL_GROUP", members);
      }
    }
    for (int d = 0; d < shape_.data; ++d) {
      for (int t = 0; t < shape_.tensor; ++t) {
        std::vector<int> members;
        for (int p = 0; p < shape_.pipeline; ++p) members.push_back(rank(t, d, p));
        AddGroup("PIPELINE_MODEL_PARALLEL_GROUP", members);
      }
    }
    if (shape_.expert > 1) {
      const int stage = shape_.tensor * shape_.data;
      for (int first = 0; first < shape_.Ranks(); first += shape_.expert) {
        if (first % stage + shape_.expert > stage) continue;
        std::vector<int> members;
        for (int e = 0; e < shape_.expert; ++e) members.push_back(first + e);
        AddGroup("EXPERT_MODEL_PARALLEL_GROUP", members);
      }
    }
    for (int p = 0; p < shape_.pipeline; ++p) {
      for (int d = 0; d < shape_.data; ++d) {
        for (int t = 0; t < shape_.tensor; ++t) BuildProgram(rank(t, d, p), p);
      }
    }
  }

  // A host waits when this number of its operations have not completed.
  size_t run_ahead = ~size_t{0};

  const Shape& shape() const { return shape_; }
  std::vector<JobRank>& ranks() { return ranks_; }
  const std::vector<JobGroup>& groups() const { return groups_; }
  const std::vector<int>& Members(const JobOperation& operation) const {
    return groups_[size_t(operation.group)].ranks;
  }
  // No member ever completes this number of this group, as if the network had failed.
  void CutOff(int group, uint64_t number) { cut_.insert({group, number}); }

  // Numbers the operations as the ranks will. Must be called again after each change of a program.
  void Number() {
    for (JobRank& rank : ranks_) {
      std::map<std::pair<int, std::pair<int, std::string>>, uint64_t> counters;
      for (JobOperation& operation : rank.program) {
        const std::string direction = operation.IsMessage() ? operation.name : "";
        operation.number = ++counters[{operation.group, {operation.peer, direction}}];
      }
      rank.states.assign(rank.program.size(), DeviceState::kNone);
    }
  }

  // Runs until there is no progress; or for `rounds` iterations, in each of which a host executes a
  // few operations.
  void Simulate(int rounds = 0) {
    std::map<Meeting, std::vector<std::pair<int, size_t>>> meetings;
    for (int r = 0; r < shape_.Ranks(); ++r) {
      for (size_t i = 0; i < Of(r).program.size(); ++i) {
        meetings[MeetingOf(r, Of(r).program[i])].emplace_back(r, i);
      }
    }
    std::vector<size_t> host(ranks_.size(), 0);
    std::vector<size_t> oldest(ranks_.size(), 0);
    bool moved = true;
    for (int round = 0; moved && (rounds == 0 || round < rounds); ++round) {
      moved = false;
      for (int r = 0; r < shape_.Ranks(); ++r) {
        JobRank& rank = Of(r);
        size_t& at = host[size_t(r)];
        for (int steps = 0; at < rank.program.size(); ++steps) {
          if (at - oldest[size_t(r)] >= run_ahead) break;
          if (at >= rank.host_stops_at || (rounds != 0 && steps >= 1 + r % 3)) break;
          if (at > 0 && rank.program[at - 1].sync && rank.states[at - 1] != DeviceState::kDone) {
            break;
          }
          rank.states[at++] = DeviceState::kEnqueued;
          moved = true;
        }
        size_t& first = oldest[size_t(r)];
        const size_t before = first;
        while (first < at && rank.states[first] == DeviceState::kDone) ++first;
        moved |= first != before;
        for (size_t i = first; i < at; ++i) {
          if (rank.states[i] == DeviceState::kEnqueued && CanBegin(rank, first, i)) {
            rank.states[i] = DeviceState::kBegun;
            moved = true;
          }
          if (!rank.program[i].async && rank.states[i] != DeviceState::kDone) break;
        }
      }
      for (auto meeting = meetings.begin(); meeting != meetings.end();) {
        if (!CanEnd(meeting->first, meeting->second)) {
          ++meeting;
          continue;
        }
        for (const auto& [r, i] : meeting->second) {
          if (i != Of(r).device_stops_at) Of(r).states[i] = DeviceState::kDone;
        }
        moved = true;
        meeting = meetings.erase(meeting);
      }
    }
  }

  // The file of each rank. `random` selects the entries at which the rings begin.
  std::vector<std::string> Dumps(const DumpStyle& style, std::mt19937* random) {
    std::vector<std::string> files;
    for (int r = 0; r < shape_.Ranks(); ++r) {
      const WrittenDump dump = DumpOf(r, style, random);
      files.push_back(style.json ? ToJson(dump) : ToPickle(dump));
    }
    return files;
  }
  int64_t newest_ns() const { return newest_ns_; }

 private:
  // Identifies operations that match: number of a collective, or both ends and number of a message.
  using Meeting = std::tuple<int, int, int, uint64_t>;

  JobRank& Of(int rank) { return ranks_[size_t(rank)]; }

  int AddGroup(const std::string& desc, std::vector<int> ranks) {
    groups_.push_back({desc, std::move(ranks)});
    return int(groups_.size()) - 1;
  }

  int GroupOf(int rank, const std::string& desc) const {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const std::vector<int>& members = groups_[g].ranks;
      if (groups_[g].desc == desc &&
          std::find(members.begin(), members.end(), rank) != members.end()) {
        return int(g);
      }
    }
    return 0;
  }

  void BuildProgram(int rank, int stage) {
    std::vector<JobOperation>& program = Of(rank).program;
    const int tensor = GroupOf(rank, "TENSOR_MODEL_PARALLEL_GROUP");
    const int context = GroupOf(rank, "TENSOR_AND_CONTEXT_PARALLEL_GROUP");
    const int data = GroupOf(rank, "DATA_PARALLEL_GROUP");
    const int pipeline = GroupOf(rank, "PIPELINE_MODEL_PARALLEL_GROUP");
    const int expert = GroupOf(rank, "EXPERT_MODEL_PARALLEL_GROUP");
    const auto call = [&](int group, const char* name, int64_t count, int line) {
      JobOperation operation;
      operation.group = group;
      operation.name = name;
      operation.count = count;
      operation.line = line;
      program.push_back(operation);
    };
    const auto message = [&](const char* name, int peer, int line) {
      call(pipeline, name, 4096, line);
      program.back().peer = peer;
    };
    const auto layers = [&](int line) {
      for (int layer = 0; layer < shape_.layers; ++layer) {
        call(tensor, "_all_gather_base", 2048, line);
        if (expert != 0) {
          call(context, "all_reduce", 16, line + 1);
          call(expert, "all_to_all", 1024 + 8 * (rank % 5), line + 2);
          call(expert, "all_to_all", 1024 + 8 * (rank % 5), line + 3);
        }
        call(tensor, "_reduce_scatter_base", 2048, line + 4);
      }
    };
    for (int iteration = 0; iteration < shape_.iterations; ++iteration) {
      call(tensor, "broadcast", 128, 10);
      call(context, "broadcast", 64, 11);
      for (int m = 0; m < shape_.microbatches; ++m) {
        if (stage > 0) message("recv", stage - 1, 20);
        layers(30);
        if (stage + 1 < shape_.pipeline) message("send", stage + 1, 40);
      }
      for (int m = 0; m < shape_.microbatches; ++m) {
        if (stage + 1 < shape_.pipeline) message("recv", stage + 1, 50);
        layers(60);
        if (stage > 0) message("send", stage - 1, 70);
      }
      call(data, "_reduce_scatter_base", 65536, 80);
      call(data, "_all_gather_base", 65536, 81);
      call(0, "all_reduce", 1, 90);
      program.back().sync = true;  // the host reads the norm of the gradients
    }
    Number();
  }

  Meeting MeetingOf(int rank, const JobOperation& operation) const {
    if (!operation.IsMessage()) return {operation.group, -1, -1, operation.number};
    const std::vector<int>& members = groups_[size_t(operation.group)].ranks;
    const int own = int(std::find(members.begin(), members.end(), rank) - members.begin());
    return operation.name == "send"
               ? Meeting{operation.group, own, operation.peer, operation.number}
               : Meeting{operation.group, operation.peer, own, operation.number};
  }

  // Only older operations that are not complete prevent it.
  static bool CanBegin(const JobRank& rank, size_t first, size_t index) {
    if (index > rank.device_stops_at) return false;
    if (index == rank.device_stops_at && !rank.device_begins_last) return false;
    const JobOperation& operation = rank.program[index];
    for (size_t i = first; i < index; ++i) {
      if (rank.states[i] == DeviceState::kDone) continue;
      const JobOperation& older = rank.program[i];
      if (!older.async || (older.group == operation.group && older.peer == operation.peer)) {
        return false;
      }
    }
    return true;
  }

  bool CanEnd(const Meeting& meeting, const std::vector<std::pair<int, size_t>>& there) {
    const auto& [group, sender, receiver, number] = meeting;
    if (sender < 0 && cut_.contains({group, number})) return false;
    const size_t wanted = sender >= 0 ? 2 : groups_[size_t(group)].ranks.size();
    if (there.size() < wanted) return false;
    const JobOperation& one = Of(there[0].first).program[there[0].second];
    for (const auto& [r, i] : there) {
      const DeviceState state = Of(r).states[i];
      if (state != DeviceState::kBegun) return false;
      const JobOperation& other = Of(r).program[i];
      if (sender >= 0) continue;
      if (one.name != other.name || one.dtype != other.dtype) return false;
      if (one.count != other.count && one.name != "all_to_all") return false;
    }
    return true;
  }

  WrittenDump DumpOf(int r, const DumpStyle& style, std::mt19937* random) {
    const JobRank& rank = Of(r);
    WrittenDump dump;
    dump.version = style.version;
    dump.frames = {{"all_reduce", "/usr/lib/python3/dist-packages/torch/distributed/c10d.py", 2806},
                   {"train", "/job/pretrain.py", 300},
                   {"<module>", "/job/pretrain.py", 402}};
    std::map<int, int> frame_of_line;
    std::map<int, size_t> own_group;
    for (size_t g = 0; g < groups_.size(); ++g) {
      const JobGroup& group = groups_[g];
      if (std::find(group.ranks.begin(), group.ranks.end(), r) == group.ranks.end()) continue;
      own_group[int(g)] = dump.groups.size();
      // Ids are local to a rank, and some ranks have used an id before.
      const int id = int(dump.groups.size()) + (g > 0 ? r % 2 : 0);
      dump.groups.push_back({id, std::to_string(g * (g > 3 ? 2 : 1)), group.desc, group.ranks});
      dump.groups.back().enqueued = dump.groups.back().completed = 0;
    }
    std::map<int, uint64_t> collectives;
    std::map<int, uint64_t> messages;
    for (size_t i = 0; i < rank.program.size(); ++i) {
      if (rank.states[i] == DeviceState::kNone) break;
      const JobOperation& operation = rank.program[i];
      WrittenGroup& group = dump.groups[own_group[operation.group]];
      WrittenEntry entry;
      entry.record_id = i;
      entry.pg_id = group.pg_id;
      entry.is_p2p = operation.IsMessage();
      ++(entry.is_p2p ? messages : collectives)[operation.group];
      entry.collective_seq = collectives[operation.group];
      entry.p2p_seq = messages[operation.group];
      entry.op_id = entry.collective_seq + entry.p2p_seq;
      const int own =
          int(std::find(group.ranks.begin(), group.ranks.end(), r) - group.ranks.begin());
      const auto size = int64_t(group.ranks.size());
      entry.name = "nccl:" + operation.name;
      if (entry.is_p2p) {
        entry.name += " " + std::to_string(own) + (operation.name == "send" ? "->" : "<-") +
                      std::to_string(operation.peer);
      }
      const bool gathers = operation.name == "_all_gather_base";
      const bool scatters = operation.name == "_reduce_scatter_base";
      entry.input_sizes = {{operation.count * (scatters ? size : 1)}};
      entry.output_sizes = {{operation.count * (gathers ? size : 1)}};
      // In total, all ranks send as many elements as they receive.
      if (operation.name == "all_to_all") {
        const int next = group.ranks[size_t(own + 1) % group.ranks.size()];
        entry.output_sizes = {{1024 + 8 * (next % 5)}};
      }
      entry.input_dtype = entry.output_dtype = operation.dtype;
      entry.created_ns = 1'700'000'000'000'000'000 + int64_t(i) * 1'000'000 + r * 1'000;
      newest_ns_ = std::max(newest_ns_, entry.created_ns);
      const bool done = rank.states[i] == DeviceState::kDone;
      const bool begun = rank.states[i] == DeviceState::kBegun;
      if (style.started && (done || begun)) entry.started_ns = entry.created_ns + 10'000;
      if (done) entry.completed_ns = entry.created_ns + 500'000;
      entry.state = done ? "completed" : begun && style.started ? "started" : "scheduled";
      group.enqueued = int64_t(entry.is_p2p ? entry.p2p_seq : entry.collective_seq);
      if (done) group.completed = group.enqueued;
      if (style.frames) {
        const auto [frame, is_new] =
            frame_of_line.try_emplace(operation.line, int(dump.frames.size()));
        if (is_new) dump.frames.push_back({"train_step", "/job/training.py", operation.line});
        entry.frames = {0, frame->second, 1, 2};
      }
      if (!style.only_active || !done) dump.entries.push_back(std::move(entry));
    }
    if (dump.entries.size() > style.ring) {
      const size_t lost = dump.entries.size() - style.ring + (*random)() % 5;
      dump.entries.erase(dump.entries.begin(), dump.entries.begin() + ptrdiff_t(lost));
    }
    return dump;
  }

  Shape shape_;
  std::vector<JobGroup> groups_;
  std::vector<JobRank> ranks_;
  std::set<std::pair<int, uint64_t>> cut_;
  int64_t newest_ns_ = 0;
};

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_TESTS_SUPPORT_MEGATRON_JOB_H_
