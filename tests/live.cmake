# SPDX-License-Identifier: Apache-2.0
# Real jobs of Open MPI (one case: MPICH) under `rollcall run`, `rollcall collector` and `rollcall agent`, with
# and without failures; tests/live/cases_*.py list the cases.
set(LIVE_DIR ${CMAKE_CURRENT_LIST_DIR}/live)
file(GLOB LIVE_SCRIPTS CONFIGURE_DEPENDS ${LIVE_DIR}/*.py)

if(TARGET rollcall_cli AND MPICC_openmpi AND MPIRUN_openmpi)
  set(STAGED_JOB ${CMAKE_CURRENT_BINARY_DIR}/live/staged_job)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/live)
  add_custom_target(live_program ALL)
  set(STAGED_JOB_openmpi ${STAGED_JOB})
  if(MPICC_mpich AND MPIRUN_mpich)
    set(STAGED_JOB_mpich ${STAGED_JOB}-mpich)
    set(MPICH_PROGRAM --mpich-program ${STAGED_JOB_mpich})
  endif()
  foreach(mpi openmpi mpich)
    if(STAGED_JOB_${mpi})
      add_custom_command(OUTPUT ${STAGED_JOB_${mpi}}
        COMMAND ${MPICC_${mpi}} -g -O1 -Wall -Wextra -Werror ${LIVE_DIR}/staged_job.c -o ${STAGED_JOB_${mpi}}
        DEPENDS ${LIVE_DIR}/staged_job.c VERBATIM)
      add_custom_target(live_program_${mpi} DEPENDS ${STAGED_JOB_${mpi}})
      add_dependencies(live_program live_program_${mpi})
    endif()
  endforeach()

  add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/live/serving_job
    COMMAND ${MPICC_openmpi} -g -O1 -Wall -Wextra -Werror ${LIVE_DIR}/serving_job.c
            -o ${CMAKE_CURRENT_BINARY_DIR}/live/serving_job
    DEPENDS ${LIVE_DIR}/serving_job.c VERBATIM)
  add_custom_target(live_serving_job DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/live/serving_job)
  add_dependencies(live_program live_serving_job)

  # One ctest entry per case; the Python script has the list.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LIVE_SCRIPTS})
  execute_process(COMMAND ${Python3_EXECUTABLE} -B -c
    "import run_live_test; print(';'.join(run_live_test.CASES))"
    WORKING_DIRECTORY ${LIVE_DIR} OUTPUT_VARIABLE cases OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  foreach(case ${cases})
    rollcall_job_test(live.${case} job ../live/run_live_test.py --rollcall $<TARGET_FILE:rollcall_cli>
      --build ${PROJECT_BINARY_DIR} --program ${STAGED_JOB} ${MPICH_PROGRAM} ${case})
  endforeach()
else()
  message(STATUS "Live tests: skipped, Open MPI is not installed")
endif()
