# SPDX-License-Identifier: Apache-2.0
# A few of the programs of tests/accuracy/programs: their verdicts are right, and must remain so. All of them are judged
# by hand: docs/measurements/accuracy.md.
if(NOT TARGET rollcall_cli OR NOT MPICC_openmpi OR NOT MPICXX_openmpi OR NOT MPIRUN_openmpi)
  return()
endif()
set(RIGHT_REPORTS barrier_for_each_patch_group.c memory_report_on_rank0.cc root_closes_file_after_error.c
    spare_rank_outside_barrier.c wells_in_hash_order.cc window_has_one_chunk_more.c)
list(JOIN RIGHT_REPORTS "|" RIGHT_REPORTS)
rollcall_job_test(reports.openmpi job ../accuracy/reports --mode check --jobs 2 --timeout 120
  --only "^(${RIGHT_REPORTS})$" --require-right --rollcall $<TARGET_FILE:rollcall_cli>
  --work ${CMAKE_CURRENT_BINARY_DIR}/reports)
