# SPDX-License-Identifier: Apache-2.0
# tests/every_call: healthy programs that together call every function of proto/functions.def, with every MPI that is
# installed; their rings must hold each call. A line of the table without a call fails the coverage test.
set(EVERY_CALL_DIR ${CMAKE_CURRENT_LIST_DIR}/every_call)
file(GLOB EVERY_CALL_SOURCES CONFIGURE_DEPENDS ${EVERY_CALL_DIR}/*.c)
file(GLOB EVERY_CALL_HEADERS CONFIGURE_DEPENDS ${EVERY_CALL_DIR}/*.h)

foreach(mpi openmpi mpich)
  if(NOT MPICC_${mpi} OR NOT MPIRUN_${mpi})
    message(STATUS "Every call under ${mpi}: skipped, it is not installed")
    continue()
  endif()
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/every_call/${mpi})
  file(MAKE_DIRECTORY ${dir})
  set(programs "")
  foreach(source ${EVERY_CALL_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    add_custom_command(OUTPUT ${dir}/${name}
      COMMAND ${MPICC_${mpi}} -std=gnu11 ${FAULT_FLAGS} ${source} -o ${dir}/${name}
      DEPENDS ${source} ${EVERY_CALL_HEADERS} ${FAULTS_DIR}/fault.h VERBATIM)
    list(APPEND programs ${dir}/${name})
    rollcall_job_test(every_call.${mpi}.${name} job ../every_call/every_call.py --mpi ${mpi}
      --rollcall $<TARGET_FILE:rollcall_cli> --summary $<TARGET_FILE:ring_summary>
      --program ${dir}/${name} --source ${source})
  endforeach()
  add_custom_target(every_call_${mpi} ALL DEPENDS ${programs})
  rollcall_job_test(every_call.${mpi}.coverage job ../every_call/every_call.py --mpi ${mpi}
    --programs ${dir})
endforeach()
