// SPDX-License-Identifier: Apache-2.0
// `--bundle FILE`: packs the traces of all nodes into one file if the job has a finding.
#ifndef ROLLCALL_CLI_BUNDLE_OUTPUT_H_
#define ROLLCALL_CLI_BUNDLE_OUTPUT_H_

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "cli/argument_parser.h"
#include "collector/collect/evidence.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/service/monitor.h"

namespace rollcall {

struct BundleSettings {
  std::string path;
  bool sources = false;
  double capture_deadline_s = 30;

  // Adds --bundle, --bundle-sources and --capture-deadline. This object must not move until
  // `parser` has parsed.
  void AddOptions(ArgumentParser* parser);
  bool wanted() const { return !path.empty(); }
};

// Thread-safe.
class BundleOutput {
 public:
  explicit BundleOutput(BundleSettings settings) : settings_(std::move(settings)) {}

  // Writes or replaces the file, and prints the result or the error on stderr. The bundle of a hang
  // is replaced only for another hang, because later data, taken while the job is being ended, has
  // less information. Does nothing if no bundle is requested, or if there is no finding.
  void Write(const Report& report, const collect::Evidence& evidence);
  // The absolute path of the file; empty if none is written.
  std::string WrittenFile();
  // Removes the file, because the finding for which it was written is withdrawn.
  void Discard();
  // For a monitor: prints the withdrawal of findings, and discards the file if none are left. This
  // object must outlive the function.
  std::function<void(const service::Withdrawal&)> ForWithdrawals();
  // Lets a monitor call Write(), if a bundle is requested. This object must outlive the monitor.
  service::EvidenceOptions ForMonitor();

 private:
  const BundleSettings settings_;
  std::mutex mutex_;
  bool has_hang_ = false;
  bool written_ = false;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_BUNDLE_OUTPUT_H_
