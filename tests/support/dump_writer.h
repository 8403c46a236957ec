// SPDX-License-Identifier: Apache-2.0
// Writes Flight Recorder dumps as PyTorch does: as a pickle in the style of torch::jit::Pickler
// (strings memoised by value, frames by identity), or as JSON, which has no frames.
#ifndef ROLLCALL_TESTS_SUPPORT_DUMP_WRITER_H_
#define ROLLCALL_TESTS_SUPPORT_DUMP_WRITER_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace rollcall::flight_recorder {

struct WrittenFrame {
  std::string name;
  std::string filename;
  int line = 0;
};

struct WrittenEntry {
  uint64_t record_id = 0;
  int pg_id = 0;
  uint64_t collective_seq = 0;
  uint64_t p2p_seq = 0;
  uint64_t op_id = 0;
  std::string name;  // "nccl:all_reduce"
  std::vector<std::vector<int64_t>> input_sizes;
  std::vector<std::vector<int64_t>> output_sizes;
  std::string input_dtype = "Float";
  std::string output_dtype = "Float";
  std::string state = "scheduled";
  int64_t created_ns = 0;
  int64_t started_ns = 0;  // 0: not discovered
  int64_t completed_ns = 0;
  bool is_p2p = false;
  std::vector<int> frames;  // into WrittenDump::frames
};

struct WrittenGroup {
  int pg_id = 0;
  std::string name;
  std::string desc;
  std::vector<int> ranks;
  int64_t enqueued = -1;
  int64_t started = -1;
  int64_t completed = -1;
};

struct WrittenDump {
  std::string version = "2.9";
  std::vector<WrittenGroup> groups;  // in increasing order of pg_id
  std::vector<WrittenEntry> entries;
  std::vector<WrittenFrame> frames;

  bool HasStatus() const { return version != "2.0"; }
  const WrittenGroup& GroupOf(const WrittenEntry& entry) const {
    for (const WrittenGroup& group : groups) {
      if (group.pg_id == entry.pg_id) return group;
    }
    return groups.front();
  }
};

inline std::string RanksText(const std::vector<int>& ranks) {
  std::string text = "[";
  for (size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  return text + "]";
}

class PickleWriter {
 public:
  std::string Write(const WrittenDump& dump) {
    Byte(0x80);
    Byte(2);
    Begin('}');
    Pair("version", dump.version);
    String("pg_config");
    Begin('}');
    for (const WrittenGroup& group : dump.groups) {
      String(group.name);
      Begin('}');
      Pair("name", group.name);
      Pair("desc", group.desc);
      Pair("ranks", RanksText(group.ranks));
      End('u');
    }
    End('u');
    Pair("nccl_version", "2.27.3");
    if (dump.HasStatus()) {
      String("pg_status");
      Begin('}');
      for (const WrittenGroup& group : dump.groups) {
        String(std::to_string(group.pg_id));
        Begin('}');
        Pair("last_enqueued_collective", group.enqueued);
        Pair("last_started_collective", group.started);
        Pair("last_completed_collective", group.completed);
        End('u');
      }
      End('u');
    }
    if (!dump.entries.empty()) {
      String("entries");
      Begin(']');
      for (const WrittenEntry& entry : dump.entries) Entry(dump, entry);
      End('e');
    }
    End('u');
    Byte('.');
    return std::move(out_);
  }

 private:
  void Entry(const WrittenDump& dump, const WrittenEntry& entry) {
    const WrittenGroup& group = dump.GroupOf(entry);
    Begin('}');
    if (!entry.frames.empty()) {
      String("frames");
      Begin(']');
      for (const int frame : entry.frames) FrameOf(dump.frames[static_cast<size_t>(frame)], frame);
      End('e');
    }
    Pair("record_id", static_cast<int64_t>(entry.record_id));
    Pair("pg_id", entry.pg_id);
    String("process_group");
    String(group.name);
    String(group.desc);
    Byte(0x86);
    Pair("thread_name", "python3");
    Pair("thread_id", "23456244340032");
    Pair("collective_seq_id", static_cast<int64_t>(entry.collective_seq));
    Pair("p2p_seq_id", static_cast<int64_t>(entry.p2p_seq));
    Pair("op_id", static_cast<int64_t>(entry.op_id));
    Pair("profiling_name", entry.name);
    Pair("time_created_ns", entry.created_ns);
    Sizes("input_sizes", entry.input_sizes);
    Types("input_dtypes", entry.input_dtype, entry.input_sizes.size());
    Sizes("output_sizes", entry.output_sizes);
    Types("output_dtypes", entry.output_dtype, entry.output_sizes.size());
    Pair("state", entry.state);
    Time("time_discovered_started_ns", entry.started_ns);
    Time("time_discovered_completed_ns", entry.completed_ns);
    String("retired");
    Byte(entry.state == "completed" ? 0x88 : 0x89);
    if (dump.HasStatus()) Pair("timeout_ms", 180000);
    String("is_p2p");
    Byte(entry.is_p2p ? 0x88 : 0x89);
    End('u');
  }

  void FrameOf(const WrittenFrame& frame, int index) {
    const auto [memo, is_new] = frames_.try_emplace(index, next_memo_);
    if (!is_new) return Get(memo->second);
    Byte('}');
    Put();
    Byte('(');
    Pair("name", frame.name);
    Pair("filename", frame.filename);
    Pair("line", frame.line);
    End('u');
  }

  void Byte(int byte) { out_.push_back(static_cast<char>(byte)); }
  template <typename T>
  void Raw(T value) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out_.append(bytes, sizeof(T));
  }
  void Begin(char container) {
    Byte(container);
    Byte('(');
  }
  void End(char opcode) { Byte(opcode); }
  void Put() {
    if (next_memo_ < 256) {
      Byte('q');
      Byte(static_cast<int>(next_memo_));
    } else {
      Byte('r');
      Raw(next_memo_);
    }
    ++next_memo_;
  }
  void Get(uint32_t memo) {
    if (memo < 256) {
      Byte('h');
      Byte(static_cast<int>(memo));
    } else {
      Byte('j');
      Raw(memo);
    }
  }
  void String(const std::string& text) {
    const auto [memo, is_new] = strings_.try_emplace(text, next_memo_);
    if (!is_new) return Get(memo->second);
    Byte('X');
    Raw(static_cast<uint32_t>(text.size()));
    out_ += text;
    Put();
  }
  void Int(int64_t value) {
    if (value >= 0 && value < 256) {
      Byte('K');
      Byte(static_cast<int>(value));
    } else if (value >= 0 && value < 65536) {
      Byte('M');
      Raw(static_cast<uint16_t>(value));
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
      Byte('J');
      Raw(static_cast<int32_t>(value));
    } else {
      Byte(0x8a);
      Byte(8);
      Raw(value);
    }
  }
  void Pair(const std::string& key, const std::string& value) {
    String(key);
    String(value);
  }
  void Pair(const std::string& key, const char* value) { Pair(key, std::string(value)); }
  void Pair(const std::string& key, int64_t value) {
    String(key);
    Int(value);
  }
  void Pair(const std::string& key, int value) { Pair(key, static_cast<int64_t>(value)); }
  void Time(const std::string& key, int64_t ns) {
    String(key);
    ns == 0 ? Byte('N') : Int(ns);
  }
  void Sizes(const std::string& key, const std::vector<std::vector<int64_t>>& sizes) {
    String(key);
    Begin(']');
    for (const std::vector<int64_t>& shape : sizes) {
      Begin(']');
      for (const int64_t size : shape) Int(size);
      End('e');
    }
    End('e');
  }
  void Types(const std::string& key, const std::string& type, size_t count) {
    String(key);
    Begin(']');
    for (size_t i = 0; i < count; ++i) String(type);
    End('e');
  }

  std::string out_;
  uint32_t next_memo_ = 0;
  std::unordered_map<std::string, uint32_t> strings_;
  std::map<int, uint32_t> frames_;
};

