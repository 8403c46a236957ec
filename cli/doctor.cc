// SPDX-License-Identifier: Apache-2.0
// rollcall doctor: checks whether this machine has what rollcall needs, and prints how to fix what
// is missing.
#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/argument_parser.h"
#include "cli/command.h"
#include "collector/agent/grpc_transport.h"
#include "collector/base/argument_vector.h"
#include "collector/base/result.h"
#include "collector/launch/job_environment.h"
#include "collector/launch/run_root.h"
#include "collector/live/live_stack.h"
#include "collector/live/process_watch.h"
#include "collector/live/ptrace_permission.h"
#include "collector/service/grpc_server.h"
#include "proto/environment.h"
#include "proto/ring_format.h"
#include "proto/run_directory.h"

namespace rollcall {
namespace {

enum class Outcome { kOk, kNote, kFail };

class Checklist {
 public:
  void Add(Outcome verdict, const std::string& what, const std::string& fix = "") {
    const char* mark = verdict == Outcome::kOk     ? "ok  "
                       : verdict == Outcome::kNote ? "note"
                                                   : "FAIL";
    fmt::print("{}  {}\n", mark, what);
    if (!fix.empty()) fmt::print("      fix: {}\n", fix);
    failed_ = failed_ || verdict == Outcome::kFail;
  }
  bool failed() const { return failed_; }

 private:
  bool failed_ = false;
};

// Runs in the child process that was started with LD_PRELOAD set.
int ProbePreload() {
  bool loaded = false;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        if (strstr(info->dlpi_name, "librollcall.so") != nullptr) *static_cast<bool*>(found) = true;
        return 0;
      },
      &loaded);
  return loaded ? 0 : 1;
}

constexpr char kProbe[] = "--probe-preload";

// Runs this program as its own probe and returns its exit code; -1 if it could not be run.
int RunProbe() {
  std::vector<std::string> notes;
  const std::vector<std::string> lines =
      EnvironmentLines(JobEnvironment(CurrentEnvironment(), {}, &notes));
  const std::vector<char*> variables = ArgumentVector(lines);
  const std::vector<std::string> command = {OwnPath(), "doctor", kProbe};
  const std::vector<char*> arguments = ArgumentVector(command);
  pid_t pid = -1;
  int status = 0;
  if (posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), variables.data()) != 0) {
    return -1;
  }
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

void CheckPreload(Checklist* list) {
  const std::string library = PreloadLibrary();
  if (library.empty()) {
    list->Add(Outcome::kFail, "librollcall.so is not beside this program",
              "install the whole tree: cmake --install BUILD --prefix DIR");
    return;
  }
  if (RunProbe() == 0) {
    list->Add(Outcome::kOk, fmt::format("preload works: {}", library));
  } else {
    list->Add(Outcome::kFail, fmt::format("{} is not loaded by LD_PRELOAD", library),
              fmt::format("see the loader's message: LD_PRELOAD={} /bin/true", library));
  }
}

void CheckMpi(Checklist* list) {
  struct Library {
    const char* file;
    const char* name;
  };
  // The libraries are opened in this process only. Ranks load no additional library.
  constexpr Library kLibraries[] = {{"libmpi.so.40", "Open MPI 3 to 5"},
                                    {"libmpich.so.12", "MPICH ABI"},
                                    {"libmpi.so.12", "MPICH ABI (Intel MPI, Cray)"},
                                    {"libmpi_abi.so.1", "MPI standard ABI"}};
  bool any = false;
  for (const Library& library : kLibraries) {
    void* handle = dlopen(library.file, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    any = true;
    list->Add(Outcome::kOk, fmt::format("{}: {}", library.name, library.file));
  }
  if (!any) {
    list->Add(Outcome::kNote, "no MPI library on the loader's path",
              "load the module or set LD_LIBRARY_PATH as for the job; not needed for programs with "
              "their own MPI");
  }
}

void CheckSharedMemory(Checklist* list) {
  struct statvfs room;
  if (statvfs(kSharedMemory, &room) != 0) {
    list->Add(Outcome::kFail, fmt::format("{}: {}", kSharedMemory, strerror(errno)),
              "mount a tmpfs there; in containers: --shm-size=1g or --ipc=host");
    return;
  }
  const uint64_t free_bytes = uint64_t{room.f_bavail} * room.f_frsize;
  const uint64_t ranks = free_bytes / kSharedMemoryShare / ring::kDefaultFileBytes;
  const std::string what =
      fmt::format("{}: {} MiB free, room for {} ranks at {} MiB (1/{} of it)", kSharedMemory,
                  free_bytes >> 20, ranks, ring::kDefaultFileBytes >> 20, kSharedMemoryShare);
  if (ranks > 0) {
    list->Add(Outcome::kOk, what);
  } else {
    list->Add(Outcome::kNote, what + "; ranks use memory of their own",
              fmt::format("in containers: --shm-size=1g; or smaller rings by {}", env::kRingKiB));
  }
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < ring::kDefaultFileBytes) {
    list->Add(Outcome::kFail,
              fmt::format("the file size limit is {} KiB, less than a ring", limit.rlim_cur >> 10),
              "ulimit -f unlimited");
  }
}

