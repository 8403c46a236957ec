// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "collector/base/find.h"
#include "collector/import/ring_parts.h"
#include "proto/datatypes.h"
#include "proto/signature.h"

namespace rollcall {
namespace {

// How often each word of the table may be read, on average. Call paths do not overlap, but one path
// may have several contexts. More reads indicate damage, and would use unbounded memory.
constexpr uint64_t kMaxReadsPerPathWord = 16;

}  // namespace

uint32_t RingReferences::Arguments(const RingRecord& from, uint16_t operation) {
  const ring::Record& record = from.record;
  rollcall::Arguments arguments;
  arguments.operation = static_cast<Operation>(operation);
  arguments.flags = record.flags;
  arguments.reduce_op = record.reduce_op;
  arguments.root_or_peer = record.root_or_peer;
  arguments.tag = record.tag;
  if ((record.flags & ring::kSecondPart) != 0) {
    arguments.peer2 = static_cast<int32_t>(record.detail2 >> 32);
    arguments.tag2 = static_cast<int32_t>(record.detail2);
  }
  arguments.send_count = record.send_count;
  arguments.recv_count = record.recv_count;
  arguments.send_signature = record.send_signature;
  arguments.recv_signature = record.recv_signature;
  arguments.send_datatype = Datatype(record.send_datatype);
  arguments.recv_datatype = Datatype(record.recv_datatype);
  arguments.send_counts = Counts(from.send_counts);
  arguments.recv_counts = Counts(from.recv_counts);
  arguments.semantic_hash = record.semantic_hash;
  return interner_.Arguments(arguments);
}

uint32_t RingReferences::Completed(uint32_t arguments, uint32_t of_nccl) {
  rollcall::Arguments all = context_.trace.arguments[arguments];
  const rollcall::Arguments& below = context_.trace.arguments[of_nccl];
  const Rule rule = FindOperation(static_cast<uint16_t>(all.operation)).rule;
  if (rule == Rule::kBarrier ||
      rule != FindOperation(static_cast<uint16_t>(below.operation)).rule) {
    return arguments;
  }
  if (all.send_datatype == kNoIndex && all.recv_datatype == kNoIndex) {
    all.send_datatype = below.send_datatype;
    all.recv_datatype = below.recv_datatype;
    all.send_count = below.send_count;
    all.recv_count = below.recv_count;
    all.send_signature = below.send_signature;
    all.recv_signature = below.recv_signature;
  }
  if (HasRoot(rule) && all.root_or_peer == ring::kNoPeer) all.root_or_peer = below.root_or_peer;
  if (Reduces(rule) && all.reduce_op == 0) all.reduce_op = below.reduce_op;
  return interner_.Arguments(all);
}

uint32_t RingReferences::OnCarrier(uint32_t arguments, uint64_t carrier) {
  rollcall::Arguments all = context_.trace.arguments[arguments];
  // A message has no second message, so tag2 is free. NCCL ignores tags.
  all.tag2 = static_cast<int32_t>(carrier % INT32_MAX);
  return interner_.Arguments(all);
}

uint32_t RingReferences::Counts(uint32_t index) {
  return index == kNoIndex ? kNoIndex : interner_.Counts(context_.ring.count_arrays[index]);
}

uint32_t RingReferences::Datatype(uint16_t number) {
  if (number == 0) return kNoIndex;
  const auto [entry, is_new] = datatypes_.try_emplace(number, kNoIndex);
  if (!is_new) return entry->second;
  DatatypeInfo info;
  if (number < kFirstDerived) {
    const BasicTypeInfo basic = FindBasicType(number);
    if (basic.number == 0) return kNoIndex;
    info.name = basic.name;
    info.basic = number;
    info.bytes = basic.bytes;
    info.signature = BasicSignature(static_cast<uint32_t>(basic.type_class)).hash;
  } else {
    const size_t index = number - kFirstDerived;
    if (number == kNoDatatypeRoom || index >= context_.ring.datatypes.size()) return kNoIndex;
    const ring::Datatype& from = context_.ring.datatypes[index];
    info.basic = FindBasicType(static_cast<uint16_t>(from.basic)).number;
    info.name = CleanText(context_.ring.String(from.name), 128);
    if (info.name.empty()) {
      info.name = info.basic != 0 ? fmt::format("a derived type of {} {}", from.basics,
                                                FindBasicType(info.basic).name)
                                  : fmt::format("a derived type of {} bytes", from.bytes);
    }
    info.basics = from.basics;
    info.bytes = from.bytes;
    info.signature = from.signature;
  }
  return entry->second = interner_.Datatype(info);
}

uint32_t RingReferences::CallPath(uint64_t word, uint32_t outer) {
  if (word == 0) return kNoIndex;
  if (const uint32_t* known = FindOrNull(paths_, {word, outer})) return *known;
  return paths_[{word, outer}] = ReadCallPath(word, outer);
}

uint32_t RingReferences::ReadCallPath(uint64_t word, uint32_t outer) {
  const std::optional<RingSnapshot::PathView> view = context_.ring.Path(word);
  const uint64_t words = view ? view->frames.size() + view->python.size() : 0;
  if (!view || path_words_read_ + words > kMaxReadsPerPathWord * context_.ring.path_words.size()) {
    ++context_.process.records_unreadable;
    return kNoIndex;
  }
  path_words_read_ += words;
  rollcall::CallPath path;
  path.end = view->header.end <= static_cast<uint8_t>(ring::StackEnd::kNoRoom)
                 ? static_cast<ring::StackEnd>(view->header.end)
                 : ring::StackEnd::kBadFrame;
  path.portable_hash = view->header.portable_hash;
  path.codes.reserve(view->frames.size());
  constexpr uint64_t kAddressMask = (uint64_t{1} << ring::kFrameModuleShift) - 1;
  for (const uint64_t frame : view->frames) {
    const auto module = static_cast<uint32_t>(frame >> ring::kFrameModuleShift);
    // A wrapper between two functions of PyTorch.
    if (IsTheShim(module)) continue;
    path.codes.push_back(interner_.Code(Module(module), frame & kAddressMask));
  }
  python_.Read(word, *view, &path);
  if (!path.python.empty()) path.native = path.codes;
  path.context = CallPath(outer);
  return interner_.CallPath(path);
}

bool RingReferences::IsTheShim(uint32_t number) const {
  if (number == 0 || number > context_.ring.modules.size()) return false;
  const std::string_view path = context_.ring.String(context_.ring.modules[number - 1].path);
  return path.substr(path.rfind('/') + 1).starts_with("librollcall.so");
}

// `number` is 1 + an index; 0 and numbers out of range mean "in no module".
uint32_t RingReferences::Module(uint32_t number) {
  if (number > context_.ring.modules.size()) number = 0;
  if (modules_.empty()) modules_.assign(context_.ring.modules.size() + 1, kNoIndex);
  uint32_t& known = modules_[number];
  if (known != kNoIndex) return known;
  std::string_view path;
  std::string_view build_id;
  if (number != 0) {
    const ring::Module& module = context_.ring.modules[number - 1];
    path = context_.ring.String(module.path);
    build_id = {reinterpret_cast<const char*>(module.build_id),
                std::min<size_t>(module.build_id_bytes, sizeof(module.build_id))};
  }
  return known = interner_.Module(path, build_id);
}

}  // namespace rollcall
