# SPDX-License-Identifier: Apache-2.0
# What an injected library can do to a program, as regression tests: the programs of tests/isolation/programs,
# built with every MPI that is installed, and tests/isolation/run_isolation_test.py, which compares each with and
# without librollcall.so. tests/isolation/cases.py lists the cases. Also tests of the properties of the library
# file (hygiene.py), and of the ring with the collector's reader (reader_torture).
set(ISOLATION_DIR ${CMAKE_CURRENT_LIST_DIR}/isolation)
set(ISOLATION_PROGRAMS ${ISOLATION_DIR}/programs)
set(ISOLATION_FLAGS -g -O1 -Wall -Wextra -Werror -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-cast-function-type
    # clang does not know all of these options.
    -Wno-unknown-warning-option)
file(GLOB ISOLATION_SCRIPTS CONFIGURE_DEPENDS ${ISOLATION_DIR}/*.py ${CMAKE_CURRENT_LIST_DIR}/jobs/*.py)
file(GLOB ISOLATION_HEADERS CONFIGURE_DEPENDS ${ISOLATION_PROGRAMS}/*.h)
# These are built separately, below.
set(ISOLATION_SPECIAL plugin.c local_plugin.c counting_tool.c device_driver.c beside.c)

add_executable(ring_summary ${ISOLATION_DIR}/ring_summary.cc)
target_link_libraries(ring_summary PRIVATE rollcall_proto)
rollcall_flags(ring_summary)

# Appends to OUT the file that COMPILER makes of SOURCE with further arguments.
function(rollcall_harm_program out mpi name compiler source)
  set(binary ${CMAKE_CURRENT_BINARY_DIR}/isolation/${mpi}/${name})
  add_custom_command(OUTPUT ${binary}
    COMMAND ${compiler} ${ISOLATION_FLAGS} ${ISOLATION_PROGRAMS}/${source} -o ${binary} ${ARGN}
    DEPENDS ${ISOLATION_PROGRAMS}/${source} ${ISOLATION_HEADERS} VERBATIM)
  set(${out} ${${out}} ${binary} PARENT_SCOPE)
endfunction()

function(rollcall_isolation_tests mpi cc cxx)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/isolation/${mpi})
  file(MAKE_DIRECTORY ${dir})
  set(built)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${ISOLATION_PROGRAMS} ${ISOLATION_PROGRAMS}/*.c)
  list(REMOVE_ITEM sources ${ISOLATION_SPECIAL})
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    rollcall_harm_program(built ${mpi} ${name} ${cc} ${source} -ldl -lpthread)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${ISOLATION_PROGRAMS} ${ISOLATION_PROGRAMS}/*.cc)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    rollcall_harm_program(built ${mpi} ${name} ${cxx} ${source})
  endforeach()
  foreach(number 1 2)
    rollcall_harm_program(built ${mpi} plugin${number}.so ${CMAKE_C_COMPILER} plugin.c -shared -fPIC
                          -DPLUGIN=${number})
  endforeach()
  rollcall_harm_program(built ${mpi} local_plugin.so ${cc} local_plugin.c -shared -fPIC)
  rollcall_harm_program(built ${mpi} libcuda.so.1 ${cc} device_driver.c -shared -fPIC)
  rollcall_harm_program(built ${mpi} libhsa-runtime64.so.1 ${cc} device_driver.c -shared -fPIC -DHSA)
  rollcall_harm_program(built ${mpi} libamdhip64.so.6 ${cc} device_driver.c -shared -fPIC -DHIP)
  rollcall_harm_program(built ${mpi} libcounting_tool.so ${cc} counting_tool.c -shared -fPIC)
  rollcall_harm_program(built ${mpi} counted.tool ${cc} counted.c -Wl,--no-as-needed
                        -L${dir} -lcounting_tool -Wl,-rpath,${dir})
  add_custom_command(OUTPUT ${dir}/counted.tool DEPENDS ${dir}/libcounting_tool.so APPEND)
  # A dependency of a dependency is the other MPI's library.
  if(mpi STREQUAL openmpi)
    set(other libmpich.so.12)
  else()
    set(other libmpi.so.40)
  endif()
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${other} OUTPUT_VARIABLE beside
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(IS_ABSOLUTE "${beside}")
    rollcall_harm_program(built ${mpi} libbeside.so ${CMAKE_C_COMPILER} beside.c -shared -fPIC
                          -Wl,--no-as-needed ${beside})
    rollcall_harm_program(built ${mpi} ordinary.beside ${cc} ordinary.c -Wl,--no-as-needed
                          -L${dir} -lbeside -Wl,-rpath,${dir})
    add_custom_command(OUTPUT ${dir}/ordinary.beside DEPENDS ${dir}/libbeside.so APPEND)
  endif()
  rollcall_harm_program(built ${mpi} ordinary.asan ${cc} ordinary.c -fsanitize=address)
  if(mpi STREQUAL mpich)
    # MPICH's own static library in an otherwise dynamic program.
    execute_process(COMMAND ${cc} -print-file-name=libmpich.a OUTPUT_VARIABLE archive
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_path(ISOLATION_MPICH_INCLUDE mpi.h PATH_SUFFIXES mpich ${CMAKE_LIBRARY_ARCHITECTURE}/mpich)
    if(IS_ABSOLUTE "${archive}" AND EXISTS "${archive}")
      rollcall_harm_program(built ${mpi} ordinary.static ${CMAKE_C_COMPILER} ordinary.c
        -I${ISOLATION_MPICH_INCLUDE} ${archive} -lhwloc -lucp -lucs -lpthread -lm)
    endif()
  endif()
  add_custom_target(harm_programs_${mpi} ALL DEPENDS ${built})

  # One ctest entry per case; the Python script has the list.
  execute_process(COMMAND ${Python3_EXECUTABLE} -B -c
    "import cases; print(';'.join(n for n, c in cases.CASES.items() if '${mpi}' in c.mpis))"
    WORKING_DIRECTORY ${ISOLATION_DIR} OUTPUT_VARIABLE cases OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
  if(NOT IS_ABSOLUTE "${beside}")
    list(REMOVE_ITEM cases other_library_beside)
  endif()
  foreach(case ${cases})
    rollcall_isolation_test(isolation.${mpi}.${case} run_isolation_test.py --mpi ${mpi}
      --summary $<TARGET_FILE:ring_summary> --programs ${dir} ${case})
  endforeach()
endfunction()

function(rollcall_isolation_test name script)
  add_test(NAME ${name} COMMAND Python3::Interpreter ${ISOLATION_DIR}/${script}
           --shim $<TARGET_FILE:rollcall> ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS job TIMEOUT 200 SKIP_RETURN_CODE 77
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
endfunction()

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ISOLATION_SCRIPTS})
foreach(mpi openmpi mpich)
  find_program(ISOLATION_CC_${mpi} mpicc.${mpi})
  find_program(ISOLATION_CXX_${mpi} mpicxx.${mpi})
  if(ISOLATION_CC_${mpi} AND ISOLATION_CXX_${mpi})
    rollcall_isolation_tests(${mpi} ${ISOLATION_CC_${mpi}} ${ISOLATION_CXX_${mpi}})
  else()
    message(STATUS "Isolation tests with ${mpi}: skipped, it is not installed")
  endif()
endforeach()
rollcall_isolation_test(isolation.hygiene hygiene.py --exec $<TARGET_FILE:rollcall_exec>
  --steer $<TARGET_FILE:rollcall_steer>)

# The collector's reader with a recorder that is killed: tests/shim/ring/reader_torture.cc.
add_executable(reader_torture ${CMAKE_CURRENT_LIST_DIR}/shim/ring/reader_torture.cc)
target_link_libraries(reader_torture PRIVATE rollcall_collector rollcall_shim_parts GTest::gtest_main)
rollcall_flags(reader_torture)
add_test(NAME ring.reader_torture COMMAND reader_torture)
set_tests_properties(ring.reader_torture PROPERTIES LABELS unit TIMEOUT 120)
if(ROLLCALL_FULL_TESTS)
  add_test(NAME full.ring.torture COMMAND shim_tests --gtest_filter=RingTorture.*)
  add_test(NAME full.ring.reader_torture COMMAND reader_torture)
  set_tests_properties(full.ring.torture full.ring.reader_torture PROPERTIES LABELS full TIMEOUT 900
    ENVIRONMENT ROLLCALL_TORTURE_DEATHS=1000)
endif()
