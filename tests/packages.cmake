# SPDX-License-Identifier: Apache-2.0
# Packages for other systems. Debian's python3-yaml is for the system Python.
add_test(NAME packages.recipes COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/packages/check_recipes.py
  ${PROJECT_SOURCE_DIR})
set_tests_properties(packages.recipes PROPERTIES LABELS unit)

# scripts/release and the commit of `rollcall --version`.
add_test(NAME packages.release COMMAND Python3::Interpreter -B ${CMAKE_CURRENT_LIST_DIR}/packages/release_test.py
  ${PROJECT_SOURCE_DIR})
set_tests_properties(packages.release PROPERTIES LABELS unit TIMEOUT 60)
