/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the clock without pause, below some frames, and keeps the longest time between two
 * readings. gap_clock FILE    16 bytes, which are mapped: that time in ns, which the reader sets to
 * 0, and the number of readings */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kFrames = 32, kFrameBytes = 512 };

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void Read(volatile uint64_t* shared) {
  for (uint64_t last = Now(); ++shared[1] != 0;) {
    const uint64_t now = Now();
    if (now - last > shared[0]) shared[0] = now - last;
    last = now;
  }
}

__attribute__((noinline)) static void Below(int frames, volatile uint64_t* shared) {
  volatile char room[kFrameBytes];
  room[0] = 0;
  if (frames == 0) {
    Read(shared);
  } else {
    Below(frames - 1, shared);
  }
  room[1] = room[0];
}

int main(int argc, char** argv) {
  alarm(1200);
  const int file = argc == 2 ? open(argv[1], O_RDWR) : -1;
  void* shared = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file < 0 || shared == MAP_FAILED) return 2;
  Below(kFrames, (volatile uint64_t*)shared);
  return 0;
}
