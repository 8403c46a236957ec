# tests/shim/abi: the wrapper table and the ABI facts against each vendor's mpi.h, one executable per
# vendor that is installed. Most of it is decided at compile time; the program prints the differences.

# Adds the test shim.abi.NAME from shim/abi/SOURCE, compiled and linked as WRAPPER would.
function(rollcall_abi_test name source wrapper show)
  find_program(ROLLCALL_${wrapper} ${wrapper})
  if(NOT ROLLCALL_${wrapper})
    message(STATUS "shim.abi.${name}: skipped, ${wrapper} is not installed")
    return()
  endif()
  execute_process(COMMAND ${ROLLCALL_${wrapper}} ${show} OUTPUT_VARIABLE line
    OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(STATUS "shim.abi.${name}: skipped, ${wrapper} ${show} failed")
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${line}")
  list(POP_FRONT words)  # the compiler's name
  set(include_options ${words})
  set(link_options ${words})
  list(FILTER include_options INCLUDE REGEX "^-I")
  list(FILTER link_options INCLUDE REGEX "^-[Ll]")
  list(TRANSFORM include_options REPLACE "^-I" "")
  add_executable(abi_${name} ${CMAKE_CURRENT_SOURCE_DIR}/shim/abi/${source})
  target_include_directories(abi_${name} SYSTEM PRIVATE ${include_options})
  target_link_libraries(abi_${name} PRIVATE rollcall_shim_parts ${link_options})
  rollcall_flags(abi_${name})
  add_test(NAME shim.abi.${name} COMMAND abi_${name})
  set_tests_properties(shim.abi.${name} PROPERTIES LABELS unit TIMEOUT 60)
endfunction()

rollcall_abi_test(open_mpi open_mpi.cc mpicxx.openmpi --showme)
rollcall_abi_test(mpich mpich.cc mpicxx.mpich -show)
