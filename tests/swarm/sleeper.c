/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a rank and does nothing: sleeper PARENT. It ends with its parent process.
 *
 * A program of its own, linked statically: processes forked from the swarm would share its memory,
 * and whatever visits the mappings of a page, such as the kernel's DAMON, would visit those of
 * sixteen thousand processes. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 2 || getppid() != atoi(argv[1])) return 1;
  for (;;) pause();
}
