# `rollcall attach` at real jobs that were started bare: fault programs, and healthy ones as long as they run.
# tests/accuracy/attach does so with all of them.
set(ATTACH_FAULTS collective/barrier_under_if.c collective/barrier_skipped_by_rank0.c stalled/asleep_in_read.c)
set(ATTACH_CONTROLS collective/barrier_under_if.c true_negatives/slow_rank.c true_negatives/poll_pump.c)

foreach(mpi openmpi mpich)
  if(NOT TARGET rollcall_cli OR NOT MPICC_${mpi} OR NOT MPIRUN_${mpi})
    continue()
  endif()
  foreach(kind fault control)
    string(TOUPPER ATTACH_${kind}S list)
    if(kind STREQUAL control)
      set(option --control)
    else()
      unset(option)
    endif()
    foreach(name ${${list}})
      rollcall_job_test(attach.${kind}.${mpi}.${name} job run_attach_test.py --rollcall $<TARGET_FILE:rollcall_cli>
        --mpi ${mpi} --source ${FAULTS_DIR}/${name} ${option}
        --program ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/${name}.${kind})
    endforeach()
  endforeach()
endforeach()
