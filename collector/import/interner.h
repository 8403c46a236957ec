// SPDX-License-Identifier: Apache-2.0
// Stores each repeated element of a Trace only once. A thousand ranks in one loop share a few dozen
// call paths and argument lists.
#ifndef ROLLCALL_COLLECTOR_IMPORT_INTERNER_H_
#define ROLLCALL_COLLECTOR_IMPORT_INTERNER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall {

// Finds equal elements of a vector by hash: 12 bytes per element, no copies.
template <typename T>
class HashCons {
 public:
  explicit HashCons(std::vector<T>* pool) : pool_(*pool) {}

  // The index of the element that `equals` accepts; otherwise that of `make()`, which is appended.
  template <typename Equals, typename Make>
  uint32_t Find(uint64_t hash, Equals equals, Make make) {
    const auto [head, is_new] = heads_.try_emplace(hash, kNoIndex);
    for (uint32_t i = head->second; i != kNoIndex; i = next_[i]) {
      if (equals(pool_[i])) return i;
    }
    const auto index = static_cast<uint32_t>(pool_.size());
    pool_.push_back(make());
    next_.resize(pool_.size(), kNoIndex);
    next_[index] = head->second;
    head->second = index;
    return index;
  }

 private:
  std::vector<T>& pool_;
  std::unordered_map<uint64_t, uint32_t> heads_;  // hash to the newest element
  std::vector<uint32_t> next_;                    // older elements of the same hash
};

// Appends to the vectors of one Trace, which must outlive it and to which no other code may append.
class Interner {
 public:
  explicit Interner(Trace* trace);

  // `build_id` is the bytes.
  uint32_t Module(std::string_view path, std::string_view build_id);
  uint32_t Code(uint32_t module, uint64_t vaddr);
  // A place in Python: one for all instructions of a line. `place` distinguishes places with an
  // unknown line; it becomes Code::vaddr.
  uint32_t PythonCode(const SourceFrame& frame, uint64_t place);
  uint32_t CallPath(const rollcall::CallPath& path);
  uint32_t Arguments(const rollcall::Arguments& arguments);
  uint32_t Counts(const std::vector<uint64_t>& counts);
  uint32_t Datatype(const DatatypeInfo& datatype);

 private:
  struct ModuleName {
    std::string path;
    std::string build_id;
    std::unordered_map<uint64_t, uint32_t> codes = {};  // by vaddr
  };

  std::vector<ModuleName> modules_;
  HashCons<ModuleName> module_index_;
  std::unordered_map<std::string, uint32_t> python_codes_;
  HashCons<rollcall::CallPath> paths_;
  HashCons<rollcall::Arguments> arguments_;
  HashCons<std::vector<uint64_t>> counts_;
  HashCons<DatatypeInfo> datatypes_;
  Trace& trace_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_IMPORT_INTERNER_H_
