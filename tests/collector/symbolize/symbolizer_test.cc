// SPDX-License-Identifier: Apache-2.0
// Real programs, compiled here by the system's compilers, print the addresses of their calls. The
// symbolizer must find the lines that have marker comments in the sources.
#include "collector/symbolize/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_program.h"

namespace rollcall {
namespace {

using testing::BuildProbe;
using testing::HasCommand;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kProbeDeclaration;
using testing::MarkerLine;
using testing::ParseProbes;
using testing::RunCommand;

// A statement follows every probe(), so that the line of the return address differs from the line
// of the call.
const char kInlining[] = R"(
static volatile int sink;
static inline __attribute__((always_inline)) void innermost(int x) {
  sink = x;
  probe("deep");  // at-innermost
  sink = x;
}
static inline __attribute__((always_inline)) void middle(int x) {
  sink = x + 1;
  innermost(x);  // at-middle
  sink = x + 1;
}
__attribute__((noinline)) void exchange_halo(int x) {
  sink = x + 2;
  middle(x);  // at-exchange
  sink = x + 2;
}
int main(void) {
  exchange_halo(1);
  probe("main");  // at-main
  sink = 0;
  return 0;
}
)";

class SymbolizerTest : public ::testing::Test {
 protected:
  SymbolizerTest() { BuildProbe(dir_); }

  // Compiles `source` (probe() is declared on its first line) as `name`, links `program`, runs it.
  std::map<std::string, CodeAddress> Build(const std::string& compile, const std::string& name,
                                           const std::string& source) {
    source_ = dir_.Write(name, std::string("/**/ ") + kProbeDeclaration + source);
    RunCommand(dir_.path(), compile + " -o program");
    return Run();
  }
  std::map<std::string, CodeAddress> Run() {
    return ParseProbes(RunCommand(dir_.path(), "./program"));
  }

  // Compares the frames of `address` with pairs of function and marker, innermost first.
  void ExpectFrames(const CodeAddress& address,
                    const std::vector<std::pair<std::string, std::string>>& expected,
                    Symbolizer::Options options = {}) {
    Symbolizer symbolizer(std::move(options));
    const auto frames = symbolizer.Symbolize(address);
    ASSERT_EQ(frames.size(), expected.size()) << frames[0].function << frames[0].note;
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_EQ(frames[i].function, expected[i].first);
      EXPECT_EQ(frames[i].file, source_);
      EXPECT_EQ(frames[i].line, MarkerLine(source_, "// " + expected[i].second)) << i;
      EXPECT_EQ(frames[i].inlined, i + 1 < frames.size());
      EXPECT_EQ(frames[i].detail, FrameDetail::kSourceLine);
      EXPECT_EQ(frames[i].note, "");
      EXPECT_EQ(frames[i].module, address.module_path);
    }
  }
  void ExpectInlining(const std::map<std::string, CodeAddress>& probes,
                      const Symbolizer::Options& options = {}) {
    ExpectFrames(
        probes.at("deep"),
        {{"innermost", "at-innermost"}, {"middle", "at-middle"}, {"exchange_halo", "at-exchange"}},
        options);
    ExpectFrames(probes.at("main"), {{"main", "at-main"}}, options);
  }
  SourceFrame One(const CodeAddress& address, Symbolizer::Options options = {}) {
    Symbolizer symbolizer(std::move(options));
    const auto frames = symbolizer.Symbolize(address);
    EXPECT_EQ(frames.size(), 1U);
    return frames[0];
  }
  void ExpectModuleOnly(const CodeAddress& address, const std::string& note) {
    const SourceFrame frame = One(address);
    EXPECT_EQ(frame.detail, FrameDetail::kModule);
    EXPECT_EQ(frame.function, "");
    EXPECT_EQ(frame.file, "");
    EXPECT_EQ(frame.line, 0);
    EXPECT_EQ(frame.vaddr, address.vaddr);
    EXPECT_THAT(frame.note, HasSubstr(note));
  }

  TemporaryDirectory dir_;
  std::string source_;
};

