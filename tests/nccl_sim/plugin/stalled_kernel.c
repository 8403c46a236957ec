// SPDX-License-Identifier: Apache-2.0
// The device of rank 1 stops inside a reduction that all others come out of, and no host waits for
// its device in a call: NCCL's kernel events tell.
//
// rollcall-test: ranks=3 outcome=hung stall-after=1 gpu=marks
// expect: kind=gpu-stalled culprits=1 waiting=0,2 op=ncclAllReduce seq=2
// expect+: certainty=suspected lines=none
#include "tests/faults/nccl/marks_stalled_device.c"
