#include "collector/import/logs/log_patterns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/import/logs/log_scanner.h"

namespace rollcall::logs {
namespace {

struct Sample {
  const char* name;
  Says says;
  const char* text;
};

constexpr Sample kSamples[] = {
#define LOG_PATTERN(identifier, says, keys, expression, seen, sample) \
  {#identifier, Says::says, sample},
#include "collector/import/logs/log_patterns.def"
#undef LOG_PATTERN
};

struct PrefixSample {
  const char* name;
  const char* text;
};

constexpr PrefixSample kPrefixSamples[] = {
#define LOG_PREFIX(identifier, expression, sample) {#identifier, sample},
#include "collector/import/logs/log_prefixes.def"
#undef LOG_PREFIX
};

std::vector<LogFact> FactsOf(const std::string& text) {
  std::vector<LogFact> facts;
  LogPatterns patterns;
  LogScanner scanner(&patterns, [&facts](const LogFact& fact) {
    if (fact.says != Says::kPresent || fact.size >= 0) facts.push_back(fact);
  });
  scanner.Feed(text);
  scanner.Finish();
  return facts;
}

LogFact Only(const std::string& text) {
  const std::vector<LogFact> facts = FactsOf(text);
  EXPECT_EQ(facts.size(), 1u) << text;
  return facts.empty() ? LogFact() : facts.front();
}

TEST(LogPatterns, EachSampleIsUnderstood) {
  for (const Sample& sample : kSamples) {
    LogPatterns patterns;
    LogFact fact;
    const std::string text = sample.text;
    if (sample.says == Says::kFrame) {
      EXPECT_TRUE(patterns.MatchFrame(text.substr(text.find_first_of("F#")), &fact)) << sample.name;
      continue;
    }
    std::optional<size_t> end;
    for (size_t from = 0; !end;) {
      const auto key = patterns.FindKey(text, from);
      ASSERT_TRUE(key) << sample.name;
      end = patterns.Match(text, *key, &fact);
      from = key->at + key->size;
    }
    EXPECT_EQ(fact.says, sample.says) << sample.name;
  }
}

// The shortest key decides how many bytes the search skips.
TEST(LogPatterns, NoKeyIsShort) {
  constexpr std::pair<Says, const char*> kRows[] = {
#define LOG_PATTERN(identifier, says, keys, expression, seen, sample) {Says::says, keys},
#include "collector/import/logs/log_patterns.def"
#undef LOG_PATTERN
  };
  for (const auto& [says, keys] : kRows) {
    if (says == Says::kFrame) continue;
    std::string_view rest = keys;
    while (!rest.empty()) {
      const std::string_view key = rest.substr(0, rest.find('|'));
      const size_t gap = key.find("…");
      const size_t begin = gap == std::string_view::npos ? 0 : gap + std::string_view("…").size();
      EXPECT_GE(key.size() - begin, 11u) << key;
      rest.remove_prefix(std::min(key.size() + 1, rest.size()));
    }
  }
}

TEST(LogPatterns, EachPrefixIsReadToItsEnd) {
  for (const PrefixSample& sample : kPrefixSamples) {
    LogPatterns patterns;
    LogFact fact;
    EXPECT_EQ(patterns.ReadPrefixes(sample.text, &fact), std::string(sample.text).size())
        << sample.name;
  }
}

TEST(LogPatterns, DumpSignalHasTheGroupOfItsPrefix) {
  const LogFact fact = Only(
      "[rank2]:[E909 09:55:47.102 ProcessGroupNCCL.cpp:1473] [PG ID 0 PG GUID 0(default_pg) Rank "
      "2] "
      "Received a dump signal due to a collective timeout from  rank 0 and we will try our best to "
      "dump the debug info. Last enqueued NCCL work: 2069, last completed NCCL work: 2068.This "
      "is\n");
  EXPECT_EQ(fact.says, Says::kCounts);
  EXPECT_EQ(fact.rank, 2);
  EXPECT_EQ(fact.group, "default_pg");
  EXPECT_EQ(fact.enqueued, 2069);
  EXPECT_EQ(fact.completed, 2068);
}

// Lines that look like those of the patterns, and state nothing.
TEST(LogPatterns, LinesThatLookAlikeStateNothing) {
  constexpr const char* kLines[] = {
      "[I1129 22:13:40.6 ProcessGroupNCCL.cpp:999] [PG 0 Rank 1] NCCL Work update periodical",
      "PGNCCL Watchdog environments: TORCH_NCCL_RETHROW_CUDA_ERRORS: 1",
      "HeartbeatMonitor environments: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC: 480",
      "see the docs: WorkNCCL(SeqNum=…, OpType=…) is what the watchdog prints",
      "Timeout at NCCL work: none",
      "and we will try our best to dump the debug info. Last enqueued NCCL work: unknown",
      "[I ProcessGroupWrapper.cpp:587] [Rank 3] Running collective: CollectiveFingerPrint(Op",
      "all ranks passed monitoredBarrier in 5000 ms",
      "Initializing distributed: GLOBAL_RANK: unset",
      "process failed (exitcode: none) local_rank: 0",
      "closing signal handlers",
      "comm 0x55be rank 2 nranks 4 cudaDev 2 busId 47000 commId 0x7d2a - Init START",
      "node1:711:803 [2] NCCL INFO AllReduce: 4194304 Bytes -> Algo 1 proto 2 time 51.2",
      "node1:711:803 [2] NCCL INFO comm 0x5 commHash 0x7 nRanks 4 nNodes 1 localRanks 4",
      "mpirun noticed that process rank 3 was slow",
      "mpirun: Forwarding signal 15 to job",
      "MPI_ABORT was invoked on rank unknown",
      "*** An error occurred in the solver",
      "application called MPI_Abort(comm, code)",
      "srun: error: Unable to create step for job 4711: Job/step already completing",
      "the order was CANCELLED AT the counter",
      "oom_reaper: reaped process 4711 (python3)",
      "NVRM: GPU at PCI:0000:4e:00",
      "0 ranks have launched up to operation",
  };
  for (const char* line : kLines) {
    for (const LogFact& fact : FactsOf(std::string(line) + "\n")) {
      ADD_FAILURE() << line << " says " << static_cast<int>(fact.says);
    }
  }
}

TEST(LogScanner, RemovesColoursAndReadsBehindAProgressBar) {
  const LogFact fact = Only(
      "first line\n"
      " 45%|####| 729/1638 [05:39<06:03]\r 46%|####| 730/1638 \033[36m[rank9]:[E318 08:49:08.96 "
      "ProcessGroupNCCL.cpp:744] [PG ID 2 PG GUID 5(mesh_dp) Rank 1]  failure detected by watchdog "
      "at work sequence id: 8 PG status: last enqueued work: 9, last completed work: 7\033[0m\n");
  EXPECT_EQ(fact.line, 2u);
  EXPECT_EQ(fact.rank, 9);
  EXPECT_EQ(fact.group_rank, 1);
  EXPECT_EQ(fact.group, "mesh_dp (5)");
  EXPECT_EQ(fact.number, 8);
}

TEST(LogScanner, JoinsALineThatATerminalHasBroken) {
  const LogFact fact = Only(
      "[rank1]:[E502 19:12:33.04 ProcessGroupNCCL.cpp:629] [Rank 1] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=5, OpT\nype=BROADCAST, NumelIn=96, NumelOut=96, "
      "Timeout(ms)=1800000) ran for 1800031 milliseconds before timing out.\n");
  EXPECT_EQ(fact.rank, 1);
  EXPECT_EQ(fact.operation, "BROADCAST");
}

TEST(LogScanner, ReadsSeveralStatementsOfOneLine) {
  const std::vector<LogFact> facts = FactsOf(
      "[rank0]:[E909 09:55:46.9 P.cpp:1] [PG 0 (default_pg) Rank 0] Timeout at NCCL work: 7, last "
      "enqueued NCCL work: 8, last completed NCCL work: 6.[rank1]:[E909 09:55:46.9 P.cpp:1] [PG 0 "
      "(default_pg) Rank 1] Timeout at NCCL work: 9, last enqueued NCCL work: 9, last completed "
      "NCCL work: 8.\n");
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].rank, 0);
  EXPECT_EQ(facts[0].number, 7);
  EXPECT_EQ(facts[1].rank, 1);
  EXPECT_EQ(facts[1].number, 9);
}

TEST(LogScanner, ReadsATracebackBehindPrefixes) {
  const LogFact fact = Only(
      "[1,3]<stderr>:Traceback (most recent call last):\n"
      "[1,3]<stderr>:  File \"/home/ada/train.py\", line 88, in <module>\n"
      "[1,2]<stderr>:step 4\n"
      "[1,3]<stderr>:    main()\n"
      "[1,3]<stderr>:  File \"/home/ada/train.py\", line 12, in main\n"
      "[1,3]<stderr>:    raise ValueError(\"bad\")\n"
      "[1,3]<stderr>:ValueError: bad\n");
  EXPECT_EQ(fact.says, Says::kException);
  EXPECT_EQ(fact.rank, 3);
  EXPECT_EQ(fact.function, "ValueError");
  EXPECT_EQ(fact.message, "bad");
  ASSERT_EQ(fact.frames.size(), 2u);
  EXPECT_EQ(fact.frames[1].line, 12);
  EXPECT_EQ(fact.line, 7u);
}

// Behind the first MiB only lines with a key are read; their numbers and the last writers are
// known.
TEST(LogScanner, FindsALineFarBehind) {
  std::string text;
  while (text.size() < 3 * kHeadBytes) text += "step 4 loss 2.5\n";
  const auto before = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
  text += "srun: error: node3: task 5: Killed\n";
  text += "[rank7]: the last line";
  LogPatterns patterns;
  std::vector<LogFact> facts;
  LogScanner scanner(&patterns, [&](const LogFact& fact) {
    if (fact.says != Says::kPresent || fact.line > before) facts.push_back(fact);
  });
  for (size_t at = 0; at < text.size(); at += 100'003) {
    scanner.Feed(std::string_view(text).substr(at, 100'003));
  }
  scanner.Finish();
  ASSERT_GE(facts.size(), 2u);
  EXPECT_EQ(facts.front().says, Says::kEnded);
  EXPECT_EQ(facts.front().line, before + 1);
  EXPECT_EQ(facts.back().says, Says::kPresent);
  EXPECT_EQ(facts.back().rank, 7);
  EXPECT_EQ(facts.back().line, before + 2);
}

// A line of any length is cut, and the next one is read.
TEST(LogScanner, CutsALongLine) {
  LogPatterns patterns;
  std::vector<LogFact> facts;
  LogScanner scanner(&patterns, [&facts](const LogFact& fact) {
    if (fact.says != Says::kPresent) facts.push_back(fact);
  });
  for (int i = 0; i < 40; ++i) scanner.Feed(std::string(100'000, 'x'));
  scanner.Feed("\nsrun: error: node3: task 5: Killed\n");
  scanner.Finish();
  ASSERT_FALSE(facts.empty());
  EXPECT_EQ(facts.front().line, 2u);
}

}  // namespace
}  // namespace rollcall::logs
