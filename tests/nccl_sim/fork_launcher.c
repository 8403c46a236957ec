// SPDX-License-Identifier: Apache-2.0
// fork_launcher -n RANKS PROGRAM ARGUMENTS…: starts that many processes and waits for all, whatever
// becomes of some. They find their rank, size and job in the environment, as torchrun's do. The
// exit code is that of the first that failed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void SetNumber(const char* name, int value) {
  char text[16];
  snprintf(text, sizeof(text), "%d", value);
  setenv(name, text, 1);
}

int main(int argc, char** argv) {
  if (argc < 4 || strcmp(argv[1], "-n") != 0) {
    fprintf(stderr, "usage: %s -n RANKS PROGRAM [ARGUMENTS]\n", argv[0]);
    return 2;
  }
  const int ranks = atoi(argv[2]);
  SetNumber("WORLD_SIZE", ranks);
  SetNumber("LOCAL_WORLD_SIZE", ranks);
  char job[64];
  snprintf(job, sizeof(job), "%d-%lld", (int)getpid(), (long long)time(NULL));
  setenv("TORCHELASTIC_RUN_ID", job, 1);
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child < 0) {
      perror("fork");
      return 1;
    }
    if (child > 0) continue;
    SetNumber("RANK", rank);
    SetNumber("LOCAL_RANK", rank);
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    _exit(127);
  }
  int code = 0;
  for (int ended = 0; ended < ranks; ++ended) {
    int status = 0;
    if (wait(&status) < 0) break;
    const int theirs = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code == 0) code = theirs;
  }
  return code;
}
