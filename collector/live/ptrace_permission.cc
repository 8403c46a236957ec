// SPDX-License-Identifier: Apache-2.0
#include "collector/live/ptrace_permission.h"

#include <linux/capability.h>

#include <cstdint>
#include <string_view>

#include "collector/base/proc_stat.h"
#include "collector/base/text.h"

namespace rollcall {
namespace {

std::string ReadStatus(const ProcSource& proc, const std::string& who) {
  std::string status;
  return proc.Read("/proc/" + who + "/status", &status) == 0 ? status : "";
}

// The real uid, the first of four. ptrace(2) compares all of them, but they differ only in setuid
// programs.
std::string RealUid(std::string_view status) {
  const std::string_view users = ProcStatusField(status, "Uid");
  return std::string(users.substr(0, users.find('\t')));
}

// A capability set by its name in the file; empty if it is not there.
uint64_t Capabilities(std::string_view status, std::string_view set) {
  return ParseNumber<uint64_t>(ProcStatusField(status, set), 16).value_or(0);
}

std::string Trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \t\n") + 1);
  return CleanText(text, 64);
}

constexpr char kCapability[] =
    "CAP_SYS_PTRACE (in a container: --cap-add=SYS_PTRACE; or run rollcall as root)";

}  // namespace

std::string ExplainPtraceDenied(const ProcSource& proc, pid_t pid) {
  const std::string who = std::to_string(pid);
  const std::string process = "process " + who;
  const std::string target = ReadStatus(proc, who);
  const std::string self = ReadStatus(proc, "self");

  const std::string tracer(ProcStatusField(target, "TracerPid"));
  if (!tracer.empty() && tracer != "0") {
    std::string name;
    if (proc.Read("/proc/" + tracer + "/comm", &name) != 0) name = "another program";
    return process + " is being traced by " + Trimmed(name) + " (pid " + tracer +
           "), and a process has one tracer only: detach it, or take the stack there";
  }
  const bool capable = ((Capabilities(self, "CapEff") >> CAP_SYS_PTRACE) & 1) != 0;
  if (!capable && !RealUid(target).empty() && RealUid(target) != RealUid(self)) {
    return process + " belongs to user id " + RealUid(target) + " and rollcall runs as " +
           RealUid(self) + ": run it as the same user, or with " + kCapability;
  }
  if (!capable && (Capabilities(target, "CapPrm") & ~Capabilities(self, "CapEff")) != 0) {
    return process + " has capabilities that rollcall lacks: tracing it requires " + kCapability;
  }
  std::string scope;
  if (proc.Read("/proc/sys/kernel/yama/ptrace_scope", &scope) == 0) scope = Trimmed(scope);
  if (scope == "3") {
    return "kernel.yama.ptrace_scope is 3: no process may be traced until the machine is booted "
           "with a lower value";
  }
  if (!capable && (scope == "1" || scope == "2")) {
    return "kernel.yama.ptrace_scope is " + scope + ": " +
           (scope == "1" ? "only a process's ancestors may trace it"
                         : "only administrators may trace processes") +
           "; allow it with `sysctl kernel.yama.ptrace_scope=0`, or give rollcall " + kCapability;
  }
  if (ProcStatusField(self, "Seccomp") == "2") {
    return std::string(
        "a seccomp filter, as containers have it, may forbid ptrace here: start the "
        "container with --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined");
  }
  if (!capable) {
    return process +
           " cannot be traced (it changed its user, or called "
           "prctl(PR_SET_DUMPABLE, 0)): that takes " +
           kCapability;
  }
  return "the kernel refused ptrace of " + process +
         " although CAP_SYS_PTRACE is there: it may be in another user namespace, or a security "
         "module (SELinux deny_ptrace, AppArmor) forbids it";
}

}  // namespace rollcall
