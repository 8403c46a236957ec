# The README shows a verdict that the program really prints.
if(TARGET rollcall_cli AND MPICC_openmpi)
  rollcall_job_test(readme.verdict job ../readme/readme_test.py --rollcall $<TARGET_FILE:rollcall_cli>
    --program ${CMAKE_CURRENT_BINARY_DIR}/faults/openmpi/collective/barrier_skipped_by_rank0.c.fault
    --readme ${PROJECT_SOURCE_DIR}/README.md)
endif()
