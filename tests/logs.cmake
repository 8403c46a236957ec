# SPDX-License-Identifier: Apache-2.0
# Real logs: programs run without rollcall, and what is said of what they and their launchers printed. Logs of others:
# tests/logs. Each program is run with its output in one file, in one file whose lines have the rank, and in a file a
# rank, as far as its launcher can do that: jobs/run_log_test.py.
if(NOT TARGET rollcall_cli)
  return()
endif()
# rollcall_log_test(NAME RANKS LAUNCHER EXPECTED COMMAND...)
# EXPECTED are KIND:RANKS, divided by '|'.
function(rollcall_log_test name ranks launcher expected)
  string(REPLACE "|" ";--expect;" expected "${expected}")
  rollcall_job_test(log.${launcher}.${name} job run_log_test.py --rollcall $<TARGET_FILE:rollcall_cli>
    --launcher ${launcher} --ranks ${ranks} --expect ${expected} ${ARGN})
endfunction()

# --- MPI: faults whose end a launcher or MPI states -------------------------------------------------------------------
set(LOGGED_PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/faults)
# Hydra does not say which rank a signal or an exit code ended. Launchers lose lines now and then: Open MPI 4 with
# "ORTE_ERROR_LOG", Hydra while it kills the ranks. Then nobody may be named.
foreach(row
    "death/sigkill.c,3,rank-died:2,inconclusive:"
    "death/sigsegv.c,4,rank-died:1,inconclusive:"
    "death/exit3.c,4,rank-died:0,inconclusive:"
    "death/call_before_init.c,3,rank-died:1,"
    "death/call_after_finalize.c,3,rank-died:1,inconclusive:"
    "death/init_twice.c,3,rank-died:1,rank-died:1"
    "death/asks_null_communicator.c,3,rank-died:1,rank-died:1"
    "arguments/message_too_long.c,3,rank-died:1,rank-died:1"
    "arguments/count_mismatch_abort.c,4,rank-died:2,rank-died:2"
    "arguments/datatype_mismatch_abort.c,4,rank-died:2,rank-died:2"
    "arguments/invalid_root_fatal.c,3,rank-died:2,rank-died:2"
    "arguments/invalid_source_fatal.c,2,rank-died:1,rank-died:1"
    "arguments/invalid_tag_exits.c,3,rank-died:0,inconclusive:"
    "arguments/negative_count_everywhere.c,2,rank-died:0|rank-died:1,rank-died:0|rank-died:1")
  string(REPLACE "," ";" row "${row}")
  list(GET row 0 program)
  list(GET row 1 ranks)
  list(GET row 2 expected_openmpi)
  list(GET row 3 expected_mpich)
  foreach(mpi openmpi mpich)
    set(expected ${expected_${mpi}})
    if(NOT (mpi STREQUAL "openmpi" AND program MATCHES "^death/(sig|exit)"))
      string(APPEND expected "|none:")
    endif()
    if(MPIRUN_${mpi} AND NOT expected STREQUAL "|none:")
      rollcall_log_test(${program} ${ranks} ${mpi} "${expected}" ${LOGGED_PROGRAMS}/${mpi}/${program}.fault)
    endif()
  endforeach()
endforeach()
foreach(mpi openmpi mpich)
  if(MPIRUN_${mpi})
    rollcall_log_test(healthy 3 ${mpi} none: ${LOGGED_PROGRAMS}/${mpi}/death/sigkill.c.control)
  endif()
endforeach()

# Slurm names each task that ended; without --kill-on-bad-exit the others would wait on.
if(MPIRUN_mpich)
  foreach(row
      "death/sigkill.c,3,rank-died:2"
      "death/sigsegv.c,4,rank-died:1"
      "death/exit3.c,4,rank-died:0"
      "arguments/message_too_long.c,3,rank-died:1")
    string(REPLACE "," ";" row "${row}")
    list(GET row 0 program)
    list(GET row 1 ranks)
    list(GET row 2 expected)
    rollcall_log_test(${program} ${ranks} slurm ${expected} ${LOGGED_PROGRAMS}/mpich/${program}.fault)
  endforeach()
  rollcall_log_test(healthy 3 slurm none: ${LOGGED_PROGRAMS}/mpich/death/sigkill.c.control)
