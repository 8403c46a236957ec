// SPDX-License-Identifier: Apache-2.0
// Rank 3 throws before ensure_directory(), and the test runner catches it. Its barrier in
// ~SharedTempDir is paired with the others' barrier in ensure_directory(), and the job hangs later:
// rank 3 in MPI_Bcast of the next test.
//
// report: awslabs/palace#838
// job: ranks=4 outcome=hung
// expect: kind=rank-conditional-collective|collective-mismatch culprits=3
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

static int world_rank() {
  int r;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

static bool exists(const std::string& p) {
  struct stat st;
  return stat(p.c_str(), &st) == 0;
}

struct SharedTempDir {
  std::string path;
  SharedTempDir() {
    char name[64] = {0};
    if (world_rank() == 0) {
      std::snprintf(name, sizeof name, "postpro_XXXXXX");
      if (!mkdtemp(name)) std::perror("mkdtemp");
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    path = name;
  }
  ~SharedTempDir() {
    // nobody may still use it
    MPI_Barrier(MPI_COMM_WORLD);  // @culprit
    if (world_rank() == 0) {
      rmdir((path + "/postpro").c_str());
      rmdir(path.c_str());
    }
  }
};

static void ensure_directory(const std::string& dir, MPI_Comm comm) {
  int r;
  MPI_Comm_rank(comm, &r);
  if (r == 0 && usleep(150000) == 0) mkdir(dir.c_str(), 0755);  // a slow file system
  MPI_Barrier(comm);
  MPI_Comm node;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, r, MPI_INFO_NULL, &node);
  int nr;
  MPI_Comm_rank(node, &nr);
  if (nr == 0 && !exists(dir)) mkdir(dir.c_str(), 0755);
  MPI_Comm_free(&node);
}

#define STR2(x) #x
#define STR(x) STR2(x)
#define REQUIRE(c) \
  if (!(c)) throw std::runtime_error("REQUIRE(" #c ") failed at line " STR(__LINE__))

static void test_creates_new_directory() {
  SharedTempDir tmp;
  const std::string dir = tmp.path + "/postpro";
#ifndef CONTROL
  if (world_rank() == 3) usleep(400000);
#endif
  REQUIRE(!exists(dir));
#ifdef CONTROL
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  ensure_directory(dir, MPI_COMM_WORLD);
  REQUIRE(exists(dir));
}

static void test_existing_directory() {
  SharedTempDir tmp;
  ensure_directory(tmp.path, MPI_COMM_WORLD);
  REQUIRE(exists(tmp.path));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<std::pair<const char*, std::function<void()>>> tests = {
      {"creates a new directory", test_creates_new_directory},
      {"keeps an existing one", test_existing_directory}};
  int failed = 0;
  for (auto& t : tests) {
    try {
      t.second();
      if (world_rank() == 0) std::printf("ok   %s\n", t.first);
    } catch (const std::exception& e) {
      std::printf("FAIL %s on rank %d: %s\n", t.first, world_rank(), e.what());
      std::fflush(stdout);
      ++failed;
    }
  }
  MPI_Finalize();
  return failed != 0;
}
