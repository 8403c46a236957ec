// SPDX-License-Identifier: Apache-2.0
// As branch.c. The condition names members, variables of the file, and the sizes of vectors.
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::ofstream truth;

template <typename T>
void Write(const char* name, const T& value) {
  truth << "Solver::Exchange " << name << ' ' << value << '\n';
}

int file_count = 3;
namespace settings {
unsigned long big_count = 4;
}

}  // namespace

enum class Mode : unsigned char { kFast = 1, kSlow = 200 };
const char* NameOf(Mode mode) { return mode == Mode::kFast ? "kFast" : "kSlow"; }
const char* Text(bool value) { return value ? "true" : "false"; }

struct Flags {
  unsigned before : 5;
  int level : 3;
  unsigned wide : 27;
  bool on : 1;
};

struct Limits {
  double tolerance;
  struct {
    short turns;
  } inner;
};

struct Base {
  explicit Base(int rank) : rounds(rank == 0 ? -7 : 8) {}
  long padding = 1;
  std::int64_t rounds;
};

class Solver : public Base {
 public:
  Solver(int rank, const Limits* limits)
      : Base(rank), done_(rank == 0), parts_(rank == 0 ? 5 : 3), limits_(limits), stop_(rank + 5) {
    mode_ = rank == 0 ? Mode::kFast : Mode::kSlow;
    flags_ = {
        .before = 31, .level = rank == 0 ? -3 : 2, .wide = rank == 0 ? 99u : 98u, .on = rank == 0};
  }

  int Exchange(const std::vector<double>& sizes, const bool& by_reference, Limits copy, int step) {
    static int calls = 0;
    if (file_count == 9) calls += 2;
    if (step == 2) {
      Write("done_", Text(done_));
      Write("this->rounds", rounds);
      Write("parts_", "of length " + std::to_string(parts_.size()));
      Write("sizes", "of length " + std::to_string(sizes.size()));
      Write("limits_->tolerance", limits_->tolerance);
      Write("limits_->inner.turns", limits_->inner.turns);
      Write("copy.inner.turns", copy.inner.turns);
      Write("stop_", stop_.load());
      Write("mode_", NameOf(mode_));
      Write("flags_.level", flags_.level);
      Write("flags_.wide", flags_.wide);
      Write("flags_.on", Text(flags_.on));
      Write("by_reference", Text(by_reference));
      Write("file_count", file_count);
      Write("settings::big_count", settings::big_count);
      Write("calls", calls);
      Write("limits_", "not null");
      Write("step", step);
      truth.flush();
    }
    if (step != 2 ||
        !(done_ || this->rounds < 0 || parts_.size() == 5 || sizes.empty() ||
          limits_->tolerance > 1 || limits_->inner.turns == 2 || copy.inner.turns == 2 ||
          stop_.load() == 5 || mode_ == Mode::kFast || flags_.level < 0 || flags_.wide == 99 ||
          flags_.on || by_reference || file_count == 9 || settings::big_count == 9 || calls > 6)) {
      MPI_Barrier(MPI_COMM_WORLD);
    }
    int sum = step;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum + static_cast<int>(sizes.size()) + static_cast<int>(parts_.size()) +
           copy.inner.turns;
  }

 private:
  bool done_;
  std::vector<Limits> parts_;
  const Limits* limits_;
  std::atomic<int> stop_;
  Mode mode_;
  Flags flags_;
};

int main(int argc, char** argv) {
  alarm(120);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  truth.open(std::string(argv[1]) + "/truth." + std::to_string(rank));
  truth.precision(17);
  const Limits limits = {.tolerance = rank == 0 ? 1.5 : 0.5,
                         .inner = {.turns = static_cast<short>(rank == 0 ? 2 : 3)}};
  file_count = rank == 0 ? 9 : 8;
  settings::big_count = rank == 0 ? 9 : 8;
  Solver solver(rank, &limits);
  const std::vector<double> sizes(rank == 0 ? 0 : 2);
  const bool by_reference = rank == 0;
  int total = 0;
  for (int step = 0; step < 5; ++step) {
    if (step == 2)
      truth << "main total " << total << "\nmain by_reference " << Text(by_reference) << '\n';
    total += solver.Exchange(sizes, by_reference, limits, step);
  }
  truth << total << '\n';
  MPI_Finalize();
  return 0;
}
