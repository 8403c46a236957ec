// SPDX-License-Identifier: Apache-2.0
#include "collector/top/state_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace rollcall::top {
namespace {

TEST(TopStateJson, HasWhatTheScreenShows) {
  rpc::WatchState state;
  state.set_ranks(3);
  rpc::RankClass* one = state.add_classes();
  one->set_ranks("0-1");
  one->set_operation("MPI_Barrier");
  one->set_communicator(7);
  one->set_communicators(1);
  one->set_last_sequence(5);
  state.add_communicators()->set_completed_by_all(4);
  rpc::LateRank* late = state.add_late();
  late->set_late(2);
  late->set_total_ns(3'000'000'000);
  state.add_findings()->set_reported(true);
  const auto json = nlohmann::json::parse(StateJson(state));
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["ranks"], 3);
  EXPECT_EQ(json["classes"][0]["communicator"], "0000000000000007");
  EXPECT_EQ(json["classes"][0]["last_sequence"], 5);
  EXPECT_EQ(json["communicators"][0]["completed_by_all"], 4);
  EXPECT_EQ(json["late"][0]["mean_seconds"], 1.5);
  EXPECT_EQ(json["findings"][0]["reported"], true);
}

TEST(TopStateJson, ReplacesBrokenText) {
  rpc::WatchState state;
  state.set_end(std::string("\xff\x1b", 2));
  EXPECT_EQ(nlohmann::json::parse(StateJson(state))["end"], "\uFFFD\x1b");
}

}  // namespace
}  // namespace rollcall::top
