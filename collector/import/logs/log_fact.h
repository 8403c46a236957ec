// SPDX-License-Identifier: Apache-2.0
// What one line of a log states. Plain data.
#ifndef ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FACT_H_
#define ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FACT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collector/model/trace.h"

namespace rollcall::logs {

// What a pattern of log_patterns.def says.
enum class Says : uint8_t {
  kWaits,       // the rank waits in `operation` #`number` of `group`
  kCounts,      // it has enqueued and completed so many operations of `group`
  kLacks,       // it waits in a barrier to which `ranks` have not come
  kMember,      // it is `group_rank` of `size` in the communicator at `address`
  kCall,        // it called `operation` on that communicator; `number` is NCCL's opCount
  kIgnored,     // the traceback that follows ends nothing
  kTraceback,   // a Python traceback begins
  kStack,       // the stack of the operation that it waits in begins; then: `frames`
  kFrame,       // a frame of one of these
  kException,   // it raised `function`, an exception's type, with `message` and `frames`
  kEnded,       // it, or `ranks`, ended, by `signal` or with `exit`
  kStopped,     // a launcher ended it because of another end
  kAborted,     // it called MPI_Abort with `exit`
  kMpiError,    // MPI reports an error in `function`; the next two belong to the last one
  kErrorFatal,  // it ends the rank
  kErrorRank,   // of `rank`
  kErrorClass,  // of class `message`
  kNeedsId,     // it waits in the set-up of a communicator for the first of `ranks`
  kStore,       // it waits until `size` ranks come to the store; `completed` have
  kRas,      // RAS: `many` of the ranks of a communicator, or `ranks`, launched `number` operations
  kRasJson,  // RAS as JSON: an answer with `many` communicators begins, `missing` ranks did not
             // answer, a rank begins, or it launched `number` operations
  kStatement,    // `message`, which stops the job
  kPassed,       // a test suite, which may run jobs that fail, passed
  kRestarted,    // a launcher starts all ranks again
  kGaveUp,       // an operation timed out, it is not said which
  kReport,       // a report on the worker that failed first begins
  kWorker,       // a field of this report
  kOutOfMemory,  // the kernel killed a process because of memory
  kJobEnded,     // a user or the batch system ended the job
  kDeviceError,  // its device reported the error `message`, which ends it
  kDevice,       // a device failed with Xid `number`
  kNode,         // the node `host` failed
  kLost,         // a process ended, by `signal`; its rank is not said
  kFolded,       // lines of other ranks like this one were left out
  kPresent,      // it exists, or the job has `size` ranks
};

struct LogFrame {
  std::string function;
  std::string file;
  int line = 0;
};

// Numbers are -1, and texts empty, if the line does not have them.
struct LogFact {
  Says says = Says::kPresent;
  // Where it stands, and who wrote it.
  uint64_t line = 0;  // 1-based
  std::string text;   // the line, cut; valid UTF-8 without control characters
  int32_t rank = -1;  // in the job
  bool weak = false;  // by a prefix that ordinary text may have, too: "3: "
  int32_t local_rank = -1;
  bool of_agent = false;  // torchrun's agent states `local_rank`
  int32_t task = -1;      // srun's label, where each task starts several ranks: "1: [default5]:"
  std::string host;
  int64_t pid = -1;
  int64_t time_ns = kNoTime;  // CLOCK_REALTIME, by a clock and a time zone that are not known
  bool yearless = false;      // the year of `time_ns` is not stated: 2000
  // The statement.
  std::string group;    // the same on all its members
  std::string address;  // of a communicator, in its process
  int32_t group_rank = -1;
  int64_t number = -1;
  int64_t enqueued = -1;
  int64_t completed = -1;
  std::string operation;
  int64_t send_count = -1;
  int64_t recv_count = -1;
  int64_t datatype = -1;   // NCCL's number
  int64_t reduce_op = -1;  // NCCL's number
  int64_t root = -1;
  int64_t size = -1;
  int64_t duration_ms = -1;
  int64_t device = -1;
  int signal = -1;
  int exit = -1;
  bool out_of_memory = false;
  bool listed = false;   // a launcher lists the ends of all ranks, by rank
  bool of_task = false;  // of a task of srun, which is a rank unless the task starts ranks
  bool lacks_frame =
      false;             // Open MPI prints the line between lines of dashes, and they are absent
  int64_t many = -1;     // so many ranks
  int64_t missing = -1;  // ranks
  std::vector<int32_t> ranks;
  bool of_another = false;  // another rank than its writer, which may be wrong
  std::string function;
  LogFrame frame;
  std::string message;
  std::vector<LogFrame> frames;  // outermost first, as Python prints them
  bool replaces = false;         // the exception was raised while the one before it was handled
};

}  // namespace rollcall::logs

#endif  // ROLLCALL_COLLECTOR_IMPORT_LOGS_LOG_FACT_H_
