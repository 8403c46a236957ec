// SPDX-License-Identifier: Apache-2.0
#include "collector/service/trace_symbols.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rollcall::service {

std::vector<CodeAddress> SymbolCache::Fill(Trace* trace) const {
  std::vector<CodeAddress> unknown;
  std::set<Key> asked;
  for (Code& code : trace->codes) {
    if (!code.frames.empty()) continue;
    Key key(code.build_id, code.module_path, code.vaddr);
    const auto found = frames_.find(key);
    if (found != frames_.end()) {
      code.frames = found->second;
    } else if (asked.insert(std::move(key)).second) {
      unknown.push_back({.module_path = code.module_path,
                         .build_id = code.build_id,
                         .vaddr = code.vaddr,
                         .is_return_address = true});
    }
  }
  return unknown;
}

void SymbolCache::Add(const CodeAddress& address, std::vector<SourceFrame> frames) {
  if (frames.empty()) return;
  if (frames_.size() >= kMaxAddresses) frames_.clear();
  frames_.insert_or_assign(Key(address.build_id, address.module_path, address.vaddr),
                           std::move(frames));
}

bool SymbolCache::Knows(const CodeAddress& address) const {
  const auto found = frames_.find(Key(address.build_id, address.module_path, address.vaddr));
  return found != frames_.end() && std::ranges::any_of(found->second, [](const SourceFrame& frame) {
           return frame.detail != FrameDetail::kModule;
         });
}

void SymbolCache::FillRest(Trace* trace) {
  for (Code& code : trace->codes) {
    if (!code.frames.empty()) continue;
    SourceFrame frame;
    frame.module = code.module_path;
    frame.vaddr = code.vaddr;
    frame.note = "not symbolized";
    code.frames.push_back(std::move(frame));
  }
}

}  // namespace rollcall::service
