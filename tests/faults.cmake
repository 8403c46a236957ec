# SPDX-License-Identifier: Apache-2.0
# The fault programs, their controls and the true negatives of tests/faults, built with every MPI that is
# installed, and the tests that run them as real jobs under the freshly built rollcall.
#
# A source is built twice per MPI, with and without -DFAULT; one without "#ifdef FAULT" is a true negative and is
# built once. The source contains the expected output of rollcall: tests/jobs/expectations.py.
set(FAULTS_DIR ${CMAKE_CURRENT_SOURCE_DIR}/faults)
set(JOBS_DIR ${CMAKE_CURRENT_SOURCE_DIR}/jobs)
set(FAULT_FLAGS -g -O1 -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
    # Both MPIs declare constants like MPI_STATUSES_IGNORE as arrays that are too short.
    -Wno-stringop-overflow -Wno-stringop-overread
    -I${PROJECT_SOURCE_DIR})
file(GLOB_RECURSE FAULT_C CONFIGURE_DEPENDS ${FAULTS_DIR}/*/*.c)
file(GLOB_RECURSE FAULT_CXX CONFIGURE_DEPENDS ${FAULTS_DIR}/*/*.cc)
file(GLOB_RECURSE FAULT_FORTRAN CONFIGURE_DEPENDS ${FAULTS_DIR}/*/*.F90)
file(GLOB_RECURSE FAULT_PYTHON CONFIGURE_DEPENDS ${FAULTS_DIR}/*/*.py)
file(GLOB FAULT_HEADERS CONFIGURE_DEPENDS ${FAULTS_DIR}/*.h)
file(GLOB JOB_SCRIPTS CONFIGURE_DEPENDS ${JOBS_DIR}/*.py)
list(FILTER FAULT_C EXCLUDE REGEX "/generated/|/nccl/|/nccl_mpi/")  # nccl.cmake
list(FILTER FAULT_CXX EXCLUDE REGEX "/torch_nccl/")  # torch.cmake
# Libraries that faults are run with: preload= in jobs/expectations.py.
set(FAULT_PRELOADS ${FAULT_C})
list(FILTER FAULT_PRELOADS INCLUDE REGEX "_preload[.]c$")
list(FILTER FAULT_C EXCLUDE REGEX "_preload[.]c$")
list(FILTER FAULT_PYTHON EXCLUDE REGEX "/(support|torch)/")
set(PLACEMENT_DRIVER ${FAULTS_DIR}/generated/placement.c)

# Sets OUT to the executable of SOURCE, compiled by COMPILER with FLAGS, at tests/faults/MPI/NAME.
function(rollcall_fault_program out mpi name compiler source)
  set(binary ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/${name})
  get_filename_component(dir ${binary} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  set(objects ${ARGN})
  list(FILTER objects INCLUDE REGEX "[.]o$")
  add_custom_command(OUTPUT ${binary} COMMAND ${compiler} ${ARGN} ${source} -o ${binary}
    DEPENDS ${source} ${FAULT_HEADERS} ${objects} VERBATIM)
  set(${out} ${binary} PARENT_SCOPE)
endfunction()

# Whether a test, or the tests of a fault program, belong to the configured share. A hash assigns each to one of SHARES,
# so that a new one does not move others.
set(FAULT_SHARES 12)
function(rollcall_in_share out name shares)
  set(${out} TRUE PARENT_SCOPE)
  if(ROLLCALL_JOB_SHARE MATCHES "^[0-9]+$")
    string(MD5 hash ${name})
    string(SUBSTRING ${hash} 0 6 hash)
    math(EXPR own "0x${hash} % ${shares}")
    math(EXPR share "${ROLLCALL_JOB_SHARE} % ${shares}")
    if(NOT own EQUAL share)
      set(${out} FALSE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# The programs of tests/faults that scripts and pages name; other tests run them.
function(rollcall_named_programs out)
  set(named "")
  foreach(file ${ARGN})
    file(READ ${file} text)
    string(REGEX MATCHALL "[a-z_0-9]+/[a-z_0-9]+[.](cc|c|F90)" found "${text}")
    list(APPEND named ${found})
  endforeach()
  set(${out} ${named} PARENT_SCOPE)
endfunction()
file(GLOB NAMING ${CMAKE_CURRENT_SOURCE_DIR}/check/*.py ${CMAKE_CURRENT_SOURCE_DIR}/attach.cmake
  ${CMAKE_CURRENT_SOURCE_DIR}/logs.cmake
  ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/verdicts/*.md)
rollcall_named_programs(NAMED_PROGRAMS ${NAMING})

# A ctest entry that runs tests/jobs/run_job_test.py in JOB_ENVIRONMENT. It mostly waits, so there is no lock: two jobs
# run well on two cores. Of many tests, only those of the share are added.
set(JOB_ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
function(rollcall_job_test name label)
  set(chosen TRUE)
  if(name MATCHES "^(fault|clean)[.]([a-z0-9]+)[.](.*)$")
    rollcall_in_share(chosen ${CMAKE_MATCH_2}/${CMAKE_MATCH_3} ${FAULT_SHARES})
  elseif(name MATCHES "^(attach|live)[.]")
    rollcall_in_share(chosen ${name} 6)
  elseif(name MATCHES "^(log|shown|check|reports)[.]")
    rollcall_in_share(chosen ${name} 3)
  elseif(name MATCHES "^schedules[.]")  # each runs its job several times
    rollcall_in_share(chosen ${name} 8)
  endif()
  if(NOT chosen)
    return()
  endif()
  add_test(NAME ${name} COMMAND Python3::Interpreter ${JOBS_DIR}/${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300 SKIP_RETURN_CODE 77
    ENVIRONMENT "${JOB_ENVIRONMENT}")
  if(name MATCHES "slurm")  # two clusters on one machine disturb each other
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK slurm)
  endif()
endfunction()

# The tests of one source under one MPI; FAULT_PROGRAM is empty for a true negative.
function(rollcall_fault_tests mpi source fault_program control_program)
  file(RELATIVE_PATH name ${FAULTS_DIR} ${source})
  set(common run_job_test.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi ${mpi} --source ${source})
  # A full test includes the cases of the short one.
  if(NOT ROLLCALL_FULL_TESTS)
    if(fault_program)
      rollcall_job_test(fault.${mpi}.${name} job ${common} --program ${fault_program})
    endif()
    rollcall_job_test(clean.${mpi}.${name} job ${common} --program ${control_program} --control)
    return()
  endif()
  if(fault_program)
    rollcall_job_test(full.fault.${mpi}.${name} full ${common} --program ${fault_program} --paths all)
    rollcall_job_test(full.bare.${mpi}.${name} full ${common} --program ${fault_program} --bare)
  endif()
  rollcall_job_test(full.clean.${mpi}.${name} full ${common} --program ${control_program} --control --paths all)
endfunction()

# Builds SOURCES with COMPILER for MPI and adds their tests; the programs are appended to OUT.
function(rollcall_fault_sources out mpi compiler)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLAGS" ${ARGN})
  set(programs ${${out}})
  foreach(source ${ARG_SOURCES})
    file(RELATIVE_PATH name ${FAULTS_DIR} ${source})
    rollcall_in_share(chosen ${mpi}/${name} ${FAULT_SHARES})
    if(NOT chosen AND NOT name IN_LIST NAMED_PROGRAMS)
      continue()
    endif()
    file(STRINGS ${source} conditions REGEX "^#ifdef FAULT")
    set(fault "")
    if(conditions)
      rollcall_fault_program(fault ${mpi} ${name}.fault ${compiler} ${source} -DFAULT ${ARG_FLAGS})
      list(APPEND programs ${fault})
    endif()
    rollcall_fault_program(control ${mpi} ${name}.control ${compiler} ${source} ${ARG_FLAGS})
    list(APPEND programs ${control})
    rollcall_fault_tests(${mpi} ${source} "${fault}" ${control})
  endforeach()
  set(${out} ${programs} PARENT_SCOPE)
endfunction()

# Builds the libraries of FAULT_PRELOADS beside the programs and appends them to OUT. They are loaded into rollcall and
# the launcher, too: so they are compiled by mpicc, but not linked by it, which would add the MPI library.
function(rollcall_fault_preloads out mpi compiler)
  set(libraries ${${out}})
  foreach(source ${FAULT_PRELOADS})
    file(RELATIVE_PATH name ${FAULTS_DIR} ${source})
    string(REGEX REPLACE "[.]c$" "" name ${name})
    rollcall_fault_program(object ${mpi} ${name}.o ${compiler} ${source} -c -fPIC -std=gnu11 ${FAULT_FLAGS})
    string(REGEX REPLACE "[.]o$" ".so" library ${object})
    add_custom_command(OUTPUT ${library} COMMAND ${CMAKE_C_COMPILER} -shared -Wl,-z,lazy ${object} -o ${library}
      DEPENDS ${object} VERBATIM)
    list(APPEND libraries ${library})
  endforeach()
  set(${out} ${libraries} PARENT_SCOPE)
endfunction()

# The generated placements: one driver, many arguments; a sample in the normal run, all in the full one.
function(rollcall_placement_tests mpi driver)
  set(common placements.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi ${mpi} --program ${driver}
      --source ${PLACEMENT_DRIVER})
  rollcall_job_test(placements.${mpi} job ${common} --sample 12)
  if(ROLLCALL_FULL_TESTS)
    foreach(batch RANGE 1 10)
      rollcall_job_test(full.placements.${mpi}.${batch} full ${common} --batch ${batch}/10)
      set_tests_properties(full.placements.${mpi}.${batch} PROPERTIES TIMEOUT 900)
    endforeach()
  endif()
endfunction()

foreach(mpi openmpi mpich)
  find_program(MPICC_${mpi} mpicc.${mpi})
  find_program(MPICXX_${mpi} mpicxx.${mpi})
  find_program(MPIFORT_${mpi} mpifort.${mpi})
  find_program(MPIRUN_${mpi} mpirun.${mpi})
  if(NOT MPICC_${mpi} OR NOT MPICXX_${mpi} OR NOT MPIRUN_${mpi})
    message(STATUS "Job tests under ${mpi}: skipped, it is not installed")
    continue()
  endif()
  set(programs "")
  rollcall_fault_sources(programs ${mpi} ${MPICC_${mpi}} SOURCES ${FAULT_C}
    FLAGS -std=gnu11 ${FAULT_FLAGS})
  rollcall_fault_preloads(programs ${mpi} ${MPICC_${mpi}})
  rollcall_fault_sources(programs ${mpi} ${MPICXX_${mpi}} SOURCES ${FAULT_CXX}
    FLAGS -std=c++20 -pthread ${FAULT_FLAGS})
  find_program(GFORTRAN gfortran)
  if(MPIFORT_${mpi} AND GFORTRAN)
    set(net ${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi}/safety_net.o)
    add_custom_command(OUTPUT ${net} COMMAND ${MPICC_${mpi}} -std=gnu11 ${FAULT_FLAGS} -c
      ${FAULTS_DIR}/safety_net.c -o ${net} DEPENDS ${FAULTS_DIR}/safety_net.c VERBATIM)
    list(APPEND programs ${net})
    rollcall_fault_sources(programs ${mpi} ${MPIFORT_${mpi}} SOURCES ${FAULT_FORTRAN}
      FLAGS -g -O1 ${net} -J${CMAKE_CURRENT_BINARY_DIR}/faults/${mpi})
  else()
    message(STATUS "Fortran job tests under ${mpi}: skipped, no gfortran or no mpifort")
  endif()
  if(EXISTS ${PLACEMENT_DRIVER})
    rollcall_fault_program(driver ${mpi} generated/placement ${MPICC_${mpi}} ${PLACEMENT_DRIVER}
      -std=gnu11 ${FAULT_FLAGS})
    list(APPEND programs ${driver})
    rollcall_placement_tests(${mpi} ${driver})
  endif()
  add_custom_target(faults_${mpi} ALL DEPENDS ${programs})
endforeach()

add_test(NAME jobs.selftest COMMAND Python3::Interpreter ${JOBS_DIR}/selftest.py)
set_tests_properties(jobs.selftest PROPERTIES LABELS unit TIMEOUT 60
  ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")

include(python_faults.cmake)
