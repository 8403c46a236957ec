// SPDX-License-Identifier: Apache-2.0
#include "cli/output_sums.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>

#include "collector/base/print_line.h"
#include "proto/mix.h"

namespace rollcall {
namespace {

// A longer line counts as several.
constexpr size_t kMaxLine = size_t{1} << 20;

}  // namespace

void LineSums::Add(std::string_view line) {
  const uint64_t hash = std::hash<std::string_view>()(line);
  ++lines;
  sum += hash;
  other_sum += Mix64(hash, line.size());
}

OutputSums::OutputSums(int forward_to) : forward_to_(forward_to), over_(eventfd(0, EFD_CLOEXEC)) {
  int ends[2];
  if (!over_ || pipe2(ends, O_CLOEXEC) != 0) return;
  read_end_.reset(ends[0]);
  write_end_.reset(ends[1]);
}

OutputSums::~OutputSums() { Finish(); }

void OutputSums::JobStarted() {
  if (!write_end_) return;
  write_end_.reset(-1);
  thread_ = std::thread([this] { Read(); });
}

LineSums OutputSums::Finish() {
  if (!thread_.joinable()) return sums_;
  const uint64_t one = 1;
  while (write(over_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
  if (!partial_.empty()) sums_.Add(partial_);
  partial_.clear();
  return sums_;
}

// Reads until the end of the output, or what was in the pipe when the job was over: a process that
// outlives the job may write forever.
void OutputSums::Read() {
  char buffer[1 << 16];
  std::optional<size_t> left;  // bytes to read; empty: the job is not over
  while (left != 0) {
    pollfd entries[] = {{read_end_.get(), POLLIN, 0}, {over_.get(), POLLIN, 0}};
    if (poll(entries, 2, -1) < 0 && errno != EINTR) break;
    if (!left && entries[1].revents != 0) {
      int in_pipe = 0;
      ioctl(read_end_.get(), FIONREAD, &in_pipe);
      left = static_cast<size_t>(in_pipe);
      continue;
    }
    if (entries[0].revents == 0) continue;
    const size_t most = std::min(left.value_or(sizeof(buffer)), sizeof(buffer));
    const ssize_t got = read(read_end_.get(), buffer, most);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (left) *left -= static_cast<size_t>(got);
    const std::string_view text(buffer, static_cast<size_t>(got));
    Take(text);
    // The job learns that nobody reads its output any more, as it would without the pipe.
    if (forward_to_ >= 0 && !WriteAll(forward_to_, text)) break;
  }
  read_end_.reset(-1);
}

void OutputSums::Take(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    partial_ += text.substr(0, end);
    if (end == std::string_view::npos && partial_.size() < kMaxLine) return;
    sums_.Add(partial_);
    partial_.clear();
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace rollcall
