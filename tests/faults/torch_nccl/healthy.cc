// Nothing is wrong: two groups in another order on each rank, operations that nobody waits for
// until much later, one that is waited for twice, barriers, a rank whose host is slow, and parts of
// different sizes.
//
// rollcall-test: ranks=3
// expect: none
#include "tests/torch_sim/job.h"

int main() {
  const Group first = NewGroup();
  const Group second = NewGroup();
  c10d::Tensors one = {Floats(16, 1)};
  c10d::Tensors two = {Floats(16, 1)};
  Wait(first->allreduce(one, {}));  // makes the communicators, in one order
  Wait(second->allreduce(two, {}));
  for (int step = 0; step < 10; ++step) {
    const bool swapped = Rank() % 2 == 1;
    const Handle a = (swapped ? second : first)->allreduce(swapped ? two : one, {});
    const Handle b = (swapped ? first : second)->allreduce(swapped ? one : two, {});
    if (step == 5 && Rank() == 1) usleep(700'000);
    Wait(b);
    if (step % 3 == 0) Wait(a);
    if (step % 3 == 0) Wait(first->barrier({}));
    cudaDeviceSynchronize();
    Wait(a);
    c10d::Tensors mine = {Floats(Rank() + 1, 1)};
    std::vector<c10d::Tensors> parts = {{Floats(1, 0), Floats(2, 0), Floats(3, 0)}};
    Wait(first->allgather(parts, mine, {}));
  }
  Report("sum", one[0]);
  return 0;
}
