// SPDX-License-Identifier: Apache-2.0
#include "collector/attach/stacks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "collector/attach/job_stacks.h"
#include "collector/attach/rank_stacks.h"
#include "collector/attach/stacks_fields.h"
#include "collector/base/proc_source.h"
#include "collector/diagnosis/graph/variables.h"
#include "collector/live/process_image.h"
#include "tests/collector/attach/observed_job.h"

namespace rollcall::attach {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ObservedJob;
using ::testing::SizeIs;

constexpr char kWaitsInBarrier[] = "poll < MPI_Barrier < step a.c:10 < main a.c:40";
constexpr char kWaitsInReduce[] = "poll < PMPI_Allreduce < step a.c:20 < main a.c:40";

struct StacksRead {
  HostStacks stacks;
  std::vector<Problem> problems;
};
StacksRead ReadText(const std::string& text) {
  StacksRead read;
  read.stacks = ReadStacks(text, "file", &read.problems);
  return read;
}

std::vector<int32_t> RanksIn(const HostStacks& stacks) {
  std::vector<int32_t> ranks;
  for (const ObservedRank& rank : stacks.ranks) ranks.push_back(rank.rank.rank);
  return ranks;
}

std::string LinesOf(std::initializer_list<const char*> lines) {
  std::string text;
  for (const char* line : lines) text += std::string(line) + "\n";
  return text;
}

constexpr char kHeader[] = R"({"format":"rollcall-stacks","version":1,"host":"n1"})";
constexpr char kEnd[] = R"({"end":0})";

// A job with everything on which a verdict can depend.
ObservedJob RichJob() {
  ObservedJob job(4);
  job.Loop("train.py", 10, 30, "step");
  job.Rank(0, "all_reduce torch/distributed/distributed_c10d.py:9 < train train.py:20 [step=6]");
  job.Rank(1, "all_reduce torch/distributed/distributed_c10d.py:9 < train train.py:20 [step=7]")
      .Thread("poll@libc.so.6");
  job.Rank(2, "_next_data torch/utils/data/dataloader.py:5 < train train.py:19 [step=7]")
      .Asleep()
      .Helper("__getitem__ loader.py:20 < main a.c:1");
  job.Rank(3, kWaitsInBarrier).Stopped();
  return job;
}

// Everything that is reported about a job, as text.
std::string Said(const JudgedStacks& judged) {
  std::string text;
  for (const Finding& finding : judged.report.findings) {
    text += fmt::format("{} {}\n", finding.title, finding.why);
    for (const std::string& note : finding.notes) text += note + "\n";
    for (const HostRanks& host : finding.culprit_hosts) text += host.host + "\n";
  }
  for (const std::string& note : judged.report.notes) text += note + "\n";
  for (const std::string& line : StackTreeLines(StackTree(RankStacks(judged.trace), true))) {
    text += line + "\n";
  }
  for (const ComparedVariable& variable : CompareVariables(judged.trace)) {
    text += VariableText(variable) + "\n";
  }
  for (const Process& process : judged.trace.processes) {
    const Place& rank = *process.place;
    text += fmt::format("{} {} {} {} {} {}\n", process.rank, static_cast<int>(rank.stillness),
                        rank.stopped, rank.may_act, rank.state, rank.problem);
    for (const FrameVariables& frame : rank.variables) text += frame.frame.function + "\n";
    for (const std::string& awaited : rank.awaited) text += awaited + "\n";
  }
  return text;
}

std::string SaidOf(const std::vector<HostStacks>& hosts) {
  return Said(JudgeStacks(JoinHosts(hosts).front()));
}

TEST(AttachStacks, RoundTripGivesTheSameReport) {
  const HostStacks stacks = RichJob().On("n1");
  const StacksRead read = ReadText(WriteStacks(stacks, "1.0"));
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(SaidOf({read.stacks}), SaidOf({stacks}));
  EXPECT_THAT(SaidOf({stacks}), HasSubstr("is in __getitem__ (loader.py:20)"));
  EXPECT_EQ(WriteStacks(read.stacks, "1.0"), WriteStacks(stacks, "1.0"));
}

TEST(AttachStacks, RoundTripKeepsEveryMember) {
  HostStacks stacks;
  stacks.host = "n1";
  stacks.taken_at_ns = 12;
  stacks.has_rings = true;
  stacks.job = {"Slurm", "7:0", 3, true, {}, {}};
  stacks.sources = {{"/a.py",
                     {{SourceBlock::Kind::kArm, 1, 2, 3, "rank", "0", false}},
                     {{SourceFlow::Kind::kReturn, 2, 2, 0, "not rank"}}}};
  ObservedRank& rank = stacks.ranks.emplace_back();
  rank.rank = {2, 100, UINT64_MAX, "app", "/app", {101, 102}, false};
  rank.host = "n2";
  rank.second.state.emplace();
  ProcessState& state = *rank.second.state;
  state = {1, 2, 3, "p", RunState::kIdle, 4, 5, 6, 7, {}};
  state.threads.push_back({8, "t", RunState::kZombie, 9, 10, 11, 12, "w", BlockedCall{}});
  *state.threads[0].blocked_call = {-1, {1, 2, 3, 4, 5, UINT64_MAX}, 13, 14};
  rank.second.other_threads = OtherThreads::kCallers;
  rank.second.io_bytes = 0;
  rank.second.error = "e";
  LiveFrame frame;
  frame.frame = {"f", "/f.c", 15, Language::kPython, "/m.so", 16, true, FrameDetail::kSymbol,
                 17,  "n"};
  frame.digest = 18;
  frame.integers = {{"i", INT64_MIN}, {"j", INT64_MAX}};
  frame.build_id = "ab";
  const LibraryCall call = {"c", {0, 1, 4, 6}, true, 5, {7}, {8}, true};
  rank.second.threads = {
      {19, "u", {frame, frame}, true, 20, {23, UINT64_MAX}, "d", call, {{"k", "l", "m", 24}}}};
  rank.second.helpers = {{21, "v", {frame}, false, 22, {}, "h", {}, {}}};
  rank.first = rank.second;
  rank.first.io_bytes.reset();

  const StacksRead read = ReadText(WriteStacks(stacks, "1.0"));
  EXPECT_THAT(read.problems, IsEmpty());
  ASSERT_THAT(read.stacks.ranks, SizeIs(1));
  const ObservedRank& got = read.stacks.ranks[0];
  EXPECT_EQ(read.stacks.sources[0].blocks, stacks.sources[0].blocks);
  EXPECT_EQ(read.stacks.sources[0].flow, stacks.sources[0].flow);
  EXPECT_EQ(read.stacks.taken_at_ns, 12);
  EXPECT_TRUE(read.stacks.has_rings);
  EXPECT_EQ(got.host, "n2");
  EXPECT_EQ(got.rank.start_ticks, UINT64_MAX);
  EXPECT_THAT(got.rank.helpers, ElementsAre(101, 102));
  EXPECT_FALSE(got.rank.communicates);
  EXPECT_EQ(got.first.io_bytes, std::nullopt);
  EXPECT_EQ(got.second.io_bytes, 0);
  EXPECT_THAT(got.second.threads[0].more_digests, ElementsAre(23, UINT64_MAX));
  ASSERT_THAT(got.second.threads[0].nearby, SizeIs(1));
  EXPECT_EQ(got.second.threads[0].nearby[0].callee, "k");
  EXPECT_EQ(got.second.threads[0].nearby[0].line, 24);
  ASSERT_TRUE(got.second.threads[0].call);
  EXPECT_EQ(got.second.threads[0].call->communicator, "c");
  EXPECT_THAT(got.second.threads[0].call->member_runs, ElementsAre(0, 1, 4, 6));
  EXPECT_TRUE(got.second.threads[0].call->of_collective);
  EXPECT_EQ(got.second.threads[0].call->awaited, 5);
  EXPECT_THAT(got.second.threads[0].call->also_awaited, ElementsAre(7));
  EXPECT_THAT(got.second.threads[0].call->answered, ElementsAre(8));
  EXPECT_TRUE(got.second.threads[0].call->outside);
  const LiveFrame& back = got.second.threads[0].frames[1];
  EXPECT_EQ(back.frame, frame.frame);
  EXPECT_EQ(back.integers, frame.integers);
  EXPECT_EQ(back.build_id, "ab");
  EXPECT_EQ(back.digest, 18U);
  EXPECT_EQ(got.second.state->threads[0].blocked_call, state.threads[0].blocked_call);
  EXPECT_EQ(got.second.state->threads[0].wchan, "w");
  EXPECT_EQ(WriteStacks(read.stacks, "1.0"), WriteStacks(stacks, "1.0"));
}

template <typename Struct>
constexpr size_t kListed = std::tuple_size_v<decltype(FieldsOf<Struct>::kList)>;

template <typename... Members>
constexpr size_t Count(const Members&... /*members*/) {
  return sizeof...(Members);
}

// Does not compile once one of the structs has another member: stacks_fields.h needs a line for it.
TEST(AttachStacks, FieldListsCoverEveryMember) {
  {
    const auto& [a, b, c, d, e, f, g] = JobRank{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g), kListed<JobRank>);
  }
  {
    const auto& [a, b, c, d, e, f] = FoundJob{};
    EXPECT_EQ(Count(a, b, c, d, e, f), kListed<FoundJob> + 2);
  }
  {
    const auto& [a, b, c, d] = SourceBlocks{};
    EXPECT_EQ(Count(a, b, c, d), kListed<SourceBlocks>);
  }
  {
    const auto& [a, b, c, d, e] = SourceFlow{};
    EXPECT_EQ(Count(a, b, c, d, e), kListed<SourceFlow>);
  }
  {
    const auto& [a, b, c, d, e, f, g] = SourceBlock{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g), kListed<SourceBlock>);
  }
  {
    const auto& [a, b, c, d, e, f, g, h, i, j] = SourceFrame{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g, h, i, j), kListed<SourceFrame>);
  }
  {
    const auto& [a, b, c, d, e] = ObservedRank{};
    EXPECT_EQ(Count(a, b, c, d, e), kListed<ObservedRank>);
  }
  {
    const auto& [a, b, c] = CoreEnd{};
    EXPECT_EQ(Count(a, b, c), kListed<CoreEnd>);
  }
  {
    const auto& [a, b, c, d, e, f] = RankSample{};
    EXPECT_EQ(Count(a, b, c, d, e, f), kListed<RankSample>);
  }
  {
    const auto& [a, b, c, d, e, f, g, h, i] = ThreadSample{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g, h, i), kListed<ThreadSample>);
  }
  {
    const auto& [a, b, c, d] = NearbyCall{};
    EXPECT_EQ(Count(a, b, c, d), kListed<NearbyCall>);
  }
  {
    const auto& [a, b, c, d, e, f, g] = LibraryCall{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g), kListed<LibraryCall>);
  }
  {
    const auto& [a, b] = PythonInteger{};
    EXPECT_EQ(Count(a, b), kListed<PythonInteger>);
  }
  {
    const auto& [a, b, c, d, e, f, g, h, i, j] = ProcessState{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g, h, i, j), kListed<ProcessState>);
  }
  {
    const auto& [a, b, c, d, e, f, g, h, i] = ThreadState{};
    EXPECT_EQ(Count(a, b, c, d, e, f, g, h, i), kListed<ThreadState>);
  }
  {
    const auto& [a, b, c, d] = BlockedCall{};
    EXPECT_EQ(Count(a, b, c, d), kListed<BlockedCall>);
  }
}

