#include "tests/oracle/program.h"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::oracle {
namespace {

std::string Number(int value) { return value == kAny ? "any" : std::to_string(value); }

}  // namespace

int Program::LocalRank(int comm, int rank) const {
  const std::vector<int>& members = comms[static_cast<size_t>(comm)];
  const auto found = std::find(members.begin(), members.end(), rank);
  if (found == members.end()) return kNone;
  const int at = static_cast<int>(found - members.begin());
  const int first = FirstGroup(comm);
  return at < first ? at : at - first;
}

bool Program::InFirstGroup(int comm, int rank) const {
  const std::vector<int>& members = comms[static_cast<size_t>(comm)];
  const auto end = members.begin() + FirstGroup(comm);
  return std::find(members.begin(), end, rank) != end;
}

std::vector<int> Program::Others(int comm, int rank) const {
  const std::vector<int>& members = comms[static_cast<size_t>(comm)];
  if (!IsInter(comm)) return members;
  const auto middle = members.begin() + FirstGroup(comm);
  return InFirstGroup(comm, rank) ? std::vector<int>(middle, members.end())
                                  : std::vector<int>(members.begin(), middle);
}

std::string Text(const Op& op) {
  constexpr const char* kNames[] = {
      "Barrier",  "Bcast",   "Reduce",  "Allreduce", "Gather",     "Scatter",    "Allgather",
      "Alltoall", "Scan",    "Gatherv", "Scatterv",  "Allgatherv", "Alltoallv",  "Reduce_scatter",
      "Dup",      "Split",   "Send",    "Ssend",     "Recv",       "Mprobe",     "Mrecv",
      "Probe",    "Waitall", "Waitany", "Waitsome",  "Poll",       "IprobeLoop", "Free",
      "Finalize", "Die",     "Exit",    "Stall"};
  std::string text = fmt::format("{} {}{}", op.line, op.request != kNone ? "I" : "",
                                 kNames[static_cast<size_t>(op.what)]);
  if (op.iteration != kNone) text = fmt::format("[{}] {}", op.iteration, text);
  if (op.comm != 0) text += fmt::format(" on={}", op.comm);
  if (IsMessage(op.what) || op.what == Do::kIprobe) {
    text += fmt::format(" peer={} tag={}", Number(op.peer), Number(op.tag));
  } else if (IsCollective(op.what)) {
    if (op.peer != kNone) text += fmt::format(" root={}", op.peer);
    if (op.what != Do::kBarrier && op.what < Do::kDup) {
      if (op.reduction != 0) text += " max";
      text += fmt::format(" {}x{}", op.count, op.type == 0 ? "INT" : "DOUBLE");
      if (!op.sends.empty()) text += fmt::format(" sends={}", fmt::join(op.sends, ","));
      if (!op.recvs.empty()) text += fmt::format(" recvs={}", fmt::join(op.recvs, ","));
    }
  }
  if (op.handle != kNone) text += fmt::format(" {} p{}", op.init ? "as" : "start", op.handle);
  if (op.message != kNone) text += fmt::format(" m{}", op.message);
  if (op.fused) text += " +";
  if (op.request != kNone) text += fmt::format(" -> r{}", op.request);
  for (const int request : op.requests) text += fmt::format(" r{}", request);
  if (op.dies_inside) text += " (dies in it)";
  return text;
}

std::string Text(const Program& program) {
  std::string text = fmt::format("ranks {}, thread level {}", program.ranks, program.thread_level);
  for (size_t c = 1; c < program.comms.size(); ++c) {
    text += fmt::format(", comm {}: {}", c, fmt::join(program.comms[c], ","));
    const int first = program.FirstGroup(static_cast<int>(c));
    if (first != 0) text += fmt::format(" (first group: {})", first);
  }
  if (program.frozen_comm != kNone) {
    text += fmt::format(", frozen: #{} on {}", program.frozen_number, program.frozen_comm);
  }
  for (size_t r = 0; r < program.code.size(); ++r) {
    text += fmt::format("\nrank {}:", r);
    for (const Op& op : program.code[r]) text += "  " + Text(op) + ";";
  }
  return text + "\n";
}

}  // namespace rollcall::oracle
