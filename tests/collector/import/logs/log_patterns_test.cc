// SPDX-License-Identifier: Apache-2.0
#include "collector/import/logs/log_patterns.h"

#include <gtest/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/import/logs/log_scanner.h"

namespace rollcall::logs {
namespace {

struct Row {
  const char* name;
  Says says;
  std::string_view keys;
  std::string sample;
  std::string unlike;
};

const Row kRows[] = {
#define LOG_PATTERN(identifier, says, keys, expression, seen, sample, unlike) \
  {#identifier, Says::says, keys, sample, unlike},
#include "collector/import/logs/log_patterns.def"
#undef LOG_PATTERN
};

struct PrefixRow {
  const char* name;
  const char* expression;
  std::string sample;
  std::string unlike;
};

const PrefixRow kPrefixRows[] = {
#define LOG_PREFIX(identifier, expression, sample, unlike) \
  {#identifier, expression, sample, unlike},
#include "collector/import/logs/log_prefixes.def"
#undef LOG_PREFIX
};

// What a row's column `keys` has between bars: "comm 0x…- Init COMPLETE". The expression begins at
// `begin`, if there is one.
struct Key {
  std::string begin;
  std::string searched;
};

std::vector<Key> KeysOf(const Row& row) {
  constexpr std::string_view kGap = "…";
  std::vector<Key> keys;
  for (std::string_view rest = row.keys; !rest.empty();) {
    const std::string key(rest.substr(0, rest.find('|')));
    rest.remove_prefix(std::min(key.size() + 1, rest.size()));
    const size_t gap = key.find(kGap);
    const bool has_gap = gap != std::string::npos;
    keys.push_back(
        {has_gap ? key.substr(0, gap) : "", has_gap ? key.substr(gap + kGap.size()) : key});
  }
  return keys;
}

// Whether `text` states what `row` says.
bool States(const std::string& text, const Row& row) {
  LogPatterns patterns;
  LogFact fact;
  if (row.says == Says::kFrame) {
    return patterns.MatchFrame(text.substr(std::min(text.find_first_of("F#"), text.size())), &fact);
  }
  for (size_t from = 0; const auto key = patterns.FindKey(text, from);) {
    if (patterns.Match(text, *key, &fact) && fact.says == row.says) return true;
    from = key->at + key->size;
  }
  return false;
}

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
  for (const Row& row : kRows) EXPECT_TRUE(States(row.sample, row)) << row.name;
}

TEST(LogPatterns, NoLineThatLooksAlikeIsTakenForTheSample) {
  for (const Row& row : kRows) {
    EXPECT_FALSE(States(row.unlike, row)) << row.name << ": " << row.unlike;
    if (row.says == Says::kFrame) continue;
    const std::vector<Key> keys = KeysOf(row);
    const auto has_key = [&row](const Key& key) {
      return row.unlike.find(key.searched) != std::string::npos;
    };
    const auto suffices = [&row](const Key& key) { return States(key.begin + key.searched, row); };
    EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), has_key) ||
                std::all_of(keys.begin(), keys.end(), suffices))
        << row.name << " does not examine: " << row.unlike;
  }
}

// The shortest key decides how many bytes the search skips.
TEST(LogPatterns, NoKeyIsShort) {
  for (const Row& row : kRows) {
    if (row.says == Says::kFrame) continue;
    for (const Key& key : KeysOf(row)) EXPECT_GE(key.searched.size(), 11u) << key.searched;
  }
}

TEST(LogPatterns, EachPrefixIsReadToItsEnd) {
  for (const PrefixRow& row : kPrefixRows) {
    LogPatterns patterns;
    LogFact fact;
    EXPECT_EQ(patterns.ReadPrefixes(row.sample, &fact), row.sample.size()) << row.name;
  }
}

TEST(LogPatterns, NoTextThatLooksAlikeIsTakenForThePrefix) {
  for (const PrefixRow& row : kPrefixRows) {
    const RE2 expression(row.expression);
    const auto begins = [&expression](const std::string& text) {
      return expression.Match(text, 0, text.size(), RE2::ANCHOR_START, nullptr, 0);
    };
    EXPECT_TRUE(begins(row.sample)) << row.name;
    EXPECT_FALSE(begins(row.unlike)) << row.name << ": " << row.unlike;
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

// Lines that libraries, launchers and the kernel print in jobs without a failure.
TEST(LogPatterns, LinesOfHealthyJobsStateNothing) {
  constexpr const char* kLines[] = {
      "[I1129 22:13:40.6 ProcessGroupNCCL.cpp:999] [PG 0 Rank 1] NCCL Work update periodical",
      "PGNCCL Watchdog environments: TORCH_NCCL_RETHROW_CUDA_ERRORS: 1",
      "HeartbeatMonitor environments: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC: 480",
      "comm 0x55be rank 2 nranks 4 cudaDev 2 busId 47000 commId 0x7d2a - Init START",
      "node1:711:803 [2] NCCL INFO comm 0x5 commHash 0x7 nRanks 4 nNodes 1 localRanks 4",
      "mpirun: Forwarding signal 15 to job",
      "oom_reaper: reaped process 4711 (python3)",
      "NVRM: GPU at PCI:0000:4e:00",
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
