// SPDX-License-Identifier: Apache-2.0
// What a job writes to its standard output, as a multiset of lines: ranks write in any order.
#ifndef ROLLCALL_CLI_OUTPUT_SUMS_H_
#define ROLLCALL_CLI_OUTPUT_SUMS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "collector/base/file.h"

namespace rollcall {

// Sums over hashes of lines: equal for the same lines in any order.
struct LineSums {
  uint64_t lines = 0;
  uint64_t sum = 0;
  uint64_t other_sum = 0;

  void Add(std::string_view line);
  friend bool operator==(const LineSums&, const LineSums&) = default;
};

// A pipe for the job and a thread that reads it. Owned by one thread.
class OutputSums {
 public:
  // `forward_to`: a descriptor that gets the output unchanged; -1: none.
  explicit OutputSums(int forward_to);
  ~OutputSums();
  OutputSums(const OutputSums&) = delete;
  OutputSums& operator=(const OutputSums&) = delete;

  int for_job() const { return write_end_.get(); }  // -1: there is no pipe
  // Call when the job has the descriptor, or will not get it.
  void JobStarted();
  // Call when the job is over. What processes that outlive it write later is lost.
  LineSums Finish();

 private:
  void Read();
  void Take(std::string_view text);

  const int forward_to_;
  UniqueFd read_end_;
  UniqueFd write_end_;
  UniqueFd over_;  // an eventfd: the job is over
  std::thread thread_;
  std::string partial_;  // the line that has no end yet
  LineSums sums_;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_OUTPUT_SUMS_H_
