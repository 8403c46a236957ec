# The collector under the agents of a job that is larger than this machine: tests/swarm. The tests run a small one;
# docs/scale.md has the figures of large ones.
add_executable(swarm swarm/swarm.cc)
target_link_libraries(swarm PRIVATE rollcall_collector CLI11::CLI11 nlohmann_json::nlohmann_json)
rollcall_flags(swarm)
function(rollcall_swarm_test name)
  add_test(NAME swarm.${name} COMMAND swarm --rollcall $<TARGET_FILE:rollcall_cli> ${ARGN})
  set_tests_properties(swarm.${name} PROPERTIES LABELS job TIMEOUT 120 PROCESSORS 2)
endfunction()
foreach(fault skipped replaced inverted ring exited)
  rollcall_swarm_test(${fault} --ranks 256 --fault ${fault})
endforeach()
rollcall_swarm_test(moving --ranks 256 --moving 5)
