# SPDX-License-Identifier: Apache-2.0
# Functions for tests/CMakeLists.txt.

# All GoogleTest executables.
add_custom_target(unit_tests)

# Adds the GoogleTest executable TARGET of every *_test.cc below tests/DIR, linked with LIBRARY.
function(rollcall_unit_tests target dir library)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*_test.cc)
  if(ROLLCALL_SANITIZE MATCHES thread)
    # The code of these folders starts no threads and takes no locks.
    list(FILTER sources EXCLUDE REGEX
         "/collector/(attach|check|diagnosis|export|import/flight_recorder|matching|model|page|report|top)/")
  endif()
  add_executable(${target} ${sources})
  add_dependencies(unit_tests ${target})
  target_link_libraries(${target} PRIVATE ${library} GTest::gmock GTest::gtest_main fmt::fmt)
  target_compile_definitions(${target} PRIVATE ROLLCALL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  rollcall_flags(${target})
  rollcall_unity(${target} TEST)
  # The tested code is optimised; the tests are not, because they are compiled once and run once.
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  if(ROLLCALL_SANITIZE OR NOT ROLLCALL_JOB_SHARE STREQUAL "")
    rollcall_sharded_tests(${target})
    return()
  endif()
  # Discovery at test time: a build does not need to run the tests.
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

# To start a process per test takes longer than most tests, and under a sanitizer ten times as long. So a few
# processes (TARGET.0 and so on) run many tests each there and in a sample of the job tests. ThreadSanitizer excludes
# tests that use Debian's gRPC, which is not built for it and gives false warnings, and tests that diagnose one trace
# after another on one thread.
function(rollcall_sharded_tests target)
  set(shards 4)
  set(filter "*")
  if(ROLLCALL_SANITIZE MATCHES thread)
    set(filter "-*Grpc*:UnprovenConnections*:RunTest*:CheckTest*:LimitsTest*:ServeTest*:Degraded*")
  endif()
  # LeakSanitizer of clang 14 crashes in the thread-local data of a library that a test of stacks loads, depending on
  # what tests ran before: it takes a block for a larger one. gRPC, in other tests, has its only pointers there.
  set(leaks "")
  if(target STREQUAL "shim_tests")
    set(leaks ";LSAN_OPTIONS=use_tls=0")
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    add_test(NAME ${target}.${shard} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${target}.${shard} PROPERTIES LABELS unit TIMEOUT 900 ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard};GTEST_FILTER=${filter};GTEST_BRIEF=1${leaks}")
  endforeach()
endfunction()

# Every tests/fuzz/NAME_fuzz.cc: with ROLLCALL_FUZZERS a libFuzzer executable, and always an ordinary
# test NAME_replay that runs the same entry point over tests/fuzz/corpus/NAME, so that findings
# of a fuzzer are tested in every build.
function(rollcall_fuzz_targets)
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*_fuzz.cc)
  foreach(source ${sources})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" name ${target})
    add_executable(${name}_replay ${source} ${dir}/replay_main.cc)
    target_link_libraries(${name}_replay PRIVATE rollcall_collector)
    rollcall_flags(${name}_replay)
    rollcall_unity(${name}_replay TEST)
    add_test(NAME fuzz.${name}_replay COMMAND ${name}_replay ${dir}/corpus/${name})
    set_tests_properties(fuzz.${name}_replay PROPERTIES LABELS unit TIMEOUT 120)
    if(ROLLCALL_FUZZERS)
      add_executable(${target} ${source})
      target_link_libraries(${target} PRIVATE rollcall_collector)
      rollcall_flags(${target})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    endif()
  endforeach()
endfunction()

# Every tests/bench/NAME_bench.cc: a Google Benchmark executable, which the target benchmarks builds.
function(rollcall_benchmarks)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*_bench.cc)
  if(NOT sources OR ROLLCALL_SANITIZE)
    return()
  endif()
  if(NOT benchmark_FOUND)
    message(STATUS "Benchmarks: skipped, Google Benchmark is not installed")
    return()
  endif()
  add_custom_target(benchmarks)
  foreach(source ${sources})
    get_filename_component(target ${source} NAME_WE)
    add_executable(${target} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${target} PRIVATE rollcall_collector rollcall_shim_parts
      benchmark::benchmark_main)
    target_compile_definitions(${target} PRIVATE ROLLCALL_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    rollcall_flags(${target})
    add_dependencies(benchmarks ${target})
  endforeach()
endfunction()
