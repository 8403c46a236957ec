// SPDX-License-Identifier: Apache-2.0
// Writes correct NCCL programs: a list of steps that every rank takes in the same order. No step
// waits for a later one, so no program can deadlock with any assignment of streams.
#ifndef ROLLCALL_TESTS_ORACLE_DEVICE_WRITER_H_
#define ROLLCALL_TESTS_ORACLE_DEVICE_WRITER_H_

#include <utility>

#include "tests/oracle/device/program.h"
#include "tests/oracle/generate.h"

namespace rollcall::oracle::device {

class Writer {
 public:
  // `two_on_one`: the first two communicators have one stream and at least two common members.
  Writer(Random* random, bool two_on_one);

  void Steps(int count);
  // Writes a loop, which repeats the operations of some steps with the same lines.
  void Loop(int rounds, int steps);
  // Writes two collectives, on the first and on the second communicator. Returns their lines.
  std::pair<int, int> PairOfCollectives();
  // Every rank sends to the next one and then receives. Without a group this is incorrect. Returns
  // its communicator.
  int Ring(bool in_one_group);
  // Returns the communicator.
  int Message();
  void Collective();
  Program Finish();

 private:
  int Size(int comm) const { return static_cast<int>(program_.Members(comm).size()); }
  int RandomComm() { return Below(&random_, static_cast<int>(program_.comms.size())); }
  Op RandomCollective(int comm);
  void Step();
  void GroupOfCollectives();
  void Sync(int rank, int percent);
  void NextLine();
  void Add(int rank, Op op, int line);
  void AddOn(int comm, const Op& op, int line);

  Random& random_;
  Program program_;
  int line_ = 0;
  int outer_line_ = 0;
};

}  // namespace rollcall::oracle::device

#endif  // ROLLCALL_TESTS_ORACLE_DEVICE_WRITER_H_
