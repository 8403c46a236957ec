// SPDX-License-Identifier: Apache-2.0
// Small programs, compiled at test time, that print the addresses of their calls.
#ifndef ROLLCALL_TESTS_SUPPORT_TEST_PROGRAM_H_
#define ROLLCALL_TESTS_SUPPORT_TEST_PROGRAM_H_

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "collector/model/source_frame.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::testing {

// Runs `command` with the shell in `dir`; returns its standard output, and fails the test if it
// fails.
std::string RunCommand(const std::string& dir, const std::string& command);
bool HasCommand(const std::string& name);

// Writes probe.c into `dir` and compiles it to probe.o. A program linked with it calls
// probe("label"): that prints the call's return address, as ParseProbes() reads it.
void BuildProbe(const TemporaryDirectory& dir);

// The addresses at which the program called probe(), by label.
std::map<std::string, CodeAddress> ParseProbes(const std::string& output);

// 1-based number of the only line of `file` that contains `marker`; fails the test otherwise.
int MarkerLine(const std::string& file, const std::string& marker);

// Implementation.

// Prints for its return address: module, build id ("-" if there is none), address in the module.
inline constexpr char kProbeSource[] = R"(
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct query { unsigned long pc, bias; char id[128]; };

static int visit(struct dl_phdr_info* info, size_t size, void* arg) {
  struct query* q = arg;
  int inside = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    if (p->p_type == PT_LOAD && q->pc - info->dlpi_addr - p->p_vaddr < p->p_memsz) inside = 1;
  }
  if (!inside) return 0;
  q->bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* p = &info->dlpi_phdr[i];
    if (p->p_type != PT_NOTE) continue;
    const char* at = (const char*)info->dlpi_addr + p->p_vaddr;
    const char* end = at + p->p_memsz;
    while (at + 12 <= end) {
      const ElfW(Nhdr)* n = (const void*)at;
      const unsigned char* d = (const void*)(at + 12 + ((n->n_namesz + 3) & ~3u));
      if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(at + 12, "GNU", 4))
        for (unsigned k = 0; k < n->n_descsz; ++k) sprintf(q->id + 2 * k, "%02x", d[k]);
      at = (const char*)d + ((n->n_descsz + 3) & ~3u);
    }
  }
  return 1;
}

static void report(const char* label, void* pc) {
  struct query q = {(unsigned long)pc, 0, ""};
  Dl_info info;
  char path[4096];
  dl_iterate_phdr(visit, &q);
  dladdr(pc, &info);
  if (!realpath(info.dli_fname, path)) strcpy(path, "?");
  printf("%s %s %lx %s\n", label, q.id[0] ? q.id : "-", q.pc - q.bias, path);
  fflush(stdout);
}

__attribute__((noinline)) void probe(const char* label) {
  report(label, __builtin_return_address(0));
}
/* For Fortran: call probe(label), with the label's length as hidden argument. */
__attribute__((noinline)) void probe_(const char* label, long length) {
  char copy[64] = "";
  memcpy(copy, label, length < 63 ? length : 63);
  report(copy, __builtin_return_address(0));
}
)";

// Declares probe() for C and C++; belongs on the first line of a source.
inline constexpr char kProbeDeclaration[] =
    "#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid probe(const char*);\n";

inline std::string RunCommand(const std::string& dir, const std::string& command) {
  FILE* pipe = popen(("cd '" + dir + "' && " + command).c_str(), "r");
  std::string output;
  std::array<char, 4096> buffer{};
  size_t got = 0;
  while (pipe != nullptr && (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    output.append(buffer.data(), got);
  }
  EXPECT_TRUE(pipe != nullptr && pclose(pipe) == 0) << command;
  return output;
}

inline bool HasCommand(const std::string& name) {
  return system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

inline void BuildProbe(const TemporaryDirectory& dir) {
  dir.Write("probe.c", kProbeSource);
  RunCommand(dir.path(), "cc -O1 -fPIC -c probe.c -o probe.o");
}

inline std::map<std::string, CodeAddress> ParseProbes(const std::string& output) {
  std::map<std::string, CodeAddress> probes;
  std::istringstream lines(output);
  std::string label;
  CodeAddress address;
  while (lines >> label >> address.build_id >> std::hex >> address.vaddr) {
    lines.get();
    std::getline(lines, address.module_path);
    if (address.build_id == "-") address.build_id.clear();
    address.is_return_address = true;
    probes[label] = address;
  }
  return probes;
}

inline int MarkerLine(const std::string& file, const std::string& marker) {
  std::ifstream in(file);
  std::string line;
  int found = 0;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find(marker) == std::string::npos) continue;
    EXPECT_EQ(found, 0) << marker << " stands twice in " << file;
    found = number;
  }
  EXPECT_NE(found, 0) << marker << " is not in " << file;
  return found;
}

}  // namespace rollcall::testing

#endif  // ROLLCALL_TESTS_SUPPORT_TEST_PROGRAM_H_