TEST(AttachStacks, IgnoresUnknownFieldsOfNewerVersions) {
  const StacksRead read = ReadText(LinesOf(
      {R"({"format":"rollcall-stacks","version":1,"host":"n1","colour":"red"})",
       R"({"weather":[1,2]})", R"({"job":{"launcher":"Slurm","size":2,"age":3}})",
       R"({"rank":{"process":{"rank":1,"pid":7},"second":{"other_threads":99,"state":null}}})",
       kEnd}));
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.stacks.job.launcher, "Slurm");
  ASSERT_THAT(RanksIn(read.stacks), ElementsAre(1));
  EXPECT_EQ(read.stacks.ranks[0].second.other_threads, OtherThreads::kUnseen);
}

TEST(AttachStacks, RejectsNewerFormatVersion) {
  const StacksRead read = ReadText(LinesOf(
      {R"({"format":"rollcall-stacks","version":2})", R"({"rank":{"process":{"rank":1}}})", kEnd}));
  ASSERT_THAT(read.problems, SizeIs(1));
  EXPECT_EQ(read.problems[0].code, ProblemCode::kUnknownVersion);
  EXPECT_THAT(RanksIn(read.stacks), IsEmpty());
}

TEST(AttachStacks, ReportsTruncationAndUsesThePartBeforeIt) {
  const std::string text = WriteStacks(RichJob().On("n1"), "1.0");
  const size_t last_rank = text.rfind("{\"rank\"");
  // Without its last line break, a file is complete.
  for (size_t size = 0; size + 1 < text.size(); size += 7) {
    const StacksRead read = ReadText(text.substr(0, size));
    EXPECT_THAT(read.problems, ::testing::Not(IsEmpty())) << size;
    EXPECT_FALSE(read.stacks.job.all_local) << size;
    if (size <= last_rank) continue;
    EXPECT_THAT(RanksIn(read.stacks), ::testing::Contains(2)) << size;
  }
}

