# SPDX-License-Identifier: Apache-2.0
# `rollcall check` on real Open MPI jobs, as builds of other projects use it, and its outputs against their published
# schemas.
set(CHECK_DIR ${CMAKE_CURRENT_LIST_DIR}/check)
set(SCHEMAS_DIR ${CMAKE_CURRENT_LIST_DIR}/schemas)

# The golden outputs, which the unit tests compare as text. Debian's python3-jsonschema is for the system Python.
file(GLOB outputs CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/golden/exports/*.sarif
  ${CMAKE_CURRENT_LIST_DIR}/golden/exports/*.xml)
add_test(NAME schemas.golden_outputs COMMAND /usr/bin/python3 ${SCHEMAS_DIR}/validate.py ${outputs})
set_tests_properties(schemas.golden_outputs PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)

if(ROLLCALL_SANITIZE OR NOT MPICC_openmpi OR NOT MPIRUN_openmpi)
  message(STATUS "Tests of check on jobs: skipped, no Open MPI or a sanitized build")
  return()
endif()

set(LEFTOVERS ${CMAKE_CURRENT_BINARY_DIR}/check/leftovers)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/check)
add_custom_command(OUTPUT ${LEFTOVERS}
  COMMAND ${MPICC_openmpi} -g -O1 -Wall -Wextra -Werror ${CHECK_DIR}/leftovers.c -o ${LEFTOVERS}
  DEPENDS ${CHECK_DIR}/leftovers.c VERBATIM)
add_custom_target(check_program ALL DEPENDS ${LEFTOVERS})

# One ctest entry per case; the Python script has the list.
file(GLOB check_scripts CONFIGURE_DEPENDS ${CHECK_DIR}/*.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${check_scripts})
execute_process(COMMAND ${Python3_EXECUTABLE} -B -c
  "import run_check_test; print(';'.join(run_check_test.CASES))"
  WORKING_DIRECTORY ${CHECK_DIR} OUTPUT_VARIABLE cases OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)
foreach(case ${cases})
  rollcall_job_test(check.${case} job ../check/run_check_test.py --rollcall $<TARGET_FILE:rollcall_cli>
    --leftovers ${LEFTOVERS} --faults ${CMAKE_CURRENT_BINARY_DIR}/faults/openmpi ${case})
endforeach()

# An installed rollcall, used by a project outside this repository and by pytest.
rollcall_job_test(check.package job ../check/package_test.py --build ${PROJECT_BINARY_DIR}
  --mpicc ${MPICC_openmpi} --mpirun ${MPIRUN_openmpi})
rollcall_job_test(check.pytest job ../check/pytest_test.py --rollcall $<TARGET_FILE:rollcall_cli>)
add_test(NAME check.pytest_plugin COMMAND /usr/bin/python3 -B ${CHECK_DIR}/pytest_plugin_test.py)
set_tests_properties(check.pytest_plugin PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)
# proto/rollcall.h, compiled in the ways in which programs are.
rollcall_job_test(check.phase job ../check/phase_test.py --rollcall $<TARGET_FILE:rollcall_cli>
  --shim $<TARGET_FILE:rollcall> --mpicc ${MPICC_openmpi})
foreach(language compiled python)
  rollcall_job_test(check.variables_${language} job ../check/variables_test.py ${language}
    --rollcall $<TARGET_FILE:rollcall_cli> --mpicc ${MPICC_openmpi} --mpicxx mpicxx.openmpi
    --mpifort mpifort.openmpi)
endforeach()

# Debian's python3-yaml is for the system Python.
add_test(NAME check.recipes COMMAND /usr/bin/python3 -B ${CHECK_DIR}/recipes_test.py
  --rollcall $<TARGET_FILE:rollcall_cli> --leftovers ${LEFTOVERS} --mpirun ${MPIRUN_openmpi})
set_tests_properties(check.recipes PROPERTIES LABELS job TIMEOUT 300 SKIP_RETURN_CODE 77)
