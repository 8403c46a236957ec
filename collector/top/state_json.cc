// SPDX-License-Identifier: Apache-2.0
#include "collector/top/state_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace rollcall::top {
namespace {

using Json = nlohmann::ordered_json;

double Seconds(int64_t ns) { return static_cast<double>(ns) * 1e-9; }
std::string Hex(uint64_t key) { return fmt::format("{:016x}", key); }

Json ClassJson(const rpc::RankClass& one) {
  Json json = {{"job", Hex(one.job_key())},
               {"count", one.count()},
               {"ranks", one.ranks()},
               {"state", one.activity()},
               {"seconds", Seconds(one.longest_ns())},
               {"collectives_per_second", one.per_second()},
               {"share_in_collectives", one.share_inside()}};
  if (one.operation().empty()) return json;
  json["operation"] = one.operation();
  if (one.communicators() == 1) json["communicator"] = Hex(one.communicator());
  if (one.communicators() > 1) json["communicators"] = one.communicators();
  if (one.communicators() != 0) json["size"] = one.size();
  if (one.last_sequence() != 0) {
    json["first_sequence"] = one.first_sequence();
    json["last_sequence"] = one.last_sequence();
  }
  return json;
}

Json CommunicatorJson(const rpc::CommunicatorState& one) {
  Json json = {{"job", Hex(one.job_key())},
               {"communicator", Hex(one.key())},
               {"size", one.size()},
               {"entered_by_first", one.entered_by_first()},
               {"entered_by_all", one.entered_by_all()},
               {"completed_by_all", one.completed_by_all()},
               {"collectives_per_second", one.per_second()},
               {"waiting", one.waiting()},
               {"longest_wait_seconds", Seconds(one.longest_ns())}};
  if (!one.name().empty()) json["name"] = one.name();
  return json;
}

Json LateJson(const rpc::LateRank& one) {
  return {{"job", Hex(one.job_key())},
          {"rank", one.rank()},
          {"samples", one.samples()},
          {"late", one.late()},
          {"mean_seconds", one.late() == 0 ? 0 : Seconds(one.total_ns()) / one.late()},
          {"most_seconds", Seconds(one.most_ns())},
          {"now_seconds", Seconds(one.now_ns())}};
}

Json FindingJson(const rpc::CurrentFinding& one) {
  return {{"kind", one.kind()},
          {"certainty", one.certainty()},
          {"title", one.title()},
          {"reported", one.reported()}};
}

template <typename List>
Json ListJson(const List& list, Json (*one_json)(const typename List::value_type&)) {
  Json json = Json::array();
  for (const auto& one : list) json.push_back(one_json(one));
  return json;
}

}  // namespace

std::string StateJson(const rpc::WatchState& state) {
  const Json json = {{"version", 1},
                     {"time", Seconds(state.realtime_ns())},
                     {"agents", state.agents()},
                     {"ranks", state.ranks()},
                     {"ended_ranks", state.ended_ranks()},
                     {"expected_ranks", state.expected_ranks()},
                     {"classes", ListJson(state.classes(), &ClassJson)},
                     {"communicators", ListJson(state.communicators(), &CommunicatorJson)},
                     {"communicators_left_out", state.communicators_left_out()},
                     {"late", ListJson(state.late(), &LateJson)},
                     {"findings", ListJson(state.findings(), &FindingJson)},
                     {"suspicion", state.suspicion()},
                     {"end", state.end()}};
  // A collector sends valid UTF-8; another sender's bytes must not end the program.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcall::top
