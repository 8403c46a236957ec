# SPDX-License-Identifier: Apache-2.0
# Run as a script. Writes OUT, a source file that contains the pages DOCS/*.md, one for each verdict kind.
file(GLOB pages ${DOCS}/*.md)
set(rows "")
foreach(page ${pages})
  get_filename_component(kind ${page} NAME_WE)
  if(NOT kind STREQUAL "README")
    file(READ ${page} text)
    string(APPEND rows "    {\"${kind}\", R\"--page--(${text})--page--\"},\n")
  endif()
endforeach()
set(source "// Generated from docs/verdicts by cmake/verdict_pages.cmake.
#include \"collector/export/verdict_pages.h\"

namespace rollcall {
namespace {

struct Page {
  std::string_view kind;
  std::string_view text;
};

constexpr Page kPages[] = {
${rows}};

}  // namespace

std::string_view VerdictPage(VerdictKind kind) {
  for (const Page& page : kPages) {
    if (page.kind == KindName(kind)) return page.text;
  }
  return \"\";
}

}  // namespace rollcall
")
file(WRITE ${OUT} "${source}")