// Compilers, formats and link modes that must all give the same answer.
class EveryFormat : public SymbolizerTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryFormat, FindsFunctionFileAndLineThroughInlining) {
  const std::string command = GetParam();
  const std::string compiler = command.substr(0, command.find(' '));
  if (!HasCommand(compiler)) GTEST_SKIP() << "no " << compiler;
  ExpectInlining(Build(command, "main.c", kInlining));
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryFormat,
    ::testing::Values("cc -O2 -g -pie -fPIE main.c probe.o -Wl,--build-id",
                      "cc -O2 -g -no-pie -fno-pie main.c probe.o -Wl,--build-id",
                      "cc -O0 -g main.c probe.o -Wl,--build-id",
                      "cc -O2 -g -gdwarf-4 main.c probe.o -Wl,--build-id",
                      "cc -O2 -g -gz main.c probe.o -Wl,--build-id",
                      "cc -O2 -g -gsplit-dwarf main.c probe.o -Wl,--build-id",
                      "cc -O2 -g -gsplit-dwarf -gdwarf-4 main.c probe.o -Wl,--build-id",
                      "cc -O2 -g -flto main.c probe.o -Wl,--build-id",
                      "clang -O2 -g main.c probe.o -Wl,--build-id",
                      "clang -O2 -g -gsplit-dwarf main.c probe.o -Wl,--build-id"));

TEST_F(SymbolizerTest, FindsCallsOfAFunctionAndItsInlinedFunctions) {
  for (const char* dwarf : {"-gdwarf-4", "-gdwarf-5"}) {
    SCOPED_TRACE(dwarf);
    const auto probes =
        Build(std::string("cc -O1 -g ") + dwarf + " a.c probe.o -Wl,--build-id", "a.c", R"(
#include <stdlib.h>
static volatile int sink;
static inline __attribute__((always_inline)) void inlined(void) {
  sink = abs(rand());  // at-rand
}
__attribute__((noinline)) void work(void (*pointer)(const char*)) {
  probe("work");
  inlined();  // at-inlined
  pointer("last");  // at-pointer
  sink = 0;
}
int main(void) {
  work(probe);
  exit(0);
}
)");
    Symbolizer symbolizer;
    const auto calls = symbolizer.CallsOf(probes.at("work"), 10);
    std::map<std::string, int> lines;
    for (const Symbolizer::Call& call : calls) lines[call.callee] = call.frames.back().line;
    EXPECT_THAT(lines, ::testing::UnorderedElementsAre(
                           ::testing::Pair("probe", ::testing::Gt(0)),
                           ::testing::Pair("rand", MarkerLine(source_, "// at-inlined")),
                           ::testing::Pair("", MarkerLine(source_, "// at-pointer"))));
    for (const Symbolizer::Call& call : calls) {
      if (call.callee != "rand") continue;
      EXPECT_EQ(call.frames[0].function, "inlined");
      EXPECT_EQ(call.frames[0].line, MarkerLine(source_, "// at-rand"));
    }
    EXPECT_EQ(symbolizer.CallsOf(probes.at("work"), 2).size(), 2U);
  }
}

// "name:type/bytes" of the innermost function at the probe.
std::vector<std::string> VariablesAt(const CodeAddress& probe,
                                     const std::vector<std::string>& asked = {}) {
  constexpr const char* kTypes[] = {"signed",  "unsigned", "float", "bool",
                                    "pointer", "elements", "lost"};
  Symbolizer symbolizer;
  const auto all = symbolizer.VariablesAt(probe, {asked});
  EXPECT_EQ(all.size(), symbolizer.Symbolize(probe).size());
  std::vector<std::string> texts;
  for (const DwarfVariable& one : all.at(0)) {
    texts.push_back(one.name + ":" + kTypes[static_cast<size_t>(one.type)] + "/" +
                    std::to_string(one.bytes));
  }
  return texts;
}

