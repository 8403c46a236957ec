# SPDX-License-Identifier: Apache-2.0
"""The isolation tests: for each a program, its environment, and the expected contents of its ring.

With and without the preload a program must give the same output and the same exit code; the runner always compares
these. The fields here are additional checks.
"""

import dataclasses
from typing import Callable, Dict, Optional, Sequence

import surroundings

# rollcall::ring::ExitMark and Phase, as the summary prints them.
EXIT, QUICK_EXIT, ABORT = 1, 2, 3
UNREAD_DEVICE = 2  # ring::Unread
FINALIZED = 3


@dataclasses.dataclass
class Case:
    program: Sequence[str]          # name in programs/, arguments; directories {plugins}, {run}; {other}: the other MPI
    place: Callable = surroundings.plain
    ranks: int = 0                  # 0: started without a launcher
    mpis: Sequence[str] = ("openmpi", "mpich")
    rings: Optional[int] = None     # expected number; None: one per rank
    most_ring_bytes: Optional[int] = None  # of all rings together
    calls: Optional[Dict[str, int]] = None  # records by function, where exact
    header: Optional[Dict[str, int]] = None
    lines: int = 0                  # of stderr that begin with "rollcall: ", at most per rank
    needs_line: bool = False        # at least one such line is required
    preload: Sequence[str] = ()     # additional libraries to preload, before ours
    preload_after: Sequence[str] = ()
    environment: Optional[Dict[str, str]] = None
    same_output: bool = True        # False: only the code is compared, and `output` is searched for
    output: Sequence[str] = ()      # each must be in the output under the preload
    ordered: bool = True            # False: ranks' lines may come in any order
    bare_code: Optional[int] = None  # exit code of the run without the preload, which may fail on some machines
    runner: Optional[str] = None    # a special way to start it: see run_isolation_test.py

    def expected_rings(self):
        return max(1, self.ranks) if self.rings is None else self.rings


# UCX, which MPICH uses, writes warnings with a time stamp.
_QUIET_UCX = {"UCX_LOG_LEVEL": "fatal"}
_DATA = {"ROLLCALL_DATA": "full"}
_UNRECORDED = dict(rings=0, lines=1, needs_line=True)

