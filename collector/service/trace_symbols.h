// SPDX-License-Identifier: Apache-2.0
// Finds the addresses of a trace that still need symbols, and caches the symbols of the others.
#ifndef ROLLCALL_COLLECTOR_SERVICE_TRACE_SYMBOLS_H_
#define ROLLCALL_COLLECTOR_SERVICE_TRACE_SYMBOLS_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collector/model/source_frame.h"
#include "collector/model/trace.h"

namespace rollcall::service {

// Symbolized addresses, kept between live traces: most addresses of a hang were in the previous
// one. Bounded; not thread-safe.
class SymbolCache {
 public:
  // Fills in the known symbols and returns each unknown address once.
  std::vector<CodeAddress> Fill(Trace* trace) const;
  void Add(const CodeAddress& address, std::vector<SourceFrame> frames);
  // Whether the added symbols give more than module and address.
  bool Knows(const CodeAddress& address) const;
  // Gives every remaining address a frame with module and address.
  static void FillRest(Trace* trace);

 private:
  static constexpr size_t kMaxAddresses = 1 << 20;
  using Key = std::tuple<std::string, std::string, uint64_t>;  // build id, module, address
  std::map<Key, std::vector<SourceFrame>> frames_;
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_TRACE_SYMBOLS_H_
