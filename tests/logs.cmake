# Real logs: programs run without rollcall, and what is said of what they and their launchers printed. Logs of others:
# tests/logs.
if(NOT TARGET rollcall_cli)
  return()
endif()
function(rollcall_log_test name expected)
  rollcall_job_test(log.${name} job run_log_test.py --rollcall $<TARGET_FILE:rollcall_cli> --expect ${expected} ${ARGN})
endfunction()
set(OPENMPI_PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/faults/openmpi)
set(MPICH_PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/faults/mpich)
set(OPENMPI mpirun.openmpi --oversubscribe -n 3)
set(MPICH mpirun.mpich -l -n 3)
if(MPIRUN_openmpi)
  rollcall_log_test(openmpi.sigkill rank-died:2 ${OPENMPI} ${OPENMPI_PROGRAMS}/death/sigkill.c.fault)
  rollcall_log_test(openmpi.sigkill.tags rank-died:2
    ${OPENMPI} --tag-output ${OPENMPI_PROGRAMS}/death/sigkill.c.fault)
  # No error that Open MPI reports: its launcher sometimes fails to print the report.
  rollcall_log_test(openmpi.healthy none: ${OPENMPI} ${OPENMPI_PROGRAMS}/death/sigkill.c.control)
endif()
if(MPIRUN_mpich)
  rollcall_log_test(mpich.message_too_long rank-died:1
    ${MPICH} ${MPICH_PROGRAMS}/arguments/message_too_long.c.fault)
  rollcall_log_test(mpich.sigkill inconclusive: ${MPICH} ${MPICH_PROGRAMS}/death/sigkill.c.fault)
  rollcall_log_test(mpich.healthy none: ${MPICH} ${MPICH_PROGRAMS}/death/sigkill.c.control)
endif()
