// SPDX-License-Identifier: Apache-2.0
// A bundle gives the same verdict as the directory, on any machine.
#include "collector/collect/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "collector/bundle/format.h"
#include "collector/bundle/reader.h"
#include "collector/diagnosis/diagnose.h"
#include "collector/import/journal.h"
#include "collector/import/load_inputs.h"
#include "collector/report/text_report.h"
#include "tests/support/fake_machine.h"
#include "tests/support/problem_codes.h"
#include "tests/support/ring_job_files.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/trace_checks.h"

namespace rollcall::collect {
namespace {

namespace fs = std::filesystem;
using ring_job::Fault;
using ring_job::Job;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

class CollectTest : public ::testing::Test {
 protected:
  CollectTest() { elsewhere_.host = "laptop"; }

  std::string Path(const std::string& name) const { return root_.Path(name); }

  // A run directory whose journal has the symbols that a verdict writes.
  std::string WriteJob(const std::string& name, Fault fault = Fault::kSkipped) {
    const std::string directory = Path(name);
    WriteRings(Job({32, 40, fault}), directory);
    Trace trace = LoadInputs({directory}, {}, elsewhere_).trace;
    ring_job::NamePlaces(&trace);
    std::ofstream journal(directory + "/journal.jsonl");
    for (const Code& code : trace.codes) {
      journal << FormatJournalLine(
          journal::Symbols{code.module_path, code.build_id, code.vaddr, code.frames});
    }
    return directory;
  }
  Collected Bundle(const std::vector<std::string>& inputs, const std::string& name = "b") {
    CollectOptions options;
    options.rollcall_version = "test";
    options.environment = {{"NCCL_DEBUG", "INFO"}, {"AWS_SECRET_ACCESS_KEY", "hush"}};
    return Collect(inputs, Path(name), options, machine_);
  }
  static std::string Verdict(const std::vector<std::string>& inputs, Machine& machine) {
    Inputs loaded = LoadInputs(inputs, {}, machine);
    EXPECT_EQ(FindInconsistency(loaded.trace), "");
    SymbolizeTrace(&loaded.trace);
    std::string text;
    for (const Problem& problem : loaded.trace.problems) {
      text += problem.source + ": " + problem.message + "\n";
    }
    text += RenderText(loaded.trace, Diagnose(loaded.trace, {}));
    // The place from which a ring was read differs: ".../job/rings/" or ".../b: 0/rings/".
    return std::regex_replace(text, std::regex("\\S*rollcall-test-\\S*( 0)?/rings/"), "");
  }