TEST_F(SymbolizerTest, FindsVariablesThatHaveValues) {
  for (const char* compiler : {"cc -O0 -gdwarf-4", "cc -O0 -gdwarf-5", "clang -O0 -g"}) {
    if (!HasCommand(std::string(compiler).substr(0, std::string(compiler).find(' ')))) continue;
    SCOPED_TRACE(compiler);
    const auto probes = Build(std::string(compiler) + " a.c probe.o -Wl,--build-id", "a.c", R"(
typedef const volatile int number;
enum mode { kFast = 1 };
struct pair { int a, b; };
static int file_scope;
int work(number parameter, double rate, const char* text, float* array) {
  _Bool flag = parameter != 0;
  enum mode mode = kFast;
  unsigned char small = 3;
  struct pair pair = {1, 2};
  int hidden = 1;
  static int in_static_memory;
  {
    long hidden = 2;
    probe("work");
    int later = 4;
    hidden += later;
    in_static_memory += (int)hidden;
  }
  { int elsewhere = 5; in_static_memory += elsewhere; }
  int after = (int)mode + small + pair.a + hidden + flag + (int)rate + (text != (char*)array);
  return after;
}
int main(void) {
  return work(1, 2, "", 0) + file_scope == 0;
}
)");
    EXPECT_THAT(
        VariablesAt(probes.at("work")),
        ::testing::UnorderedElementsAre("parameter:signed/4", "rate:float/8", "text:pointer/8",
                                        "array:pointer/8", "flag:bool/1", "mode:unsigned/4",
                                        "small:unsigned/1", "in_static_memory:signed/4"));
  }
}

constexpr const char* kScopes = R"(
int in_file = 1;
int absent = 12, shared = 2, outer = 3, later = 4, in_loop = 5, text = 6;
namespace other { int elsewhere = 7; }
namespace { int nameless = 8; }
namespace scope {
int in_scope = 9;
extern long outer;
extern int absent;
struct Part { int value; };
struct Smart {
  Part* part;
  int value;
  Part* operator->() { return part; }
};
struct Base {
  long own;
  int in_base;
};
struct Solver : Base {
  int own, later, in_loop;
  static int shared;
  struct { char c; } text;
  Smart smart;
  Part* part;
  int Work(int parameter) {
    int sum = 0;
    for (int in_loop = 0; in_loop < 2; ++in_loop) sum += in_loop;
    for (long in_loop = 0; in_loop < 2; ++in_loop) sum += (int)in_loop;
    probe("work");
    int later = parameter;
    return later + sum + own + in_base + smart->value + text.c + this->later + shared + this->in_loop;
  }
};
int Solver::shared = 10;
}
long scope::outer = 11;
int main() {
  scope::Part part{};
  scope::Solver solver{};
  solver.smart.part = solver.part = &part;
  return solver.Work(1) + in_file + shared + other::elsewhere + nameless + text == -1;
}
)";

TEST_F(SymbolizerTest, FindsWhatANameMeansInItsScope) {
  for (const char* compiler : {"c++ -O0 -gdwarf-4", "c++ -O0 -gdwarf-5", "clang++ -O0 -g"}) {
    if (!HasCommand(std::string(compiler).substr(0, std::string(compiler).find(' ')))) continue;
    SCOPED_TRACE(compiler);
    const auto probes =
        Build(std::string(compiler) + " a.cc probe.o -Wl,--build-id", "a.cc", kScopes);
    EXPECT_THAT(VariablesAt(probes.at("work"),
                            {"own", "in_base", "in_file", "in_scope", "nameless", "part->value",
                             "smart.value", "smart->value", "shared", "outer", "elsewhere",
                             "other::elsewhere", "later", "in_loop", "this->later", "text"}),
                ::testing::UnorderedElementsAre(
                    "parameter:signed/4", "sum:signed/4", "own:signed/4", "in_base:signed/4",
                    "in_file:signed/4", "in_scope:signed/4", "outer:signed/8", "nameless:signed/4",
                    "part->value:signed/4", "smart.value:signed/4", "this->later:signed/4"));
  }
}

TEST_F(SymbolizerTest, ShowsNoAddressForAReference) {
  const auto probes = Build("c++ -O2 -g a.cc probe.o -Wl,--build-id", "a.cc", R"(
static inline __attribute__((always_inline)) int Read(const int& reference) {
  probe("reference");
  return reference;
}
int main() {
  int x;
  __asm__ volatile("" : "=m"(x));
  const int result = Read(x);
  __asm__ volatile("" : "+m"(x));
  return result & 0;
}
)");
  EXPECT_THAT(VariablesAt(probes.at("reference"), {"reference"}), IsEmpty());
}

