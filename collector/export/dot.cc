// SPDX-License-Identifier: Apache-2.0
// The wait-for graph in Graphviz's language. Ranks that wait for the same thing at the same place
// share one box. A collective is an ellipse between the ranks inside it and the ranks that are
// missing.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "collector/diagnosis/detectors/incident.h"
#include "collector/export/exporter.h"
#include "collector/model/rank_set.h"
#include "collector/report/wait_picture.h"

namespace rollcall {
namespace {

using Node = WaitPicture::Node;

// A quoted string. Only quotes and backslashes are special in a quoted string, and "\n" breaks the
// line (https://graphviz.org/doc/info/lang.html, escString).
std::string Label(const std::vector<std::string>& lines) {
  std::string text = "\"";
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    if (text.size() > 1) text += "\\n";
    for (const char c : line) {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return text + '"';
}

std::string_view Style(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kCollective:
    case Node::Kind::kDevice:
      return "shape=ellipse, ";
    case Node::Kind::kAbsent:
      return "style=dashed, ";
    case Node::Kind::kRanks:
      break;
  }
  return "";
}

std::string_view Color(const Node& node) {
  if (node.culprit) return ", color=red, penwidth=2";
  return node.stuck ? ", color=orange" : "";
}

}  // namespace

void ExportDot(const Subject& subject, std::ostream& out) {
  const AnalyzedTrace settled = Analyze(subject.trace, subject.diagnose);
  const WaitPicture picture = WaitPictureOf(settled.analysis, subject.report);
  out << "digraph rollcall {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n"
         "  edge [fontname=\"sans-serif\"];\n";
  if (!subject.report.findings.empty()) {
    out << fmt::format("  label={};\n", Label({subject.report.findings.front().title}));
  }
  for (const Node& node : picture.nodes) {
    std::vector<std::string> lines = node.lines;
    if (!node.ranks.empty()) lines.insert(lines.begin(), RanksPhrase(node.ranks));
    out << fmt::format("  {} [{}label={}{}];\n", node.name, Style(node), Label(lines), Color(node));
  }
  for (const WaitPicture::Edge& edge : picture.edges) {
    out << fmt::format("  {} -> {}", picture.nodes[edge.from].name, picture.nodes[edge.to].name);
    if (!edge.label.empty()) out << fmt::format(" [label={}]", Label({edge.label}));
    out << ";\n";
  }
  out << "}\n";
}

}  // namespace rollcall
