// SPDX-License-Identifier: Apache-2.0
// Plants faults in correct programs and reports their culprits.
#ifndef ROLLCALL_TESTS_ORACLE_PLANTER_H_
#define ROLLCALL_TESTS_ORACLE_PLANTER_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "tests/oracle/generate.h"
#include "tests/oracle/program.h"

namespace rollcall::oracle {

class Planter {
 public:
  Planter(Random* random, Program* program) : random_(*random), program_(*program) {}

  // Returns false if the program has no place for the fault.
  bool Plant(FaultKind kind, Planted* planted);
  bool Invert(std::pair<int, int> lines, int other_comm, Planted* planted);
  // Moves one call to another thread, which makes it later, possibly much later. This is no fault.
  void Delegate();
  // Makes the culprits run one iteration less or one more than the other ranks.
  void Uneven(int rounds, Planted* planted);

 private:
  struct Place {
    int rank = 0;
    size_t at = 0;
  };

  bool CanBeDelegated(const Place& place);
  std::vector<Op>& Code(int rank) { return program_.code[static_cast<size_t>(rank)]; }
  Op& At(const Place& place) { return Code(place.rank)[place.at]; }
  template <typename Wanted>
  std::vector<Place> PlacesFor(Wanted wanted);
  Place OneOf(const std::vector<Place>& places);

  void Choose(std::vector<int> members, Planted* planted);
  bool InCollective(FaultKind kind, Planted* planted);
  void Spoil(FaultKind kind, Op* op) const;
  bool Suits(FaultKind kind, const Op& op) const;
  static void Remove(std::vector<Op>* ops, size_t at);
  static bool SuitsMessage(FaultKind kind, const Op& op);
  bool InStart(Planted* planted);
  static void RemovePartitions(std::vector<Op>* ops, size_t start);
  bool InPartitions(Planted* planted);
  bool InMessage(FaultKind kind, Planted* planted);
  bool AtPoint(FaultKind kind, Planted* planted);
  bool Freeze();
  bool Reject(Planted* planted);

  Random& random_;
  Program& program_;
};

}  // namespace rollcall::oracle

#endif  // ROLLCALL_TESTS_ORACLE_PLANTER_H_
