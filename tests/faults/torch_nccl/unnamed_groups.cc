// The stores of the groups are not known: {0, 1} and {2, 3} look like one group. Rank 3 sleeps, and
// its peer waits; the first two are further. NCCL's communicators are known.
//
// rollcall-test: ranks=4 outcome=hung stall-after=2
// expect: kind=rank-stalled culprits=3 waiting=any op=ncclAllReduce seq=2
// expect+: certainty=likely lines=culprit
#include "tests/torch_sim/job.h"

class UnknownStore : public c10d::Store {
 public:
  explicit UnknownStore(std::string name) : name_(std::move(name)) {}
  std::string Prefix() const override { return name_; }

 private:
  const std::string name_;
};

static Group Unnamed(const std::string& name, int rank, int size) {
  return c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::make_intrusive<UnknownStore>(name), rank, size,
      c10::make_intrusive<c10d::ProcessGroupNCCL::Options>());
}

int main() {
  alarm(120);
  const int half = Rank() / 2;
  const Group all = Unnamed("all", Rank(), Size());
  const Group mine = Unnamed("half" + std::to_string(half), Rank() % 2, 2);
  c10d::Tensors data = {Floats(16, 1)};
  for (int step = 0; step < 4; ++step) {
    if (kFault && Rank() == 3 && step == 1) pause();  // @culprit
    Wait(mine->allreduce(data, {}));
    cudaDeviceSynchronize();
  }
  Wait(all->allreduce(data, {}));
  Report("sum", data[0]);
  return 0;
}
