// SPDX-License-Identifier: Apache-2.0
#include "collector/collect/observed.h"

#include <vector>

#include "collector/bundle/format.h"
#include "collector/bundle/kept_sources.h"
#include "collector/import/input_format.h"
#include "collector/import/journal.h"
#include "collector/matching/user_code.h"

namespace rollcall::collect {

bool IsRing(const std::string& name, ByteSource* bytes) {
  const InputFile member{.path = name,
                         .directory = "",
                         .name = std::string(bundle::LastName(name)),
                         .in_bundle = true};
  return rollcall::IsRing(member, *bytes);
}

std::string DescribeProcess(const Process& process, const RingState& ring) {
  std::string text;
  const journal::ProcessName name{ring.id, process.host, process.pid, process.rank};
  const bool alive = process.end.how == ProcessEnd::How::kAlive;
  if (alive || process.end.how == ProcessEnd::How::kVanished) {
    ProcessEnd end;
    end.how = process.end.how;
    end.at_ns = alive ? process.taken_at_ns : kNoTime;
    text += FormatJournalLine(journal::ProcessEnded{name, end});
  }
  if (!process.quiet) return text;
  journal::Quiet quiet{name, ring.activity, process.taken_at_ns};
  for (const Thread& thread : process.threads) {
    if (thread.polling) quiet.polling.push_back(thread.tid);
    if (thread.polls_tightly_since_ns != kNoTime) {
      quiet.tight.push_back({thread.tid, thread.polls_tightly_since_ns});
    }
  }
  quiet.other_threads = process.other_threads;
  return text + FormatJournalLine(quiet);
}

std::string DescribeCodes(const Trace& trace) {
  std::string text;
  for (const Code& code : trace.codes) {
    // A place in Python already contains its line.
    if (code.module_path.empty() && code.build_id.empty()) continue;
    text += FormatJournalLine(
        journal::Symbols{code.module_path, code.build_id, code.vaddr, code.frames});
  }
  for (const SourceBlocks& source : trace.sources)
    text += FormatJournalLine(journal::Source{source});
  return text;
}

std::string DescribeSources(const Trace& trace) {
  KeptSources sources;
  const auto keep = [&](const std::vector<SourceFrame>& frames) {
    for (const SourceFrame& frame : frames) {
      if (!IsFrameworkFrame(frame)) sources.Keep(frame.file, frame.line);
    }
  };
  for (const Code& code : trace.codes) keep(code.frames);
  for (const Process& process : trace.processes) {
    for (const LiveStack& stack : process.live_stacks) keep(stack.frames);
  }
  return sources.Format();
}

}  // namespace rollcall::collect
