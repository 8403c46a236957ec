// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle_output.h"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <set>
#include <system_error>

#include "cli/argument_parser.h"
#include "cli/inputs.h"
#include "collector/base/print_line.h"
#include "collector/model/rank_set.h"
#include "collector/watch/watched_job.h"

namespace rollcall {

void BundleSettings::AddOptions(ArgumentParser* parser) {
  parser->Add("--bundle", &path,
              "when there is a finding, pack the job's traces of all nodes into this file, which "
              "analyze and show read on any machine (docs/bundle.md)",
              {.type = "FILE"});
  parser->Add("--bundle-sources", &sources,
              "with --bundle: also keep the source lines around the calls");
  parser->Add("--capture-deadline", &capture_deadline_s,
              "with --bundle: seconds that the traces of all nodes may take to arrive; then the "
              "bundle is written without the missing ones, and --on-hang takes effect",
              {.must = Must::kBePositive, .show_default = true});
}

void BundleOutput::Write(const Report& report, const collect::Evidence& evidence) {
  if (!settings_.wanted() || report.findings.empty()) return;
  const std::lock_guard lock(mutex_);
  const bool hung = report.status == Report::Status::kHung;
  if (has_hang_ && !hung) return;
  const collect::Collected collected =
      collect::WriteEvidence(evidence, settings_.path,
                             {.rollcall_version = ROLLCALL_VERSION, .sources = settings_.sources});
  PrintProblems(collected.problems);
  if (!collected.written) {
    PrintLine(fmt::format("{}: {}", settings_.path, collected.error));
    return;
  }
  has_hang_ = hung;
  written_ = true;
  std::set<size_t> nodes;
  for (const collect::RingEvidence& ring : evidence.rings) nodes.insert(ring.node);
  PrintLine(fmt::format("bundle: {}: the traces of {} ranks of {} in {} KiB", settings_.path,
                        collected.rings, CountText(nodes.size(), "node"),
                        (collected.packed_bytes + 1023) / 1024));
}

std::string BundleOutput::WrittenFile() {
  const std::lock_guard lock(mutex_);
  return written_ ? std::filesystem::absolute(settings_.path).string() : "";
}

void BundleOutput::Discard() {
  const std::lock_guard lock(mutex_);
  if (!written_) return;
  std::error_code error;
  std::filesystem::remove(settings_.path, error);
  has_hang_ = false;
  written_ = false;
}

std::function<void(const service::Withdrawal&)> BundleOutput::ForWithdrawals() {
  return [this](const service::Withdrawal& withdrawal) {
    if (!withdrawal.ranks.empty()) PrintLine(withdrawal.Text());
    if (withdrawal.all) Discard();
  };
}

service::EvidenceOptions BundleOutput::ForMonitor() {
  service::EvidenceOptions options{
      .write = {}, .deadline_ns = static_cast<int64_t>(settings_.capture_deadline_s * 1e9)};
  if (settings_.wanted()) {
    options.write = [this](const Report& report, const collect::Evidence& evidence) {
      Write(report, evidence);
    };
  }
  return options;
}

}  // namespace rollcall
