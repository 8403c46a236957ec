// SPDX-License-Identifier: Apache-2.0
// Text in XML and HTML.
#ifndef ROLLCALL_COLLECTOR_EXPORT_MARKUP_H_
#define ROLLCALL_COLLECTOR_EXPORT_MARKUP_H_

#include <string>
#include <string_view>

namespace rollcall {

// The text for the content of an element or a quoted attribute. Removes no control characters.
std::string EscapeMarkup(std::string_view text);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_MARKUP_H_
