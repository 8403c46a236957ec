// SPDX-License-Identifier: Apache-2.0
#include "collector/live/syscall_names.h"

#include <sys/syscall.h>

namespace rollcall {
namespace {

struct Entry {
  int64_t number;
  const char* name;
  bool fails_when_stopped;
};

#define RESTARTS(name) \
  { SYS_##name, #name, false }
#define FAILS(name) \
  { SYS_##name, #name, true }

// Newer architectures lack old calls, so only the newer forms are listed for them.
constexpr Entry kEntries[] = {
    RESTARTS(read),
    RESTARTS(write),
    RESTARTS(readv),
    RESTARTS(writev),
    RESTARTS(pread64),
    RESTARTS(pwrite64),
    RESTARTS(preadv),
    RESTARTS(pwritev),
    RESTARTS(openat),
    RESTARTS(close),
    RESTARTS(fsync),
    RESTARTS(fdatasync),
    RESTARTS(ftruncate),
    RESTARTS(fallocate),
    RESTARTS(flock),
    RESTARTS(fcntl),
    RESTARTS(ioctl),
    RESTARTS(sendfile),
    RESTARTS(splice),
    RESTARTS(getdents64),
    RESTARTS(statx),
    RESTARTS(mmap),
    RESTARTS(munmap),
    RESTARTS(mprotect),
    RESTARTS(madvise),
    RESTARTS(msync),
    RESTARTS(futex),
    RESTARTS(ppoll),
    RESTARTS(pselect6),
    RESTARTS(nanosleep),
    RESTARTS(clock_nanosleep),
    RESTARTS(restart_syscall),
    RESTARTS(wait4),
    RESTARTS(waitid),
    RESTARTS(rt_sigsuspend),
    RESTARTS(sched_yield),
    RESTARTS(process_vm_readv),
    RESTARTS(process_vm_writev),
    RESTARTS(execve),
    RESTARTS(exit),
    RESTARTS(exit_group),
    RESTARTS(mq_timedreceive),
    RESTARTS(mq_timedsend),
    RESTARTS(msgrcv),
    RESTARTS(msgsnd),
    FAILS(epoll_pwait),
    FAILS(semop),
    FAILS(semtimedop),
    FAILS(rt_sigtimedwait),
    FAILS(io_getevents),
    FAILS(accept),
    FAILS(accept4),
    FAILS(connect),
    FAILS(recvfrom),
    FAILS(recvmsg),
    FAILS(recvmmsg),
    FAILS(sendto),
    FAILS(sendmsg),
    FAILS(sendmmsg),
#ifdef SYS_io_uring_enter
    FAILS(io_uring_enter),
#endif
#ifdef SYS_epoll_pwait2
    FAILS(epoll_pwait2),
#endif
#ifdef SYS_epoll_wait
    FAILS(epoll_wait),
#endif
#ifdef SYS_futex_waitv
    RESTARTS(futex_waitv),
#endif
#ifdef SYS_poll
    RESTARTS(poll),
    RESTARTS(select),
    RESTARTS(pause),
    RESTARTS(open),
    RESTARTS(stat),
    RESTARTS(unlink),
    RESTARTS(rename),
    RESTARTS(vfork),
#endif
};

#undef RESTARTS
#undef FAILS

const Entry* Find(int64_t number) {
  for (const Entry& entry : kEntries) {
    if (entry.number == number) return &entry;
  }
  return nullptr;
}

}  // namespace

std::string SyscallName(int64_t number) {
  if (const Entry* entry = Find(number)) return entry->name;
  return "system call " + std::to_string(number);
}

bool FailsWhenStopped(int64_t number) {
  const Entry* entry = Find(number);
  return entry != nullptr && entry->fails_when_stopped;
}

}  // namespace rollcall
