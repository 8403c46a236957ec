#include "collector/import/logs/log_patterns.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
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

}  // namespace
}  // namespace rollcall::logs
