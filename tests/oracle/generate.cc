// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/generate.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "tests/oracle/explore.h"
#include "tests/oracle/planter.h"
#include "tests/oracle/writer.h"

namespace rollcall::oracle {
namespace {

// Returns whether the program completes in every order of its steps. In a few programs a wildcard
// receive can take a message that was meant for a later receive; such a program is not correct.
bool CompletesInEveryWay(const Program& program) {
  const Machine machine(program);
  for (const Library library : {Library::kSynchronous, Library::kPermissive}) {
    const Outcome outcome = Explore(machine, machine.Start(), library, false);
    if (outcome.bounded || !outcome.every_complete) return false;
  }
  return true;
}

std::optional<Generated> Try(FaultKind kind, Random* random) {
  Generated result;
  Writer writer(random, kind != FaultKind::kNone);
  const bool inversion = kind == FaultKind::kInversion;
  writer.Communicators(inversion);
  writer.Threads();
  const Wants wants = kind == FaultKind::kNotReady     ? Wants::kPartitions
                      : kind == FaultKind::kNotStarted ? Wants::kAnyHandle
                                                       : Wants::kNoHandle;
  writer.Handles(wants);
  std::pair<int, int> lines;
  int other_comm = 0;
  int rounds = 0;
  const int before = Below(random, 3);
  writer.Steps(before);
  if (kind == FaultKind::kUneven || Chance(random, 50)) {
    rounds = 2 + Below(random, 3);
    writer.Loop(rounds, 1 + Below(random, 2));
  }
  switch (kind) {
    case FaultKind::kInversion:
      other_comm = 1 + Below(random, writer.comms() - 1);
      lines = writer.PairOfCollectives(0, other_comm);
      break;
    case FaultKind::kRing:
    case FaultKind::kLuckyRing:
      writer.UnsafeRing(kind == FaultKind::kLuckyRing);
      break;
    case FaultKind::kRace:
      for (int i = 0; i < 2; ++i) {
        writer.NextLine();
        writer.FanIn(true);
      }
      break;
    case FaultKind::kExchange:
      writer.NextLine();
      writer.Exchange();
      break;
    case FaultKind::kProbe:
      writer.NextLine();
      writer.Probed();
      break;
    case FaultKind::kNotStarted:
    case FaultKind::kNotReady:
      writer.NextLine();
      writer.Start(wants);
      break;
    case FaultKind::kPairCount:
      writer.NextLine();
      writer.PairwiseCollective(false);
      break;
    default:
      break;
  }
  writer.Steps(1 + Below(random, 3));
  const int ring_comm = writer.ring_comm();
  result.program = writer.Finish();
  Planter planter(random, &result.program);
  const bool correct =
      kind != FaultKind::kRing && kind != FaultKind::kLuckyRing && kind != FaultKind::kRace;
  const bool delegates = result.program.thread_level == 3 && Chance(random, 40);
  if (delegates && correct && !inversion) planter.Delegate();
  if (correct && !CompletesInEveryWay(result.program)) return std::nullopt;
  result.planted.kind = kind;
  bool planted = true;
  switch (kind) {
    case FaultKind::kNone:
    case FaultKind::kRace:
      break;
    case FaultKind::kRing:
    case FaultKind::kLuckyRing:
      result.planted.ranks = result.program.comms[static_cast<size_t>(ring_comm)];
      break;
    case FaultKind::kInversion:
      planted = planter.Invert(lines, other_comm, &result.planted);
      break;
    case FaultKind::kUneven:
      planter.Uneven(rounds, &result.planted);
      break;
    case FaultKind::kTwo: {
      constexpr FaultKind kSome[] = {FaultKind::kSkipped,  FaultKind::kExtra, FaultKind::kTag,
                                     FaultKind::kDied,     FaultKind::kCount, FaultKind::kStalled,
                                     FaultKind::kLeftEarly};
      Planted second;
      for (Planted* each : {&result.planted, &second}) {
        planted &= planter.Plant(kSome[Below(random, static_cast<int>(std::size(kSome)))], each);
      }
      result.planted.kind = kind;
      result.planted.tie |= second.tie;
      result.planted.ranks.insert(result.planted.ranks.end(), second.ranks.begin(),
                                  second.ranks.end());
      std::sort(result.planted.ranks.begin(), result.planted.ranks.end());
      break;
    }
    default:
      planted = planter.Plant(kind, &result.planted);
  }
  if (!planted) return std::nullopt;
  return result;
}

}  // namespace

Generated Generate(FaultKind kind, Random* random) {
  for (;;) {
    if (std::optional<Generated> result = Try(kind, random)) return std::move(*result);
  }
}

}  // namespace rollcall::oracle
