# SPDX-License-Identifier: Apache-2.0
# The simulated NCCL and CUDA of tests/nccl_sim, and the fault programs of tests/faults/nccl that run on
# them. Like faults.cmake for MPI, but fork_launcher starts them instead of mpirun.
set(NCCL_SIM_DIR ${CMAKE_CURRENT_LIST_DIR}/nccl_sim)
set(NCCL_FAULTS_DIR ${CMAKE_CURRENT_LIST_DIR}/faults/nccl)
set(NCCL_SIM_OUT ${CMAKE_CURRENT_BINARY_DIR}/nccl_sim)

# Gives TARGET the file name and soname NAME, like the real library, which has no debug information either: functions of
# the library would be taken for the user's.
function(rollcall_simulated_library target name)
  add_library(${target} SHARED ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -g0)
  target_link_libraries(${target} PRIVATE Threads::Threads)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${name} SUFFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
endfunction()
rollcall_simulated_library(driver_sim libcuda.so.1 ${NCCL_SIM_DIR}/driver_sim.cc
  ${NCCL_SIM_DIR}/streams.cc)
rollcall_simulated_library(cuda_sim libcudart.so.12 ${NCCL_SIM_DIR}/cuda_sim.cc)
target_link_libraries(cuda_sim PRIVATE driver_sim)
set(NCCL_SIM_SOURCES ${NCCL_SIM_DIR}/nccl_sim.cc ${NCCL_SIM_DIR}/segment.cc
  ${NCCL_SIM_DIR}/profiler_sim.cc ${NCCL_SIM_DIR}/log_sim.cc)
rollcall_simulated_library(nccl_sim libnccl.so.2 ${NCCL_SIM_SOURCES})
target_link_libraries(nccl_sim PRIVATE cuda_sim driver_sim ${CMAKE_DL_LIBS})
# The same for static linking, where calls cannot be interposed.
add_library(nccl_sim_static STATIC ${NCCL_SIM_SOURCES})
target_include_directories(nccl_sim_static PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(nccl_sim_static PRIVATE -Wall -Wextra -Werror -g0 -fvisibility=hidden)
target_link_libraries(nccl_sim_static PUBLIC cuda_sim driver_sim Threads::Threads ${CMAKE_DL_LIBS})

add_executable(fork_launcher ${NCCL_SIM_DIR}/fork_launcher.c)
target_compile_options(fork_launcher PRIVATE -std=gnu11 -Wall -Wextra -Werror)
set_target_properties(fork_launcher PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})

# Adds the executable TARGET of SOURCE with further definitions, linked with the simulated libraries.
function(rollcall_nccl_program target source)
  add_executable(${target} ${source})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -g -O1 -std=gnu11 -Wall -Wextra -Werror ${ARGN})
  target_link_libraries(${target} PRIVATE nccl_sim cuda_sim)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
endfunction()

# Like rollcall_fault_tests() of faults.cmake.
function(rollcall_nccl_fault source)
  get_filename_component(name ${source} NAME)
  get_filename_component(stem ${source} NAME_WE)
  rollcall_nccl_program(nccl_${stem}_control ${source})
  set(common run_job_test.py --rollcall $<TARGET_FILE:rollcall_cli> --mpi fork --source ${source})
  file(STRINGS ${source} conditions REGEX "^#ifdef FAULT")
  list(APPEND JOB_ENVIRONMENT "ROLLCALL_FORK_LAUNCHER=$<TARGET_FILE:fork_launcher>")
  if(conditions)
    rollcall_nccl_program(nccl_${stem}_fault ${source} -DFAULT)
    rollcall_job_test(fault.nccl.${name} job ${common} --program $<TARGET_FILE:nccl_${stem}_fault>)
  endif()
  rollcall_job_test(clean.nccl.${name} job ${common} --program $<TARGET_FILE:nccl_${stem}_control> --control)
  if(ROLLCALL_FULL_TESTS)
    rollcall_job_test(full.clean.nccl.${name} full ${common} --program
      $<TARGET_FILE:nccl_${stem}_control> --control --paths all)
  endif()
