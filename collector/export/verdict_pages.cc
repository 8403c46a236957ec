// SPDX-License-Identifier: Apache-2.0
#include "collector/export/verdict_pages.h"

#include <algorithm>
#include <cctype>

namespace rollcall {
namespace {

// "[words](target)" becomes "words".
std::string WithoutLinks(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t open = text.find('[');
    const size_t middle = open == std::string_view::npos ? open : text.find("](", open);
    const size_t close = middle == std::string_view::npos ? middle : text.find(')', middle);
    if (close == std::string_view::npos) break;
    const std::string_view words = text.substr(open + 1, middle - open - 1);
    // This is an index in code, such as `receives[i]`.
    const bool index = open > 0 && std::isalnum(static_cast<unsigned char>(text[open - 1])) != 0;
    if (index || words.find_first_of("[\n") != std::string_view::npos) {
      plain += text.substr(0, open + 1);
      text.remove_prefix(open + 1);
      continue;
    }
    plain += text.substr(0, open);
    plain += words;
    text.remove_prefix(close + 1);
  }
  return plain.append(text);
}

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of('\n');
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of('\n') + 1 - first);
}

// The page without the title line.
std::string_view Body(std::string_view page) {
  const size_t end = page.find('\n');
  return end == std::string_view::npos ? "" : Trimmed(page.substr(end));
}

}  // namespace

std::string VerdictSummary(VerdictKind kind) {
  const std::string_view body = Body(VerdictPage(kind));
  std::string summary = WithoutLinks(body.substr(0, body.find("\n\n")));
  std::replace(summary.begin(), summary.end(), '\n', ' ');
  return summary.empty() ? std::string(KindName(kind)) : summary;
}

std::string VerdictHelp(VerdictKind kind) {
  const std::string_view body = Body(VerdictPage(kind));
  return WithoutLinks(Trimmed(body.substr(0, body.find("\n## A real report"))));
}

}  // namespace rollcall
