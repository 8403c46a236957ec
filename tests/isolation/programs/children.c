/* SPDX-License-Identifier: Apache-2.0 */
/* Children of every sort, which must not write into their parent's record. */
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "isolation.h"

extern char** environ;

static void AtExit(void) {
  if (getenv("IN_CHILD") != NULL) Barriers(1); /* a forked child's handlers run, too */
}

static int Wait(pid_t pid) {
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char** argv) {
  atexit(AtExit);
  MPI_Init(&argc, &argv);
  Barriers(10);
  pid_t pid = vfork();
  if (pid == 0) _exit(11);
  printf("vfork, _exit: %d\n", Wait(pid));
  pid = vfork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", "exit 12", NULL);
    _exit(99);
  }
  printf("vfork, exec: %d\n", Wait(pid));
  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    setenv("IN_CHILD", "1", 1);
    Barriers(100);
    Allreduces(100);
    exit(13);
  }
  printf("fork, exit: %d\n", Wait(pid));
  fflush(stdout);
  pid = fork();
  if (pid == 0) {
    pid = fork();
    if (pid == 0) {
      Barriers(50);
      _exit(1);
    }
    REQUIRE(Wait(pid) == 1);
    _exit(14);
  }
  printf("fork in fork, _exit: %d\n", Wait(pid));
  fflush(stdout);
  pid = fork();
  if (pid == 0) quick_exit(15);
  printf("fork, quick_exit: %d\n", Wait(pid));
  fflush(stdout);
  char* arguments[] = {(char*)"sh", (char*)"-c", (char*)"exit 16", NULL};
  REQUIRE(posix_spawn(&pid, "/bin/sh", NULL, NULL, arguments, environ) == 0);
  printf("posix_spawn: %d\n", Wait(pid));
  fflush(stdout);
  printf("system: %d\n", WEXITSTATUS(system("echo from a shell; exit 17")));
  Barriers(10);
  MPI_Finalize();
  exit(9);
}
