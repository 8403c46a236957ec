// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include "collector/attach/base64.h"
#include "collector/attach/stacks.h"
#include "collector/attach/stacks_fields.h"
#include "collector/base/text.h"
#include "collector/import/stacks_text.h"

namespace rollcall::attach {
namespace {

using Json = nlohmann::json;

// A value in memory is many times larger than its text.
constexpr size_t kMaxLineBytes = 8 << 20;
constexpr int kMaxDepth = 16;  // the format needs 8
constexpr size_t kMaxJobRanks = 1 << 16;
constexpr size_t kMaxPlaces = 1 << 20;
constexpr size_t kMaxSources = 4096;
constexpr size_t kMaxProblems = 16;

class Reader {
 public:
  Reader(const std::string& source, std::vector<Problem>* problems, size_t max_frame_bytes)
      : source_(source), problems_(*problems), max_frame_bytes_(max_frame_bytes) {}

  HostStacks Read(std::string_view text) {
    stacks_.host = "?";
    const bool cut = text.size() > kMaxStacksBytes;
    const std::string_view all = text.substr(0, kMaxStacksBytes);
    for (size_t at = 0; at < all.size() && !stop_;) {
      const size_t end = std::min(all.find('\n', at), all.size());
      offset_ = at;
      TakeLine(all.substr(at, end - at), /*ended=*/end < all.size());
      at = end + 1;
    }
    offset_ = all.size();
    if (cut) {
      AddProblem(ProblemCode::kOverLimit,
                 fmt::format("{} bytes: the rest is left out", text.size()));
    } else if (!ended_ && !stop_) {
      AddProblem(ProblemCode::kTruncated, has_header_ ? "cut off here" : "no stacks are in it");
    }
    if (count_ > kMaxProblems) {
      problems_.push_back({ProblemCode::kDamaged,
                           fmt::format("{} more lines are left out", count_ - kMaxProblems),
                           source_});
    }
    Finish();
    return std::move(stacks_);
  }

 private:
  void AddProblem(ProblemCode code, std::string message) {
    if (++count_ <= kMaxProblems) {
      problems_.push_back({code, std::move(message), source_, static_cast<int64_t>(offset_)});
    }
  }
  // Returns false, for a line that is left out.
  bool Wrong(std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}: {}", path_.empty() ? "/" : path_, what);
    return false;
  }

  void TakeLine(std::string_view line, bool ended) {
    if (line.empty()) return;
    if (line.size() > kMaxLineBytes) {
      return AddProblem(ProblemCode::kOverLimit,
                        fmt::format("a line of {} bytes is left out", line.size()));
    }
    bool too_deep = false;
    const auto keep = [&too_deep](int depth, Json::parse_event_t event, Json& /*value*/) {
      const bool begins =
          event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
      too_deep |= begins && depth >= kMaxDepth;
      return !too_deep;
    };
    const Json json = Json::parse(line, keep, /*allow_exceptions=*/false);
    if (too_deep) return AddProblem(ProblemCode::kDamaged, "a line nests too deep: left out");
    if (!json.is_object()) {
      return ended ? AddProblem(ProblemCode::kDamaged, "a line is not a JSON object: left out")
                   : AddProblem(ProblemCode::kTruncated, "a line is cut off here: left out");
    }
    error_.clear();
    path_.clear();
    if (!has_header_) return TakeHeader(json);
    for (const auto& [kind, value] : json.items()) TakePart(kind, value);
    if (!error_.empty()) AddProblem(ProblemCode::kDamaged, error_ + ": the line is left out");
  }

  void TakeHeader(const Json& json) {
    StacksHeader header;
    const bool read = Into(json, &header, 0);
    if (!read || header.format != kStacksFormat || header.version < 1) {
      stop_ = true;
      return AddProblem(ProblemCode::kForeign, read ? "not a file of stacks" : error_);
    }
    if (header.version > kStacksVersion) {
      stop_ = true;
      return AddProblem(
          ProblemCode::kUnknownVersion,
          fmt::format("version {}: this rollcall reads {}", header.version, kStacksVersion));
    }
    has_header_ = true;
    stacks_.host = header.host;
    stacks_.absent = header.absent;
    stacks_.taken_at_ns = header.taken_at_ns;
    stacks_.has_rings = header.has_rings;
  }

