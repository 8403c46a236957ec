// SPDX-License-Identifier: Apache-2.0
// Writes the code by which neighbors exchange data in each round of a loop.
#ifndef ROLLCALL_TESTS_ORACLE_LOOPS_EXCHANGE_H_
#define ROLLCALL_TESTS_ORACLE_LOOPS_EXCHANGE_H_

#include <functional>
#include <string>

#include "tests/oracle/loops/program.h"

namespace rollcall::oracle::loops {

enum class Style {
  kOrdered,      // Send and Recv, in opposite order on every second rank
  kSendrecv,     // with MPI_PROC_NULL at the ends
  kNonblocking,  // Isend, Irecv, Waitall
  kPersistent,   // Startall, Waitall
  kNeighbor,     // a neighborhood collective of a Cartesian communicator
  kGraph,        // a neighborhood collective of a distributed graph
  kTable,        // MPI_Alltoallv
  kServer,       // requests to local rank 0, and its replies
};
constexpr bool HasMessages(Style style) { return style <= Style::kPersistent; }

// Which tag a message has.
enum class Tags {
  kByDirection,
  kBySender,
  kOwn,      // wrong: of the sender when it is sent, of the receiver when it is received
  kDiffers,  // wrong: one when it is sent, another one when it is received
};

class Exchange {
 public:
  // Between the members of program.comms[comm], which for some styles has a topology. Persistent
  // requests get numbers from `first_request` on, and need setup() before.
  // `regular`: all counts of a table are equal.
  Exchange(const Program& program, int comm, const Grid& grid, Style style, Tags tags,
           int first_request, bool regular);

  Block setup() const { return setup_; }
  Block code() const { return code_; }

 private:
  using Make = std::function<Call(int local_rank)>;

  // A statement that ranks for which `make` returns kNothing do not execute.
  Node Statement(std::string text, const Make& make) const;
  void Messages();
  void Shift(int dimension, int step);
  void Server();
  void Table(bool regular);
  void Neighborhood(const std::string& operation);
  void WaitForAll();
  int NewRequest(int local_rank, int first);
  int SendTag(int direction, int sender) const;
  int ReceiveTag(int direction, int sender, int receiver) const;

  const Program& program_;
  const Comm& comm_;
  const int comm_number_;
  const Grid grid_;
  const Style style_;
  const Tags tags_;
  const int first_request_;
  std::vector<std::vector<int>> requests_;  // by local rank
  Block setup_;
  Block code_;
};

}  // namespace rollcall::oracle::loops

#endif  // ROLLCALL_TESTS_ORACLE_LOOPS_EXCHANGE_H_
