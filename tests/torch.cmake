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
  set_tests_properties(torch.symbols PROPERTIES LABELS unit TIMEOUT 60)
endif()
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
  add_test(NAME torch.unchanged.${case} COMMAND Python3::Interpreter
    ${CMAKE_CURRENT_LIST_DIR}/torch/run_unchanged_test.py --rollcall $<TARGET_FILE:rollcall_cli> ${case})
  set_tests_properties(torch.unchanged.${case} PROPERTIES LABELS job TIMEOUT 300
    ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1")
endforeach()