  // An unknown kind is from a newer version.
  void TakePart(const std::string& kind, const Json& value) {
    path_ = "/" + kind;
    if (kind == "job") {
      FoundJob job;
      if (Into(value, &job, 0)) stacks_.job = std::move(job);
    } else if (kind == "frame") {
      // A damaged frame is added, too: the indices of the frames after it count it.
      std::optional<StoredPlace>& place = places_.emplace_back(std::in_place);
      if (places_.size() > kMaxPlaces || !Into(value, &*place, 0)) place.reset();
      if (places_.size() > kMaxPlaces) {
        places_.pop_back();
        Wrong("more frames than are read");
      }
    } else if (kind == "source") {
      SourceBlocks source;
      if (stacks_.sources.size() >= kMaxSources) {
        Wrong("more sources than are read");
      } else if (Into(value, &source, 0)) {
        stacks_.sources.push_back(std::move(source));
      }
    } else if (kind == "rank") {
      ObservedRank rank;
      if (stacks_.ranks.size() >= kMaxJobRanks) {
        Wrong("more ranks than are read");
      } else if (Into(value, &rank, 0) && IsNew(rank)) {
        stacks_.ranks.push_back(std::move(rank));
      }
    } else if (kind == "records") {
      TakeRecords(value);
    } else if (kind == "end") {
      ended_ = true;
    }
  }

  // A part of the records. Whether they are complete is checked when the bundle is read.
  void TakeRecords(const Json& value) {
    std::optional<std::string> part;
    if (value.is_string()) part = FromBase64(value.get_ref<const std::string&>());
    if (!part) {
      Wrong("no base64");
    } else if (stacks_.records.size() + part->size() > kMaxRecordsBytes) {
      Wrong("more records than are read");
    } else {
      stacks_.records += *part;
    }
  }

  bool IsNew(const ObservedRank& rank) {
    if (rank.rank.rank < 0) return Wrong("a process without a rank");
    return ranks_.insert(rank.rank.rank).second || Wrong("a rank that is there already");
  }

  void Finish() {
    FoundJob& job = stacks_.job;
    std::ranges::sort(stacks_.ranks, [](const ObservedRank& a, const ObservedRank& b) {
      return a.rank.rank < b.rank.rank;
    });
    const int32_t last = stacks_.ranks.empty() ? -1 : stacks_.ranks.back().rank.rank;
    if (job.size >= 0 && last >= job.size) {
      AddProblem(
          ProblemCode::kDamaged,
          fmt::format("a rank {} of {}: the number of ranks is implausible", last, job.size));
      job.size = -1;
    }
    for (const ObservedRank& rank : stacks_.ranks) job.ranks.push_back(rank.rank);
    // A rank that could not be read is not a missing rank.
    if (count_ != 0) job.all_local = false;
  }

  // A member that is missing, or null, keeps its default.
  template <typename Struct>
  requires requires { FieldsOf<Struct>::kList; }
  bool Into(const Json& json, Struct* to, uint64_t /*most*/) {
    if (!json.is_object()) return Wrong("no object");
    const auto read = [&](const auto& field) {
      const auto found = json.find(field.name);
      if (found == json.end() || found->is_null()) return true;
      const size_t length = path_.size();
      path_.append("/").append(field.name);
      if (!Into(*found, &(to->*field.member), field.most)) return false;
      path_.resize(length);
      return true;
    };
    return std::apply([&](const auto&... fields) { return (read(fields) && ...); },
                      FieldsOf<Struct>::kList);
  }

