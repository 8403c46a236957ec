# SPDX-License-Identifier: Apache-2.0
# The oracle (tests/oracle/README.md) is a simulator of MPI that shares no code with the diagnosis. Both are
# compared on generated programs. A sample is a unit test; tests/oracle/run and a test with the label full run
# all of them.
add_library(rollcall_oracle STATIC oracle/collectives.cc oracle/explore.cc oracle/generate.cc
  oracle/judge.cc oracle/judgement.cc oracle/machine.cc oracle/messages.cc oracle/observe.cc oracle/planter.cc oracle/program.cc
  oracle/shrink.cc
  oracle/write_collectives.cc oracle/write_messages.cc oracle/write_persistent.cc oracle/writer.cc
  oracle/data/generate.cc oracle/data/judge.cc oracle/data/run_data.cc
  oracle/device/generate.cc oracle/device/judge.cc oracle/device/machine.cc
  oracle/device/observe.cc oracle/device/program.cc oracle/device/writer.cc
  oracle/loops/exchange.cc oracle/loops/fold.cc oracle/loops/generate.cc oracle/loops/judge.cc
  oracle/loops/machine.cc oracle/loops/observe.cc oracle/loops/phases.cc oracle/loops/planter.cc
  oracle/loops/program.cc oracle/loops/unroll.cc oracle/loops/writer.cc)
target_link_libraries(rollcall_oracle PUBLIC rollcall_test_support)
rollcall_flags(rollcall_oracle)
rollcall_unity(rollcall_oracle TEST)

add_executable(oracle oracle/oracle_main.cc)
target_link_libraries(oracle PRIVATE rollcall_oracle)
rollcall_flags(oracle)

rollcall_unit_tests(oracle_tests oracle rollcall_oracle)

if(ROLLCALL_FULL_TESTS)
  add_test(NAME oracle.full COMMAND oracle --traces 105000 --seed 1)
  add_test(NAME oracle.devices COMMAND oracle --of devices --traces 95000 --seed 1)
  add_test(NAME oracle.data COMMAND oracle --of data --traces 45000 --seed 1)
  add_test(NAME oracle.loops COMMAND oracle --of loops --traces 42000 --seed 1)
  set_tests_properties(oracle.full oracle.devices oracle.data oracle.loops PROPERTIES LABELS full TIMEOUT 1200)
  add_test(NAME oracle.mutants COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/oracle/mutate)
  set_tests_properties(oracle.mutants PROPERTIES LABELS full TIMEOUT 3600)
endif()