TEST_F(SymbolizerTest, FindsNoCallsThatTheCompilerDidNotDescribe) {
  const auto probes = Build("cc -O0 -g a.c probe.o -Wl,--build-id", "a.c", kInlining);
  Symbolizer symbolizer;
  EXPECT_THAT(symbolizer.CallsOf(probes.at("main"), 10), IsEmpty());
}

TEST_F(SymbolizerTest, SymbolizesSharedLibrary) {
  source_ = dir_.Write("halo.c", std::string("/**/ ") + kProbeDeclaration +
                                     "static volatile int sink;\n"
                                     "void exchange(void) {\n"
                                     "  probe(\"lib\");  // at-lib\n"
                                     "  sink = 1;\n"
                                     "}\n");
  dir_.Write("main.c", "void exchange(void); int main(void) { exchange(); return 0; }");
  RunCommand(dir_.path(),
             "cc -O2 -g -shared -fPIC halo.c probe.o -o libhalo.so -Wl,--build-id && "
             "cc main.c -o program -L. -lhalo -Wl,-rpath,'$ORIGIN'");
  const auto probes = Run();
  EXPECT_EQ(probes.at("lib").module_path, dir_.Path("libhalo.so"));
  ExpectFrames(probes.at("lib"), {{"exchange", "at-lib"}});
}

TEST_F(SymbolizerTest, RelativeSourcePathIsJoinedWithTheCompilersDirectory) {
  std::filesystem::create_directory(dir_.Path("build"));
  ExpectInlining(
      Build("cd build && cc -O2 -g ../src/main.c ../probe.o -Wl,--build-id -o ../program && cd .. "
            "&& true",
            "src/main.c", kInlining));
}

TEST_F(SymbolizerTest, SymbolizesCxxNames) {
  const auto probes = Build("c++ -std=c++17 -O1 -g main.cc probe.o -Wl,--build-id", "main.cc", R"(
#include <functional>
#include <string>
#include <vector>
static volatile int sink;
namespace halo {
template <typename T>
struct Exchange {
  __attribute__((noinline)) void Run(const std::vector<T>& data) const {
    probe("member");  // at-member
    sink = static_cast<int>(data.size());
  }
};
namespace {
__attribute__((noinline)) void Hidden(std::string name) {
  probe("anonymous");  // at-anonymous
  sink = static_cast<int>(name.size());
}
}
}
template <typename F>
__attribute__((noinline)) int Apply(F f) {
  f(1);
  return sink;
}
int main() {
  halo::Exchange<double>().Run({1.0});
  halo::Hidden("x");
  Apply([](int x) __attribute__((noinline)) {
    probe("lambda");  // at-lambda
    sink = x;
  });
}
)");
  ExpectFrames(probes.at("member"), {{"halo::Exchange<double>::Run", "at-member"}});
  ExpectFrames(probes.at("anonymous"), {{"halo::(anonymous namespace)::Hidden", "at-anonymous"}});
  ExpectFrames(probes.at("lambda"), {{"main::{lambda#1}::operator()", "at-lambda"}});
  Symbolizer::Options full;
  full.name_style = NameStyle::kFull;
  ExpectFrames(
      probes.at("member"),
      {{"halo::Exchange<double>::Run(std::vector<double, std::allocator<double> > const&) const",
        "at-member"}},
      full);
}

TEST_F(SymbolizerTest, SymbolizesFortran) {
  if (!HasCommand("gfortran")) GTEST_SKIP() << "no gfortran";
  source_ = dir_.Write("heat.f90", R"(
module halo
contains
  subroutine exchange(n)
    integer, intent(inout) :: n
    call probe("module")  ! // at-module
    n = n + 1
  end subroutine
end module

subroutine outside(n)
  integer, intent(inout) :: n
  call probe("outside")  ! // at-outside
  n = n + 1
end subroutine

program heat
  use halo
  integer :: n = 0
  call exchange(n)
  call outside(n)
  call inner()
contains
  subroutine inner()
    call probe("inner")  ! // at-inner
    n = n + 1
  end subroutine
end program
)");
  RunCommand(dir_.path(), "gfortran -O0 -g heat.f90 probe.o -Wl,--build-id -o program");
  const auto probes = Run();
  ExpectFrames(probes.at("module"), {{"halo::exchange", "at-module"}});
  ExpectFrames(probes.at("outside"), {{"outside", "at-outside"}});
  ExpectFrames(probes.at("inner"), {{"inner", "at-inner"}});
  // The symbol table alone must give the same names.
  RunCommand(dir_.path(), "objcopy --strip-debug program");
  EXPECT_EQ(One(probes.at("module")).function, "halo::exchange");
  EXPECT_EQ(One(probes.at("outside")).function, "outside");
  EXPECT_EQ(One(probes.at("inner")).function, "inner");
}

