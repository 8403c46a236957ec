// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "collector/import/ring_parts.h"

namespace rollcall {

void ReadValues(RingContext* context, RingReferences* references) {
  for (const ring::NamedValues& from : context->ring.values) {
    NamedValues values{CleanName(context->ring.String(from.name)), {}};
    const uint64_t kept = std::min<uint64_t>(from.count, ring::kRecentValues);
    for (uint64_t i = 0; i < kept; ++i) {
      const uint64_t number = from.count - kept + 1 + i;
      const ring::RecordedValue& value = from.recent[(number - 1) % ring::kRecentValues];
      values.recent.push_back({.number = number,
                               .at_ns = context->clock.ToNs(value.ticks),
                               .call_path = references->CallPath(value.call_path),
                               .type = static_cast<ring::ValueType>(value.type),
                               .bits = value.bits});
    }
    if (!values.name.empty()) context->process.values.push_back(std::move(values));
  }
  std::ranges::sort(context->process.values, {}, &NamedValues::name);
}

}  // namespace rollcall
