// SPDX-License-Identifier: Apache-2.0
#include "tests/oracle/device/generate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/oracle/code_edits.h"
#include "tests/oracle/device/machine.h"
#include "tests/oracle/device/writer.h"

namespace rollcall::oracle::device {
namespace {

class Planter {
 public:
  Planter(Random* random, Generated* generated)
      : random_(*random), program_(generated->program), planted_(generated->planted) {}

  // Returns false if the program has no place for the fault.
  bool Plant() {
    switch (planted_.kind) {
      case FaultKind::kSkipped:
      case FaultKind::kExtra:
      case FaultKind::kOtherOperation:
      case FaultKind::kRoot:
      case FaultKind::kReduction:
      case FaultKind::kType:
      case FaultKind::kCount:
        return InCollective();
      case FaultKind::kLostMessage:
        return LoseMessage();
      case FaultKind::kOpenGroup:
        return OpenGroup();
      case FaultKind::kDeviceStalled:
        return StallDevice();
      case FaultKind::kHostStalled:
      case FaultKind::kDied:
      case FaultKind::kExited:
      case FaultKind::kLeftEarly:
        return AtPoint();
      case FaultKind::kFrozen:
        return Freeze();
      default:
        return true;
    }
  }

  bool Invert(std::pair<int, int> lines) {
    Choose(program_.Members(1));
    for (const int r : planted_.ranks) SwapLines(lines, &Code(r));
    return true;
  }

  // Makes the culprits run one iteration less or one more than the other ranks.
  void Uneven(int rounds) {
    Choose(program_.comms[0]);
    const bool more = Chance(&random_, 50);
    for (int r = 0; r < program_.ranks; ++r) {
      const bool culprit =
          std::find(planted_.ranks.begin(), planted_.ranks.end(), r) != planted_.ranks.end();
      if (culprit == more) continue;
      std::erase_if(Code(r), [&](const Op& op) { return op.iteration == rounds - 1; });
    }
  }

 private:
  struct Place {
    int rank = 0;
    int at = 0;
  };

  std::vector<Op>& Code(int rank) { return program_.code[static_cast<size_t>(rank)]; }
  const Op& At(const Place& place) { return Code(place.rank)[static_cast<size_t>(place.at)]; }

  // Draws a minority of the members, or half of them, as the culprits.
  void Choose(std::vector<int> members) {
    Culprits culprits = DrawCulprits(&random_, std::move(members));
    planted_.ranks = std::move(culprits.ranks);
    planted_.tie = culprits.tie;
  }

  // Draws one of the operations for which `suits` returns true, if there are any.
  template <typename Suits>
  std::optional<Place> Somewhere(Suits suits) {
    std::vector<Place> places;
    for (int r = 0; r < program_.ranks; ++r) {
      for (int at = 0; at < static_cast<int>(Code(r).size()); ++at) {
        if (suits(Code(r)[static_cast<size_t>(at)])) places.push_back({r, at});
      }
    }
    if (places.empty()) return std::nullopt;
    return places[static_cast<size_t>(Below(&random_, static_cast<int>(places.size())))];
  }

  static bool Suits(FaultKind kind, const Op& op) {
    if (!IsCollective(op.what)) return false;
    if (kind == FaultKind::kRoot) return IsRooted(op.what);
    if (kind == FaultKind::kReduction) return Reduces(op.what);
    return true;
  }

  Op Wrong(Op op) const {
    const int size = static_cast<int>(program_.Members(op.comm).size());
    switch (planted_.kind) {
      case FaultKind::kOtherOperation:
        op.what = op.what == Do::kAllReduce ? Do::kAllGather : Do::kAllReduce;
        op.peer = kNone;
        break;
      case FaultKind::kRoot:
        op.peer = (op.peer + 1) % size;
        break;
      case FaultKind::kReduction:
        op.reduction = 1 - op.reduction;
        break;
      case FaultKind::kType:
        op.type = 1 - op.type;
        break;
      case FaultKind::kCount:
        ++op.count;
        break;
      default:
        op.line += 5;  // an extra call
    }
    return op;
  }