TEST_F(SymbolizerTest, FindsSeparateFileByDebugLink) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id=none", "main.c", kInlining);
  EXPECT_EQ(probes.at("main").build_id, "");
  for (const std::string place : {"program.dbg", ".debug/program.dbg"}) {
    std::string command = "P=";
    command += place;
    command +=
        " && mkdir -p .debug && cc -O2 -g main.c probe.o -Wl,--build-id=none -o program && "
        "objcopy --only-keep-debug program $P && "
        "objcopy --strip-all --add-gnu-debuglink=$P program";
    RunCommand(dir_.path(), command);
    Symbolizer symbolizer;
    const auto frames = symbolizer.Symbolize(probes.at("deep"));
    ASSERT_EQ(frames.size(), 3U) << place;
    EXPECT_EQ(frames[0].line, MarkerLine(source_, "// at-innermost"));
    EXPECT_THAT(frames[0].note, HasSubstr("no build id was recorded"));
    // Another file under the expected name has another CRC.
    std::ofstream(dir_.Path(place), std::ios::app) << "x";
    EXPECT_NE(One(probes.at("deep")).detail, FrameDetail::kSourceLine);
    std::filesystem::remove(dir_.Path(place));
  }
}

TEST_F(SymbolizerTest, FindsSeparateFileByBuildId) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  const std::string id = probes.at("main").build_id;
  ASSERT_GT(id.size(), 8U);
  const std::string debug_dir = dir_.Path("symbols");
  const std::string home = debug_dir + "/.build-id/" + id.substr(0, 2);
  const std::string debug_file = home + "/" + id.substr(2) + ".debug";
  RunCommand(dir_.path(), "mkdir -p " + home + " && objcopy --only-keep-debug program " +
                              debug_file + " && strip --strip-all program");
  EXPECT_NE(One(probes.at("main")).detail, FrameDetail::kSourceLine);
  Symbolizer::Options options;
  options.debug_dirs.push_back(debug_dir);
  ExpectInlining(probes, options);
  // A file of another program at that path must not be used.
  RunCommand(dir_.path(), "cp probe.o " + debug_file);
  EXPECT_NE(One(probes.at("main"), options).detail, FrameDetail::kSourceLine);
}

TEST_F(SymbolizerTest, UsesTheSymbolTableWithoutDebugInformation) {
  const auto probes = Build("cc -O2 main.c probe.o -Wl,--build-id", "main.c", kInlining);
  const SourceFrame frame = One(probes.at("deep"));
  EXPECT_EQ(frame.detail, FrameDetail::kSymbol);
  EXPECT_EQ(frame.function, "exchange_halo");
  EXPECT_GT(frame.symbol_offset, 0U);
  EXPECT_EQ(frame.line, 0);
}

// If a call is the last instruction of a function, its return address may be the start of the next
// function.
TEST_F(SymbolizerTest, ReturnAddressAtAFunctionsStartIsNotInThatFunction) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  const std::string start =
      RunCommand(dir_.path(), "nm program | awk '$3 == \"exchange_halo\" {print $1}'");
  CodeAddress address = probes.at("deep");
  address.vaddr = std::stoull(start, nullptr, 16);
  const SourceFrame as_return = One(address);
  address.is_return_address = false;
  Symbolizer symbolizer;
  EXPECT_EQ(symbolizer.Symbolize(address).back().function, "exchange_halo");
  EXPECT_NE(as_return.function, "exchange_halo");
}

TEST_F(SymbolizerTest, ChangedFileIsNotUsed) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  RunCommand(dir_.path(),
             "sed -i '1i // a line more' main.c && "
             "cc -O2 -g main.c probe.o -Wl,--build-id -o program");
  ExpectModuleOnly(probes.at("main"), "changed since it was loaded");
  RunCommand(dir_.path(), "cc -O2 -g main.c probe.o -Wl,--build-id=none -o program");
  ExpectModuleOnly(probes.at("main"), "changed since it was loaded");
}

