// SPDX-License-Identifier: Apache-2.0
#include "collector/import/flight_recorder/pickle_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rollcall::flight_recorder {
namespace {

// The name of an unsupported opcode, for the message.
std::string OpcodeName(uint8_t opcode) {
  struct Row {
    uint8_t opcode;
    const char* name;
  };
  constexpr Row kRows[] = {
      {'c', "GLOBAL"},
      {0x93, "STACK_GLOBAL"},
      {'R', "REDUCE"},
      {'b', "BUILD"},
      {'i', "INST"},
      {'o', "OBJ"},
      {0x81, "NEWOBJ"},
      {0x92, "NEWOBJ_EX"},
      {'P', "PERSID"},
      {'Q', "BINPERSID"},
      {0x82, "EXT1"},
      {0x83, "EXT2"},
      {0x84, "EXT4"},
      {'F', "FLOAT"},
      {'I', "INT"},
      {'L', "LONG"},
      {'S', "STRING"},
      {'T', "BINSTRING"},
      {'U', "SHORT_BINSTRING"},
      {'V', "UNICODE"},
      {'B', "BINBYTES"},
      {'C', "SHORT_BINBYTES"},
      {0x8e, "BINBYTES8"},
      {0x96, "BYTEARRAY8"},
      {0x97, "NEXT_BUFFER"},
      {0x98, "READONLY_BUFFER"},
      {0x8f, "EMPTY_SET"},
      {0x90, "ADDITEMS"},
      {0x91, "FROZENSET"},
      {'g', "GET"},
      {'p', "PUT"},
      {0x8b, "LONG4"},
      {'l', "LIST"},
      {'d', "DICT"},
      {'s', "SETITEM"},
      {'2', "DUP"},
  };
  for (const Row& row : kRows) {
    if (row.opcode == opcode) return row.name;
  }
  return fmt::format("0x{:02x}", opcode);
}

class Machine {
 public:
  Machine(ByteSource& source, Values* values, DumpSink* sink)
      : source_(source), size_(source.Size()), values_(*values), sink_(*sink) {
    buffer_.resize(kBufferBytes);
    stack_.reserve(1024);
  }

  std::optional<Problem> Run() {
    while (!done_ && !problem_) {
      op_offset_ = Offset();
      if (!Need(1)) break;
      Step(buffer_[at_++]);
    }
    GiveFields();
    return std::move(problem_);
  }

 private:
  static constexpr size_t kBufferBytes = size_t{1} << 18;
  using Type = Value::Type;

  uint64_t Offset() const { return read_ - (end_ - at_); }

  void Fail(std::string message, ProblemCode code = ProblemCode::kDamaged) {
    if (!problem_) problem_ = {code, std::move(message), "", static_cast<int64_t>(op_offset_)};
  }

  // Makes at least `bytes` available from at_; `bytes` <= kBufferBytes.
  bool Need(size_t bytes) {
    if (end_ - at_ >= bytes || Refill(bytes)) return true;
    Fail("the file ends in the middle of the pickle", ProblemCode::kTruncated);
    return false;
  }

  bool Refill(size_t bytes) {
    std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    const size_t got = source_.Read(read_, buffer_.data() + end_, buffer_.size() - end_);
    read_ += got;
    end_ += got;
    return end_ >= bytes;
  }

  // The next N bytes as a little-endian number.
  template <size_t N>
  uint64_t Number() {
    if (!Need(N)) return 0;
    uint64_t number = 0;
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&number, buffer_.data() + at_, N);
    at_ += N;
    return number;
  }

  void Step(uint8_t opcode) {
    ++steps_;
    switch (opcode) {
      case 0x80:  // PROTO
        if (const uint64_t version = Number<1>(); version > 5) {
          Fail(fmt::format("pickle protocol {} is newer than what can be read", version),
               ProblemCode::kUnknownVersion);
        }
        return;
      case 0x95:  // FRAME: a hint for buffering
        Number<8>();
        return;
      case '(':
        marks_.push_back(stack_.size());
        Push(Value::Of(Type::kMark, 0));
        return;
      case '}':
        return NewContainer(Type::kDict);
      case ']':
        return NewContainer(Type::kList);
      case ')':
        return NewContainer(Type::kList);
      case 0x85:
        return Tuple(1);
      case 0x86:
        return Tuple(2);
      case 0x87:
        return Tuple(3);
      case 't':
        return MarkedTuple();
      case 'a':
        return Append();
      case 'e':
        return Appends();
      case 's':
        return SetItem();
      case 'u':
        return SetItems();
      case 'N':
        return Push(Value());
      case 0x88:
      case 0x89: {
        Value value = Value::Int(opcode == 0x88);
        value.type = Type::kBool;
        return Push(value);
      }
      case 'K':
        return Push(Value::Int(static_cast<int64_t>(Number<1>())));
      case 'M':
        return Push(Value::Int(static_cast<int64_t>(Number<2>())));
      case 'J':
        return Push(Value::Int(static_cast<int32_t>(Number<4>())));
      case 0x8a:
        return Long();
      case 'G':
        return Float();
      case 'X':
        return String(Number<4>());
      case 0x8c:
        return String(Number<1>());
      case 0x8d:
        return String(Number<8>());
      case 'q':
        return Put(Number<1>());
      case 'r':
        return Put(Number<4>());
      case 0x94:
        return Put(memo_.size());
      case 'h':
        return Get(Number<1>());
      case 'j':
        return Get(Number<4>());
      case '0':
        return Pop();
      case '.':
        done_ = true;
        if (stack_.size() != 1 || stack_[0].type != Type::kDict) Fail("the pickle is not one dict");
        return;
      default:
        return Fail(fmt::format("opcode {} does not occur in a dump: refused", OpcodeName(opcode)),
                    ProblemCode::kRefused);
    }
  }

