# SPDX-License-Identifier: Apache-2.0
# The collector with the agents of a job that is larger than this machine: tests/swarm. The tests run a small job;
# docs/measurements/scale.md has the figures of large jobs.
rollcall_in_share(chosen swarm 3)
if(NOT chosen)
  return()  # the programs take long to compile
endif()
add_executable(sleeper swarm/sleeper.c)
include(CheckLinkerFlag)
check_linker_flag(C -static ROLLCALL_HAVE_STATIC_LIBC)  # not every system has libc.a
if(ROLLCALL_HAVE_STATIC_LIBC)
  target_link_options(sleeper PRIVATE -static)
endif()
add_executable(swarm swarm/swarm.cc)
# Larger jobs, by replay of recorded messages of agents.
add_executable(replay swarm/replay.cc swarm/recorded_nodes.cc)
foreach(program swarm replay)
  target_link_libraries(${program} PRIVATE rollcall_collector CLI11::CLI11 nlohmann_json::nlohmann_json)
  target_compile_definitions(${program} PRIVATE ROLLCALL_SLEEPER="$<TARGET_FILE:sleeper>")
  add_dependencies(${program} sleeper)
  rollcall_flags(${program})
endforeach()
function(rollcall_swarm_test name)
  add_test(NAME swarm.${name} COMMAND swarm --rollcall $<TARGET_FILE:rollcall_cli> ${ARGN})
  set_tests_properties(swarm.${name} PROPERTIES LABELS job TIMEOUT 120 PROCESSORS 2)
endfunction()
foreach(fault skipped replaced count inverted short ring exited)
  rollcall_swarm_test(${fault} --ranks 256 --fault ${fault})
endforeach()
rollcall_swarm_test(moving --ranks 256 --moving 5)
rollcall_swarm_test(aggregators --ranks 256 --direct-agents 4 --fault skipped)
rollcall_swarm_test(killed_aggregators --ranks 256 --direct-agents 4 --kill agents --kill-every 2 --moving 6)
add_test(NAME swarm.replay COMMAND replay --rollcall $<TARGET_FILE:rollcall_cli> --ranks 1024)
set_tests_properties(swarm.replay PROPERTIES LABELS job TIMEOUT 120 PROCESSORS 2)
