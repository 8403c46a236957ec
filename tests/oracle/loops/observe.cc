// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/loops/observe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "collector/symbolize/source_blocks.h"
#include "tests/oracle/loops/fold.h"
#include "tests/support/text_trace.h"

namespace rollcall::oracle::loops {
namespace {

class Observer {
 public:
  Observer(const Program& program, const Machine& machine, Random* random)
      : program_(program), machine_(machine), random_(*random) {}

  Observation Run() {
    Line("ranks {}", program_.ranks());
    for (size_t c = 1; c < program_.comms.size(); ++c) Communicator(c);
    const auto blocks = FindSourceBlocks(program_.source, SourceSyntax::kBraces);
    if (!blocks) throw std::logic_error("the source is not understood\n" + program_.source);
    const bool has_source = !Chance(&random_, 33);
    if (has_source) Source(blocks->blocks);
    Walk();
    for (int rank = 0; rank < program_.ranks(); ++rank) Current(rank);
    Capacity();
    if (result_.ended) Line("idle 60");
    TextTraceResult parsed = ParseTextTrace(result_.text);
    if (!parsed.errors.empty()) throw std::logic_error(parsed.errors[0] + "\n" + result_.text);
    result_.trace = std::move(parsed.trace);
    // The text does not contain the conditions of the branches.
    if (has_source) {
      result_.trace.sources = {*blocks};
      result_.trace.sources[0].file = kFile;
    }
    return std::move(result_);
  }

 private:
  template <typename... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    result_.text += fmt::format(format, std::forward<Args>(args)...) + '\n';
  }

  void Communicator(size_t c) {
    const Comm& comm = program_.comms[c];
    Line("comm c{} {}", c, fmt::join(comm.members, ","));
    if (!comm.grid.dims.empty()) {
      Line("cart c{} {}{}", c, fmt::join(comm.grid.dims, "x"),
           comm.grid.periodic ? " periodic" : "");
    }
    if (comm.graph.empty()) return;
    std::string edges;
    for (const Edge& edge : comm.graph) {
      edges += fmt::format(" {}{}>{}{}", edge.from, edge.from_lists ? "" : "|",
                           edge.to_lists ? "" : "|", edge.to);
    }
    Line("dist-graph c{}{}", c, edges);
  }

  void Source(const std::vector<SourceBlock>& blocks) {
    std::string text;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const SourceBlock& block = blocks[i];
      const bool arm = block.kind == SourceBlock::Kind::kArm;
      const bool same =
          arm && i > 0 && blocks[i - 1].kind == block.kind && blocks[i - 1].branch == block.branch;
      text += fmt::format("{}{}-{}",
                          same  ? ","
                          : arm ? " arms="
                                : " loop=",
                          block.first, block.last);
    }
    if (!text.empty()) Line("source{}", text);
  }

  // Runs the program, and writes the calls that returned.
  void Walk() {
    result_.library = {.buffers = Chance(&random_, 50),
                       .early = Chance(&random_, 50),
                       .lenient = Chance(&random_, 50)};
    Pace pace = machine_.Plain();
    for (int i = program_.ranks() - 1; i > 0; --i) {
      std::swap(pace.order[static_cast<size_t>(i)],
                pace.order[static_cast<size_t>(Below(&random_, i + 1))]);
    }
    for (int& calls : pace.calls) calls = 1 + Below(&random_, 3);
    int64_t limit = std::numeric_limits<int64_t>::max();
    if (Chance(&random_, 20)) {
      State all = machine_.Start();
      const int64_t calls = machine_.Run(result_.library, pace, limit, &all);
      limit = Below(&random_, static_cast<int>(calls));
      result_.ended = false;
    }
    std::vector<int> first;  // by rank: its first line in `lines`
    std::vector<std::string> lines;
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      first.push_back(static_cast<int>(lines.size()));
      for (const Made& made : machine_.CodeOf(rank).made) {
        lines.push_back(fmt::format("{}: {} @ {}", rank, Text(*made.call), made.place));
      }
    }
    std::vector<int> order;
    result_.state = machine_.Start();
    machine_.Run(result_.library, pace, limit, &result_.state, [&](int rank, int made) {
      order.push_back(first[static_cast<size_t>(rank)] + made);
    });
    result_.text += Fold(lines, order);
  }

  // Writes what a rank does at the time of the observation.
  void Current(int rank) {
    const RankState& here = result_.state.ranks[static_cast<size_t>(rank)];
    const Made& made = machine_.At(result_.state, rank);
    if (here.left) {
      // While other ranks have not left, Finalize may wait for them or return.
      const bool returns = machine_.AllLeft(result_.state) || Chance(&random_, 50);
      Line("{}: {}{} @ {}", rank, returns ? "" : "waits in ", Text(*made.call), made.place);
    } else if (machine_.Waits(result_.state, rank)) {
      Line("{}: waits in {} @ {}", rank, Text(*made.call), made.place);
    } else if (here.inside && Chance(&random_, 50)) {
      Line("{}: computes @ {}", rank, made.place);
    }
  }

  // In half of the traces, rings have overwritten their first records.
  void Capacity() {
    if (Chance(&random_, 50)) return;
    constexpr int kCapacities[] = {16, 32, 64, 256};
    const int capacity = kCapacities[Below(&random_, static_cast<int>(std::size(kCapacities)))];
    result_.overwritten = true;
    Line("0-{}: keeps {}", program_.ranks() - 1, capacity);
  }

  const Program& program_;
  const Machine& machine_;
  Random& random_;
  Observation result_;
};

}  // namespace

Observation Observe(const Program& program, const Machine& machine, Random* random) {
  return Observer(program, machine, random).Run();
}

}  // namespace rollcall::oracle::loops
