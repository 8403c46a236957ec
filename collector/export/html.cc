// SPDX-License-Identifier: Apache-2.0
// A page that a browser shows without a network: report/page.html, the data that report/src/data.ts
// specifies, and the verdict as text for browsers without JavaScript.
#include <string>
#include <string_view>

#include "collector/base/text.h"
#include "collector/diagnosis/detectors/incident.h"
#include "collector/export/exporter.h"
#include "collector/export/html_page.h"
#include "collector/export/markup.h"
#include "collector/export/verdict_pages.h"
#include "collector/model/rank_set.h"
#include "collector/page/page.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

constexpr size_t kMaxTextBytes = 64 << 10;
constexpr size_t kMaxCellBytes = 400;

// Clean text of several lines.
std::string Lines(std::string_view text) {
  std::string clean;
  while (!text.empty() && clean.size() < kMaxTextBytes) {
    clean += CleanText(TakeUntil('\n', &text), kMaxTextBytes) + '\n';
  }
  return text.empty() ? clean : clean + "…\n";
}

// JSON inside a script element. The HTML parser searches a script for "</script" and "<!--"
// (https://html.spec.whatwg.org/multipage/scripting.html, "Restrictions for contents of script
// elements"), so <, > and & are escaped. In JSON they occur only in strings.
std::string InScript(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) {
    switch (c) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += c;
    }
  }
  return text;
}

std::string Table(const Report& report) {
  std::string table =
      "<table id=\"verdict-table\"><thead><tr><th>finding</th><th>certainty</th><th>ranks</th>"
      "<th>call</th><th>place</th></tr></thead><tbody>\n";
  const auto cell = [&table](std::string_view text) {
    table += "<td>" + EscapeMarkup(CleanText(text, kMaxCellBytes)) + "</td>";
  };
  for (const Finding& finding : report.findings) {
    for (const Site& site : finding.sites) {
      table += "<tr>";
      cell(KindText(finding));
      cell(CertaintyName(finding.certainty));
      cell(RanksPhrase(site.ranks));
      cell(site.what);
      cell(FramePlace(site.frame));
      table += "</tr>\n";
      if (table.size() > kMaxTextBytes) return table + "</tbody></table>";
    }
  }
  return table + "</tbody></table>";
}

std::string Static(const Subject& subject) {
  TextOptions text = subject.text;
  text.color = false;
  return "<pre id=\"verdict-text\">" +
         EscapeMarkup(Lines(RenderText(subject.trace, subject.report, text))) + "</pre>\n" +
         Table(subject.report);
}

std::string Data(const Subject& subject) {
  const AnalyzedTrace analyzed = Analyze(subject.trace, subject.diagnose);
  nlohmann::ordered_json data = PageData(analyzed, subject.report, subject.text, subject.version);
  for (size_t i = 0; i < data["findings"].size(); ++i) {
    data["findings"][i]["weight"] = WeightName(subject.judgement.rulings[i].weight);
    data["findings"][i]["page"] = VerdictHelp(subject.report.findings[i].kind);
  }
  return "<script type=\"application/json\" id=\"report-data\">" + InScript(data) + "</script>";
}

std::string Title(const Report& report) {
  return report.findings.empty() ? "rollcall" : "rollcall: " + report.findings.front().title;
}

}  // namespace

void ExportHtml(const Subject& subject, std::ostream& out) {
  std::string_view page = HtmlPage();
  const auto put = [&](std::string_view placeholder, const std::string& text) {
    const size_t at = page.find(placeholder);
    out << page.substr(0, at) << text;
    page.remove_prefix(at + placeholder.size());
  };
  put("<!--rollcall:title-->", EscapeMarkup(CleanText(Title(subject.report), kMaxCellBytes)));
  put("<!--rollcall:static-->", Static(subject));
  put("<!--rollcall:data-->", Data(subject));
  out << page;
}

}  // namespace rollcall
