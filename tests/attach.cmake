# SPDX-License-Identifier: Apache-2.0
# `rollcall attach` to real jobs that were started without rollcall: fault programs, and healthy programs while they
# run; and to core files of both (attach.cores). tests/accuracy/attach does the same with all programs.
set(ATTACH_FAULTS collective/barrier_under_if.c collective/barrier_skipped_by_rank0.c stalled/asleep_in_read.c
  polling/master_looks_for_results.c)
set(ATTACH_TORCH collective_on_rank0 exception_on_rank2 stuck_loader uneven_batches unused_parameters)
set(ATTACH_CONTROLS collective/barrier_under_if.c true_negatives/slow_rank.c true_negatives/poll_pump.c
  polling/master_looks_for_results.c)
# What attach reads from the objects of the MPI libraries.
set(ATTACH_OBJECTS comms/other_group_missing.c comms/subcommunicator_member_missing.c comms/two_communicators_crossed.c
  nonblocking/persistent_start_skipped.c nonblocking/worker_thread_skips.cc)
set(ATTACH_OBJECTS_openmpi comms/spawn_conditional.c)
set(ATTACH_CORE_FAULTS collective/barrier_under_if.c stalled/asleep_in_read.c)
set(ATTACH_CORE_CONTROLS true_negatives/slow_rank.c true_negatives/poll_pump.c)

foreach(mpi mpich openmpi)
  if(NOT TARGET rollcall_cli OR NOT MPICC_${mpi} OR NOT MPIRUN_${mpi})
    continue()
  endif()
  foreach(test nodes slurm)
    set(name collective/barrier_under_if.c)
    rollcall_job_test(attach.${test}.${mpi} job run_attach_${test}_test.py --rollcall $<TARGET_FILE:rollcall_cli>
      --mpi ${mpi} --source ${FAULTS_DIR}/${name}
      --program ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/${name}.fault)
  endforeach()
  foreach(kind fault control)
    string(TOUPPER ATTACH_${kind}S list)
    if(kind STREQUAL control)
      set(option --control)
    else()
      unset(option)
    endif()
    foreach(name ${${list}} ${ATTACH_OBJECTS} ${ATTACH_OBJECTS_${mpi}})
      rollcall_job_test(attach.${kind}.${mpi}.${name} job run_attach_test.py --rollcall $<TARGET_FILE:rollcall_cli>
        --mpi ${mpi} --source ${FAULTS_DIR}/${name} ${option}
        --program ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/${name}.${kind})
    endforeach()
    string(TOUPPER ATTACH_CORE_${kind}S list)
    foreach(name ${${list}})
      rollcall_job_test(attach.cores.${mpi}.${kind}.${name} job run_core_test.py
        --rollcall $<TARGET_FILE:rollcall_cli> --mpi ${mpi} --source ${FAULTS_DIR}/${name} ${option}
        --program ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/${name}.${kind})
    endforeach()
  endforeach()
endforeach()

# Python frames in cores.
if(TARGET rollcall_cli AND NOT no_mpi4py AND MPIRUN_openmpi)
  set(program ${FAULTS_DIR}/python/barrier_in_callback.py)
  rollcall_job_test(attach.cores.openmpi.fault.python/barrier_in_callback.py job run_core_test.py
    --rollcall $<TARGET_FILE:rollcall_cli> --mpi openmpi --source ${program} --program ${program})
endif()

# The tests do not require Debian's PyTorch.
if(NOT TARGET rollcall_cli)
  return()
endif()
execute_process(COMMAND /usr/bin/python3 -c
  "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
  RESULT_VARIABLE no_torch OUTPUT_QUIET ERROR_QUIET)
if(no_torch)
  add_test(NAME attach.torch COMMAND ${CMAKE_COMMAND} -E echo "no PyTorch here")
  set_tests_properties(attach.torch PROPERTIES LABELS job SKIP_REGULAR_EXPRESSION "no PyTorch")
  return()
endif()
foreach(name ${ATTACH_TORCH})
  set(program ${FAULTS_DIR}/torch/${name}.py)
  set(common run_attach_test.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi torch --source ${program}
    --program ${program})
  rollcall_job_test(attach.fault.torch.${name} job ${common})
  rollcall_job_test(attach.control.torch.${name} job ${common} --control)
endforeach()
