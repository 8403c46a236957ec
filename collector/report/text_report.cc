// SPDX-License-Identifier: Apache-2.0
#include "collector/report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "collector/diagnosis/wording/values.h"
#include "collector/model/rank_set.h"
#include "collector/report/columns.h"
#include "collector/report/names.h"
#include "collector/report/stack_tree.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

// Further sites are only counted; JSON lists all sites.
constexpr size_t kMaxSites = 12;
// Wider source text is cut, because it would push the ranks out of view.
constexpr size_t kSourceWidth = 60;
constexpr size_t kMaxValues = 6;     // JSON lists all
constexpr size_t kQuoteWidth = 300;  // of a line of a log

std::string_view RoleText(Site::Role role) {
  if (role == Site::Role::kContinued) return "went on";
  return role == Site::Role::kCulprit ? "here" : RoleName(role);
}

class TextWriter {
 public:
  TextWriter(const Trace& trace, const Report& report, const TextOptions& options)
      : trace_(trace), report_(report), options_(options) {}

  std::string Render() {
    Headline();
    for (const Finding& finding : report_.findings) {
      if (!IsNote(finding)) Write(finding);
    }
    std::vector<std::string> notes;
    for (const Finding& finding : report_.findings) {
      if (IsNote(finding)) notes.push_back(InOneLine(finding));
    }
    notes.insert(notes.end(), report_.notes.begin(), report_.notes.end());
    for (const std::string& note : notes) out_ += fmt::format("\n  note   {}", note);
    if (!notes.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  static bool IsNote(const Finding& finding) {
    return KindSeverity(finding.kind) == Severity::kNote;
  }
  size_t Errors() const {
    return static_cast<size_t>(std::ranges::count_if(
        report_.findings, [](const Finding& finding) { return !IsNote(finding); }));
  }

  // "…: halo.c:12 exchange, halo.c:30 finish  (request-leak)". For sites on the same line, the
  // caller that differs is shown as well.
  std::string InOneLine(const Finding& finding) const {
    std::string text = finding.title;
    std::string_view before = ": ";
    std::vector<const Site*> shown;
    for (const Site& site : finding.sites) {
      const std::string place = FramePlace(site.frame);
      if (site.frame.line == 0 || finding.title.find(place) != std::string::npos) continue;
      const auto same = std::ranges::find_if(
          shown, [&](const Site* other) { return FramePlace(other->frame) == place; });
      const SourceFrame* caller = same == shown.end() ? nullptr : DifferingFrame(site, **same);
      if (same != shown.end() && caller == nullptr) continue;
      shown.push_back(&site);
      text += fmt::format("{}{} {}", before, place, site.frame.function);
      if (caller != nullptr) {
        text += fmt::format(" from {} {}", FramePlace(*caller), caller->function);
      }
      before = ", ";
    }
    return fmt::format("{}  ({})", text, KindName(finding.kind));
  }

  // The innermost frame at which the call path of `site` differs from that of `other`; nullptr if
  // there is none.
  const SourceFrame* DifferingFrame(const Site& site, const Site& other) const {
    const auto own = FramesOf(trace_, site.call_path);
    const auto others = FramesOf(trace_, other.call_path);
    const auto [differs, ignored] =
        std::mismatch(own.begin(), own.end(), others.begin(), others.end(),
                      [](const SourceFrame* a, const SourceFrame* b) {
                        return FramePlace(*a) == FramePlace(*b) && a->function == b->function;
                      });
    return differs == own.end() ? nullptr : *differs;
  }

  std::string Paint(std::string_view code, std::string text) const {
    if (!options_.color || text.empty()) return text;
    return fmt::format("\033[{}m{}\033[0m", code, text);
  }

  void Headline() {
    std::string state(StatusName(report_.status));
    const bool of_log = trace_.evidence == Trace::Evidence::kLogs;
    if (report_.status == Report::Status::kNoRanks) {
      state =
          of_log ? "no line says what a rank waits in, or how it ended" : "no rank was recorded";
    }
    if (Errors() != 0) {
      state += fmt::format(", {}", CertaintyName(report_.findings.front().certainty));
    } else if (report_.status != Report::Status::kNoRanks) {
      state += ", nothing found";
    }
    out_ += "rollcall: " + Paint(Errors() == 0 ? "32;1" : "31;1", state);
    if (report_.ranks != 0) {
      out_ += fmt::format(" · {}{} rank{}", report_.ranks,
                          report_.ranks_expected > report_.ranks
                              ? fmt::format(" of {}", report_.ranks_expected)
                              : "",
                          std::max(report_.ranks, report_.ranks_expected) == 1 ? "" : "s");
    }
    if (report_.hosts != 0) {
      out_ += fmt::format(" on {}", CountText(report_.hosts, "host"));
    }
    const bool stands = report_.status == Report::Status::kHung;
    if (stands && report_.no_progress_ns >= 100'000'000) {
      const double seconds = static_cast<double>(report_.no_progress_ns) * 1e-9;
      out_ += seconds < 120 ? fmt::format(" · no progress for {:.1f} s", seconds)
                            : fmt::format(" · no progress for {:.0f} min", seconds / 60);
    }
    if (report_.data) {
      out_ += fmt::format(" · {} read", CountText(report_.data->read, "buffer"));
    }
    out_ += '\n';
    if (Errors() > 1) {
      out_ += fmt::format("\n  {} independent findings\n", Errors());
    }
  }

  void Write(const Finding& finding) {
    out_ += '\n';
    out_ += "  " + Paint("1", finding.title) + '\n';
    Sites(finding);
    Excerpts(finding);
    const bool full = options_.stacks == StackDetail::kFull;
    std::vector<RankStack> live;
    if (options_.stacks != StackDetail::kNone) live = LiveStacksOf(trace_, finding, full);
    if (live.empty()) Stacks(finding);  // otherwise the tree shows them
    out_ += '\n';
    std::string kind = KindText(finding);
    // The headline shows the first finding's certainty.
    if (&finding != &report_.findings.front()) {
      kind += fmt::format(", {}", CertaintyName(finding.certainty));
    }
    Field("kind", kind);
    Field("host", HostsText(finding.culprit_hosts));
    Field("why", finding.why);
    Field("fix", FixText(finding));
    const std::vector<std::string> values = ValueTexts(finding);
    for (size_t i = 0; i < std::min(values.size(), kMaxValues); ++i) Field("value", values[i]);
    for (const Quote& quote : finding.quotes) {
      Field("log", fmt::format("{}:{}: {}", quote.file, quote.line, Cut(quote.text, kQuoteWidth)));
    }
    for (const std::string& note : finding.notes) Field("note", note);
    if (live.empty()) return;
    out_ += "\n  stacks\n";
    for (const std::string& line : StackTreeLines(StackTree(live, full))) {
      out_ += fmt::format("    {}\n", line);
    }
  }

  void Field(std::string_view name, const std::string& text) {
    if (text.empty()) return;
    out_ += fmt::format("  {}  {}\n", Paint("2", Padded(std::string(name), 5)), text);
  }

  void Sites(const Finding& finding) {
    if (finding.sites.empty()) return;
    out_ += '\n';
    std::vector<std::vector<std::string>> rows;
    for (const Site& site : finding.sites) {
      if (rows.size() == kMaxSites) break;
      const char* who = site.ranks.size() == 1 ? "rank " : "ranks";
      rows.push_back({fmt::format("{} {}", who, FoldRanks(site.ranks)),
                      std::string(RoleText(site.role)), FramePlace(site.frame), site.frame.function,
                      site.what});
    }
    const std::vector<std::string> lines = AlignColumns(rows, /*keep_empty=*/true);
    for (size_t i = 0; i < lines.size(); ++i) {
      out_ += Paint(finding.sites[i].culprit ? "31" : "33", "    " + lines[i]) + '\n';
    }
    if (finding.sites.size() > rows.size()) {
      out_ += fmt::format("    … and {} more places\n", finding.sites.size() - rows.size());
    }
  }

  // The call paths of the ranks. A path with a single user frame is already in the row above.
  void Stacks(const Finding& finding) {
    if (options_.stacks == StackDetail::kNone) return;
    const bool full = options_.stacks == StackDetail::kFull;
    size_t shown = 0;
    for (const Site& site : finding.sites) {
      const std::vector<const SourceFrame*> frames = FramesOf(trace_, site.call_path);
      if (frames.empty()) continue;
      if (!full && (!HasPython(frames) || UserFrames(frames) < 2)) continue;
      if (++shown > kMaxSites) break;
      out_ += fmt::format("\n    {} arrived there by\n", RanksPhrase(site.ranks));
      for (const std::string& line : StackLines(trace_, site.call_path, full)) {
        out_ += fmt::format("      {}\n", line);
      }
    }
  }

  void Excerpts(const Finding& finding) {
    if (!options_.excerpt) return;
    // File by file, in the order of the sites.
    std::vector<std::string> files;
    std::map<std::string, std::vector<int>> lines;
    std::map<std::pair<std::string, int>, std::vector<int32_t>> ranks;
    for (const Site& site : finding.sites) {
      if (site.frame.line == 0) continue;
      if (!lines.contains(site.frame.file)) files.push_back(site.frame.file);
      lines[site.frame.file].push_back(site.frame.line);
      std::vector<int32_t>& at = ranks[{site.frame.file, site.frame.line}];
      at.insert(at.end(), site.ranks.begin(), site.ranks.end());
      if (files.size() == kMaxSites) break;
    }
    for (const std::string& file : files) {
      const SourceExcerpt excerpt = options_.excerpt(file, lines[file]);
      if (excerpt.lines.empty()) continue;
      out_ += '\n';
      if (files.size() > 1) out_ += fmt::format("    {}\n", file);
      Excerpt(excerpt, file, &ranks);
    }
  }

  void Excerpt(const SourceExcerpt& excerpt, const std::string& file,
               std::map<std::pair<std::string, int>, std::vector<int32_t>>* ranks) {
    // Remove the common indentation.
    size_t indent = std::string::npos;
    size_t longest = 0;
    for (const ExcerptLine& line : excerpt.lines) {
      const size_t first = line.text.find_first_not_of(' ');
      if (first != std::string::npos) indent = std::min(indent, first);
      longest = std::max(longest, Width(line.text));
    }
    if (indent == std::string::npos) indent = 0;
    const size_t width = std::min(kSourceWidth, longest - std::min(longest, indent));
    const size_t digits = std::to_string(excerpt.lines.back().line_no).size();
    int previous = excerpt.lines.front().line_no - 1;
    for (const ExcerptLine& line : excerpt.lines) {
      if (line.line_no != previous + 1) {
        out_ += fmt::format("      {} ⋮\n", std::string(digits, ' '));
      }
      previous = line.line_no;
      const std::string text =
          Cut(line.text.size() > indent ? line.text.substr(indent) : "", width);
      std::string row =
          fmt::format("    {} {:>{}} │ {}", line.marked ? "▸" : " ", line.line_no, digits, text);
      if (line.marked) {
        std::vector<int32_t>& at = (*ranks)[{file, line.line_no}];
        Normalize(&at);
        row = Paint("1", Padded(std::move(row), 4 + 2 + digits + 3 + width + 3)) + RanksPhrase(at);
      }
      out_ += row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
    }
  }

  const Trace& trace_;
  const Report& report_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

StackDetail StackDetailOf(std::string_view name) {
  if (name == "none") return StackDetail::kNone;
  return name == "full" ? StackDetail::kFull : StackDetail::kUser;
}

std::string RenderText(const Trace& trace, const Report& report, const TextOptions& options) {
  return TextWriter(trace, report, options).Render();
}

}  // namespace rollcall
