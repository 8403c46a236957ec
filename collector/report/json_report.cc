// SPDX-License-Identifier: Apache-2.0
#include "collector/report/json_report.h"

#include <nlohmann/json.hpp>

#include "collector/diagnosis/wording/waiting_set.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/report/names.h"
#include "collector/report/stacks.h"

namespace rollcall {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string_view LanguageName(Language language) {
  return language == Language::kPython ? "python" : "native";
}

Json StackToJson(const std::vector<const SourceFrame*>& frames) {
  Json stack = Json::array();
  for (const SourceFrame* frame : frames) {
    Json json;
    json["function"] = OrNull(frame->function);
    json["file"] = OrNull(frame->file);
    json["line"] = frame->line == 0 ? Json(nullptr) : Json(frame->line);
    json["language"] = LanguageName(frame->language);
    json["framework"] = OrNull(FrameworkOf(*frame));
    if (!frame->module.empty()) {
      json["module"] = frame->module;
      json["address"] = frame->vaddr;
    }
    if (frame->inlined) json["inlined"] = true;
    if (!frame->note.empty()) json["note"] = frame->note;
    stack.push_back(std::move(json));
  }
  return stack;
}

// The live stacks of all ranks of the site.
Json ThreadsToJson(const Trace& trace, const Finding& finding, const Site& site) {
  Json threads = Json::array();
  for (const uint32_t process : ProcessesOf(trace, finding, site.ranks)) {
    for (const LiveStack& live : trace.processes[process].live_stacks) {
      Json json;
      json["rank"] = trace.processes[process].rank;
      json["thread"] = OrNull(live.thread_name);
      json["state"] = OrNull(live.state);
      json["cpu_percent"] = CpuPercent(live) < 0 ? Json(nullptr) : Json(CpuPercent(live));
      json["unreadable"] = OrNull(live.unreadable);
      json["stack"] = StackToJson(FramesOf(live));
      threads.push_back(std::move(json));
    }
  }
  return threads;
}

Json LineToJson(const Trace& trace, const Finding& finding, const Site& site) {
  Json line;
  line["ranks"] = site.ranks;
  line["role"] = site.culprit ? "culprit" : "waiting";
  line["state"] = RoleName(site.role);
  line["file"] = OrNull(site.frame.file);
  line["line"] = site.frame.line == 0 ? Json(nullptr) : Json(site.frame.line);
  line["function"] = OrNull(site.frame.function);
  line["call"] = OrNull(site.what);
  if (site.frame.line == 0 && !site.frame.module.empty()) {
    line["module"] = site.frame.module;
    line["address"] = site.frame.vaddr;
  }
  const bool known = !site.frame.function.empty() || !site.frame.module.empty();
  line["language"] = known ? Json(LanguageName(site.frame.language)) : Json(nullptr);
  line["stack"] = StackToJson(FramesOf(trace, site.call_path));
  if (site.call_path != kNoIndex) {
    const CallPath& path = trace.call_paths[site.call_path];
    line["stack_complete"] = IsWhole(path);
    if (path.python_apart) line["stack_apart"] = true;
    if (path.context != kNoIndex) {
      line["context_stack"] = StackToJson(FramesOf(trace, path.context));
    }
  }
  if (site.live) line["threads"] = ThreadsToJson(trace, finding, site);
  return line;
}

Json GroupsToJson(const std::vector<ComparedValue::Group>& groups) {
  Json json = Json::array();
  for (const ComparedValue::Group& group : groups) {
    json.push_back({{"value", group.text},
                    {"ranks", group.ranks},
                    {"file", OrNull(group.frame.file)},
                    {"line", group.frame.line == 0 ? Json(nullptr) : Json(group.frame.line)},
                    {"function", OrNull(group.frame.function)}});
  }
  return json;
}

Json ValueToJson(const ComparedValue& value) {
  Json json;
  json["name"] = value.name;
  json["number"] = value.number == 0 ? Json(nullptr) : Json(value.number);
  if (value.decides) json["decides"] = true;
  json["ranks_by_value"] = GroupsToJson(value.groups);
  return json;
}

Json UnshownToJson(const UnshownValue& unshown) {
  using Reason = UnshownValue::Reason;
  Json json;
  json["name"] = unshown.name;
  json["reason"] = unshown.reason == Reason::kGone        ? "gone"
                   : unshown.reason == Reason::kOptimized ? "optimized-out"
                                                          : "function";
  json["ranks"] = unshown.ranks;
  json["function"] = OrNull(unshown.frame.function);
  json["ranks_by_value"] = GroupsToJson(unshown.groups);
  return json;
}

Json FindingToJson(const Trace& trace, const Finding& finding) {
  Json json;
  json["kind"] = KindName(finding.kind);
  json["certainty"] = CertaintyName(finding.certainty);
  json["kind_certainty"] = CertaintyName(finding.kind_certainty);
  json["hangs"] = finding.hangs;
  if (finding.idle) json["idle"] = true;
  json["culprits"] = finding.culprits;
  json["culprit_hosts"] = Json::array();
  for (const HostRanks& host : finding.culprit_hosts) {
    json["culprit_hosts"].push_back({{"host", host.host},
                                     {"gpu", host.device < 0 ? Json(nullptr) : Json(host.device)},
                                     {"ranks", host.ranks}});
  }
  json["waiting"] = finding.waiting;
  const bool on_one = finding.communicator != kNoIndex;
  json["communicator"] = OrNull(on_one ? trace.communicators[finding.communicator].name : "");
  const bool of_one = finding.operation != Operation::kNone;
  json["operation"] = OrNull(of_one ? OperationName(finding.operation) : "");
  json["sequence"] = finding.sequence == 0 ? Json(nullptr) : Json(finding.sequence);
  json["lines"] = Json::array();
  for (const Site& site : finding.sites) {
    json["lines"].push_back(LineToJson(trace, finding, site));
  }
  json["phases"] = Json::array();
  for (const RanksPhase& phase : finding.phases) {
    json["phases"].push_back({{"ranks", phase.ranks}, {"text", phase.text}});
  }
  for (const ComparedValue& value : finding.values) json["values"].push_back(ValueToJson(value));
  if (finding.unshown) json["unshown_value"] = UnshownToJson(*finding.unshown);
  json["title"] = finding.title;
  json["why"] = finding.why;
  json["fix"] = FixText(finding);
  json["notes"] = finding.notes;
  if (!finding.quotes.empty()) {
    json["log"] = Json::array();
    for (const Quote& quote : finding.quotes) {
      json["log"].push_back({{"file", quote.file}, {"line", quote.line}, {"text", quote.text}});
    }
  }
  return json;
}

}  // namespace

Json ReportToJson(const Trace& trace, const Report& report) {
  Json json;
  json["format"] = "rollcall-verdict";
  json["version"] = kJsonVersion;
  json["status"] = StatusName(report.status);
  json["ranks"] = report.ranks;
  json["ranks_expected"] = report.ranks_expected;
  json["hosts"] = report.hosts;
  json["no_progress_ns"] = report.no_progress_ns < 0 ? Json(nullptr) : Json(report.no_progress_ns);
  if (report.data) {
    json["data"] = {{"buffers_read", report.data->read},
                    {"buffers_unread", report.data->unread},
                    {"calls_outside_scope", report.data->outside}};
  }
  json["findings"] = Json::array();
  for (const Finding& finding : report.findings) {
    json["findings"].push_back(FindingToJson(trace, finding));
  }
  json["notes"] = report.notes;
  return json;
}

std::string ToText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcall
