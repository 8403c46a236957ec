// SPDX-License-Identifier: Apache-2.0
// Each round of communication takes the next tag, up to the largest int, which is more than
// MPI_TAG_UB.
//
// report: trilinos/Trilinos#15380, ComputationalRadiationPhysics/picongpu#982
// job: ranks=3 outcome=failed
// expect: kind=invalid-argument culprits=any
// says: tag
#include <mpi.h>

#include <cstdio>
#include <limits>

class Comm {
 public:
  explicit Comm(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    int *bound, found;
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &found);
    bound_ = *bound;
    tag_ = bound_ - 10;  // after millions of rounds
  }
  int rank() const { return rank_; }
  int next_tag() {
#ifdef CONTROL
    tag_ = tag_ == bound_ ? 1 : tag_ + 1;
#else
    tag_ = tag_ == std::numeric_limits<int>::max() ? -tag_ : tag_ + 1;
#endif
    return tag_;
  }
  double shift(double value) {
    const int tag = next_tag();
    double got = 0;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_DOUBLE, (rank_ + size_ - 1) % size_, tag, comm_, &request);  // @culprit
    MPI_Send(&value, 1, MPI_DOUBLE, (rank_ + 1) % size_, tag, comm_);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return got;
  }

 private:
  MPI_Comm comm_;
  int rank_, size_, tag_, bound_;
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Comm comm(MPI_COMM_WORLD);
  double value = comm.rank();
  for (int round = 0; round < 20; ++round) value = 0.5 * (value + comm.shift(value));
  std::printf("rank %d: %g\n", comm.rank(), value);
  MPI_Finalize();
}