  TemporaryDirectory root_;
  FakeMachine machine_;
  FakeMachine elsewhere_;
};

TEST_F(CollectTest, GivesTheSameVerdictOnAnotherMachine) {
  for (const Fault fault : {Fault::kSkipped, Fault::kCount, Fault::kRing, Fault::kExited}) {
    const std::string directory = WriteJob(std::string(FaultName(fault)), fault);
    const Collected collected = Bundle({directory});
    ASSERT_TRUE(collected.written) << collected.error;
    EXPECT_EQ(collected.rings, 32u);
    EXPECT_EQ(collected.journals, 1u);
    EXPECT_EQ(collected.packed_bytes, fs::file_size(Path("b")));
    const std::string verdict = Verdict({directory}, machine_);
    EXPECT_THAT(verdict, HasSubstr("kind   ")) << FaultName(fault);
    EXPECT_EQ(Verdict({Path("b")}, elsewhere_), verdict) << FaultName(fault);
    EXPECT_EQ(Verdict({Path("b")}, machine_), verdict)
        << "what the machine has now is not asked: " << FaultName(fault);
  }
}

// Some ranks of node1 are alive: one does not move, one polls, one moves. The others are gone.
TEST_F(CollectTest, KeepsObservationsOfTheMachine) {
  const std::string directory = WriteJob("job");
  const auto ring_of = [&](int rank) {
    return fmt::format("{}/rings/{:06}.ring", directory, rank);
  };
  machine_.processes = {{108, 5000}, {109, 5000}, {110, 5000}};
  machine_.meanwhile = [&] {
    for (const auto& [rank, field] : {std::pair(9, offsetof(ring::ThreadEntry, polls)),
                                      std::pair(10, offsetof(ring::ThreadEntry, calls_ended))}) {
      std::fstream file(ring_of(rank), std::ios::binary | std::ios::in | std::ios::out);
      ring::FileHeader header;
      file.read(reinterpret_cast<char*>(&header), sizeof(header));
      for (const ring::Section& section : header.sections) {
        if (section.kind != static_cast<uint32_t>(ring::SectionKind::kThreads)) continue;
        uint64_t value = 0;
        const auto at = static_cast<std::streamoff>(section.offset + field);
        file.seekg(at).read(reinterpret_cast<char*>(&value), sizeof(value));
        ++value;
        file.seekp(at).write(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    }
  };
  ASSERT_TRUE(Bundle({directory}).written);
  const Trace there = LoadInputs({directory}, {}, machine_).trace;
  const Trace here = LoadInputs({Path("b")}, {}, elsewhere_).trace;
  ASSERT_EQ(here.processes.size(), there.processes.size());
  int quiet = 0;
  int polling = 0;
  for (size_t i = 0; i < here.processes.size(); ++i) {
    const Process& a = there.processes[i];
    const Process& b = here.processes[i];
    EXPECT_EQ(a.end.how, b.end.how) << a.rank;
    EXPECT_EQ(a.end.at_ns, b.end.at_ns) << a.rank;
    EXPECT_EQ(a.quiet, b.quiet) << a.rank;
    EXPECT_EQ(a.taken_at_ns, b.taken_at_ns) << a.rank;
    EXPECT_EQ(a.threads[0].polling, b.threads[0].polling) << a.rank;
    quiet += b.quiet ? 1 : 0;
    polling += b.threads[0].polling ? 1 : 0;
  }
  EXPECT_EQ(quiet, 2);
  EXPECT_EQ(polling, 1);
  EXPECT_EQ(here.processes[8].end.how, ProcessEnd::How::kAlive);
  EXPECT_EQ(here.processes[11].end.how, ProcessEnd::How::kVanished);
}

TEST_F(CollectTest, MergesBundlesOfSeveralNodes) {
  const std::string whole = WriteJob("whole");
  const std::string other = Path("other");
  fs::create_directories(other + "/rings");
  const std::string verdict = Verdict({whole}, elsewhere_);
  // The second node's run directory has the upper half, and no journal.
  for (int rank = 16; rank < 32; ++rank) {
    const std::string ring = fmt::format("/rings/{:06}.ring", rank);
    fs::rename(whole + ring, other + ring);
  }
  machine_.host = "nobody";
  ASSERT_TRUE(Bundle({whole}, "one").written);
  ASSERT_TRUE(Bundle({other}, "two").written);
  EXPECT_EQ(Verdict({Path("one"), Path("two")}, elsewhere_), verdict);
  ASSERT_TRUE(Bundle({whole, other}, "directories").written);
  EXPECT_EQ(Verdict({Path("directories")}, elsewhere_), verdict);
  const Collected both = Bundle({Path("one"), Path("two")}, "both");
  ASSERT_TRUE(both.written) << both.error;
  EXPECT_EQ(both.rings, 32u);
  EXPECT_EQ(Verdict({Path("both")}, elsewhere_), verdict);
}

// The rings in the directory are newer than the bundle beside them.
TEST_F(CollectTest, BundleBesideTheRingsIsLeftOut) {
  const std::string directory = WriteJob("job");
  const std::string verdict = Verdict({directory}, machine_);
  ASSERT_TRUE(Bundle({directory}, "job/a").written);
  ASSERT_TRUE(Bundle({directory}, "job/a").written) << "over the one that is there";
  const Trace trace = LoadInputs({directory}, {}, machine_).trace;
  ASSERT_THAT(trace.processes, SizeIs(32));
  for (const Process& process : trace.processes) {
    EXPECT_THAT(process.source, Not(HasSubstr("/a: ")));
  }
  ASSERT_THAT(Codes(trace.problems), ElementsAre(ProblemCode::kDuplicate));
  EXPECT_EQ(trace.problems[0].message, "32 of its processes are duplicates: left out");
  fs::rename(directory + "/a", Path("b"));
  EXPECT_EQ(Verdict({Path("b")}, elsewhere_), verdict);
}

TEST_F(CollectTest, RefusesTwoJobs) {
  const std::string one = WriteJob("one");
  const std::string two = Path("two");
  fs::create_directories(two);
  RingFileBuilder foreign = MakeFullRing(0, 2);
  foreign.header.job_key = 77;
  const auto bytes = foreign.Build();
  std::ofstream(two + "/x.ring", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  const Collected collected = Bundle({one, two});
  EXPECT_FALSE(collected.written);
  EXPECT_THAT(collected.error, HasSubstr("two is of another job than"));
  EXPECT_FALSE(fs::exists(Path("b")));
}

TEST_F(CollectTest, ReportsDamageAsTheDirectoryDoes) {
  const std::string directory = WriteJob("job");
  fs::resize_file(directory + "/rings/000003.ring", 5000);
  std::ofstream(directory + "/rings/000004.ring", std::ios::trunc) << "overwritten";
  const Collected collected = Bundle({directory});
  ASSERT_TRUE(collected.written);
  EXPECT_THAT(Codes(collected.problems),
              IsSupersetOf({ProblemCode::kTruncated, ProblemCode::kForeign}));
  const std::string verdict = Verdict({directory}, machine_);
  EXPECT_THAT(verdict, HasSubstr("note   000004.ring: not a rollcall ring"));
  EXPECT_EQ(Verdict({Path("b")}, elsewhere_), verdict);
}

TEST_F(CollectTest, LeavesNoFileIfWritingFails) {
  const std::string directory = WriteJob("job");
  const Collected nowhere = Bundle({directory}, "no/such/place");
  EXPECT_FALSE(nowhere.written);
  EXPECT_THAT(nowhere.error, HasSubstr("No such file"));
  fs::create_directories(Path("taken"));
  EXPECT_FALSE(Bundle({directory}, "taken").written);
  EXPECT_FALSE(fs::exists(Path("taken.partial")));
  EXPECT_FALSE(Bundle({Path("taken")}).written) << "no trace is in it";
  EXPECT_FALSE(fs::exists(Path("b")));
}

TEST_F(CollectTest, SanitizesNamesAndKeepsThemUnique) {
  const std::string directory = Path("job");
  fs::create_directories(directory + "/a b");
  for (const char* name : {"/a b/x.ring", "/a\nb.ring", "/a\tb.ring"}) {
    auto ring = MakeFullRing(static_cast<int32_t>(name[2]) % 3, 4);
    const auto bytes = ring.Build();
    std::ofstream(directory + name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  }
  ASSERT_TRUE(Bundle({directory}).written);
  std::set<std::string> names;
  std::ifstream file(Path("b"), std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  bundle::ReadBundle(
      source, "b", [&](bundle::Member member) { names.insert(member.name); },
      [](const Problem& problem) { ADD_FAILURE() << problem.message; });
  EXPECT_TRUE(names.contains("0/a_b/x.ring"));
  EXPECT_TRUE(names.contains("0/a_b.ring"));
  EXPECT_TRUE(names.contains("0/2_a_b.ring"));
}

TEST_F(CollectTest, KeepsEnvironmentWithoutSecrets) {
  const std::string directory = WriteJob("job");
  ASSERT_TRUE(Bundle({directory}).written);
  std::ifstream file(Path("b"), std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  MemorySource source({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  std::string environment;
  bundle::ReadBundle(
      source, "b",
      [&](bundle::Member member) {
        if (member.name == bundle::kEnvironmentName)
          environment.assign(member.bytes.begin(), member.bytes.end());
      },
      [](const Problem&) {});
  EXPECT_THAT(environment, HasSubstr("\"NCCL_DEBUG\": \"INFO\""));
  EXPECT_THAT(environment, HasSubstr("\"left_out\": 1"));
  EXPECT_THAT(environment, Not(HasSubstr("AWS")));
  EXPECT_THAT(environment, Not(HasSubstr("hush")));
}

TEST(Environment, KeepsOnlyAllowlistedVariables) {
  for (const char* name :
       {"NCCL_DEBUG", "OMPI_MCA_btl", "SLURM_JOB_ID", "ROLLCALL_STACKS", "LANG"}) {
    EXPECT_TRUE(IsAllowlisted(name, "1")) << name;
  }
  // Names that are unknown, or that look like a secret's although their prefix is allowed.
  for (const char* name :
       {"HOME", "USER", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SLURM_JOB_ACCOUNT", "PATH",
        "ROLLCALL_TOKEN", "NCCL_secret", "OMPI_MCA_orte_hnp_uri", "I_MPI_HYDRA_PASSWORD",
        "OMPI_MCA_sec_credential", "nccl_debug", ""}) {
    EXPECT_FALSE(IsAllowlisted(name, "1")) << name;
  }
  EXPECT_FALSE(IsAllowlisted("NCCL_CONF_FILE", "https://me:word@example.org/x"));
  EXPECT_TRUE(IsAllowlisted("NCCL_CONF_FILE", "/etc/nccl@site.conf"));
}

}  // namespace
}  // namespace rollcall::collect
