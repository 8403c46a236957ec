# SPDX-License-Identifier: Apache-2.0
# `rollcall check --schedules` on real jobs of each MPI: tests/schedules/programs, each with and without its fault, and
# the rules of MPI that the steering library must keep.
set(SCHEDULES_DIR ${CMAKE_CURRENT_LIST_DIR}/schedules)
file(GLOB schedule_c CONFIGURE_DEPENDS ${SCHEDULES_DIR}/programs/*.c)
file(GLOB schedule_fortran CONFIGURE_DEPENDS ${SCHEDULES_DIR}/programs/*.F90)
file(GLOB schedule_rules CONFIGURE_DEPENDS ${SCHEDULES_DIR}/rules/*.c)
set(schedule_programs "")

function(rollcall_schedule_tests mpi compiler)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS" ${ARGN})
  foreach(source ${ARG_SOURCES})
    get_filename_component(name ${source} NAME)
    rollcall_fault_program(fault ${mpi} schedules/${name}.fault ${compiler} ${source} ${ARG_FLAGS} -DFAULT)
    rollcall_fault_program(control ${mpi} schedules/${name}.control ${compiler} ${source} ${ARG_FLAGS})
    set(common ../schedules/run_schedules_test.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi ${mpi}
      --source ${source})
    rollcall_job_test(schedules.fault.${mpi}.${name} job ${common} --program ${fault})
    rollcall_job_test(schedules.control.${mpi}.${name} job ${common} --program ${control} --control)
    list(APPEND schedule_programs ${fault} ${control})
  endforeach()
  set(schedule_programs ${schedule_programs} PARENT_SCOPE)
endfunction()

foreach(mpi openmpi mpich)
  if(MPICC_${mpi} AND MPIRUN_${mpi})
    rollcall_schedule_tests(${mpi} ${MPICC_${mpi}} SOURCES ${schedule_c} FLAGS ${FAULT_FLAGS})
    if(MPIFORT_${mpi} AND GFORTRAN)
      rollcall_schedule_tests(${mpi} ${MPIFORT_${mpi}} SOURCES ${schedule_fortran}
        FLAGS -g -O1 ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/safety_net.o)
    endif()
    foreach(source ${schedule_rules})
      get_filename_component(name ${source} NAME_WE)
      rollcall_fault_program(program ${mpi} schedules/rules/${name} ${MPICC_${mpi}} ${source} ${FAULT_FLAGS})
      list(APPEND schedule_programs ${program})
      rollcall_job_test(schedules.rule.${mpi}.${name} job ../schedules/run_rules_test.py
        --rollcall $<TARGET_FILE:rollcall_cli> --mpi ${mpi} --source ${source} --program ${program})
    endforeach()
  endif()
endforeach()
add_custom_target(schedule_programs ALL DEPENDS ${schedule_programs})