  void Push(Value value) { stack_.push_back(value); }

  // Whether `count` values can be popped: those above the innermost mark. Fails if not.
  bool Has(size_t count) {
    const size_t base = marks_.empty() ? 0 : marks_.back() + 1;
    if (stack_.size() >= base + count) return true;
    Fail("the pickle takes more from its stack than there is");
    return false;
  }

  void NewContainer(Type type) {
    if (values_.size() >= kMaxValues) return Fail("too many values", ProblemCode::kOverLimit);
    if (type == Type::kDict && !marks_.empty() && marks_.back() > 0 &&
        IsEntries(marks_.back() - 1)) {
      values_.BeginEntry();
      memoised_ = false;
    }
    Push(values_.NewContainer(type));
  }

  bool AppendTo(Value container, size_t first) {
    if (values_.Append(container, {stack_.data() + first, stack_.size() - first})) return true;
    Fail("too many values", ProblemCode::kOverLimit);
    return false;
  }

  void Tuple(size_t count) {
    if (!Has(count)) return;
    const Value tuple = values_.NewContainer(Type::kList);
    if (!AppendTo(tuple, stack_.size() - count)) return;
    stack_.resize(stack_.size() - count);
    Push(tuple);
  }

  // Pops the innermost mark and sets `*mark` to its index. Fails if there is no mark.
  bool PopMark(size_t* mark) {
    if (marks_.empty()) {
      Fail("the pickle refers to a mark that is not there");
      return false;
    }
    *mark = marks_.back();
    marks_.pop_back();
    return true;
  }

  void MarkedTuple() {
    size_t mark = 0;
    if (!PopMark(&mark)) return;
    const Value tuple = values_.NewContainer(Type::kList);
    if (!AppendTo(tuple, mark + 1)) return;
    stack_.resize(mark);
    Push(tuple);
  }

  // Finds the container below the values that are appended to it.
  bool Target(size_t above, Type type, size_t* target) {
    const size_t base = marks_.empty() ? 0 : marks_.back() + 1;
    if (above <= base || stack_[above - 1].type != type) {
      Fail("the pickle appends to something that is no container");
      return false;
    }
    *target = above - 1;
    return true;
  }

  void Append() {
    size_t target = 0;
    if (!Has(1) || !Target(stack_.size() - 1, Type::kList, &target)) return;
    if (IsEntries(target)) {
      GiveEntry(stack_.back());
    } else if (!AppendTo(stack_[target], target + 1)) {
      return;
    }
    stack_.resize(target + 1);
  }

  void Appends() {
    size_t mark = 0;
    size_t target = 0;
    if (!PopMark(&mark) || !Target(mark, Type::kList, &target)) return;
    if (IsEntries(target)) {
      for (size_t i = mark + 1; i < stack_.size(); ++i) GiveEntry(stack_[i]);
    } else if (!AppendTo(stack_[target], mark + 1)) {
      return;
    }
    stack_.resize(mark);
  }

  void SetItem() {
    size_t target = 0;
    if (!Has(2) || !Target(stack_.size() - 2, Type::kDict, &target)) return;
    if (!AppendTo(stack_[target], target + 1)) return;
    stack_.resize(target + 1);
  }

  void SetItems() {
    size_t mark = 0;
    size_t target = 0;
    if (!PopMark(&mark) || !Target(mark, Type::kDict, &target)) return;
    if ((stack_.size() - mark - 1) % 2 != 0) return Fail("a dict has a key without a value");
    if (!AppendTo(stack_[target], mark + 1)) return;
    stack_.resize(mark);
    // An entry is complete if the mark of the list of entries is directly below it.
    if (target >= 2 && stack_[target - 1].type == Type::kMark && IsEntries(target - 2)) {
      GiveEntry(stack_[target]);
      stack_[target] = Value();
      values_.EndEntry(memoised_);
    }
  }

