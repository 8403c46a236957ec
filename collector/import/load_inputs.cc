#include "collector/import/load_inputs.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "collector/import/add_sources.h"
#include "collector/import/append_trace.h"
#include "collector/import/bundle/format.h"
#include "collector/import/flight_recorder/trace_builder.h"
#include "collector/model/python_merge.h"
#include "collector/symbolize/symbolizer.h"

namespace rollcall {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// Dumps and sources, as they come out of bundles.
class MemberReader {
 public:
  MemberReader(const flight_recorder::RankPattern& pattern, Inputs* inputs)
      : pattern_(pattern), inputs_(*inputs) {}

  void Read(const std::string& name, bundle::Member member) {
    if (bundle::LastName(member.name) == bundle::kSourcesName) {
      ReadSources(name, member.bytes);
      return;
    }
    MemorySource source(member.bytes);
    const flight_recorder::Format format = flight_recorder::Recognize(source);
    if (format == flight_recorder::Format::kNone) return;  // of a newer version, or for people
    flight_recorder::Dump dump = flight_recorder::ReadDump(source, name, format);
    flight_recorder::NamedRank named = pattern_.Find(std::string(bundle::LastName(member.name)));
    dump.rank = named.rank;
    dump.prefix = std::move(named.prefix);
    dump.directory = name.substr(0, name.size() - bundle::LastName(member.name).size());
    dump.taken_at_ns = member.modified_ns;
    dumps_.Add(dump);
  }

  flight_recorder::FlightTraceBuilder* dumps() { return &dumps_; }
  std::vector<Problem> TakeProblems() { return std::move(problems_); }

 private:
  void ReadSources(const std::string& name, const std::vector<uint8_t>& bytes) {
    const bool whole =
        bytes.size() <= 2 * KeptSources::kMaxBytes &&
        inputs_.sources.Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!whole) problems_.push_back({name, -1, "damaged: some lines of source are missing"});
  }

  const flight_recorder::RankPattern& pattern_;
  Inputs& inputs_;
  flight_recorder::FlightTraceBuilder dumps_;
  std::vector<Problem> problems_;
};

}  // namespace

Inputs LoadInputs(const std::vector<std::string>& names,
                  const flight_recorder::RankPattern& pattern, Machine& machine) {
  const flight_recorder::DumpFiles dumps = flight_recorder::FindDumpFiles(names, pattern);
  std::vector<std::string> others;
  for (const std::string& name : names) {
    std::error_code error;
    const bool has_dumps = Contains(dumps.inputs, name);
    if (!has_dumps || std::filesystem::is_directory(name, error)) others.push_back(name);
  }
  Inputs inputs;
  MemberReader members(pattern, &inputs);
  LoadOptions options;
  options.on_member = [&](const std::string& name, bundle::Member member) {
    members.Read(name, std::move(member));
  };
  if (!others.empty()) inputs.trace = LoadTrace(others, options, machine);
  // A directory of dumps need not hold rings, too.
  std::erase_if(inputs.trace.problems, [&](const Problem& problem) {
    return Contains(dumps.inputs, problem.source) && problem.message == kNoTraces;
  });
  for (Problem& problem : members.TakeProblems()) {
    inputs.trace.problems.push_back(std::move(problem));
  }
  AppendTrace(flight_recorder::LoadDumps(dumps, members.dumps()), &inputs.trace);
  return inputs;
}

void SymbolizeTrace(Trace* trace) {
  Symbolizer symbolizer;
  for (Code& code : trace->codes) {
    if (!code.frames.empty()) continue;
    CodeAddress address;
    address.module_path = code.module_path;
    address.build_id = code.build_id;
    address.vaddr = code.vaddr;
    address.is_return_address = true;
    code.frames = symbolizer.Symbolize(address);
  }
  MergePythonFrames(trace);
  AddSources(trace);
}

}  // namespace rollcall
