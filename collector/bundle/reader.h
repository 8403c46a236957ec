// SPDX-License-Identifier: Apache-2.0
// Reads a bundle, member by member. Everything in it is untrusted. Nothing is unpacked to disk.
// Memory and time are bounded by the limits of format.h, whatever sizes the file claims.
#ifndef ROLLCALL_COLLECTOR_BUNDLE_READER_H_
#define ROLLCALL_COLLECTOR_BUNDLE_READER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/model/trace.h"

namespace rollcall::bundle {

struct Member {
  std::string name;  // IsMemberName()
  int64_t modified_ns = kNoTime;
  std::vector<uint8_t> bytes;
};

// Decides by the first bytes.
bool IsBundle(ByteSource& bytes);

// Calls `visit` for every member except the manifest, in order. Unusable data is skipped and
// reported to `add_problem`, with `source` or the name of a member below it, and with the offset up
// to which the file had been read. Data before the damage is used. Throws std::bad_alloc and the
// callbacks' exceptions only. Safe from several threads for different sources.
void ReadBundle(ByteSource& bytes, const std::string& source,
                const std::function<void(Member)>& visit,
                const std::function<void(Problem)>& add_problem);

}  // namespace rollcall::bundle

#endif  // ROLLCALL_COLLECTOR_BUNDLE_READER_H_