endfunction()

file(GLOB NCCL_FAULTS CONFIGURE_DEPENDS ${NCCL_FAULTS_DIR}/*.c)
foreach(source ${NCCL_FAULTS})
  rollcall_nccl_fault(${source})
endforeach()

# srun starts one torchrun per node: the ranks inherit the variables of a Slurm task, which number the nodes.
function(rollcall_nccl_fault_under_slurm name)
  list(APPEND JOB_ENVIRONMENT "ROLLCALL_FORK_LAUNCHER=$<TARGET_FILE:fork_launcher>"
    "SLURM_JOB_ID=7" "SLURM_STEP_ID=0" "SLURM_PROCID=0" "SLURM_NTASKS=1")
  rollcall_job_test(fault.nccl.under_slurm.${name} job run_job_test.py --rollcall $<TARGET_FILE:rollcall_cli>
    --mpi fork --source ${NCCL_FAULTS_DIR}/${name}.c --program $<TARGET_FILE:nccl_${name}_fault>)
endfunction()
rollcall_nccl_fault_under_slurm(skipped_all_reduce)

# The same faults where no function can be wrapped: NCCL is linked statically and observed by its profiler events.
# The arguments after FAULT and CONTROL are versions of that interface; each is the newest that the simulated NCCL
# knows in its test.
function(rollcall_nccl_plugin_tests name)
  cmake_parse_arguments(arg "" "" "FAULT;CONTROL" ${ARGN})
  set(source ${NCCL_FAULTS_DIR}/${name}.c)
  if(NOT EXISTS ${source})
    set(source ${NCCL_SIM_DIR}/plugin/${name}.c)
  endif()
  foreach(kind FAULT CONTROL)
    string(TOLOWER nccl_static_${name}_${kind} program)
    add_executable(${program} ${source})
    target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_options(${program} PRIVATE -g -O1 -std=gnu11 -Wall -Wextra -Werror)
    target_compile_definitions(${program} PRIVATE ${kind})
    target_link_libraries(${program} PRIVATE nccl_sim_static)
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${NCCL_SIM_OUT} LINKER_LANGUAGE CXX)
    set(test fault)
    set(control "")
    if(kind STREQUAL "CONTROL")
      set(test clean)
      set(control --control)
    endif()
    foreach(version ${arg_${kind}})
      set(JOB_ENVIRONMENT "PYTHONDONTWRITEBYTECODE=1" "NCCL_SIM_PROFILER=${version}"
        "ROLLCALL_FORK_LAUNCHER=$<TARGET_FILE:fork_launcher>")
      rollcall_job_test(${test}.nccl.plugin_v${version}.${name} job run_job_test.py --mpi fork ${control}
        --rollcall $<TARGET_FILE:rollcall_cli> --source ${source} --program $<TARGET_FILE:${program}>)
    endforeach()
  endforeach()
endfunction()
rollcall_nccl_plugin_tests(skipped_all_reduce FAULT 7 4 2 1 CONTROL 7 1)
rollcall_nccl_plugin_tests(missing_send FAULT 7 4 CONTROL 7)
rollcall_nccl_plugin_tests(graph_replayed FAULT 7 CONTROL 4)
rollcall_nccl_plugin_tests(stalled_kernel FAULT 7 CONTROL 4)
rollcall_nccl_plugin_tests(open_group FAULT 7 CONTROL 7)

# How applications bind NCCL: nccl_sim/run_binding_test.py.
rollcall_nccl_program(binding_linked ${NCCL_SIM_DIR}/bindings/linked.c)
add_executable(binding_dlopened ${NCCL_SIM_DIR}/bindings/dlopened.c)
target_include_directories(binding_dlopened PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(binding_dlopened PRIVATE -std=gnu11 -Wall -Wextra -Werror)
target_link_libraries(binding_dlopened PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(binding_dlopened PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
add_library(binding_plugin MODULE ${NCCL_SIM_DIR}/bindings/plugin.c)
target_include_directories(binding_plugin PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(binding_plugin PRIVATE -std=gnu11 -Wall -Wextra -Werror)
target_link_libraries(binding_plugin PRIVATE nccl_sim cuda_sim)
set_target_properties(binding_plugin PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
# The same plugin without its list of needed libraries; binding_root.so, which loads it, has them.
add_library(binding_bare SHARED ${NCCL_SIM_DIR}/bindings/plugin.c)
target_include_directories(binding_bare PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(binding_bare PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
add_library(binding_root MODULE ${NCCL_SIM_DIR}/bindings/root.c)
target_link_options(binding_root PRIVATE -Wl,--no-as-needed)
target_link_libraries(binding_root PRIVATE binding_bare nccl_sim cuda_sim)
set_target_properties(binding_root PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
add_executable(binding_local ${NCCL_SIM_DIR}/bindings/local.c)
target_compile_options(binding_local PRIVATE -std=gnu11 -Wall -Wextra -Werror)
target_link_libraries(binding_local PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(binding_local PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${NCCL_SIM_OUT})
add_executable(binding_static ${NCCL_SIM_DIR}/bindings/linked.c)
target_include_directories(binding_static PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(binding_static PRIVATE -std=gnu11 -Wall -Wextra -Werror)
target_link_libraries(binding_static PRIVATE nccl_sim_static)
set_target_properties(binding_static PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${NCCL_SIM_OUT} LINKER_LANGUAGE CXX)
find_library(ROLLCALL_REAL_NCCL NAMES libnccl.so.2
  PATHS /usr/local/cuda/lib64 /usr/local/cuda-13.0/lib)
foreach(case linked local underlinked dlopened deep ctypes static plugin hang real)
  add_test(NAME nccl.binding.${case} COMMAND Python3::Interpreter ${NCCL_SIM_DIR}/run_binding_test.py
    --shim $<TARGET_FILE:rollcall> --summary $<TARGET_FILE:ring_summary>
    --rollcall $<TARGET_FILE:rollcall_cli> --libraries ${NCCL_SIM_OUT}
    "$<$<BOOL:${ROLLCALL_REAL_NCCL}>:--real=${ROLLCALL_REAL_NCCL}>" ${case} COMMAND_EXPAND_LISTS)
  set_tests_properties(nccl.binding.${case} PROPERTIES LABELS job TIMEOUT 120 SKIP_RETURN_CODE 77)
endforeach()

# Jobs of both: MPI for control, NCCL for data.
file(GLOB NCCL_MPI_FAULTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/faults/nccl_mpi/*.c)
foreach(mpi openmpi mpich)
  if(NOT MPICC_${mpi} OR NOT MPIRUN_${mpi})
    continue()
  endif()
  set(programs "")
  rollcall_fault_sources(programs ${mpi} ${MPICC_${mpi}} SOURCES ${NCCL_MPI_FAULTS}
    FLAGS -std=gnu11 ${FAULT_FLAGS} -Wl,--no-as-needed -L${NCCL_SIM_OUT} -l:libnccl.so.2
          -l:libcudart.so.12 -Wl,-rpath,${NCCL_SIM_OUT})
  add_custom_target(nccl_faults_${mpi} ALL DEPENDS ${programs})
  add_dependencies(nccl_faults_${mpi} nccl_sim cuda_sim)
endforeach()

# The real NCCL on a GPU: scripts/gpu, which a test can only try where there is none.
add_test(NAME nccl.gpu_script COMMAND ${CMAKE_CURRENT_LIST_DIR}/gpu/without_gpu_test)
set_tests_properties(nccl.gpu_script PROPERTIES LABELS unit TIMEOUT 60)
