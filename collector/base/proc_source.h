// SPDX-License-Identifier: Apache-2.0
// The kernel's view of processes, behind an interface: tests use a directory that looks like
// /proc.
#ifndef ROLLCALL_COLLECTOR_BASE_PROC_SOURCE_H_
#define ROLLCALL_COLLECTOR_BASE_PROC_SOURCE_H_

#include <string>
#include <vector>

namespace rollcall {

// Reads of pseudo files. Thread-safe: no state but the root.
class ProcSource {
 public:
  // `root` is prepended to every path, also below /proc and /sys/fs/cgroup; "" is the real system.
  explicit ProcSource(std::string root = "") : root_(std::move(root)) {}
  virtual ~ProcSource() = default;

  // The content of `path` ("/proc/1/stat"), at most `max_bytes`. Returns 0 or an errno: ENOENT and
  // ESRCH mean that the process is gone, EACCES and EPERM that it may not be read.
  virtual int Read(const std::string& path, std::string* content, size_t max_bytes = 4 << 20) const;
  // Lists the names in directory `path` that are decimal numbers, in increasing order. Returns 0 or
  // an errno.
  virtual int ListNumbers(const std::string& path, std::vector<int>* numbers) const;

  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_PROC_SOURCE_H_
