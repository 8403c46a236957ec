// SPDX-License-Identifier: Apache-2.0
// A network that accepts no data.
#ifndef ROLLCALL_TESTS_FAULTS_TRANSPORT_LINK_H_
#define ROLLCALL_TESTS_FAULTS_TRANSPORT_LINK_H_

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/faults/fault.h"

#ifdef FAULT
// The kernel tells every writev() of this process to try again.
static void LinkTakesNothing(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("seccomp");
    exit(9);
  }
}
#endif

#endif  // ROLLCALL_TESTS_FAULTS_TRANSPORT_LINK_H_
