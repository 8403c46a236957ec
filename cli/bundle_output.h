// `--bundle FILE`: what all nodes hold of a job in which something was found, in one file.
#ifndef ROLLCALL_CLI_BUNDLE_OUTPUT_H_
#define ROLLCALL_CLI_BUNDLE_OUTPUT_H_

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "cli/argument_parser.h"
#include "collector/collect/evidence.h"
#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"

namespace rollcall {

struct BundleSettings {
  std::string path;
  bool sources = false;

  // Adds --bundle and --bundle-sources. This object must stay where it is until `parser` has
  // parsed.
  void AddOptions(ArgumentParser* parser);
  bool wanted() const { return !path.empty(); }
};

// Thread-safe.
class BundleOutput {
 public:
  explicit BundleOutput(BundleSettings settings) : settings_(std::move(settings)) {}

  // Writes the file anew, and says so on stderr, or why not. The bundle of a hang is replaced by
  // that of another look at a hang only: what is seen of the job afterwards, while it is being
  // ended, tells less. Does nothing where no bundle is wanted, or nothing was found.
  void Write(const Trace& trace, const Report& report, const collect::Evidence& evidence);
  // What it was written for is withdrawn: removes the file.
  void Discard();
  // Write(), for a monitor; empty where no bundle is wanted. This object must outlive it.
  std::function<void(const Trace&, const Report&, const collect::Evidence&)> Callback();

 private:
  const BundleSettings settings_;
  std::mutex mutex_;
  bool has_hang_ = false;
  bool written_ = false;
};

}  // namespace rollcall

#endif  // ROLLCALL_CLI_BUNDLE_OUTPUT_H_