  bool Into(const Json& json, std::string* to, uint64_t most) {
    if (!json.is_string()) return Wrong("no string");
    *to = CleanText(json.get_ref<const std::string&>(), most);
    return true;
  }
  bool Into(const Json& json, bool* to, uint64_t /*most*/) {
    if (!json.is_boolean()) return Wrong("neither true nor false");
    *to = json.get<bool>();
    return true;
  }
  template <typename Number>
  requires std::is_integral_v<Number>
  bool Into(const Json& json, Number* to, uint64_t most) {
    if (!json.is_number_integer()) return Wrong("not an integer");
    using Limits = std::numeric_limits<Number>;
    if (!json.is_number_unsigned() && json.template get<int64_t>() < 0) {
      const auto value = json.template get<int64_t>();
      // For a count, -1 means unknown.
      const int64_t least = most == kAnyNumber ? static_cast<int64_t>(Limits::min()) : int64_t{-1};
      if (std::is_unsigned_v<Number> || value < least) return Wrong("a number out of range");
      *to = static_cast<Number>(value);
      return true;
    }
    const auto value = json.template get<uint64_t>();
    if (value > std::min(most, static_cast<uint64_t>(Limits::max()))) {
      return Wrong("a number out of range");
    }
    *to = static_cast<Number>(value);
    return true;
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  bool Into(const Json& json, Enum* to, uint64_t most) {
    uint64_t value = 0;
    if (!Into(json, &value, kAnyNumber)) return false;
    if (value <= most) *to = static_cast<Enum>(value);
    return true;
  }
  template <typename T>
  bool Into(const Json& json, std::optional<T>* to, uint64_t most) {
    return Into(json, &to->emplace(), most);
  }
  template <typename T>
  bool Into(const Json& json, std::vector<T>* to, uint64_t most) {
    if (!json.is_array()) return Wrong("no list");
    if (json.size() > most) return Wrong("a longer list than is read");
    to->resize(json.size());
    return IntoEach(json, to, kAnyNumber);
  }
  template <typename T, size_t size>
  bool Into(const Json& json, std::array<T, size>* to, uint64_t most) {
    if (!json.is_array() || json.size() != size) return Wrong("no list of that length");
    return IntoEach(json, to, most);
  }
  template <typename List>
  bool IntoEach(const Json& json, List* to, uint64_t most) {
    for (size_t i = 0; i < to->size(); ++i) {
      const size_t length = path_.size();
      path_ += fmt::format("/{}", i);
      if (!Into(json[i], &(*to)[i], most)) return false;
      path_.resize(length);
    }
    return true;
  }
  bool Into(const Json& json, LiveFrame* to, uint64_t /*most*/) {
    StoredFrame stored;
    if (!Into(json, &stored, 0)) return false;
    if (stored.frame >= places_.size() || !places_[stored.frame]) {
      return Wrong("a frame that is not there");
    }
    const StoredPlace& place = *places_[stored.frame];
    // A short line may refer to a long one many times.
    frame_bytes_ += sizeof(LiveFrame) + place.build_id.size() + place.place.function.size() +
                    place.place.file.size() + place.place.module.size() + place.place.note.size();
    if (frame_bytes_ > max_frame_bytes_) return Wrong("more frames than are read");
    *to = {place.place, stored.digest, std::move(stored.integers), place.build_id};
    return true;
  }

  const std::string& source_;
  std::vector<Problem>& problems_;
  const size_t max_frame_bytes_;
  HostStacks stacks_;
  std::vector<std::optional<StoredPlace>> places_;
  std::set<int32_t> ranks_;
  size_t frame_bytes_ = 0;
  size_t offset_ = 0;
  std::string path_;   // of the value that is read
  std::string error_;  // the first error of a line
  size_t count_ = 0;   // of problems
  bool has_header_ = false;
  bool ended_ = false;
  bool stop_ = false;  // the text is not used
};

}  // namespace

HostStacks ReadStacks(std::string_view text, const std::string& source,
                      std::vector<Problem>* problems, size_t max_frame_bytes) {
  return Reader(source, problems, max_frame_bytes).Read(text);
}

}  // namespace rollcall::attach