  bool InCollective() {
    const FaultKind kind = planted_.kind;
    const auto place = Somewhere([kind](const Op& op) { return Suits(kind, op); });
    if (!place) return false;
    const Op op = At(*place);
    Choose(program_.Members(op.comm));
    // The fault occurs in every iteration, or in one only.
    const bool always = Chance(&random_, 60);
    for (const int r : planted_.ranks) {
      std::vector<Op> changed;
      for (const Op& each : Code(r)) {
        const bool here = each.line == op.line && IsCollective(each.what) &&
                          (always || each.iteration == op.iteration);
        if (!here || kind == FaultKind::kExtra) changed.push_back(each);
        if (here && kind != FaultKind::kSkipped) changed.push_back(Wrong(each));
      }
      Code(r) = std::move(changed);
    }
    return true;
  }

  bool LoseMessage() {
    const auto place = Somewhere([](const Op& op) { return IsMessage(op.what); });
    if (!place) return false;
    const Op& op = At(*place);
    planted_.ranks = {place->rank, program_.Members(op.comm)[static_cast<size_t>(op.peer)]};
    std::sort(planted_.ranks.begin(), planted_.ranks.end());
    Code(place->rank).erase(Code(place->rank).begin() + place->at);
    return true;
  }

  // Inserts an ncclGroupStart without an ncclGroupEnd.
  bool OpenGroup() {
    const auto place = Somewhere([](const Op& op) { return IsOnDevice(op.what); });
    if (!place) return false;
    planted_.ranks = {place->rank};
    Op op = At(*place);
    op.what = Do::kGroupStart;
    op.line += 4;
    Code(place->rank).insert(Code(place->rank).begin() + place->at, op);
    return true;
  }

  bool StallDevice() {
    const auto place = Somewhere([](const Op& op) { return IsOnDevice(op.what); });
    if (!place) return false;
    planted_.ranks = {place->rank};
    program_.stuck_rank = place->rank;
    program_.stuck_at = place->at;
    return true;
  }

  bool AtPoint() {
    const auto place = Somewhere([](const Op&) { return true; });
    const int r = place->rank;
    planted_.ranks = {r};
    std::vector<Op>& ops = Code(r);
    if (planted_.kind == FaultKind::kLeftEarly) {
      // The rank waits for the operations that it has enqueued, and then ends.
      const int depth =
          static_cast<int>(std::count_if(ops.begin(), ops.begin() + place->at,
                                         [](const Op& op) { return op.what == Do::kGroupStart; }) -
                           std::count_if(ops.begin(), ops.begin() + place->at,
                                         [](const Op& op) { return op.what == Do::kGroupEnd; }));
      if (depth != 0 || ops.size() - static_cast<size_t>(place->at) <= 2) return false;
      ops.erase(ops.begin() + place->at, ops.end() - 2);
      return ops.size() > 2;
    }
    Op op;
    op.what = planted_.kind == FaultKind::kDied     ? Do::kDie
              : planted_.kind == FaultKind::kExited ? Do::kExit
                                                    : Do::kStall;
    op.line = At(*place).line + 4;
    ops.insert(ops.begin() + place->at, op);
    return true;
  }

  bool Freeze() {
    const auto place = Somewhere([](const Op& op) { return IsCollective(op.what); });
    if (!place) return false;
    program_.frozen_comm = At(*place).comm;
    for (int at = 0; at <= place->at; ++at) {
      const Op& op = At({place->rank, at});
      program_.frozen_number += IsCollective(op.what) && op.comm == program_.frozen_comm;
    }
    return true;
  }

  Random& random_;
  Program& program_;
  Planted& planted_;
};

std::optional<Generated> Try(FaultKind kind, Random* random) {
  Generated result;
  result.planted.kind = kind;
  Writer writer(random, kind == FaultKind::kInversion);
  writer.Steps(Below(random, 3));
  int rounds = 0;
  if (kind == FaultKind::kUneven || Chance(random, 50)) {
    rounds = 2 + Below(random, 3);
    writer.Loop(rounds, 1 + Below(random, 2));
  }
  std::pair<int, int> lines;
  int ring = kNone;
  if (kind == FaultKind::kInversion) lines = writer.PairOfCollectives();
  if (kind == FaultKind::kFaceToFace) ring = writer.Ring(false);
  if (kind == FaultKind::kLostMessage) writer.Message();
  writer.Steps(1 + Below(random, 3));
  result.program = writer.Finish();
  Planter planter(random, &result);
  bool planted = true;
  if (kind == FaultKind::kInversion) {
    planted = planter.Invert(lines);
  } else if (kind == FaultKind::kUneven) {
    planter.Uneven(rounds);
  } else if (kind == FaultKind::kFaceToFace) {
    result.planted.ranks = result.program.Members(ring);
  } else {
    planted = planter.Plant();
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

}  // namespace rollcall::oracle::device
