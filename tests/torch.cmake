# SPDX-License-Identifier: Apache-2.0
# PyTorch: the programs of tests/faults/torch, run as torchrun would, under rollcall. tests/attach.cmake runs some of them
# without rollcall and looks at their stacks. With another PyTorch, in a system of its own: tests/torch/table.
if(NOT TARGET rollcall_cli)
  return()
endif()
execute_process(COMMAND /usr/bin/python3 -c
  "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
  RESULT_VARIABLE no_torch OUTPUT_QUIET ERROR_QUIET)
# The symbols: also where no PyTorch is installed, from the lists.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  add_test(NAME torch.symbols COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/torch/symbols.py
    --shim $<TARGET_FILE:rollcall>)
  set_tests_properties(torch.symbols PROPERTIES LABELS unit TIMEOUT 180)
endif()
# ProcessGroupNCCL, without PyTorch: stand-ins with its names and relocations, on the simulated NCCL (torch_sim/README.md).
set(TORCH_SIM_DIR ${CMAKE_CURRENT_LIST_DIR}/torch_sim)
set(TORCH_SIM_OUT ${CMAKE_CURRENT_BINARY_DIR}/torch_sim)
function(rollcall_torch_stand_in target name source)
  add_library(${target} SHARED ${source})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(${target} PRIVATE Threads::Threads ${ARGN})
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX .2.6
    LIBRARY_OUTPUT_DIRECTORY ${TORCH_SIM_OUT})
endfunction()
rollcall_torch_stand_in(torch_cpu_sim libtorch_cpu.so ${TORCH_SIM_DIR}/c10d.cc)
rollcall_torch_stand_in(torch_cuda_sim libtorch_cuda.so ${TORCH_SIM_DIR}/process_group_nccl.cc
  torch_cpu_sim nccl_sim cuda_sim)
# The same with NCCL inside, as in some wheels and conda packages.
rollcall_torch_stand_in(torch_cuda_static libtorch_cuda.so ${TORCH_SIM_DIR}/process_group_nccl.cc
  torch_cpu_sim nccl_sim_static)
set_target_properties(torch_cuda_static PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TORCH_SIM_OUT}/static)
function(rollcall_torch_nccl_fault source)
  get_filename_component(name ${source} NAME_WE)
  foreach(kind fault control)
    string(TOUPPER ${kind} definition)
    add_executable(torch_nccl_${name}_${kind} ${source})
    target_include_directories(torch_nccl_${name}_${kind} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(torch_nccl_${name}_${kind} PRIVATE -g -O1 -Wall -Wextra -Werror)
    target_compile_definitions(torch_nccl_${name}_${kind} PRIVATE ${definition})
    target_link_libraries(torch_nccl_${name}_${kind} PRIVATE torch_cuda_sim torch_cpu_sim nccl_sim cuda_sim)
    set_target_properties(torch_nccl_${name}_${kind} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TORCH_SIM_OUT})
  endforeach()
  set(common run_job_test.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi fork --source ${source})
  list(APPEND JOB_ENVIRONMENT "ROLLCALL_FORK_LAUNCHER=$<TARGET_FILE:fork_launcher>")
  file(STRINGS ${source} conditions REGEX "kFault")
  if(conditions)
    rollcall_job_test(fault.torch.torch_nccl/${name} job ${common} --program $<TARGET_FILE:torch_nccl_${name}_fault>)
  endif()
  rollcall_job_test(clean.torch.torch_nccl/${name} job ${common} --program
    $<TARGET_FILE:torch_nccl_${name}_control> --control)
  list(APPEND JOB_ENVIRONMENT "LD_LIBRARY_PATH=${TORCH_SIM_OUT}/static")
  if(name STREQUAL "skipped_all_reduce")
    rollcall_job_test(fault.torch.torch_nccl_static/${name} job ${common} --program
      $<TARGET_FILE:torch_nccl_${name}_fault>)
  elseif(name STREQUAL "healthy")
    rollcall_job_test(clean.torch.torch_nccl_static/${name} job ${common} --program
      $<TARGET_FILE:torch_nccl_${name}_control> --control)
  endif()
endfunction()
file(GLOB TORCH_NCCL_FAULTS CONFIGURE_DEPENDS ${FAULTS_DIR}/torch_nccl/*.cc)
foreach(source ${TORCH_NCCL_FAULTS})
  rollcall_torch_nccl_fault(${source})
endforeach()
if(no_torch)
  add_test(NAME torch COMMAND ${CMAKE_COMMAND} -E echo "no PyTorch here")
  set_tests_properties(torch PROPERTIES LABELS job SKIP_REGULAR_EXPRESSION "no PyTorch")
  return()
endif()
file(GLOB TORCH_PROGRAMS CONFIGURE_DEPENDS ${FAULTS_DIR}/torch/*.py)
foreach(source ${TORCH_PROGRAMS})
  file(READ ${source} text)
  set(fault "")
  if(text MATCHES "FAULT")
    set(fault ${source})
  endif()
  rollcall_fault_tests(torch ${source} "${fault}" ${source})
endforeach()
foreach(case train spawn fork loaders alone)
  rollcall_in_share(chosen torch.unchanged.${case} 3)
  if(NOT chosen)
    continue()
  endif()
  add_test(NAME torch.unchanged.${case} COMMAND Python3::Interpreter
    ${CMAKE_CURRENT_LIST_DIR}/torch/run_unchanged_test.py --rollcall $<TARGET_FILE:rollcall_cli> ${case})
  set_tests_properties(torch.unchanged.${case} PROPERTIES LABELS job TIMEOUT 300
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
endforeach()
