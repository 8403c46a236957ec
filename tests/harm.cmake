# SPDX-License-Identifier: Apache-2.0
# `rollcall attach` must never change a job: tests/harm/run_harm_test.py documents what is compared, and how to repeat
# it as often as docs/attach.md states.
add_executable(looks harm/looks.cc)
target_link_libraries(looks PRIVATE rollcall_live)
rollcall_flags(looks)

foreach(mpi openmpi mpich)
  if(NOT TARGET rollcall_cli OR NOT MPICC_${mpi} OR NOT MPIRUN_${mpi})
    continue()
  endif()
  set(source ${CMAKE_CURRENT_LIST_DIR}/harm/checksum_job.c)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/harm/${mpi}/checksum_job)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/harm/${mpi})
  add_custom_command(OUTPUT ${program} COMMAND ${MPICC_${mpi}} -g -O1 -Wall -Wextra -Werror ${source} -o ${program}
    DEPENDS ${source} VERBATIM)
  add_custom_target(harm_job_${mpi} ALL DEPENDS ${program})
  rollcall_job_test(harm.attach.${mpi} job ../harm/run_harm_test.py --mpi ${mpi} --build ${PROJECT_BINARY_DIR})
endforeach()