CASES = {
    # --- the program's own control flow and state ---------------------------------------------------
    "exceptions": Case(["exceptions"], calls={"MPI_Barrier": 105, "MPI_Send": 100},
                       header={"wrong": 0, "open": 0}),
    "longjmp": Case(["longjmp_handler"], calls={"MPI_Barrier": 20, "MPI_Allreduce": 7, "MPI_Bcast": 10},
                    header={"open": 0}),
    "jump_in_callback": Case(["jump_in_callback"], calls={"MPI_Bcast": 3}, header={"open": 0, "nested": 3},
                             output=["freed"]),
    "callbacks": Case(["callbacks"], calls={"MPI_Barrier": 5, "MPI_Bcast": 3, "MPI_Finalize": 1},
                      header={"nested": 5, "phase": FINALIZED, "open": 0}),
    "cancel": Case(["cancel"], header={"wrong": 0}, output=["cancelled 1, cleaned up 1"]),
    "errno": Case(["errno_kept"]),
    "other_stacks": Case(["other_stacks"], calls={"MPI_Barrier": 27, "MPI_Allreduce": 10},
                         header={"open": 0}),
    # A ring that holds all records of the storm.
    "signals": Case(["signals"], header={"wrong": 0, "torn": 0},
                    environment={"ROLLCALL_RING_KIB": "65536"}),
    "threads": Case(["threads"], header={"threads_unrecorded": 0, "wrong": 0, "live_threads": 1}),
    "many_threads": Case(["many_threads"], header={"wrong": 0}),
    "address_sanitizer": Case(["ordinary.asan"], surroundings.address_sanitizer, bare_code=5,
                              calls={"MPI_Barrier": 5, "MPI_Allreduce": 1}),

    # --- files and libraries ------------------------------------------------------------------------
    "closefrom": Case(["closefrom"], calls={"MPI_Barrier": 43, "MPI_Allreduce": 10},
                      output=["4 bytes: mine"]),
    "dlclose_reuse": Case(["dlclose_reuse", "{plugins}/plugin1.so", "{plugins}/plugin2.so"],
                          calls={"MPI_Barrier": 300}, header={"cut_paths": 0}),
    "dlopen_local": Case(["dlopen_local", "{plugins}/local_plugin.so"],
                         calls={"MPI_Barrier": 60, "MPI_Allreduce": 15}),
    # Each plugin's calls reach the library that it was linked with.
    "two_mpis": Case(["dlopen_local", "{plugins}/local_plugin.so",
                      "{plugins}/../{other}/local_plugin.so"],
                     calls={"MPI_Barrier": 120, "MPI_Allreduce": 30}),

    # --- the hot path -------------------------------------------------------------------------------
    "quiet": Case(["quiet"], output=["the recorder's system calls 0, allocations 0"]),
    "quiet_detector": Case(["quiet", "first"], same_output=False, output=["counted system calls 1"]),

    # --- the data of collectives --------------------------------------------------------------------
    "quiet_data": Case(["quiet"], ranks=2, environment=_DATA,
                       output=["the recorder's system calls 0, allocations 0"]),
    "device_memory": Case(["device_memory"], ranks=2, environment=_DATA, header={"data_unread_why": UNREAD_DEVICE},
                          preload_after=["{plugins}/libcuda.so.1"]),
    "device_memory_of_amd": Case(["device_memory"], ranks=2, environment=_DATA,
                                 header={"data_unread_why": UNREAD_DEVICE},
                                 preload_after=["{plugins}/libamdhip64.so.6", "{plugins}/libhsa-runtime64.so.1"]),
    "device_memory_sampled": Case(["device_memory"], ranks=2, environment={"ROLLCALL_DATA": "sampled"},
                                  preload_after=["{plugins}/libcuda.so.1"]),

    # --- children and endings -----------------------------------------------------------------------
    "children": Case(["children"], calls={"MPI_Barrier": 20},
                     header={"exit_mark": EXIT, "exit_status": 9, "phase": FINALIZED}),
    "exit_in_handler": Case(["exit_in_handler"], header={"exit_mark": EXIT}),
    "end_exit": Case(["endings", "exit"], header={"exit_mark": EXIT, "exit_status": 34}),
    "end_return": Case(["endings", "return"], header={"exit_mark": EXIT, "exit_status": 37}),
    "end__exit": Case(["endings", "_exit"], header={"exit_mark": QUICK_EXIT, "exit_status": 35}),
    "end_quick_exit": Case(["endings", "quick_exit"], header={"exit_mark": QUICK_EXIT}),
    "end_abort": Case(["endings", "abort"], header={"exit_mark": ABORT, "exit_status": 33}),
    "end_fatal": Case(["endings", "fatal"]),
    "end_segv": Case(["endings", "segv"], header={"exit_mark": 0}),

    # --- other tools --------------------------------------------------------------------------------
    "pmpi_tool_linked": Case(["counted.tool"], calls={"MPI_Barrier": 14, "MPI_Allreduce": 17},
                             output=["the tool saw 13 barriers, 17 reductions"]),
    "pmpi_tool_preloaded_before": Case(["counted"], preload=["{plugins}/libcounting_tool.so"],
                                       calls={"MPI_Barrier": 14, "MPI_Allreduce": 17},
                                       output=["the tool saw 13 barriers, 17 reductions"]),
    "pmpi_tool_preloaded_after": Case(["counted"], preload_after=["{plugins}/libcounting_tool.so"],
                                      calls={"MPI_Barrier": 14, "MPI_Allreduce": 17},
                                      output=["the tool saw 13 barriers, 17 reductions"]),

    # --- two MPI libraries, of which the program uses one -------------------------------------------
    "other_library_beside": Case(["ordinary.beside"], ranks=2, ordered=False, calls={"MPI_Barrier": 5, "MPI_Allreduce": 1},
                                 header={"errors_seen": 0, "phase": FINALIZED}),

    # --- not ours -----------------------------------------------------------------------------------
    "bin_true": Case(["/bin/true"], rings=0),
    "shell": Case(["/bin/sh", "-c", "echo one; env true; (exit 4)"], rings=0),
    "weak_probe": Case(["weak_probe"], rings=0, output=["MPI_Initialized absent"]),
    "weak_call": Case(["weak_probe", "call"], rings=0, same_output=False, output=["errors 1 1"]),
    "never_initialised": Case(["never_initialised"], rings=0),
    "own_mpi": Case(["own_mpi"], rings=0),
    "static_mpi": Case(["ordinary.static"], rings=0, mpis=["mpich"]),
    "setuid": Case(["ordinary"], rings=0, runner="setuid"),
    "disabled": Case(["ordinary"], rings=0, environment={"ROLLCALL_DISABLE": "1"}),

    # --- little room --------------------------------------------------------------------------------
    "small_shm": Case(["ordinary"], surroundings.small_shm, ranks=8, ordered=False, lines=1,
                      most_ring_bytes=4 << 20),
    "tiny_run_directory": Case(["ordinary"], surroundings.tiny_run_directory, **_UNRECORDED),
    "filling_run_directory": Case(["full_disk_later", "{run}"], surroundings.filling_run_directory,
                                  header={"wrong": 0}, calls=None),
    "no_shm": Case(["ordinary"], surroundings.no_shm, environment=_QUIET_UCX, **_UNRECORDED),
    "no_shm_default_directory": Case(["ordinary"], surroundings.no_shm,
                                     environment={"ROLLCALL_DIR": "", **_QUIET_UCX}, **_UNRECORDED),
    "read_only_run_directory": Case(["ordinary"], surroundings.read_only_run_directory, **_UNRECORDED),
    "open_run_directory": Case(["ordinary"], surroundings.open_run_directory, **_UNRECORDED),
    "foreign_run_directory": Case(["ordinary"], surroundings.foreign_run_directory, **_UNRECORDED),
    "symlink_run_directory": Case(["ordinary"], surroundings.symlink_run_directory, **_UNRECORDED),
    "disk_run_directory": Case(["ordinary"], surroundings.disk_run_directory, **_UNRECORDED),
    "missing_run_directory": Case(["ordinary"], surroundings.missing_run_directory, **_UNRECORDED),
    "file_size_limit_zero": Case(["ordinary"], surroundings.file_size_limit_zero, **_UNRECORDED),
    "file_size_limit_1_mib": Case(["ordinary"], surroundings.file_size_limit_1_mib,
                                  most_ring_bytes=1 << 20),
    "no_room_for_a_line": Case(["silent"], surroundings.no_room_for_a_line, rings=0),
    "no_home": Case(["ordinary"], surroundings.no_home),
    "closed_standard_streams": Case(["ordinary"], surroundings.closed_standard_streams),
    "closed_streams_unrecorded": Case(["ordinary"],
                                      lambda command, run: surroundings.closed_standard_streams(
                                          surroundings.missing_run_directory(command, run), run), rings=0),
    "little_address_space": Case(["ordinary"], surroundings.little_address_space),
    "few_descriptors": Case(["ordinary"], surroundings.few_descriptors),
    "job": Case(["ordinary", "20"], ranks=3, ordered=False,
                calls={"MPI_Barrier": 20, "MPI_Allreduce": 1, "MPI_Init": 1, "MPI_Finalize": 1},
                header={"phase": FINALIZED, "open": 0, "wrong": 0, "exit_mark": EXIT}),
}
