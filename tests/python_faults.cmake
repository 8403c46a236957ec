# SPDX-License-Identifier: Apache-2.0
# The Python sources of tests/faults: all under mpi4py, where it is installed; and by ctypes under the
# other MPI and with every interpreter that is found. Each interpreter gets some of the sources in turn (all of
# them in the full tests).
set(MPI_LIBRARY_openmpi libmpi.so.40)
set(MPI_LIBRARY_mpich libmpich.so.12)

# Debian's mpi4py is built for Open MPI and for the system's Python.
execute_process(COMMAND /usr/bin/python3 -c "import mpi4py" RESULT_VARIABLE no_mpi4py
  OUTPUT_QUIET ERROR_QUIET)
if(no_mpi4py OR NOT MPIRUN_openmpi)
  message(STATUS "mpi4py job tests: skipped, no mpi4py or no Open MPI")
else()
  execute_process(COMMAND /usr/bin/python3 -c "import numpy" RESULT_VARIABLE no_numpy OUTPUT_QUIET ERROR_QUIET)
  if(no_numpy)
    message(STATUS "Job tests with numpy: skipped, it is not installed")
    list(FILTER FAULT_PYTHON EXCLUDE REGEX "_numpy[.]py$")
  endif()
  foreach(source ${FAULT_PYTHON})
    file(STRINGS ${source} fault REGEX "import .*FAULT")
    if(fault)
      set(fault ${source})
    endif()
    rollcall_fault_tests(openmpi ${source} "${fault}" ${source})
  endforeach()
endif()

# Sources that send objects, test requests or call MPI in several threads need mpi4py, and those about data numpy.
list(FILTER FAULT_PYTHON EXCLUDE REGEX "/(thread|poll|data)_[^/]*$")

# The tests of one source under one MPI and interpreter, without mpi4py.
function(rollcall_ctypes_tests label mpi version python source)
  file(RELATIVE_PATH name ${FAULTS_DIR} ${source})
  set(common run_job_test.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi ${mpi} --source ${source}
      --python ${python} --ctypes ${MPI_LIBRARY_${mpi}})
  rollcall_job_test(${label}fault.${mpi}.python${version}.${name} job ${common} --program ${source})
  rollcall_job_test(${label}clean.${mpi}.python${version}.${name} job ${common} --control)
  if(label)  # full tests have no share
    set_tests_properties(${label}fault.${mpi}.python${version}.${name}
      ${label}clean.${mpi}.python${version}.${name} PROPERTIES LABELS full)
  endif()
endfunction()

# Sources that wait for a stall take long and are not repeated with other interpreters.
set(rotating ${FAULT_PYTHON})
list(FILTER rotating EXCLUDE REGEX "/(loader_queue|reduce_op)[.]py$")
set(turn 0)
foreach(version 3.8 3.9 3.10 3.11 3.12 3.13 3.14)
  file(GLOB found $ENV{HOME}/.pyenv/versions/${version}.*/bin/python${version})
  list(APPEND found /usr/bin/python${version})
  set(python "")
  foreach(candidate ${found})
    execute_process(COMMAND ${candidate} -c "import ctypes" RESULT_VARIABLE no_ctypes
      OUTPUT_QUIET ERROR_QUIET)
    if(NOT no_ctypes AND NOT python)
      set(python ${candidate})
    endif()
  endforeach()
  if(NOT python)
    message(STATUS "Job tests with Python ${version}: skipped, it is not installed")
    continue()
  endif()
  foreach(mpi openmpi mpich)
    if(NOT MPIRUN_${mpi})
      continue()
    endif()
    # MPICH is slow if ranks share cores, so it runs only every third time, beginning with the first.
    math(EXPR third "${turn} % 3")
    if(mpi STREQUAL mpich AND NOT third EQUAL 0)
      continue()
    endif()
    list(LENGTH rotating count)
    math(EXPR index "${turn} % ${count}")
    list(GET rotating ${index} source)
    rollcall_ctypes_tests("" ${mpi} ${version} ${python} ${source})
  endforeach()
  if(ROLLCALL_FULL_TESTS)
    foreach(source ${FAULT_PYTHON})
      foreach(mpi openmpi mpich)
        if(MPIRUN_${mpi})
          rollcall_ctypes_tests(full. ${mpi} ${version} ${python} ${source})
        endif()
      endforeach()
    endforeach()
  endif()
  math(EXPR turn "${turn} + 1")
endforeach()
