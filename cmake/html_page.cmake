# SPDX-License-Identifier: Apache-2.0
# Run as a script. Writes OUT, a source file that contains PAGE.
file(READ ${PAGE} text)
file(WRITE ${OUT} "// Generated from report/page.html by cmake/html_page.cmake.
#include \"collector/export/html_page.h\"

std::string_view rollcall::HtmlPage() { return R\"--page--(${text})--page--\"; }
")