TEST(AttachStacks, ReportsPlaceOfDamagedLineAndDropsOneRank) {
  const std::string first = R"({"rank":{"process":{"rank":0}}})";
  const StacksRead read = ReadText(
      LinesOf({kHeader, R"({"job":{"size":3,"all_local":true}})", first.c_str(),
               R"({"rank":{"process":{"rank":1},"first":{"threads":[{"tid":1},{"tid":"two"}]}}})",
               R"({"rank":{"process":{"rank":2}}})", kEnd}));
  EXPECT_THAT(RanksIn(read.stacks), ElementsAre(0, 2));
  ASSERT_THAT(read.problems, SizeIs(1));
  EXPECT_THAT(read.problems[0].message, HasSubstr("/rank/first/threads/1/tid: not an integer"));
  EXPECT_EQ(read.problems[0].source, "file");
  EXPECT_GT(read.problems[0].offset, static_cast<int64_t>(sizeof(kHeader)));
  EXPECT_FALSE(read.stacks.job.all_local);
}

TEST(AttachStacks, LeavesOutHostileLines) {
  const std::string deep =
      "{\"rank\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const std::string threads = "{\"rank\":{\"process\":{\"rank\":5},\"first\":{\"threads\":[{}" +
                              [] {
                                std::string many;
                                for (int i = 0; i < 5000; ++i) many += ",{}";
                                return many;
                              }() +
                              "]}}}";
  for (const std::string& line : std::vector<std::string>{
           deep, threads, R"({"rank":{"process":{"rank":-1}}})",
           R"({"rank":{"process":{"rank":1e300}}})", R"({"rank":{"process":{"rank":4194305}}})",
           R"({"rank":{"process":{"rank":1,"pid":4294967296}}})",
           R"({"rank":{"process":{"rank":1},"first":{"threads":[{"frames":[{"frame":0}]}]}}})",
           R"({"rank":{"process":{"rank":1},"first":[]}})", R"({"job":{"size":-2}})", "[]", "{"}) {
    const StacksRead read = ReadText(LinesOf({kHeader, line.c_str(), kEnd}));
    EXPECT_THAT(read.problems, SizeIs(1)) << line.substr(0, 100);
    EXPECT_THAT(RanksIn(read.stacks), IsEmpty()) << line.substr(0, 100);
  }
  const StacksRead read = ReadText(LinesOf({kHeader, deep.c_str(), kEnd}));
  EXPECT_EQ(read.problems[0].message, "a line nests too deep: left out");
}

TEST(AttachStacks, RoundTripJoinsRecordsWrittenInParts) {
  HostStacks stacks = {.host = "n1"};
  for (size_t i = 0; i < (size_t{7} << 20) + 1; ++i) stacks.records += static_cast<char>(i % 251);
  const std::string text = WriteStacks(stacks, "1.0");
  const StacksRead read = ReadText(text);
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_TRUE(read.stacks.records == stacks.records);
  EXPECT_TRUE(WriteStacks(read.stacks, "1.0") == text);
}

TEST(AttachStacks, LeavesOutDamagedOrTooLargeRecords) {
  const char* part = R"({"records":"cm9sbGNhbGw="})";
  for (const char* bad : {R"({"records":"cm9sbGNhbGw"})", R"({"records":["cm9s"]})"}) {
    const StacksRead read = ReadText(LinesOf({kHeader, part, bad, part, kEnd}));
    EXPECT_THAT(read.problems, SizeIs(1)) << bad;
    EXPECT_EQ(read.stacks.records, "rollcallrollcall") << bad;
  }
  HostStacks large = {.host = "n1"};
  large.records.assign(kMaxRecordsBytes + 1, 'r');
  const StacksRead read = ReadText(WriteStacks(large, "1.0"));
  EXPECT_THAT(read.problems, SizeIs(1));
  EXPECT_EQ(read.stacks.records.size(), kMaxRecordsBytes);
}

TEST(AttachStacks, CountsDuplicateRankOnce) {
  const char* rank = R"({"rank":{"process":{"rank":1}}})";
  const StacksRead read = ReadText(LinesOf({kHeader, rank, rank, kEnd}));
  EXPECT_THAT(RanksIn(read.stacks), ElementsAre(1));
  EXPECT_THAT(read.problems, SizeIs(1));
}

TEST(AttachStacks, SanitizesText) {
  const StacksRead read = ReadText(
      LinesOf({R"({"format":"rollcall-stacks","version":1,"host":"\u001b[31mred"})", kEnd}));
  EXPECT_EQ(read.stacks.host, "\xEF\xBF\xBD[31mred");
}

TEST(AttachStacks, LimitsTotalSizeOfRepeatedFrames) {
  const std::string frame =
      R"({"frame":{"place":{"function":")" + std::string(10'000, 'f') + "\"}}}";
  const auto rank = [](int number) {
    return fmt::format(R"({{"rank":{{"process":{{"rank":{}}},"first":{{"threads":[{{"frames":)"
                       R"([{{"frame":0}},{{"frame":0}}]}}]}}}}}})",
                       number);
  };
  const std::string text =
      LinesOf({kHeader, frame.c_str(), rank(0).c_str(), rank(1).c_str(), kEnd});
  StacksRead read = ReadText(text);
  EXPECT_THAT(read.problems, IsEmpty());
  read.stacks = ReadStacks(text, "file", &read.problems, 30'000);
  EXPECT_THAT(RanksIn(read.stacks), ElementsAre(0));
  ASSERT_THAT(read.problems, SizeIs(1));
  EXPECT_THAT(read.problems[0].message, HasSubstr("more frames than are read"));
}

[[gnu::noinline]] int FunctionToFind(int number) { return number * 7 + 1; }

// A function of this program of which the host knew only the address.
TEST(AttachStacks, SymbolizesAddressesThatTheHostDidNotSymbolize) {
  const ProcessMemory memory(getpid());
  ProcessImage image;
  ASSERT_EQ(image.Load(ProcSource(), getpid(), &memory), 0);
  const CodeAddress here = image.Locate(reinterpret_cast<uintptr_t>(&FunctionToFind), false);
  ASSERT_NE(here.build_id, "");
  std::vector<HostStacks> hosts(1);
  ObservedRank& rank = hosts[0].ranks.emplace_back();
  LiveFrame frame;
  frame.frame.module = here.module_path;
  frame.frame.vaddr = here.vaddr;
  frame.digest = 3;
  LiveFrame stranger = frame;
  frame.build_id = here.build_id;
  stranger.build_id = "0123";
  rank.second.threads.emplace_back().frames = {frame, stranger};
  SymbolizeHere(&hosts);
  const std::vector<LiveFrame>& frames = rank.second.threads[0].frames;
  ASSERT_GE(frames.size(), 2U);
  EXPECT_THAT(frames[frames.size() - 2].frame.function, HasSubstr("FunctionToFind"));
  EXPECT_EQ(frames.front().digest, 3U);
  EXPECT_EQ(frames.back().frame.function, "");
}

TEST(AttachJobStacks, JoinsRanksOfTwoHostsIntoOneJob) {
  ObservedJob job(4);
  for (int rank = 0; rank < 3; ++rank) job.Rank(rank, kWaitsInBarrier);
  job.Rank(3, kWaitsInReduce);
  HostStacks a = job.On("n1");
  HostStacks b = a;
  b.host = "n2";
  a.ranks.resize(2);
  b.ranks.erase(b.ranks.begin(), b.ranks.begin() + 2);
  const std::vector<JobStacks> jobs = JoinHosts({a, b});
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_FALSE(jobs[0].job.all_local);
  const JudgedStacks judged = JudgeStacks(jobs[0]);
  EXPECT_EQ(judged.report.hosts, 2U);
  ASSERT_THAT(judged.report.findings, SizeIs(1));
  EXPECT_THAT(judged.report.findings[0].culprits, ElementsAre(3));
  EXPECT_EQ(HostsText(judged.report.findings[0].culprit_hosts), "rank 3 on n2");
}

TEST(AttachJobStacks, CountsRankOnTwoHostsOnceAndNotesIt) {
  ObservedJob job(2);
  job.Rank(0, kWaitsInBarrier);
  job.Rank(1, kWaitsInBarrier);
  HostStacks a = job.On("n1");
  HostStacks b = job.On("n2");
  b.ranks.erase(b.ranks.begin());
  const std::vector<JobStacks> jobs = JoinHosts({a, b});
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].ranks, SizeIs(2));
  EXPECT_THAT(jobs[0].notes, ElementsAre("n1 and n2 both have rank 1: those of n1 count"));
}