TEST_F(SymbolizerTest, DeletedFileIsUsedOnlyIfTheBuildIdProvesIt) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  CodeAddress address = probes.at("main");
  address.module_path += " (deleted)";
  EXPECT_EQ(One(address).function, "main");
  address.build_id.clear();
  ExpectModuleOnly(address, "deleted");
}

TEST_F(SymbolizerTest, ReportsAddressesWithoutAFile) {
  ExpectModuleOnly({.module_path = dir_.Path("gone"), .build_id = "abcd", .vaddr = 0x1234},
                   "not on this machine");
  ExpectModuleOnly({.module_path = "[vdso]", .build_id = "", .vaddr = 0x1234}, "not a file");
  ExpectModuleOnly({.module_path = "", .build_id = "", .vaddr = 0x1234}, "outside of every module");
}

TEST_F(SymbolizerTest, SpecialFilesNeitherBlockNorCrash) {
  ASSERT_EQ(mkfifo(dir_.Path("fifo").c_str(), 0600), 0);
  ExpectModuleOnly({.module_path = dir_.Path("fifo"), .build_id = "", .vaddr = 1}, "FIFO");
  ExpectModuleOnly({.module_path = "/dev/zero", .build_id = "", .vaddr = 1}, "device");
  ExpectModuleOnly({.module_path = dir_.path(), .build_id = "", .vaddr = 1}, "directory");
  ExpectModuleOnly({.module_path = dir_.Write("empty", ""), .build_id = "", .vaddr = 1},
                   "not an ELF");
  ExpectModuleOnly({.module_path = dir_.Write("text", "#!/bin/sh"), .build_id = "", .vaddr = 1},
                   "not an ELF");
  ExpectModuleOnly({.module_path = std::string("/etc\0x", 6), .build_id = "", .vaddr = 1},
                   "file name");
  const std::string huge = dir_.Write("huge", "");
  std::filesystem::resize_file(huge, uint64_t{1} << 40);
  ExpectModuleOnly({.module_path = huge, .build_id = "", .vaddr = 1}, "too large");
}

TEST_F(SymbolizerTest, SplitDwarfNamingAFifoDoesNotBlock) {
  const auto probes = Build(
      "cc -O2 -g -gsplit-dwarf -c main.c -o main.o && "
      "cc main.o probe.o -Wl,--build-id",
      "main.c", kInlining);
  ASSERT_EQ(mkfifo(dir_.Path("swap").c_str(), 0600), 0);
  RunCommand(dir_.path(), "rm -f *.dwo && mv swap main.dwo");
  const SourceFrame frame = One(probes.at("main"));
  // The line table is in the program itself; the function comes from the symbols.
  EXPECT_EQ(frame.function, "main");
  EXPECT_EQ(frame.line, MarkerLine(source_, "// at-main"));
}

// The file is truncated at many places, and bits are flipped everywhere. Answers may be incomplete,
// but there is always one.
TEST_F(SymbolizerTest, DamagedFilesGiveSomeAnswer) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  std::ifstream in(dir_.Path("program"), std::ios::binary);
  const std::string intact((std::istreambuf_iterator<char>(in)), {});
  CodeAddress address = probes.at("deep");
  address.build_id.clear();  // otherwise most damage would be refused before it is read
  address.module_path = dir_.Path("damaged");
  Symbolizer::Options options;
  uint32_t random = 12345;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = intact;
    if (round % 10 == 0) {
      damaged.resize(intact.size() * static_cast<size_t>(round) / 300);
    } else {
      // Half of the iterations damage the debug information and headers at the end of the file.
      const size_t from = round % 2 == 0 ? 0 : intact.size() * 2 / 3;
      for (int flips = 0; flips < 20; ++flips) {
        random = random * 1664525 + 1013904223;
        damaged[from + (random >> 4) % (intact.size() - from)] ^=
            static_cast<char>(1 << (random >> 29));
      }
    }
    dir_.Write("damaged", damaged);
    Symbolizer symbolizer(options);
    EXPECT_THAT(symbolizer.Symbolize(address), ::testing::Not(IsEmpty()));
    symbolizer.VariablesAt(address, {{"x", "x->x.x", "sink", "other"}});
  }
}

