// SPDX-License-Identifier: Apache-2.0
#include "collector/launch/job_environment.h"

#include <gtest/gtest.h>

namespace rollcall {
namespace {

std::string PreloadOf(const std::string& list) {
  std::vector<std::string> notes;
  return JobEnvironment({{"LD_PRELOAD", list}}, {.steer = "/run/steer.plan"}, &notes)["LD_PRELOAD"];
}

TEST(JobEnvironment, PutsTheRecorderBeforeTheSteeringLibrary) {
  const std::string recorder = PreloadLibrary();
  const std::string steering = SteeringLibrary();
  if (recorder.empty() || steering.empty()) GTEST_SKIP() << "the libraries are not built";
  const std::string wanted = recorder + ":" + steering + ":/a.so:/b.so";
  EXPECT_EQ(PreloadOf("/a.so:/b.so"), wanted);
  EXPECT_EQ(PreloadOf("/a.so:" + recorder + ":/b.so"), wanted);
  EXPECT_EQ(PreloadOf(recorder + " /a.so /b.so"), wanted);
}

}  // namespace
}  // namespace rollcall
