// SPDX-License-Identifier: Apache-2.0
// report/page.html, compiled into this program: see report/README.md.
#ifndef ROLLCALL_COLLECTOR_EXPORT_HTML_PAGE_H_
#define ROLLCALL_COLLECTOR_EXPORT_HTML_PAGE_H_

#include <string_view>

namespace rollcall {

// The page with the placeholders <!--rollcall:title-->, <!--rollcall:static--> and
// <!--rollcall:data-->, each once and in this order. Included at build time by
// cmake/html_page.cmake.
std::string_view HtmlPage();

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_EXPORT_HTML_PAGE_H_
