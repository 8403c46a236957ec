// SPDX-License-Identifier: Apache-2.0
// Each well has a communicator, and the wells are tested in the order of an unordered map. Rank 2
// read them from a restart file and inserted them in another order: it tests the second well first.
//
// report: OPM/opm-common#4849
// job: ranks=3 outcome=hung
// expect: kind=order-inversion culprits=2|none
#include <mpi.h>

#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

static int rank;

struct Well {
  MPI_Comm comm = MPI_COMM_NULL;
  double rate = 1;
  bool operable() const {
    double mine = rate + rank, all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MIN, comm);
    return all > 0;
  }
};

#ifdef CONTROL
using WellMap = std::map<std::string, Well>;
#else
using WellMap = std::unordered_map<std::string, Well>;
#endif

static int test_wells(const WellMap& wells) {
  int open = 0;
  for (const auto& [name, well] : wells) open += well.operable();
  return open;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<std::string> schedule = {"PROD-1", "INJ-7"};
  std::map<std::string, Well> all;
  for (const std::string& name : schedule) MPI_Comm_dup(MPI_COMM_WORLD, &all[name].comm);
  WellMap wells;
  if (rank != 2) {
    for (auto name = schedule.begin(); name != schedule.end(); ++name)
      wells.emplace(*name, all[*name]);
  } else {
    for (auto name = schedule.rbegin(); name != schedule.rend(); ++name)
      wells.emplace(*name, all[*name]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int open = 0;
  for (int step = 0; step < 3; ++step) open += test_wells(wells);
  if (rank == 0) std::printf("%d\n", open);
  for (auto& one : all) MPI_Comm_free(&one.second.comm);
  MPI_Finalize();
}
