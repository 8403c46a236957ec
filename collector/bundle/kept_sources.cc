// SPDX-License-Identifier: Apache-2.0
#include "collector/bundle/kept_sources.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "collector/base/find.h"
#include "collector/base/text.h"

namespace rollcall {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxPath = 4096;
constexpr size_t kMaxShown = 64;  // lines per marked line
constexpr size_t kMaxFileText = 4 << 20;

std::optional<int> LineOf(std::string_view text) {
  const auto line = ParseNumber<int>(text);
  return line && *line >= 1 ? line : std::nullopt;
}

std::optional<int> ToLine(const Json& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto line = json.get<uint64_t>();
  if (line < 1 || line > std::numeric_limits<int>::max()) return std::nullopt;
  return static_cast<int>(line);
}

}  // namespace

void KeptSources::Keep(const std::string& file, int line) {
  if (file.empty() || line < 1 || bytes_ > kMaxBytes) return;
  const File* known = FindOrNull(files_, file);
  if (known != nullptr && known->shown.contains(line)) return;
  const SourceExcerpt excerpt = ReadSourceExcerpt(file, {line});
  if (excerpt.lines.empty()) return;
  File& kept = files_[file];
  kept.modified_ns = excerpt.modified_ns;
  std::vector<int>& shown = kept.shown[line];
  for (const ExcerptLine& one : excerpt.lines) {
    if (kept.text.emplace(one.line_no, one.text).second) bytes_ += one.text.size();
    shown.push_back(one.line_no);
  }
}

std::string KeptSources::Format() const {
  std::string text;
  for (const auto& [name, file] : files_) {
    Json json;
    json["file"] = name;
    json["modified_ns"] = file.modified_ns;
    json["text"] = Json::object();
    for (const auto& [line, of] : file.text) json["text"][std::to_string(line)] = of;
    json["shown"] = Json::object();
    for (const auto& [line, lines] : file.shown) json["shown"][std::to_string(line)] = lines;
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

bool KeptSources::Parse(std::string_view text) {
  bool whole = true;
  while (!text.empty()) {
    const std::string_view line = TakeUntil('\n', &text);
    // A parsed value in memory is many times as large as its text.
    if (line.size() > kMaxFileText) {
      whole = false;
      continue;
    }
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const bool is_file = json.is_object() && json.contains("file") && json["file"].is_string() &&
                         json.contains("text") && json["text"].is_object() &&
                         json.contains("shown") && json["shown"].is_object();
    if (!is_file) {
      whole = false;
      continue;
    }
    File& file = files_[CleanText(json["file"].get_ref<const std::string&>(), kMaxPath)];
    const auto modified = json.find("modified_ns");
    if (modified != json.end() && modified->is_number_integer()) {
      file.modified_ns = modified->get<int64_t>();
    }
    const size_t max_line = ExcerptOptions().max_line_bytes;
    for (const auto& [number, of] : json["text"].items()) {
      const std::optional<int> at = LineOf(number);
      if (!at || !of.is_string()) {
        whole = false;
        continue;
      }
      file.text[*at] = CleanText(of.get_ref<const std::string&>(), max_line);
    }
    for (const auto& [number, lines] : json["shown"].items()) {
      const std::optional<int> at = LineOf(number);
      if (!at || !lines.is_array() || lines.size() > kMaxShown) {
        whole = false;
        continue;
      }
      for (const Json& one : lines) {
        const std::optional<int> shown = ToLine(one);
        if (shown && file.text.contains(*shown)) file.shown[*at].push_back(*shown);
      }
    }
  }
  return whole;
}

SourceExcerpt KeptSources::Excerpt(const std::string& file,
                                   const std::vector<int>& marked_lines) const {
  const File* known = FindOrNull(files_, file);
  if (known == nullptr) return ReadSourceExcerpt(file, marked_lines);
  std::map<int, bool> shown;  // line -> marked
  for (const int marked : marked_lines) {
    const std::vector<int>* lines = FindOrNull(known->shown, marked);
    if (lines == nullptr) continue;
    for (const int line : *lines) shown[line] |= line == marked;
  }
  SourceExcerpt excerpt;
  excerpt.file = file;
  excerpt.modified_ns = known->modified_ns;
  for (const auto& [line, marked] : shown) {
    excerpt.lines.push_back({.line_no = line, .text = known->text.at(line), .marked = marked});
  }
  if (excerpt.lines.empty()) excerpt.error = "the source line is not in the bundle";
  return excerpt;
}

}  // namespace rollcall
