// SPDX-License-Identifier: Apache-2.0
// Sizes that only the dumps of two ranks together show to be wrong: totals of all_to_all, and
// messages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collector/base/byte_source.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/flight_recorder/dump.h"
#include "collector/import/flight_recorder/trace_builder.h"
#include "tests/support/dump_writer.h"

namespace rollcall::flight_recorder {
namespace {

// Dumps of a job of two ranks with one entry each, which the caller completes.
std::vector<WrittenDump> TwoRanks(const std::string& version) {
  std::vector<WrittenDump> dumps(2);
  for (WrittenDump& dump : dumps) {
    dump.version = version;
    dump.groups.push_back({.name = "0", .desc = "default_pg", .ranks = {0, 1}});
    WrittenEntry entry;
    entry.created_ns = 1'700'000'000'000'000'000;
    entry.completed_ns = entry.created_ns + 1'000;
    entry.state = "completed";
    dump.entries.push_back(entry);
  }
  return dumps;
}

std::string Said(const std::vector<WrittenDump>& dumps) {
  FlightTraceBuilder builder;
  for (size_t rank = 0; rank < dumps.size(); ++rank) {
    const std::string bytes = PickleWriter().Write(dumps[rank]);
    MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    Dump dump = ReadDump(source, "_dump_" + std::to_string(rank), Format::kPickle);
    dump.rank = static_cast<int32_t>(rank);
    dump.prefix = "_dump_";
    builder.Add(dump);
  }
  const Report report = Diagnose(builder.Finish(), {.job_ended = true});
  return report.findings.empty() ? "nothing" : report.findings[0].title;
}

std::vector<WrittenDump> AllToAll(const std::string& version, int64_t received_by_1) {
  std::vector<WrittenDump> dumps = TwoRanks(version);
  for (WrittenDump& dump : dumps) {
    dump.entries[0].name = "nccl:all_to_all";
    dump.entries[0].collective_seq = 1;
    dump.groups[0].enqueued = dump.groups[0].completed = 1;
  }
  dumps[0].entries[0].input_sizes = {{6}, {2}};
  dumps[0].entries[0].output_sizes = {{4}, {4}};
  dumps[1].entries[0].input_sizes = {{10}};
  dumps[1].entries[0].output_sizes = {{received_by_1}};
  return dumps;
}

TEST(FlightRecorderSizes, BalancedAllToAllIsAccepted) {
  EXPECT_EQ(Said(AllToAll("2.4", 10)), "nothing");
}

TEST(FlightRecorderSizes, UnbalancedAllToAllIsReported) {
  for (const char* version : {"2.4", "2.9", "2.10"}) {
    EXPECT_EQ(Said(AllToAll(version, 12)),
              "ranks 0,1 all send together 18 × Float and expect together 20 × Float in all_to_all "
              "#1 on default_pg");
  }
}

TEST(FlightRecorderSizes, AllToAllOfOldVersionsIsNotCompared) {
  EXPECT_EQ(Said(AllToAll("2.3", 12)), "nothing");
}

std::vector<WrittenDump> Message(int64_t sent, int64_t received) {
  std::vector<WrittenDump> dumps = TwoRanks("2.9");
  for (WrittenDump& dump : dumps) {
    dump.entries[0].p2p_seq = 1;
    dump.entries[0].is_p2p = true;
  }
  dumps[0].entries[0].name = "nccl:send 0->1";
  dumps[1].entries[0].name = "nccl:recv 1<-0";
  dumps[0].entries[0].input_sizes = dumps[0].entries[0].output_sizes = {{sent}};
  dumps[1].entries[0].input_sizes = dumps[1].entries[0].output_sizes = {{received}};
  return dumps;
}

TEST(FlightRecorderSizes, BothSidesOfAMessage) {
  EXPECT_EQ(Said(Message(8, 8)), "nothing");
  EXPECT_EQ(Said(Message(8, 6)), "rank 0 sends 8 × Float to rank 1, which receives 6 × Float");
}

TEST(FlightRecorderSizes, MessagesWithoutTheirBeginningAreNotCompared) {
  std::vector<WrittenDump> dumps = Message(8, 6);
  dumps[1].entries[0].record_id = 40;
  EXPECT_EQ(Said(dumps), "nothing");
}

}  // namespace
}  // namespace rollcall::flight_recorder