inline std::string ToPickle(const WrittenDump& dump) { return PickleWriter().Write(dump); }

inline std::string ToJson(const WrittenDump& dump) {
  nlohmann::ordered_json root;
  root["version"] = dump.version;
  root["pg_config"] = nlohmann::ordered_json::object();
  for (const WrittenGroup& group : dump.groups) {
    root["pg_config"][group.name] = {
        {"name", group.name}, {"desc", group.desc}, {"ranks", RanksText(group.ranks)}};
    if (!dump.HasStatus()) continue;
    root["pg_status"][std::to_string(group.pg_id)] = {
        {"last_enqueued_collective", std::to_string(group.enqueued)},
        {"last_started_collective", std::to_string(group.started)},
        {"last_completed_collective", std::to_string(group.completed)}};
  }
  for (const WrittenEntry& entry : dump.entries) {
    const WrittenGroup& group = dump.GroupOf(entry);
    nlohmann::ordered_json e;
    e["record_id"] = entry.record_id;
    e["pg_id"] = entry.pg_id;
    e["process_group"] = {group.name, group.desc};
    e["collective_seq_id"] = entry.collective_seq;
    e["p2p_seq_id"] = entry.p2p_seq;
    e["op_id"] = entry.op_id;
    e["profiling_name"] = entry.name;
    e["time_created_ns"] = entry.created_ns;
    e["input_sizes"] = entry.input_sizes;
    e["input_dtypes"] = std::vector<std::string>(entry.input_sizes.size(), entry.input_dtype);
    e["output_sizes"] = entry.output_sizes;
    e["output_dtypes"] = std::vector<std::string>(entry.output_sizes.size(), entry.output_dtype);
    e["state"] = entry.state;
    e["time_discovered_started_ns"] = entry.started_ns;
    e["time_discovered_completed_ns"] = entry.completed_ns;
    e["retired"] = entry.state == "completed";
    e["timeout_ms"] = 180000;
    e["is_p2p"] = entry.is_p2p;
    root["entries"].push_back(std::move(e));
  }
  return root.dump();
}

}  // namespace rollcall::flight_recorder

#endif  // ROLLCALL_TESTS_SUPPORT_DUMP_WRITER_H_