  // Whether this is the list under the key "entries" of the outermost dict.
  bool IsEntries(size_t at) const {
    return at >= 2 && !marks_.empty() && stack_[at].type == Type::kList &&
           stack_[at - 1].type == Type::kString && stack_[0].type == Type::kDict &&
           values_.strings.KeyOf(stack_[at - 1].index) == Key::kEntries && DirectlyInDict(at);
  }
  // Whether this is a value of the outermost dict: the dict's mark is the first, or there is none
  // (SETITEM).
  bool DirectlyInDict(size_t at) const {
    if (at == 2) return true;  // dict, key, value
    return stack_[1].type == Type::kMark && (at - 2) % 2 == 1 &&
           (marks_.size() == 1 || marks_[1] > at);
  }

  void GiveEntry(Value entry) {
    if (entry.type == Type::kDict) sink_.Entry(values_, entry);
  }

  // Hands over the outermost dict's fields; if the pickle is truncated, the complete ones.
  void GiveFields() {
    if (stack_.empty() || stack_[0].type != Type::kDict) return;
    sink_.Fields(values_, values_.Items(stack_[0]));
    if (!problem_ || stack_.size() < 2) return;
    const size_t first = stack_[1].type == Type::kMark ? 2 : 1;
    size_t end = first;
    while (end + 1 < stack_.size() && stack_[end].type == Type::kString &&
           stack_[end + 1].type != Type::kMark &&
           (end + 2 == stack_.size() || stack_[end + 2].type != Type::kMark)) {
      end += 2;
    }
    sink_.Fields(values_, {stack_.data() + first, end - first});
  }

  void Long() {
    const uint64_t length = Number<1>();
    if (problem_ || !Need(length)) return;
    // Two's complement. Dumps have no numbers beyond 64 bits; these become None.
    uint64_t bits = 0;
    bool negative = false;
    bool fits = true;
    for (uint64_t i = 0; i < length; ++i) {
      const uint8_t byte = buffer_[at_ + i];
      negative = (byte & 0x80) != 0;
      if (i < 8) {
        bits |= uint64_t{byte} << (8 * i);
      } else {
        fits &= byte == ((bits >> 63) != 0 ? 0xff : 0);
      }
    }
    at_ += length;
    if (length < 8 && length > 0 && negative) bits |= ~uint64_t{0} << (8 * length);
    Push(fits ? Value::Int(static_cast<int64_t>(bits)) : Value());
  }

  void Float() {
    const uint64_t bits = __builtin_bswap64(Number<8>());  // the only big-endian value
    Value value;
    value.type = Type::kFloat;
    value.real = std::bit_cast<double>(bits);
    Push(value);
  }

  void String(uint64_t length) {
    if (problem_) return;
    const uint64_t here = Offset();
    if (here > size_ || length > size_ - here) {
      return Fail(fmt::format("a string of {} bytes, and the file has {} more", length,
                              here > size_ ? 0 : size_ - here),
                  ProblemCode::kTruncated);
    }
    if (values_.strings.bytes() + length > kMaxStringBytes) {
      return Fail("too many strings", ProblemCode::kOverLimit);
    }
    if (length <= kBufferBytes) {
      if (!Need(length)) return;
      AddString({reinterpret_cast<const char*>(buffer_.data()) + at_, length});
      at_ += length;
      return;
    }
    std::string text;
    text.reserve(length);
    while (text.size() < length) {
      if (!Need(1)) return;
      const size_t part = std::min<size_t>(end_ - at_, length - text.size());
      text.append(reinterpret_cast<const char*>(buffer_.data()) + at_, part);
      at_ += part;
    }
    AddString(text);
  }

  void AddString(std::string_view text) {
    Push(Value::Of(Type::kString, values_.strings.Add(text)));
  }

  void Put(uint64_t index) {
    if (problem_ || !Has(1)) return;
    // Picklers number in order. A number far ahead would only make this use memory.
    if (index > steps_) return Fail(fmt::format("memo number {} is out of order", index));
    if (index >= memo_.size()) memo_.resize(index + 1, Value::Of(Type::kMark, 0));
    memo_[index] = stack_.back();
    memoised_ |= stack_.back().IsContainer();
  }

  void Get(uint64_t index) {
    if (problem_) return;
    if (index >= memo_.size() || memo_[index].type == Type::kMark) {
      return Fail(fmt::format("memo number {} was never set", index));
    }
    Push(memo_[index]);
  }

  void Pop() {
    if (Has(1)) stack_.pop_back();
  }

  ByteSource& source_;
  const uint64_t size_;
  Values& values_;
  DumpSink& sink_;
  std::vector<uint8_t> buffer_;
  size_t at_ = 0;      // in buffer_
  size_t end_ = 0;     // of the data in buffer_
  uint64_t read_ = 0;  // bytes of the file that were read
  uint64_t op_offset_ = 0;
  uint64_t steps_ = 0;
  bool done_ = false;
  std::optional<Problem> problem_;
  std::vector<Value> stack_;
  std::vector<size_t> marks_;  // indices into stack_
  std::vector<Value> memo_;
  bool memoised_ = false;  // whether a container was, since the current entry began
};

}  // namespace

std::optional<Problem> ReadPickle(ByteSource& source, Values* values, DumpSink* sink) {
  return Machine(source, values, sink).Run();
}

}  // namespace rollcall::flight_recorder