endif()

# --- The simulated NCCL, which prints the lines of NCCL_DEBUG=INFO ----------------------------------------------------
function(rollcall_nccl_log_test program ranks expected)
  list(APPEND JOB_ENVIRONMENT "ROLLCALL_FORK_LAUNCHER=$<TARGET_FILE:fork_launcher>" "NCCL_DEBUG=INFO"
    "NCCL_DEBUG_SUBSYS=INIT,COLL")
  set(hangs --hangs)
  if(program MATCHES "_control$")
    set(hangs "")
  endif()
  rollcall_log_test(${program} ${ranks} fork ${expected} ${hangs} $<TARGET_FILE:nccl_${program}>)
endfunction()
rollcall_nccl_log_test(skipped_all_reduce_fault 4 collective-mismatch:2)
rollcall_nccl_log_test(skipped_all_reduce_control 4 none:)
rollcall_nccl_log_test(extra_all_reduce_fault 3 collective-mismatch:0)
rollcall_nccl_log_test(different_counts_fault 3 count-mismatch:1)
rollcall_nccl_log_test(different_roots_fault 3 root-mismatch:0)
rollcall_nccl_log_test(silent_reduction_fault 3 op-mismatch:1)
# The lines have no times: that calls differ in number is not a finding. Nobody states the end of a rank.
rollcall_nccl_log_test(left_early_fault 3 none:)
rollcall_nccl_log_test(killed_rank_fault 3 none:)
rollcall_nccl_log_test(communicators_crossed_fault 3 none:)
rollcall_nccl_log_test(missing_send_fault 3 none:)

# --- Gloo of PyTorch 1.13 ---------------------------------------------------------------------------------------------
if(no_torch)
  return()
endif()
# rollcall_gloo_log_test(NAME RANKS LAUNCHER EXPECTED [ARGUMENT...])
function(rollcall_gloo_log_test name ranks launcher expected)
  list(APPEND JOB_ENVIRONMENT "FAULT_TIMEOUT_S=5" "GLOO_SOCKET_IFNAME=lo" "OMP_NUM_THREADS=1")
  set(program ${FAULTS_DIR}/torch/${name}.py)
  if(launcher STREQUAL "torch")
    set(program /usr/bin/python3 ${program})
  endif()
  if(DETAIL)
    list(APPEND JOB_ENVIRONMENT "TORCH_DISTRIBUTED_DEBUG=DETAIL")
    string(PREPEND name detail.)
  endif()
  rollcall_log_test(${name} ${ranks} ${launcher} ${expected} ${ARGN} ${program} --fault)
endfunction()
# Lines without a rank, and without a report of the launcher.
rollcall_gloo_log_test(raises 3 torch none:)
rollcall_gloo_log_test(sleeping_rank 3 torch inconclusive:)
find_program(TORCHRUN torchrun)
if(NOT TORCHRUN)
  return()
endif()
rollcall_gloo_log_test(late_wait 3 torchrun none:)
rollcall_gloo_log_test(raises 3 torchrun uncaught-exception:1)
# Only torchrun states the end of the rank, and the files of the ranks do not have its report.
rollcall_gloo_log_test(killed_rank 3 torchrun rank-died:1 --files none:)
# The ranks that wait lose their connections or time out, and torchrun names one of them as the root cause.
rollcall_gloo_log_test(leaves_early 3 torchrun none:)
foreach(name sleeping_rank different_collectives collective_on_rank0 roots_differ types_differ uneven_batches
    barrier_at_checkpoint swallowed_exception)
  rollcall_gloo_log_test(${name} 3 torchrun inconclusive:)
endforeach()
rollcall_gloo_log_test(groups_in_other_order 4 torchrun inconclusive:)
rollcall_gloo_log_test(both_send_first 2 torchrun inconclusive:)
set(DETAIL TRUE)
rollcall_gloo_log_test(different_collectives 3 torchrun collective-mismatch:0)
rollcall_gloo_log_test(collective_on_rank0 3 torchrun collective-mismatch:0)
rollcall_gloo_log_test(sleeping_rank 3 torchrun rank-stalled:2)
rollcall_gloo_log_test(killed_rank 3 torchrun rank-died:1 --files rank-stalled:1)
unset(DETAIL)