void CheckRunRoot(Checklist* list) {
  const auto [root, why] = RunRoot::UsablePath(kSharedMemory);
  Result<RunDirectory> run = RunRoot::Create(root);
  if (!run) {
    list->Add(Outcome::kFail, run.error(),
              fmt::format("rm -r {} if it is yours, or set TMPDIR", root));
    return;
  }
  const std::string path = run->path();
  *run = {};
  RunRoot::Remove(path);
  if (why.empty()) {
    list->Add(Outcome::kOk, fmt::format("run directories: {}", root));
  } else {
    list->Add(Outcome::kNote, fmt::format("{}; run directories go to {}", why, root),
              fmt::format("make {} usable", RunRoot::DefaultPath(kSharedMemory)));
  }
}

// Tests with a child process, since ranks are descendants of `rollcall run`.
void CheckLiveStacks(Checklist* list) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  const ProcSource proc;
  const LiveStacks stacks = CaptureLiveStacks(proc, child);
  const bool seen = !stacks.threads.empty() && !stacks.threads[0].frames.empty();
  std::string scope;
  proc.Read("/proc/sys/kernel/yama/ptrace_scope", &scope, 16);
  if (seen) {
    list->Add(Outcome::kOk, "live stacks of stalled ranks, native and Python");
  } else {
    list->Add(Outcome::kFail, "no live stacks of stalled ranks: " + stacks.error,
              ExplainPtraceDenied(proc, child));
  }
  if (seen && !scope.empty() && scope[0] != '0' && geteuid() != 0) {
    list->Add(Outcome::kNote,
              "kernel.yama.ptrace_scope is " + scope.substr(0, 1) +
                  ": live stacks only of ranks that `rollcall run` started on this node",
              "sysctl kernel.yama.ptrace_scope=0, on nodes with an agent of their own");
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

void CheckEnds(Checklist* list) {
  const EndReports reports = FindEndReports();
  if (reports == EndReports::kNoPidfds) {
    list->Add(Outcome::kNote,
              "this kernel has no pidfds: how ranks end is known through "
              "`rollcall exec` only",
              "Linux 5.3 or later; or put `rollcall exec --` in front of the program");
  } else if (reports == EndReports::kToParentOnly) {
    list->Add(Outcome::kNote,
              "this kernel reports how a process ended only to its parent (Linux 6.15 reports it "
              "to others)",
              "nothing under Open MPI; elsewhere put `rollcall exec --` in front of the program");
  } else {
    list->Add(Outcome::kOk, "how ranks end: reported by the kernel");
  }
}

// Checks the connection in the same way as an agent of this node.
void CheckCollector(const std::string& address, Checklist* list) {
  using Result = agent::CollectorCheck::Result;
  const char* token = getenv(env::kToken);
  service::SilenceGrpc();
  const agent::CollectorCheck check = agent::CheckCollector(address, token != nullptr ? token : "");
  const auto fail = [&](const std::string& what, const std::string& fix) {
    list->Add(Outcome::kFail, fmt::format("{}: {}", what, check.reason), fix);
  };
  switch (check.result) {
    case Result::kServes:
      return list->Add(Outcome::kOk,
                       fmt::format("the collector at {} serves agents of this node", address));
    case Result::kUnknownName:
      return fail(address,
                  "give --listen an address of the collector's node that this node can resolve");
    case Result::kUnreachable:
      return fail("no collector at " + address,
                  "start it with --listen and an address of its network, not 127.0.0.1; open the "
                  "port in the firewall");
    case Result::kWrongToken:
      return fail("the collector at " + address,
                  fmt::format("set {} to the collector's value", env::kToken));
    case Result::kRefuses:
      return fail("the collector at " + address,
                  "install the same version of rollcall on all nodes");
  }
}

}  // namespace

int RunDoctor(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], kProbe) == 0) return ProbePreload();
  ArgumentParser parser(
      "Checks whether this machine has what rollcall needs, and prints how to fix what is missing.",
      "rollcall doctor");
  std::string collector;
  parser.Add("--collector", &collector,
             "HOST:PORT; also check whether this node reaches it (token: ROLLCALL_TOKEN)");
  if (const auto code = parser.Parse(argc, argv)) return *code;
  Checklist list;
  CheckPreload(&list);
  CheckMpi(&list);
  CheckSharedMemory(&list);
  CheckRunRoot(&list);
  CheckLiveStacks(&list);
  CheckEnds(&list);
  if (!collector.empty()) CheckCollector(collector, &list);
  return list.failed() ? 1 : 0;
}

}  // namespace rollcall
