# SPDX-License-Identifier: Apache-2.0
# Python frames in call paths, under every interpreter of the machine: tests/python. One test for each interpreter,
# and one for each supported minor version that is missing, which reports that. All interpreters run under Open MPI.
# Only the system's interpreter runs under MPICH, because calls look the same from Python.
set(PYTHON_TESTS ${CMAKE_CURRENT_LIST_DIR}/python)
set(PYTHON_SUPPORTED 3.8 3.9 3.10 3.11 3.12 3.13 3.14)
set(PYTHON_LIBRARY_openmpi libmpi.so.40)
set(PYTHON_LIBRARY_mpich libmpich.so.12)
file(GLOB PYTHON_TEST_FILES CONFIGURE_DEPENDS ${PYTHON_TESTS}/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PYTHON_TESTS}/interpreters.py)

add_library(python_test_helper MODULE ${PYTHON_TESTS}/helper.c)
target_link_libraries(python_test_helper PRIVATE Threads::Threads)
target_compile_options(python_test_helper PRIVATE -Wall -Wextra -Werror)

function(rollcall_python_test name mpi python)
  rollcall_in_share(chosen ${name} 3)
  if(NOT chosen)
    return()
  endif()
  add_test(NAME ${name} COMMAND Python3::Interpreter ${PYTHON_TESTS}/run_python_test.py
    --shim $<TARGET_FILE:rollcall> --python ${python} --mpi ${PYTHON_LIBRARY_${mpi}}
    --helper $<TARGET_FILE:python_test_helper>
    --embedding ${CMAKE_CURRENT_BINARY_DIR}/python/embedding.${mpi} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS job TIMEOUT 200
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
endfunction()

# PYTHON_INTERPRETERS: "3.11|/usr/bin/python3" for each.
execute_process(COMMAND ${Python3_EXECUTABLE} -B ${PYTHON_TESTS}/interpreters.py
  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE ";" "|" found "${found}")
string(REPLACE "\n" ";" PYTHON_INTERPRETERS "${found}")

set(embeddings)
foreach(mpi openmpi mpich)
  find_program(PYTHON_CC_${mpi} mpicc.${mpi})
  if(NOT PYTHON_CC_${mpi})
    message(STATUS "Python tests with ${mpi}: skipped, it is not installed")
    continue()
  endif()
  set(binary ${CMAKE_CURRENT_BINARY_DIR}/python/embedding.${mpi})
  add_custom_command(OUTPUT ${binary}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/python
    COMMAND ${PYTHON_CC_${mpi}} -g -O1 -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
            ${PYTHON_TESTS}/embedding.c -o ${binary} -ldl
    DEPENDS ${PYTHON_TESTS}/embedding.c VERBATIM)
  list(APPEND embeddings ${binary})
endforeach()
add_custom_target(python_test_programs ALL DEPENDS ${embeddings})

set(present)
foreach(interpreter ${PYTHON_INTERPRETERS})
  string(REPLACE "|" ";" interpreter "${interpreter}")
  list(GET interpreter 0 version)
  list(GET interpreter 1 path)
  if(NOT PYTHON_CC_openmpi)
    continue()
  endif()
  set(name python.openmpi.${version})
  if(version IN_LIST present)
    string(MAKE_C_IDENTIFIER "${path}" which)
    set(name ${name}.${which})
  endif()
  list(APPEND present ${version})
  if(version IN_LIST PYTHON_SUPPORTED)
    rollcall_python_test(${name} openmpi ${path})
    if(ROLLCALL_FULL_TESTS)
      rollcall_python_test(full.${name} openmpi ${path} --calls 1000000 --timeout 1700 churn)
      set_tests_properties(full.${name} PROPERTIES LABELS full TIMEOUT 1800)
    endif()
  else()
    rollcall_python_test(${name} openmpi ${path} outdated)
  endif()
endforeach()
if(PYTHON_CC_mpich AND EXISTS /usr/bin/python3)
  rollcall_python_test(python.mpich.system mpich /usr/bin/python3)
endif()
foreach(version ${PYTHON_SUPPORTED})
  if(NOT version IN_LIST present)
    add_test(NAME python.${version} COMMAND ${CMAKE_COMMAND} -E echo "no Python ${version} here")
    set_tests_properties(python.${version} PROPERTIES LABELS job
      SKIP_REGULAR_EXPRESSION "no Python")
  endif()
endforeach()