TEST(AttachJobStacks, NotesHostWithoutAnswerAndIsInconclusive) {
  ObservedJob job(3);
  job.Rank(0, kWaitsInBarrier);
  job.Rank(1, kWaitsInBarrier);
  HostStacks silent;
  silent.host = "n2";
  silent.absent = "no answer for 8 s";
  const JudgedStacks judged = JudgeStacks(JoinHosts({job.On("n1"), silent}).front());
  EXPECT_THAT(judged.report.notes, ::testing::Contains("n2: no answer for 8 s"));
  ASSERT_THAT(judged.report.findings, SizeIs(1));
  EXPECT_EQ(judged.report.findings[0].kind, VerdictKind::kInconclusive);
  EXPECT_THAT(judged.report.findings[0].title, HasSubstr("what rank 2 does was not observed"));
}

TEST(AttachJobStacks, DoesNotJoinJobsOfDifferentNames) {
  ObservedJob job(2);
  job.Rank(0, kWaitsInBarrier);
  HostStacks a = job.On("n1");
  HostStacks b = job.On("n2");
  a.job.job = "1";
  b.job.job = "2";
  EXPECT_THAT(JoinHosts({a, b}), SizeIs(2));
  // MPICH's jobs have no name that both hosts know.
  a.job.job = "process 17";
  EXPECT_THAT(JoinHosts({a, b}), SizeIs(1));
}

TEST(AttachJobStacks, IgnoresDifferentBuildsOfALibrary) {
  ObservedJob job(2);
  job.Rank(0, "poll < MPI_Barrier < step a.c:10 < main a.c:40 < __libc_start_main@/lib/libc.so.6");
  job.Rank(1, "poll < MPI_Barrier < step a.c:10 < main a.c:40 < __libc_start_main@/lib/libc.so.6");
  HostStacks a = job.On("n1");
  HostStacks b = a;
  b.host = "n2";
  a.ranks.resize(1);
  b.ranks.erase(b.ranks.begin());
  for (HostStacks* host : {&a, &b}) {
    for (RankSample* sample : {&host->ranks[0].first, &host->ranks[0].second}) {
      LiveFrame& outermost = sample->threads[0].frames.back();
      outermost.build_id = host->host;
      outermost.frame.vaddr = host == &a ? 1000 : 2000;
    }
  }
  const JudgedStacks judged = JudgeStacks(JoinHosts({a, b}).front());
  ASSERT_THAT(judged.report.findings, SizeIs(1));
  EXPECT_EQ(judged.report.findings[0].kind, VerdictKind::kTransportStalled);
}

}  // namespace
}  // namespace rollcall::attach