constexpr const char* kDamagedTypes = R"(
  .section .debug_abbrev,"",%progbits
abbreviations:
  .byte 1,0x11,1, 3,8, 0x11,1, 0x12,6, 0,0  /* unit: name, begin, bytes */
  .byte 2,0x2e,1, 3,8, 0x11,1, 0x12,6, 0,0  /* function: the same */
  .byte 3,0x34,0, 3,8, 0x49,0x13, 2,0x18, 0,0  /* variable: name, type, place */
  .byte 4,0x13,1, 3,8, 0x0b,0x0b, 0,0  /* struct: name, bytes */
  .byte 5,0x0d,0, 0x49,0x13, 0x38,0x0b, 0,0  /* member: type, place */
  .byte 6,0x0d,0, 3,8, 0x49,0x13, 0x38,0x0b, 0,0  /* member: name, type, place */
  .byte 7,0x0d,0, 3,8, 0x49,0x13, 0x38,0x0b, 0x0d,7, 0x0c,7, 0,0  /* bit field: and bits, from end */
  .byte 8,0x24,0, 3,8, 0x0b,0x0b, 0x3e,0x0b, 0,0  /* base type: name, bytes, encoding */
  .byte 0
  .section .debug_info,"",%progbits
unit:
  .long end - version
version:
  .short 4
  .long abbreviations
  .byte 8
  .byte 1
  .string "a.c"
  .quad work
  .long 32
number:
  .byte 8
  .string "int"
  .byte 4, 5
nested:
  .byte 4
  .string "nested"
  .byte 80
  .rept 10
  .byte 5
  .long nested - unit
  .byte 8
  .endr
  .byte 0
fields:
  .byte 4
  .string "fields"
  .byte 8
  .byte 6
  .string "whole"
  .long number - unit
  .byte 4
  .byte 7
  .string "bits"
  .long number - unit
  .byte 0
  .quad -1, 2
  .byte 0
  .byte 2
  .string "work"
  .quad work
  .long 32
  .byte 3
  .string "n"
  .long nested - unit
  .byte 9, 3
  .quad place
  .byte 3
  .string "f"
  .long fields - unit
  .byte 9, 3
  .quad place
  .byte 0, 0
end:
  .section .note.GNU-stack,"",%progbits
)";

TEST_F(SymbolizerTest, BoundsTheWorkOnDamagedTypes) {
  dir_.Write("types.s", kDamagedTypes);
  const auto probes = Build("cc -O1 a.c types.s probe.o -Wl,--build-id", "a.c", R"(
long place[10];
__attribute__((noinline)) void work(void) {
  probe("work");
  place[0] = 1;
}
int main(void) {
  work();
  return 0;
}
)");
  EXPECT_THAT(VariablesAt(probes.at("work"), {"n.absent", "f.whole", "f.bits"}),
              ::testing::ElementsAre("f.whole:signed/4"));
}

TEST_F(SymbolizerTest, SecondLookupIsCached) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  Symbolizer symbolizer;
  const auto first = symbolizer.Symbolize(probes.at("deep"));
  // The module is removed, so only a cached answer can be equal.
  std::filesystem::remove(dir_.Path("program"));
  EXPECT_EQ(symbolizer.Symbolize(probes.at("deep")), first);
}

TEST_F(SymbolizerTest, GivesTheSameAnswersWithSmallCaches) {
  const auto probes = Build("cc -O2 -g main.c probe.o -Wl,--build-id", "main.c", kInlining);
  Symbolizer::Options options;
  options.max_modules = 2;
  options.max_cached_addresses = 3;
  Symbolizer symbolizer(options);
  for (int i = 0; i < 20; ++i) {
    CodeAddress other{.module_path = "/gone/" + std::to_string(i), .build_id = "", .vaddr = 1};
    EXPECT_EQ(symbolizer.Symbolize(other)[0].detail, FrameDetail::kModule);
    EXPECT_EQ(symbolizer.Symbolize(probes.at("deep")).size(), 3U);
    EXPECT_EQ(symbolizer.Symbolize(probes.at("main")).size(), 1U);
  }
}

}  // namespace
}  // namespace rollcall
