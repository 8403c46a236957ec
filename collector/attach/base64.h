// SPDX-License-Identifier: Apache-2.0
// Base64 encoding (RFC 4648, section 4): with padding, without line breaks.
#ifndef ROLLCALL_COLLECTOR_ATTACH_BASE64_H_
#define ROLLCALL_COLLECTOR_ATTACH_BASE64_H_

#include <optional>
#include <string>
#include <string_view>

namespace rollcall::attach {

std::string ToBase64(std::string_view bytes);

// Returns nothing if `text` is not exactly what ToBase64() writes.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace rollcall::attach

#endif  // ROLLCALL_COLLECTOR_ATTACH_BASE64_H_
