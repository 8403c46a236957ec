// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_ras.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::logs {
namespace {

constexpr size_t kMaxAnswers = 1000;
constexpr size_t kMaxClasses = 1000;
constexpr int64_t kMaxRanksOfRas = 1 << 13;

// The kind of operation whose numbers differ between ranks, if there is one such kind.
RasAnswer AnswerOf(const RasJsonAnswer& json) {
  RasAnswer answer;
  if (!json.whole || json.ranks.empty()) return answer;
  for (const auto& [operation, first] : json.ranks.front()) {
    std::map<int64_t, RasClass> by_number;
    for (size_t rank = 0; rank < json.ranks.size(); ++rank) {
      const auto count = json.ranks[rank].find(operation);
      if (count == json.ranks[rank].end()) return {};
      RasClass& same = by_number[count->second.first];
      same.number = count->second.first;
      same.ranks.push_back(static_cast<int32_t>(rank));
      same.many = static_cast<int64_t>(same.ranks.size());
      same.quote = count->second.second;
    }
    if (by_number.size() < 2) continue;
    if (!answer.operation.empty()) return {};
    answer.operation = operation;
    for (auto& [number, same] : by_number) answer.classes.push_back(std::move(same));
  }
  return answer;
}

}  // namespace

void AddRasJson(LogJob* job, const LogFact& fact) {
  std::vector<RasJsonAnswer>& answers = job->ras_json;
  if (fact.many >= 0) {
    if (answers.size() == 2) answers.erase(answers.begin());
    answers.emplace_back().whole = fact.many == 1;
    return;
  }
  if (answers.empty()) return;
  RasJsonAnswer& answer = answers.back();
  if (fact.missing >= 0) {
    answer.whole &= fact.missing == 0;
  } else if (fact.operation.empty()) {
    answer.whole &= answer.ranks.size() < static_cast<size_t>(kMaxRanksOfRas);
    if (answer.whole) answer.ranks.emplace_back();
  } else if (!answer.ranks.empty()) {
    answer.ranks.back()[fact.operation] = {fact.number, job->QuoteOf(fact, "", 0)};
  }
}

void AddRas(LogJob* job, const LogFact& fact) {
  if (!fact.operation.empty()) {
    if (job->ras.size() >= kMaxAnswers) job->ras.erase(job->ras.begin());
    job->ras.push_back({fact.operation, {}});
    return;
  }
  if (job->ras.empty() || job->ras.back().classes.size() >= kMaxClasses) return;
  std::vector<RasClass>& classes = job->ras.back().classes;
  if (fact.number >= 0) {
    RasClass made;
    made.number = fact.number;
    made.many = fact.many >= 0 ? fact.many : static_cast<int64_t>(fact.ranks.size());
    made.ranks = fact.ranks;
    made.quote = job->QuoteOf(fact, "", 0);
    classes.push_back(std::move(made));
  } else if (!classes.empty() && !fact.ranks.empty()) {
    std::vector<int32_t>& ranks = classes.back().ranks;
    if (static_cast<int64_t>(ranks.size()) < classes.back().many)
      ranks.push_back(fact.ranks.front());
  }
}

// Counts differ by one now and then in a job that moves: they are positions only if they are the
// same in two answers. Of two classes, the one whose ranks are listed may be ahead or may lag.
void TakeRas(LogJob* job) {
  for (const RasJsonAnswer& answer : job->ras_json) job->ras.push_back(AnswerOf(answer));
  if (job->ras.size() < 2) return;
  const RasAnswer& last = job->ras.back();
  const RasAnswer& before = job->ras[job->ras.size() - 2];
  if (last.operation != before.operation || last.classes != before.classes) return;
  if (last.classes.size() != 2) return;
  const bool first_lags = last.classes[0].number < last.classes[1].number;
  const RasClass& lagging = last.classes[first_lags ? 0 : 1];
  const RasClass& ahead = last.classes[first_lags ? 1 : 0];
  if (std::max(lagging.many, ahead.many) > kMaxRanksOfRas) return;
  const int64_t size = lagging.many + ahead.many;
  const bool listed = static_cast<int64_t>(lagging.ranks.size()) == lagging.many;
  if (!listed || lagging.many * 2 > size || size > kMaxRanksOfRas) {
    job->AddStatement(
        ahead.quote,
        fmt::format("RAS reports twice that {} ranks launched {} operations and {} ranks {}",
                    ahead.many, ahead.number, lagging.many, lagging.number));
    return;
  }
  job->size = std::max(job->size, size);
  const std::string group = "the communicator that RAS reports";
  for (int32_t rank = 0; rank < size; ++rank) {
    Writer* writer = job->WriterOfRank(rank);
    if (writer == nullptr) continue;
    const bool lags = std::ranges::find(lagging.ranks, rank) != lagging.ranks.end();
    Position& position = writer->groups[group];
    position.group_rank = rank;
    position.completed = lagging.number;
    position.enqueued = lags ? lagging.number : ahead.number;
    Quote quote = lags ? lagging.quote : ahead.quote;
    quote.group = group;
    if (!lags) {
      Wait& wait = position.waits[lagging.number + 1];
      wait.number = lagging.number + 1;
      wait.operation = last.operation;
    }
    writer->quotes.push_back(std::move(quote));
  }
}

}  // namespace rollcall::logs
