# SPDX-License-Identifier: Apache-2.0
# rollcall_add_test(NAME name
#                   COMMAND program [argument...]
#                   [RANKS n]            # 2 unless given
#                   [LAUNCHER word...]   # the command that starts the ranks, instead of mpiexec and its flags
#                   [TIMEOUT seconds]    # of the job; ctest's timeout is a minute longer, so the report comes first
#                   [FAIL_ON kind...]
#                   [BASELINE file]      # relative to the current source directory
#                   [OUTPUT kind=path...]
#                   [OPTIONS option...]) # further options of `rollcall check`
#
# Adds a test that runs PROGRAM as an MPI job under `rollcall check`. PROGRAM may be a target. If find_package(MPI)
# was called, the launcher is FindMPI's, with MPIEXEC_PREFLAGS and MPIEXEC_POSTFLAGS; otherwise it is mpiexec.
function(rollcall_add_test)
  cmake_parse_arguments(PARSE_ARGV 0 ARG "" "NAME;RANKS;TIMEOUT;BASELINE"
    "COMMAND;LAUNCHER;FAIL_ON;OUTPUT;OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "rollcall_add_test: what is '${ARG_UNPARSED_ARGUMENTS}'?")
  endif()
  if(NOT ARG_NAME OR NOT ARG_COMMAND)
    message(FATAL_ERROR "rollcall_add_test: NAME and COMMAND are needed")
  endif()
  if(NOT ARG_RANKS)
    set(ARG_RANKS 2)
  endif()
  if(NOT ARG_LAUNCHER)
    set(mpiexec mpiexec)
    set(count -n)
    if(MPIEXEC_EXECUTABLE)
      set(mpiexec ${MPIEXEC_EXECUTABLE})
      set(count ${MPIEXEC_NUMPROC_FLAG})
    endif()
    set(ARG_LAUNCHER ${mpiexec} ${count} ${ARG_RANKS} ${MPIEXEC_PREFLAGS})
    set(after ${MPIEXEC_POSTFLAGS})
  endif()

  list(POP_FRONT ARG_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(options ${ARG_OPTIONS})
  if(ARG_TIMEOUT)
    list(APPEND options --timeout ${ARG_TIMEOUT})
  endif()
  if(ARG_FAIL_ON)
    list(JOIN ARG_FAIL_ON "," kinds)
    list(APPEND options --fail-on ${kinds})
  endif()
  if(ARG_BASELINE)
    cmake_path(ABSOLUTE_PATH ARG_BASELINE)
    list(APPEND options --baseline ${ARG_BASELINE})
  endif()
  foreach(output IN LISTS ARG_OUTPUT)
    list(APPEND options --output ${output})
  endforeach()

  add_test(NAME ${ARG_NAME} COMMAND rollcall::rollcall check ${options} -- ${ARG_LAUNCHER} ${program} ${after} ${ARG_COMMAND})
  set_tests_properties(${ARG_NAME} PROPERTIES PROCESSORS ${ARG_RANKS})
  if(ARG_TIMEOUT)
    math(EXPR longer "${ARG_TIMEOUT} + 60")
    set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${longer})
  endif()
endfunction()
