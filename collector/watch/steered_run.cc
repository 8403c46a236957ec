// SPDX-License-Identifier: Apache-2.0
#include "collector/watch/steered_run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "collector/base/file.h"

namespace rollcall {

using steer::State;

Result<std::unique_ptr<SteeredRun>> SteeredRun::Create(const std::string& run_directory,
                                                       const std::string& plan) {
  std::string path = run_directory + "/" + steer::kPlanFile;
  const std::string state_path = path + steer::kStateSuffix;
  const auto parsed = std::make_unique<steer::Plan>();
  const steer::PlanError error = steer::ParsePlan(plan, parsed.get());
  if (error.what != nullptr) return Error{fmt::format("{}:{}: {}", path, error.line, error.what)};
  if (!WriteWholeFile(path, plan)) return Error{fmt::format("{}: {}", path, strerror(errno))};
  const UniqueFd fd(open(state_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  void* map = MAP_FAILED;
  if (fd && ftruncate(fd.get(), sizeof(State)) == 0) {
    map = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  }
  if (map == MAP_FAILED) return Error{fmt::format("{}: {}", state_path, strerror(errno))};
  return std::unique_ptr<SteeredRun>(
      new SteeredRun(std::move(path), *parsed, static_cast<State*>(map)));
}

SteeredRun::~SteeredRun() { munmap(state_, sizeof(State)); }

std::string SteeredRun::NotExplored() const {
  const uint32_t size = state_->world_size.load();
  const uint32_t joined = state_->joined.load();
  if (joined == 0) return "no rank was steered: docs/schedules.md says which programs can be";
  if (joined < size) return fmt::format("only {} of {} ranks were steered", joined, size);
  if (state_->strangers.load() != 0) {
    return "the command started processes beyond one MPI_COMM_WORLD, which are not steered";
  }
  if (state_->given_up.load() != 0) {
    return fmt::format("the order did not come about within {} ms", plan_.bound_ms);
  }
  for (size_t i = 0; i < plan_.first_count; ++i) {
    if (state_->received[i].load() == 0) return "the message was not sent";
    if (state_->held[i].load() == 0) return "the other messages were not sent";
  }
  if (plan_.synchronous && state_->sends.load() == 0) return "no standard send was made";
  if (plan_.barriers && state_->barriers.load() == 0) return "no such collective was made";
  const bool delays = plan_.delay_count != 0 || plan_.slow_rank >= 0;
  if (delays && state_->delays.load() == 0) return "the call was not made";
  return "";
}

}  // namespace rollcall
