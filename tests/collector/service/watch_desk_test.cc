// SPDX-License-Identifier: Apache-2.0
#include "collector/service/watch_desk.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collector/base/clock.h"

namespace rollcall::service {
namespace {

class DeskLink : public WatchLink {
 public:
  void Send(std::shared_ptr<const rpc::WatchState> state) override { sent.push_back(*state); }
  bool closed() override { return is_closed; }

  std::vector<rpc::WatchState> sent;
  bool is_closed = false;
};

rpc::WatchState StateWithEnd(const std::string& end) {
  rpc::WatchState state;
  state.set_end(end);
  return state;
}

TEST(WatchDesk, PublishesForWatchersOnly) {
  WatchDesk desk;
  const int64_t now = Now(CLOCK_MONOTONIC);
  EXPECT_FALSE(desk.IsDue(now));
  const auto link = std::make_shared<DeskLink>();
  desk.Watch(link);
  EXPECT_TRUE(desk.IsDue(now));
  desk.Publish(now, [] { return StateWithEnd(""); });
  EXPECT_EQ(link->sent.size(), 1u);
  EXPECT_FALSE(desk.IsDue(now + 100'000'000));
  EXPECT_TRUE(desk.IsDue(now + 10'000'000'000));
  link->is_closed = true;
  EXPECT_FALSE(desk.IsDue(now + 10'000'000'000));
}

TEST(WatchDesk, AnswersEverythingOnceTheJobHasEnded) {
  WatchDesk desk;
  std::vector<std::string> answers;
  const auto on_answer = [&](const rpc::Answer& answer) { answers.push_back(answer.text()); };
  desk.Ask({}, on_answer);
  desk.Ask({}, on_answer);
  const auto asked = desk.Take();
  ASSERT_TRUE(asked);
  rpc::Answer answer;
  answer.set_text("text");
  asked->on_answer(answer);
  desk.Publish(Now(CLOCK_MONOTONIC), [] { return StateWithEnd("the job ended"); });
  EXPECT_EQ(answers, (std::vector<std::string>{"text", "the job has ended"}));
  desk.Ask({}, on_answer);
  EXPECT_EQ(answers.size(), 3u);
  const auto late = std::make_shared<DeskLink>();
  desk.Watch(late);
  ASSERT_EQ(late->sent.size(), 1u);
  EXPECT_EQ(late->sent[0].end(), "the job ended");
}

TEST(WatchDesk, AnswersWhatIsLeftWhenItGoes) {
  int answers = 0;
  auto desk = std::make_unique<WatchDesk>();
  for (int i = 0; i < 100; ++i) desk->Ask({}, [&](const rpc::Answer&) { ++answers; });
  desk.reset();
  EXPECT_EQ(answers, 100);
}

}  // namespace
}  // namespace rollcall::service
