// SPDX-License-Identifier: Apache-2.0
// The data of a run: what each rank passes to each collective and gets from it, by the rules of
// MPI, and what the shim would have recorded of it.
#ifndef ROLLCALL_TESTS_ORACLE_DATA_RUN_DATA_H_
#define ROLLCALL_TESTS_ORACLE_DATA_RUN_DATA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/model/trace.h"
#include "tests/oracle/data/generate.h"
#include "tests/oracle/machine.h"
#include "tests/oracle/observe.h"

namespace rollcall::oracle::data {

class RunData : public CollectiveWatcher {
 public:
  RunData(const DataProgram& program, const Machine& machine)
      : program_(program), machine_(machine) {
    orders_.resize(static_cast<size_t>(program.program.ranks));
    infected_.resize(static_cast<size_t>(program.program.ranks));
  }

  void Entered(int line, int at) override;
  void Completed(int line, int at) override;
  std::string LastLines() override;

  // Puts what was recorded into the trace of the run.
  void Attach(Trace* trace);

  // Whether the fault has changed any data that MPI was given or gave.
  bool took_effect() const { return took_effect_; }

  // What the ranks passed, and what the fault changed, as readable text.
  const std::string& log() const { return log_; }

 private:
  // Elements of MPI_INT (the low 32 bits) or MPI_DOUBLE.
  using Elements = std::vector<uint64_t>;
  struct Buffer {
    bool real = false;
    Elements elements;
    // With blocks for each member, the end of each of them.
    std::vector<size_t> ends;
  };
  // A read, in the order of the run.
  struct Record {
    int comm;
    int rank;
    int line;
    int at;
    bool unread;
    std::optional<DataRead> read;
    std::optional<BlockHashes> blocks;
  };

  const Program& program() const { return program_.program; }
  const Instance* InstanceAt(int line, int at) const;
  Style StyleOf(const Op& op) const;
  int SizeOf(const Op& op) const { return static_cast<int>(MembersOf(op).size()); }
  const std::vector<int>& MembersOf(const Op& op) const {
    return program().comms[static_cast<size_t>(op.comm)];
  }
  bool IsFault(int line, int at) const {
    return program_.fault.line == line && program_.fault.at == at;
  }
  uint64_t Random(uint64_t a, uint64_t b, uint64_t c = 0) const;

  // Which numbers of elements a member sends to each, or to all at once.
  std::vector<int> SentCounts(const Op& op, int me) const;
  Buffer MakeInput(const Instance& instance, int line, int at) const;
  void PutNonFinite(const Op& op, int line, int at, Buffer* input);
  std::optional<Buffer> MakeResult(const Instance& instance, const Op& op, int me) const;
  void PutFault(const Op& op, int line, int at, Buffer* result);
  static uint64_t Reduce(const Op& op, bool real, uint64_t a, uint64_t b);
  static bool HasNonFinite(const Buffer& buffer);

  void Record1(const Instance& instance, int line, int at, ring::DataSide side,
               const Buffer& buffer);
  void RecordBlocks(const Instance& instance, int line, int at, ring::DataSide side,
                    const Buffer& buffer);
  bool IsUnread(int rank) const;
  uint64_t SampleFor(const Op& op, ring::DataSide side) const;
  void AttachRecord(const Record& record, Trace* trace);
  void AttachReplicas(Trace* trace);
  void Overwrite(Trace* trace) const;

  const DataProgram& program_;
  const Machine& machine_;
  std::map<std::pair<const Instance*, int>, Buffer> inputs_;  // by member, by local rank
  std::vector<Record> records_;
  std::vector<uint64_t> orders_;  // by rank
  std::vector<bool> infected_;    // by rank: it has got or made a NaN or an infinity
  std::map<int, std::map<const Instance*, int>> same_;  // calls of lines with Style::kSame
  std::map<const Instance*, Elements> sums_;            // of Style::kReordered: the first result
  bool took_effect_ = false;
  std::string log_;
};

}  // namespace rollcall::oracle::data

#endif  // ROLLCALL_TESTS_ORACLE_DATA_RUN_DATA_H_
