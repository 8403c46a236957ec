// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/json_reader.h"

#include <fmt/format.h>

#include <array>
#include <istream>
#include <nlohmann/json.hpp>
#include <streambuf>

namespace rollcall::flight_recorder {
namespace {

class SourceBuffer : public std::streambuf {
 public:
  explicit SourceBuffer(ByteSource& source) : source_(source) {}

 protected:
  int_type underflow() override {
    const size_t got = source_.Read(offset_, buffer_.data(), buffer_.size());
    offset_ += got;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_[0]);
  }

 private:
  ByteSource& source_;
  uint64_t offset_ = 0;
  std::array<char, 1 << 16> buffer_;
};

// Turns parse events into values. `frames_` has the open containers. `pending_` has the items of
// all open containers; the items of a container start at its `begin`.
class TreeReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeReader(Values* values, DumpSink* sink) : values_(*values), sink_(*sink) {}

  bool null() override { return Add(Value()); }
  bool boolean(bool value) override {
    Value result = Value::Int(value);
    result.type = Value::Type::kBool;
    return Add(result);
  }
  bool number_integer(number_integer_t value) override { return Add(Value::Int(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= INT64_MAX ? Add(Value::Int(static_cast<int64_t>(value)))
                              : Float(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Float(value); }
  bool string(string_t& value) override { return AddString(value); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Value::Type::kDict); }
  bool start_array(size_t) override { return Open(Value::Type::kList); }
  bool key(string_t& name) override { return AddString(name); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    std::string text = error.what();
    const size_t reason = text.find(": ");
    if (reason != std::string::npos) text.erase(0, reason + 2);
    // `position` is the number of characters read, including the offending one.
    const auto offset = static_cast<int64_t>(position) - (position > 0 ? 1 : 0);
    problem_ = {ProblemCode::kDamaged, "not JSON from here on: " + Printable(text), "", offset};
    return false;
  }

  // Call it after the last event.
  std::optional<Problem> Finish(uint64_t file_bytes) {
    // If the file is truncated, its complete fields are used.
    if (!frames_.empty() && frames_[0].container.type == Value::Type::kDict) {
      const size_t begin = frames_[0].begin;
      const size_t end = frames_.size() > 1 ? frames_[1].begin : pending_.size();
      sink_.Fields(values_, {pending_.data() + begin, (end - begin) / 2 * 2});
    }
    if (!problem_ && !seen_dict_) {
      problem_ = {ProblemCode::kDamaged, "the JSON is not one object", "", 0};
    } else if (problem_ && problem_->offset == static_cast<int64_t>(file_bytes)) {
      problem_->code = ProblemCode::kTruncated;
    }
    return std::move(problem_);
  }

 private:
  struct Frame {
    Value container;
    size_t begin = 0;  // in pending_
    bool entries = false;
  };

  // The lexer quotes its input, which may contain anything.
  static std::string Printable(std::string text) {
    if (text.size() > 160) text.resize(160);
    for (char& c : text) {
      if (c < ' ' || c > '~') c = '?';
    }
    return text;
  }

  bool Fail(std::string message) {
    problem_ = {ProblemCode::kOverLimit, std::move(message)};
    return false;
  }
  bool Float(double value) {
    Value result;
    result.type = Value::Type::kFloat;
    result.real = value;
    return Add(result);
  }
  bool AddString(const std::string& text) {
    if (values_.strings.bytes() + text.size() > kMaxStringBytes) return Fail("too many strings");
    return Add(Value::Of(Value::Type::kString, values_.strings.Add(text)));
  }
  bool Add(Value value) {
    if (pending_.size() + values_.size() >= kMaxValues) return Fail("too many values");
    pending_.push_back(value);
    return true;
  }

  bool Open(Value::Type type) {
    if (frames_.size() >= kMaxJsonDepth) return Fail("nested too deeply");
    if (values_.size() >= kMaxValues) return Fail("too many values");
    Frame frame;
    if (!frames_.empty() && frames_.back().entries) values_.BeginEntry();
    frame.container = values_.NewContainer(type);
    frame.begin = pending_.size();
    // {"entries": [ …: one container is open, and the key was read last.
    frame.entries = type == Value::Type::kList && frames_.size() == 1 &&
                    frames_[0].container.type == Value::Type::kDict && !pending_.empty() &&
                    pending_.back().type == Value::Type::kString &&
                    values_.strings.KeyOf(pending_.back().index) == Key::kEntries;
    frames_.push_back(frame);
    return true;
  }

  bool Close() {
    const Frame frame = frames_.back();
    frames_.pop_back();
    const std::span<const Value> items(pending_.data() + frame.begin,
                                       pending_.size() - frame.begin);
    if (frames_.empty()) {
      seen_dict_ = frame.container.type == Value::Type::kDict;
      if (seen_dict_) sink_.Fields(values_, items);
      pending_.clear();
      return true;
    }
    const bool kept = frame.entries || values_.Append(frame.container, items);
    pending_.resize(frame.begin);
    if (!kept) return Fail("too many values");
    if (frames_.back().entries) {
      if (frame.container.type == Value::Type::kDict) sink_.Entry(values_, frame.container);
      values_.EndEntry(/*keep=*/false);
      return true;
    }
    return Add(frame.container);
  }

  Values& values_;
  DumpSink& sink_;
  std::vector<Frame> frames_;
  std::vector<Value> pending_;
  bool seen_dict_ = false;
  std::optional<Problem> problem_;
};

}  // namespace

std::optional<Problem> ReadJson(ByteSource& source, Values* values, DumpSink* sink) {
  SourceBuffer buffer(source);
  std::istream stream(&buffer);
  TreeReader builder(values, sink);
  nlohmann::json::sax_parse(stream, &builder);
  return builder.Finish(source.Size());
}

}  // namespace rollcall::flight_recorder
