#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates a rank of PyTorch with the Flight Recorder of NCCL's process group, for machines without a GPU.

Like torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp, it makes the pipe <TORCH_NCCL_DEBUG_INFO_PIPE_FILE><rank>.pipe
and writes the dump <TORCH_FR_DUMP_TEMP_FILE><rank> whenever the pipe receives something. In the dump, the last rank
does not call the second all_reduce.
"""

import os
import pickle
import select
import sys
import time

MOST_SECONDS = 120
SECOND_NS = 10**9


def entry(number, state, created_ns, rank):
    done = state == "completed"
    return {
        "frames": [{"name": "step", "filename": os.path.abspath(__file__), "line": 30 + number}],
        "record_id": number - 1, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": number,
        "p2p_seq_id": 0, "op_id": number, "profiling_name": "nccl:all_reduce", "time_created_ns": created_ns + rank,
        "input_sizes": [[4]], "input_dtypes": ["Float"], "output_sizes": [[4]], "output_dtypes": ["Float"],
        "state": state, "time_discovered_started_ns": created_ns + rank + 1,
        "time_discovered_completed_ns": created_ns + SECOND_NS if done else None, "retired": done, "timeout_ms": 600000,
        "is_p2p": False}


def dump(rank, size, begun_ns):
    entries = [entry(1, "completed", begun_ns - 200 * SECOND_NS, rank)]
    if rank != size - 1:
        entries.append(entry(2, "started", begun_ns - 100 * SECOND_NS, rank))
    return {
        "version": "2.9", "nccl_version": "2.27.3",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(size)))}},
        "pg_status": {"0": {"last_enqueued_collective": len(entries), "last_started_collective": len(entries),
                            "last_completed_collective": 1}},
        "entries": entries}


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    pipe_name = "%s%d.pipe" % (os.environ["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"], rank)
    os.mkfifo(pipe_name)
    pipe = os.open(pipe_name, os.O_RDWR | os.O_NONBLOCK)
    begun_ns = time.time_ns()
    deadline = time.monotonic() + MOST_SECONDS
    print("stepping", flush=True)
    while time.monotonic() < deadline:
        ready, _, _ = select.select([pipe], [], [], 1)
        if not ready:
            continue
        os.read(pipe, 128)
        content = dump(rank, size, begun_ns)
        with open("%s%d" % (os.environ["TORCH_FR_DUMP_TEMP_FILE"], rank), "wb") as file:
            pickle.dump(content, file, protocol=2)


if __name__ == "__main__":
    sys.exit(main())
