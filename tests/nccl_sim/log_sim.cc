// SPDX-License-Identifier: Apache-2.0
#include "tests/nccl_sim/log_sim.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace nccl_sim {
namespace {

bool Logs(const char* subsystem) {
  const char* level = getenv("NCCL_DEBUG");
  if (level == nullptr || strcmp(level, "INFO") != 0) return false;
  const char* subsystems = getenv("NCCL_DEBUG_SUBSYS");
  return strstr(subsystems == nullptr ? "INIT,ENV" : subsystems, subsystem) != nullptr;
}

// One write for a line, so that the lines of several processes do not mix.
[[gnu::format(printf, 2, 3)]] void Print(int device, const char* format, ...) {
  char host[64] = "";
  gethostname(host, sizeof(host) - 1);
  char line[1024];
  size_t size = static_cast<size_t>(snprintf(line, sizeof(line), "%s:%d:%ld [%d] NCCL INFO ", host,
                                             static_cast<int>(getpid()),
                                             static_cast<long>(syscall(SYS_gettid)), device));
  va_list args;
  va_start(args, format);
  vsnprintf(line + size, sizeof(line) - size - 1, format, args);
  va_end(args);
  size = strlen(line);
  line[size++] = '\n';
  if (write(STDOUT_FILENO, line, size) < 0) return;
}

}  // namespace

void LogInit(const void* comm, int rank, int ranks, int device, const std::string& name) {
  if (!Logs("INIT")) return;
  Print(device,
        "ncclCommInitRank comm %p rank %d nranks %d cudaDev %d nvmlDev %d busId %x commId 0x%zx - "
        "Init COMPLETE",
        comm, rank, ranks, device, device, device << 12, std::hash<std::string>()(name));
}

void LogCall(const LoggedCall& call, const void* comm, int ranks, int device, cudaStream_t stream) {
  if (!Logs("COLL")) return;
  Print(device,
        "%s: opCount %llx sendbuff %p recvbuff %p count %zu datatype %d op %d root %d comm %p "
        "[nranks=%d] stream %p",
        call.function, static_cast<unsigned long long>(call.number), call.send, call.recv,
        call.count, call.type, call.op, call.root, comm, ranks, static_cast<const void*>(stream));
}

}  // namespace nccl_sim
