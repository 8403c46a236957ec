# SPDX-License-Identifier: Apache-2.0
# Rules for all pages: width, links, and that each page is reachable (tests/pages/check_pages.py).
add_test(NAME pages COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/pages/check_pages.py ${PROJECT_SOURCE_DIR})
set_tests_properties(pages PROPERTIES LABELS unit)

# Issue forms, workflows and the citation. Debian's python3-yaml is for the system Python.
add_test(NAME pages.forms COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/pages/check_forms.py
  ${PROJECT_SOURCE_DIR})
set_tests_properties(pages.forms PROPERTIES LABELS unit)

# The README and the pages of docs/verdicts show verdicts as the program prints them: each is printed again and
# compared (tests/pages/shown_verdicts.py). The page of each kind must show one.
function(rollcall_shown_verdicts page)
  file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${page})
  list(APPEND JOB_ENVIRONMENT "ROLLCALL_FORK_LAUNCHER=$<TARGET_FILE:fork_launcher>")
  rollcall_job_test(shown.${name} job ../pages/shown_verdicts.py --rollcall $<TARGET_FILE:rollcall_cli>
    --programs ${CMAKE_CURRENT_BINARY_DIR} --page ${page})
endfunction()
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/torch.md
  ${PROJECT_SOURCE_DIR}/docs/verdicts/*.md)
list(FILTER pages EXCLUDE REGEX "/docs/verdicts/README.md$")
if(MPICC_openmpi)
  foreach(page ${pages})
    rollcall_shown_verdicts(${page})
  endforeach()
  rollcall_job_test(shown.docs/tutorial.md job ../pages/tutorial_test.py --rollcall $<TARGET_FILE:rollcall_cli>
    --page ${PROJECT_SOURCE_DIR}/docs/tutorial.md)
endif()

# Debian's python3-jsonschema and python3-yaml are for the system Python.
add_test(NAME launchers.kubernetes COMMAND /usr/bin/python3 -B ${CMAKE_CURRENT_LIST_DIR}/launchers/kubernetes_test.py)
set_tests_properties(launchers.kubernetes PROPERTIES LABELS unit TIMEOUT 60 SKIP_RETURN_CODE 77)
