// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/data/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "proto/mix.h"
#include "tests/support/trace_data.h"

namespace rollcall::oracle::data {
namespace {

using ring::DataSide;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
// Calls with equal inputs on all ranks that make a finding.
constexpr size_t kRow = 8;

double AsReal(uint64_t bits) { return std::bit_cast<double>(bits); }
uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t IntBits(int64_t value) { return static_cast<uint32_t>(value); }

bool IsNonFinite(uint64_t bits) { return !std::isfinite(AsReal(bits)); }

uint64_t Plain(uint64_t random, bool real, bool positive) {
  const auto value = static_cast<int64_t>(random % 2'000'000);
  if (!real) return IntBits(value % 100'000 - 50'000);
  return Bits(static_cast<double>(positive ? value + 1 : value - 1'000'000) / 997.0);
}

bool HasBlocks(Do what) {
  switch (what) {
    case Do::kGather:
    case Do::kGatherv:
    case Do::kScatter:
    case Do::kScatterv:
    case Do::kAllgather:
    case Do::kAllgatherv:
    case Do::kAlltoall:
    case Do::kAlltoallv:
      return true;
    default:
      return false;
  }
}

std::vector<uint8_t> BytesOf(const uint64_t* elements, size_t count, bool real) {
  const size_t width = real ? 8 : 4;
  std::vector<uint8_t> bytes(count * width);
  for (size_t i = 0; i < count; ++i) std::memcpy(&bytes[i * width], &elements[i], width);
  return bytes;
}

}  // namespace

uint64_t RunData::Random(uint64_t a, uint64_t b, uint64_t c) const {
  return Mix64(Mix64(Mix64(program_.seed, a + 1), b + 1), c + 1);
}

// The instance of a call whose data is on record; null if it has none.
const Instance* RunData::InstanceAt(int line, int at) const {
  const Op& op = machine_.At(line, at);
  const bool none = op.what == Do::kBarrier || op.what == Do::kDup || op.what == Do::kSplit;
  if (none || IsNeighborhood(op.what) || program().IsInter(op.comm) || SizeOf(op) < 2) {
    return nullptr;
  }
  const Instance& instance =
      machine_.instances()[static_cast<size_t>(machine_.InstanceOf(line, at))];
  return instance.goes_wrong ? nullptr : &instance;
}

Style RunData::StyleOf(const Op& op) const {
  const auto style = program_.styles.find(op.line);
  return style == program_.styles.end() ? Style::kPlain : style->second;
}

std::vector<int> RunData::SentCounts(const Op& op, int me) const {
  const int size = SizeOf(op);
  switch (op.what) {
    case Do::kBcast:
      return {me == op.peer ? op.count : 0};
    case Do::kScatter:
      return std::vector<int>(static_cast<size_t>(size), me == op.peer ? op.count : 0);
    case Do::kScatterv:
      return me == op.peer ? op.sends : std::vector<int>(static_cast<size_t>(size), 0);
    case Do::kAlltoall:
      return std::vector<int>(static_cast<size_t>(size), op.count);
    case Do::kAlltoallv:
      return op.in_place ? op.recvs : op.sends;
    case Do::kReduceScatter:
      return op.recvs;
    default:
      return {op.count};
  }
}

RunData::Buffer RunData::MakeInput(const Instance& instance, int line, int at) const {
  const Op& op = machine_.At(line, at);
  const int rank = program().RankOf(line);
  const int me = program().LocalRank(op.comm, rank);
  const Style style = StyleOf(op);
  Buffer input;
  input.real = op.type == 1;
  for (const int count : SentCounts(op, me)) {
    input.elements.resize(input.elements.size() + static_cast<size_t>(count));
    input.ends.push_back(input.elements.size());
  }
  const uint64_t call =
      Random(static_cast<uint64_t>(instance.comm), static_cast<uint64_t>(instance.number),
             static_cast<uint64_t>(instance.start));
  uint64_t key = Mix64(call, static_cast<uint64_t>(rank) + 1);
  if (style == Style::kSame || style == Style::kFew) key = call;
  if (style == Style::kConstant) key = Random(99, static_cast<uint64_t>(op.line));
  for (size_t i = 0; i < input.elements.size(); ++i) {
    const uint64_t random = Mix64(key, style == Style::kFew ? i % 5 : i);
    input.elements[i] = Plain(random, input.real, style == Style::kReordered);
    if (style == Style::kNegative && random % 4 != 0) {
      input.elements[i] = Bits(random % 8 < 4 ? 0.0 : -0.0);
    }
  }
  if (input.elements.empty() || !input.real) return input;
  if (style == Style::kPadding) input.elements.back() = Bits(std::nan(""));
  if (style == Style::kMoved) input.elements.front() = Bits(std::nan(""));
  if (style == Style::kNoValue && key % 2 == 0) {
    const double none = std::numeric_limits<double>::infinity();
    for (uint64_t& element : input.elements) element = Bits(op.reduction == 1 ? -none : none);
  }
  return input;
}

// Puts the NaN or infinity of the fault into an input, or one that the rank has got before.
void RunData::PutNonFinite(const Op& op, int line, int at, Buffer* input) {
  if (input->elements.empty() || !input->real) return;
  const auto rank = static_cast<size_t>(program().RankOf(line));
  const Fault& fault = program_.fault;
  const bool planted = IsFault(line, at) && (fault.kind == FaultKind::kNonFinite ||
                                             fault.kind == FaultKind::kMovedNonFinite);
  const bool moves = fault.kind == FaultKind::kMovedNonFinite;
  const uint64_t random =
      Random(1000 + rank, static_cast<uint64_t>(line), static_cast<uint64_t>(at));
  const bool passes_on = infected_[rank] && (moves || Reduces(op.what)) &&
                         random % 100 < static_cast<uint64_t>(program_.spread_percent);
  if (!planted && !passes_on) return;
  const size_t place = (planted ? fault.element : random >> 8) % input->elements.size();
  const uint64_t how = planted ? fault.bits : random >> 16;
  const double infinity = std::numeric_limits<double>::infinity();
  input->elements[place] = how % 3 == 0   ? Bits(infinity)
                           : how % 3 == 1 ? Bits(-infinity)
                                          : Bits(std::nan(""));
  log_ +=
      fmt::format("rank {} passes {} in element {} of {}{}\n", rank, AsReal(input->elements[place]),
                  place, Text(op), planted ? ": the fault" : "");
  if (planted) infected_[rank] = took_effect_ = true;
}

void RunData::Entered(int line, int at) {
  const Instance* instance = InstanceAt(line, at);
  if (instance == nullptr) return;
  const Op& op = machine_.At(line, at);
  const int rank = program().RankOf(line);
  const int me = program().LocalRank(op.comm, rank);
  Buffer input = MakeInput(*instance, line, at);
  PutNonFinite(op, line, at, &input);
  const FaultKind kind = program_.fault.kind;
  if (kind == FaultKind::kDrift &&
      op.line == machine_.At(program_.fault.line, program_.fault.at).line &&
      rank == program_.fault.rank && at >= program_.fault.at) {
    input.elements[program_.fault.element % input.elements.size()] ^= 4;
    took_effect_ = true;
  }
  if (kind == FaultKind::kSame && StyleOf(op) == Style::kSame) {
    std::map<const Instance*, int>& calls = same_[op.line];
    ++calls[instance];
    const auto complete = static_cast<size_t>(std::count_if(
        calls.begin(), calls.end(), [&](const auto& call) { return call.second == SizeOf(op); }));
    took_effect_ |= complete >= kRow;
  }
  switch (op.what) {
    case Do::kScatter:
    case Do::kScatterv:
      if (me == op.peer) RecordBlocks(*instance, line, at, DataSide::kInputBlocks, input);
      break;
    case Do::kAlltoall:
    case Do::kAlltoallv:
      RecordBlocks(*instance, line, at, DataSide::kInputBlocks, input);
      break;
    case Do::kGather:
    case Do::kGatherv:
      if (!op.in_place) Record1(*instance, line, at, DataSide::kInput, input);
      break;
    default:
      Record1(*instance, line, at, DataSide::kInput, input);
  }
  inputs_[{instance, me}] = std::move(input);
}

uint64_t RunData::Reduce(const Op& op, bool real, uint64_t a, uint64_t b) {
  if (!real) {
    const auto x = static_cast<int32_t>(a);
    const auto y = static_cast<int32_t>(b);
    if (op.reduction == 1) return IntBits(std::max(x, y));
    if (op.reduction == 2) return IntBits(std::min(x, y));
    return IntBits(int64_t{x} + y);
  }
  const double x = AsReal(a);
  const double y = AsReal(b);
  if (op.reduction == 1) return x > y ? a : b;
  if (op.reduction == 2) return x < y ? a : b;
  return Bits(x + y);
}

// What a member gets; empty if it gets nothing, or what it needs was not passed.
std::optional<RunData::Buffer> RunData::MakeResult(const Instance& instance, const Op& op,
                                                   int me) const {
  const int size = SizeOf(op);
  const auto input_of = [&](int member) -> const Buffer* {
    const auto found = inputs_.find({&instance, member});
    return found == inputs_.end() ? nullptr : &found->second;
  };
  Buffer result;
  result.real = op.type == 1;
  if (Reduces(op.what)) {
    if (op.what == Do::kReduce && me != op.peer) return std::nullopt;
    const int terms = op.what == Do::kScan ? me + 1 : size;
    const int first = StyleOf(op) == Style::kReordered ? me : 0;
    for (int i = 0; i < terms; ++i) {
      const Buffer* input = input_of((first + i) % terms);
      if (input == nullptr) return std::nullopt;
      if (i == 0) result.elements = input->elements;
      for (size_t k = 0; i != 0 && k < input->elements.size(); ++k) {
        result.elements[k] = Reduce(op, result.real, result.elements[k], input->elements[k]);
      }
    }
    if (op.what == Do::kReduceScatter) {
      const std::vector<size_t>& ends = input_of(me)->ends;
      const auto mine = static_cast<size_t>(me);
      const size_t begin = mine == 0 ? 0 : ends[mine - 1];
      result.elements = Elements(result.elements.begin() + static_cast<ptrdiff_t>(begin),
                                 result.elements.begin() + static_cast<ptrdiff_t>(ends[mine]));
    }
    return result;
  }
  const bool rooted = op.what == Do::kBcast || op.what == Do::kScatter || op.what == Do::kScatterv;
  const bool gathers = op.what == Do::kGather || op.what == Do::kGatherv;
  if (gathers && me != op.peer) return std::nullopt;
  const bool one =
      gathers || op.what == Do::kAllgather || op.what == Do::kAllgatherv || op.what == Do::kBcast;
  for (int from = 0; from < size; ++from) {
    if (rooted && from != op.peer) continue;
    const Buffer* input = input_of(from);
    const auto block = one ? size_t{0} : static_cast<size_t>(me);
    if (input != nullptr) {
      const size_t begin = block == 0 ? 0 : input->ends[block - 1];
      result.elements.insert(result.elements.end(),
                             input->elements.begin() + static_cast<ptrdiff_t>(begin),
                             input->elements.begin() + static_cast<ptrdiff_t>(input->ends[block]));
    } else if (!HasCountsOfItsOwn(op.what) && op.count != 0) {
      return std::nullopt;
    }  // otherwise nothing was expected of it
    result.ends.push_back(result.elements.size());
  }
  return result;
}

bool RunData::HasNonFinite(const Buffer& buffer) {
  return buffer.real && std::any_of(buffer.elements.begin(), buffer.elements.end(), IsNonFinite);
}

// Changes a result as the fault does.
void RunData::PutFault(const Op& op, int line, int at, Buffer* result) {
  const Fault& fault = program_.fault;
  if (!IsFault(line, at) || result->elements.empty()) return;
  const Elements before = result->elements;
  const size_t count = before.size();
  const size_t place = fault.element % count;
  switch (fault.kind) {
    case FaultKind::kFlip:
      result->elements[place] ^= uint64_t{1} << fault.bits % (result->real ? 64 : 32);
      break;
    case FaultKind::kOverwrite:
      for (size_t i = 0; i < 2 + fault.bits % 9 && place + i < count; ++i) {
        result->elements[place + i] =
            fault.bits % 7 == 0 ? 0 : Plain(Mix64(fault.bits, i), result->real, false);
      }
      break;
    case FaultKind::kLastBit:
      if (AsReal(before[place]) != 0 && !IsNonFinite(before[place])) {
        result->elements[place] ^= fault.bits % 2 == 0 ? 1 : 2;
      }
      break;
    default:
      return;
  }
  if (before == result->elements) return;
  took_effect_ = true;
  for (size_t i = 0; i < count; ++i) {
    if (before[i] == result->elements[i]) continue;
    log_ += fmt::format("rank {} has {:#x} and not {:#x} in element {} of the result of {}\n",
                        program().RankOf(line), result->elements[i], before[i], i, Text(op));
  }
}

void RunData::Completed(int line, int at) {
  const Instance* instance = InstanceAt(line, at);
  if (instance == nullptr) return;
  const Op& op = machine_.At(line, at);
  const int rank = program().RankOf(line);
  const int me = program().LocalRank(op.comm, rank);
  std::optional<Buffer> result = MakeResult(*instance, op, me);
  if (!result) return;
  PutFault(op, line, at, &*result);
  if (StyleOf(op) == Style::kReordered) {
    const auto [first, added] = sums_.emplace(instance, result->elements);
    took_effect_ |= first->second != result->elements;
  }
  switch (op.what) {
    case Do::kGather:
    case Do::kGatherv:
    case Do::kAllgatherv:
    case Do::kAlltoall:
    case Do::kAlltoallv:
      RecordBlocks(*instance, line, at, DataSide::kResultBlocks, *result);
      break;
    case Do::kAllgather:
      RecordBlocks(*instance, line, at, DataSide::kResultBlocks, *result);
      Record1(*instance, line, at, DataSide::kResult, *result);
      break;
    case Do::kScatter:
    case Do::kScatterv:
      if (!op.in_place) Record1(*instance, line, at, DataSide::kResult, *result);
      break;
    default:
      Record1(*instance, line, at, DataSide::kResult, *result);
  }
  // What is not finite on purpose is not used any further.
  const Style style = StyleOf(op);
  const bool used = style != Style::kPadding && style != Style::kMoved && style != Style::kNoValue;
  const bool comes = Reduces(op.what) || program_.fault.kind == FaultKind::kMovedNonFinite;
  if (used && comes && HasNonFinite(*result)) infected_[static_cast<size_t>(rank)] = true;
}

bool RunData::IsUnread(int rank) const {
  return program_.variation == Variation::kUnread && program_.incomplete_rank == rank;
}

// As the shim decides (shim/data/call_data.cc): SampleFor().
uint64_t RunData::SampleFor(const Op& op, DataSide side) const {
  if (op.what == Do::kAllgather && side == DataSide::kResult) return ring::kSampledWords;
  return HasBlocks(op.what) ? ring::SampleOf(static_cast<uint64_t>(SizeOf(op)))
                            : ring::kSampledWords;
}

void RunData::Record1(const Instance& instance, int line, int at, DataSide side,
                      const Buffer& buffer) {
  if (buffer.elements.empty()) return;
  const Op& op = machine_.At(line, at);
  const int rank = program().RankOf(line);
  Record record{op.comm, rank, line, at, IsUnread(rank), std::nullopt, std::nullopt};
  const auto number = static_cast<uint64_t>(instance.number);
  const auto start = static_cast<uint64_t>(instance.start);
  DataRead read = ReadBytes(BytesOf(buffer.elements.data(), buffer.elements.size(), buffer.real),
                            buffer.real ? TypeClass::kF64 : TypeClass::kI32, number + start,
                            program_.variation == Variation::kSampled, SampleFor(op, side));
  read.sequence = number;
  read.start = static_cast<uint32_t>(start);
  read.side = side;
  if (!Reduces(op.what)) {  // the shim searches only the data of reductions
    read.nans = read.infinities = 0;
    read.non_finite = read.non_finite_bits = 0;
  }
  read.order = ++orders_[static_cast<size_t>(rank)];
  read.at_ns = kStart + 1000 * static_cast<int64_t>(records_.size());
  record.read = read;
  records_.push_back(std::move(record));
}

void RunData::RecordBlocks(const Instance& instance, int line, int at, DataSide side,
                           const Buffer& buffer) {
  const Op& op = machine_.At(line, at);
  const int rank = program().RankOf(line);
  const bool sampled = program_.variation == Variation::kSampled;
  const auto number = static_cast<uint64_t>(instance.number);
  const auto start = static_cast<uint64_t>(instance.start);
  Record record{op.comm, rank, line, at, IsUnread(rank), std::nullopt, std::nullopt};
  BlockHashes blocks{.sequence = number,
                     .order = ++orders_[static_cast<size_t>(rank)],
                     .start = static_cast<uint32_t>(start),
                     .side = side,
                     .reading = sampled ? ring::DataReading::kSampled : ring::DataReading::kWhole,
                     .hashes = {}};
  size_t begin = 0;
  for (const size_t end : buffer.ends) {
    const DataRead read =
        ReadBytes(BytesOf(buffer.elements.data() + begin, end - begin, buffer.real),
                  buffer.real ? TypeClass::kF64 : TypeClass::kI32, number + start, sampled,
                  SampleFor(op, side));
    blocks.hashes.push_back(HashFingerprint(read.words));
    begin = end;
  }
  record.blocks = std::move(blocks);
  records_.push_back(std::move(record));
}

std::string RunData::LastLines() {
  if (program_.variation != Variation::kMissing) return "";
  return fmt::format("{}: has no trace\n", program_.incomplete_rank);
}

void RunData::AttachRecord(const Record& record, Trace* trace) {
  const std::vector<uint32_t>& members =
      trace->communicators[static_cast<size_t>(record.comm)].members;
  const uint32_t process = trace->worlds[0].processes[static_cast<size_t>(record.rank)];
  if (process == kNoIndex) return;  // its trace is missing
  const auto member = std::find_if(members.begin(), members.end(), [&](uint32_t m) {
    return trace->members[m].process == process;
  });
  Member& of = trace->members[*member];
  if (of.data == kNoIndex) {
    of.data = static_cast<uint32_t>(trace->data.size());
    trace->data.emplace_back().counted = true;
  }
  MemberData& to = trace->data[of.data];
  if (record.unread) {
    ++to.unread;
    return;
  }
  ++to.read;
  if (record.blocks) {
    to.blocks.push_back(*record.blocks);
    return;
  }
  DataRead read = *record.read;
  const auto event = std::find_if(of.events.begin(), of.events.end(), [&](const Event& each) {
    return each.sequence == read.sequence;
  });
  if (event == of.events.end()) return;
  read.call_path = event->call_path;
  to.reads.push_back(read);
  const Op& op = machine_.At(record.line, record.at);
  auto& first = read.side == DataSide::kInput ? to.input : to.result;
  const bool neutral = read.nans == 0 && (op.reduction == 1 || op.reduction == 2);
  if (first || read.IsFinite() || neutral) return;
  const Arguments& arguments = trace->arguments[event->arguments];
  first = FirstNonFinite{.sequence = read.sequence,
                         .at_ns = read.at_ns,
                         .start = read.start,
                         .call_path = read.call_path,
                         .operation = arguments.operation,
                         .reduce_op = arguments.reduce_op,
                         .reading = read.reading,
                         .datatype = arguments.recv_datatype,
                         .count = arguments.recv_count,
                         .element = read.non_finite,
                         .bits = read.non_finite_bits,
                         .nans = read.nans,
                         .infinities = read.infinities};
}

void RunData::AttachReplicas(Trace* trace) {
  const Replicas& replicas = program_.replicas;
  int others = 0;
  for (int rank = 0; rank < program().ranks; ++rank) {
    const uint32_t process = trace->worlds[0].processes[static_cast<size_t>(rank)];
    // A rank that hangs or ends may not have come to the last call.
    const int calls =
        Random(7, 7) % 4 != 0
            ? replicas.calls
            : replicas.calls - static_cast<int>(Random(8, static_cast<uint64_t>(rank)) % 2);
    const bool drifts = program_.fault.kind == FaultKind::kReplica && rank == program_.fault.rank;
    const bool reaches = calls > replicas.drifts_at && replicas.drifts_at != kNone;
    if (drifts && reaches) took_effect_ = true;
    others += !drifts && reaches;
    for (int call = 0; call < calls; ++call) {
      Elements elements;
      for (int i = 0; i < replicas.elements; ++i) {
        elements.push_back(
            Plain(Random(9, static_cast<uint64_t>(call), static_cast<uint64_t>(i)), true, false));
      }
      if (drifts && call >= replicas.drifts_at) {
        elements[program_.fault.element % elements.size()] ^= uint64_t{1}
                                                              << program_.fault.bits % 52;
      }
      ReplicaRead replica;
      replica.name = "parameters";
      replica.data =
          ReadBytes(BytesOf(elements.data(), elements.size(), true), TypeClass::kByte,
                    static_cast<uint64_t>(call) + 1, program_.variation == Variation::kSampled);
      replica.data.side = DataSide::kReplica;
      replica.data.order = ++orders_[static_cast<size_t>(rank)];
      replica.data.at_ns = kStart + 1000 * static_cast<int64_t>(records_.size()) + call;
      if (IsUnread(rank)) replica.data.reading = ring::DataReading::kDevice;
      if (process != kNoIndex) {
        trace->processes[process].replicas.push_back(std::move(replica));
      }
    }
  }
  if (program_.fault.kind == FaultKind::kReplica) took_effect_ &= others != 0;
}

// Removes the first reads of a rank, or of all, as a ring does that overwrites them.
void RunData::Overwrite(Trace* trace) const {
  if (program_.variation != Variation::kOverwritten) return;
  for (const Member& member : trace->members) {
    if (member.data == kNoIndex) continue;
    const int rank = trace->processes[member.process].rank;
    if (program_.incomplete_rank != kNone && program_.incomplete_rank != rank) continue;
    const uint64_t lost =
        orders_[static_cast<size_t>(rank)] * static_cast<uint64_t>(program_.lost_percent) / 100;
    const auto is_lost = [&](const auto& read) { return read.order <= lost; };
    std::erase_if(trace->data[member.data].reads, is_lost);
    std::erase_if(trace->data[member.data].blocks, is_lost);
  }
}

void RunData::Attach(Trace* trace) {
  for (const Record& record : records_) AttachRecord(record, trace);
  AttachReplicas(trace);
  Overwrite(trace);
}

}  // namespace rollcall::oracle::data
