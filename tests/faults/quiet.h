// Code of programs that are quiet for some time between their messages. That time is their first
// argument (`arguments:` in the header comment); it is short by default, and long in the variants
// that only the full tests run.
#ifndef ROLLCALL_TESTS_FAULTS_QUIET_H_
#define ROLLCALL_TESTS_FAULTS_QUIET_H_

#include <poll.h>
#include <time.h>

#include "tests/faults/fault.h"

ROLLCALL_FAULT_INLINE double QuietSeconds(int argc, char** argv) {
  return argc > 1 ? atof(argv[1]) : 2.5;
}

ROLLCALL_FAULT_INLINE double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Work that occupies a core.
ROLLCALL_FAULT_INLINE void Compute(double seconds) {
  const double until = Now() + seconds;
  while (Now() < until) {
  }
}

// Only this thread sleeps; a signal may end it early. usleep() and sleep() may use the alarm of the
// safety net.
ROLLCALL_FAULT_INLINE void Sleep(double seconds) {
  struct timespec length;
  length.tv_sec = (time_t)seconds;
  length.tv_nsec = (long)((seconds - (double)length.tv_sec) * 1e9);
  nanosleep(&length, NULL);
}

// The end of a pipe that can be read after `seconds`: another process, which does not use MPI,
// writes it.
ROLLCALL_FAULT_INLINE FILE* StartFeed(double seconds) {
  char command[64];
  snprintf(command, sizeof(command), "sleep %.3f; echo 1", seconds);
  FILE* feed = popen(command, "r");
  if (feed == NULL) {
    perror("popen");
    exit(9);
  }
  return feed;
}

// Waits in read() until the feed is written.
ROLLCALL_FAULT_INLINE int ReadFeed(FILE* feed) {
  int value = 0;
  if (fscanf(feed, "%d", &value) != 1) value = -1;
  pclose(feed);
  return value;
}

ROLLCALL_FAULT_INLINE int FeedIsReadable(FILE* feed, int timeout_ms) {
  struct pollfd wanted = {fileno(feed), POLLIN, 0};
  return poll(&wanted, 1, timeout_ms) == 1;
}

#endif  // ROLLCALL_TESTS_FAULTS_QUIET_H_
