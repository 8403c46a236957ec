# What tests/CMakeLists.txt is built of.

# The GoogleTest executable TARGET of every *_test.cc below tests/DIR, linked with LIBRARY. Nothing is
# added while the directory has no tests.
function(rollcall_unit_tests target dir library)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*_test.cc)
  if(NOT sources)
    message(STATUS "${target}: no tests in tests/${dir}")
    return()
  endif()
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE ${library} GTest::gmock GTest::gtest_main fmt::fmt)
  target_compile_definitions(${target} PRIVATE ROLLCALL_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    ROLLCALL_SHIM_LIBRARY="$<TARGET_FILE:rollcall>")
  add_dependencies(${target} rollcall)
  rollcall_flags(${target})
  # What is under test is optimised; the tests themselves are compiled once and run once.
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  # A sanitizer costs ten times as much.
  set(timeout 120)
  if(ROLLCALL_SANITIZE)
    set(timeout 600)
  endif()
  # Discovery at test time: a build under a sanitizer need not run the tests to be built.
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES LABELS unit TIMEOUT ${timeout})
endfunction()

# Every tests/fuzz/NAME_fuzz.cc: with ROLLCALL_FUZZERS a libFuzzer executable, and always an ordinary
# test NAME_replay that runs the same entry point over tests/fuzz/corpus/NAME, so that what a fuzzer
# found once stays found.
function(rollcall_fuzz_targets)
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*_fuzz.cc)
  foreach(source ${sources})
    get_filename_component(target ${source} NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" name ${target})
    add_executable(${name}_replay ${source} ${dir}/replay_main.cc)
    target_link_libraries(${name}_replay PRIVATE rollcall_collector)
    rollcall_flags(${name}_replay)
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

# Every tests/bench/NAME_bench.cc: a Google Benchmark executable, built and not run by ctest.
function(rollcall_benchmarks)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/bench/*_bench.cc)
  if(NOT sources OR ROLLCALL_SANITIZE)
    return()
  endif()
  if(NOT benchmark_FOUND)
    message(STATUS "Benchmarks: skipped, Google Benchmark is not installed")
    return()
  endif()
  foreach(source ${sources})
    get_filename_component(target ${source} NAME_WE)
    add_executable(${target} ${source})
    target_link_libraries(${target} PRIVATE rollcall_collector rollcall_shim_parts
      benchmark::benchmark_main)
    rollcall_flags(${target})
  endforeach()
endfunction()
