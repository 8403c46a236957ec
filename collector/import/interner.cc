// SPDX-License-Identifier: Apache-2.0
#include "collector/import/interner.h"

#include <functional>

#include "collector/base/assert.h"
#include "collector/base/text.h"
#include "proto/mix.h"

namespace rollcall {
namespace {

uint64_t HashOf(std::string_view text) { return std::hash<std::string_view>()(text); }

}  // namespace

Interner::Interner(Trace* trace)
    : module_index_(&modules_),
      paths_(&trace->call_paths),
      arguments_(&trace->arguments),
      counts_(&trace->count_arrays),
      datatypes_(&trace->datatypes),
      trace_(*trace) {}

uint32_t Interner::Module(std::string_view path, std::string_view build_id) {
  return module_index_.Find(
      Mix64(HashOf(path), HashOf(build_id)),
      [&](const ModuleName& other) { return other.path == path && other.build_id == build_id; },
      [&] {
        return ModuleName{std::string(path), std::string(build_id)};
      });
}

uint32_t Interner::Code(uint32_t module, uint64_t vaddr) {
  ROLLCALL_ASSERT(module < modules_.size());
  ModuleName& in = modules_[module];
  const auto [code, is_new] =
      in.codes.try_emplace(vaddr, static_cast<uint32_t>(trace_.codes.size()));
  if (is_new) {
    trace_.codes.push_back({in.path, ToHex(in.build_id.data(), in.build_id.size()), vaddr, {}});
  }
  return code->second;
}

uint32_t Interner::PythonCode(const SourceFrame& frame, uint64_t place) {
  if (frame.line != 0) place = 0;
  std::string key;
  for (const std::string& part : {frame.function, frame.file, frame.note}) {
    key += part;
    key += '\n';
  }
  key += std::to_string(frame.line) + '\n' + std::to_string(place);
  const auto [code, is_new] =
      python_codes_.try_emplace(std::move(key), static_cast<uint32_t>(trace_.codes.size()));
  if (is_new) {
    rollcall::Code made;
    made.vaddr = place;
    made.frames.push_back(frame);
    trace_.codes.push_back(std::move(made));
  }
  return code->second;
}

uint32_t Interner::CallPath(const rollcall::CallPath& path) {
  uint64_t hash = Mix64(path.portable_hash, static_cast<uint64_t>(path.end));
  hash = Mix64(hash, uint64_t{path.context} << 8 | static_cast<uint64_t>(path.python_end));
  for (const uint32_t code : path.codes) hash = Mix64(hash, code);
  for (const PythonFrame& frame : path.python) hash = Mix64(hash, frame.code);
  return paths_.Find(
      hash,
      [&](const rollcall::CallPath& other) {
        return other.portable_hash == path.portable_hash && other.end == path.end &&
               other.python_end == path.python_end && other.context == path.context &&
               other.codes == path.codes && other.python == path.python;
      },
      [&] { return path; });
}

uint32_t Interner::Arguments(const rollcall::Arguments& a) {
  uint64_t hash = Mix64(static_cast<uint64_t>(a.operation), a.semantic_hash);
  for (const uint64_t word :
       {uint64_t{a.flags} << 16 | a.reduce_op,
        static_cast<uint64_t>(static_cast<uint32_t>(a.root_or_peer)) << 32 |
            static_cast<uint32_t>(a.tag),
        static_cast<uint64_t>(static_cast<uint32_t>(a.peer2)) << 32 | static_cast<uint32_t>(a.tag2),
        a.send_count, a.recv_count, a.send_signature, a.recv_signature,
        uint64_t{a.send_datatype} << 32 | a.recv_datatype,
        uint64_t{a.send_counts} << 32 | a.recv_counts}) {
    hash = Mix64(hash, word);
  }
  return arguments_.Find(
      hash, [&](const rollcall::Arguments& other) { return other == a; }, [&] { return a; });
}

uint32_t Interner::Counts(const std::vector<uint64_t>& counts) {
  uint64_t hash = counts.size();
  for (const uint64_t count : counts) hash = Mix64(hash, count);
  return counts_.Find(
      hash, [&](const std::vector<uint64_t>& other) { return other == counts; },
      [&] { return counts; });
}

uint32_t Interner::Datatype(const DatatypeInfo& datatype) {
  uint64_t hash = HashOf(datatype.name);
  for (const uint64_t word :
       {uint64_t{datatype.basic}, datatype.basics, datatype.bytes, datatype.signature}) {
    hash = Mix64(hash, word);
  }
  return datatypes_.Find(
      hash,
      [&](const DatatypeInfo& other) {
        return other.name == datatype.name && other.basic == datatype.basic &&
               other.basics == datatype.basics && other.bytes == datatype.bytes &&
               other.signature == datatype.signature;
      },
      [&] { return datatype; });
}

}  // namespace rollcall
