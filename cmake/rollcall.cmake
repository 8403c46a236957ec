# SPDX-License-Identifier: Apache-2.0
# Helpers of the top-level CMakeLists.txt.

# Sets OUT to all *.cc files below DIR.
function(rollcall_glob out dir)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${dir}/*.cc)
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# Adds the static library rollcall_NAME (with _ for each /) of collector/NAME and SOURCES. It may include the headers
# of the layers in LINKS and of the EXTERNAL libraries. A layer inside another layer's directory must be defined
# first.
function(rollcall_layer name)
  cmake_parse_arguments(ARG "" "" "LINKS;EXTERNAL;SOURCES" ${ARGN})
  string(REPLACE / _ target rollcall_${name})
  string(REPLACE / _ links "${ARG_LINKS}")
  list(TRANSFORM links PREPEND rollcall_)
  rollcall_glob(sources collector/${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/collector/${name}/*.h)
  get_property(taken GLOBAL PROPERTY ROLLCALL_LAYER_FILES)
  list(REMOVE_ITEM sources ${taken})
  list(REMOVE_ITEM headers ${taken})
  set_property(GLOBAL APPEND PROPERTY ROLLCALL_LAYER_FILES ${sources} ${headers})
  add_library(${target} STATIC ${sources} ${ARG_SOURCES})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_link_libraries(${target} PUBLIC rollcall_proto ${links} ${ARG_EXTERNAL})
  rollcall_flags(${target})
  rollcall_unity(${target})
  string(REPLACE ";" " " links "${ARG_LINKS}")
  set_property(GLOBAL APPEND PROPERTY ROLLCALL_LAYERS "${name}: ${links}")
  set_property(GLOBAL APPEND PROPERTY ROLLCALL_LAYER_TARGETS ${target})
endfunction()

# Adds TARGET, which links all layers. Writes the table of permitted includes to layers.txt, for the test "layers".
function(rollcall_layers target)
  get_property(layers GLOBAL PROPERTY ROLLCALL_LAYERS)
  get_property(targets GLOBAL PROPERTY ROLLCALL_LAYER_TARGETS)
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${targets})
  string(REPLACE ";" "\n" layers "${layers}")
  file(WRITE ${PROJECT_BINARY_DIR}/layers.txt "${layers}\n")
endfunction()

# Lets CMAKE_VERIFY_INTERFACE_HEADER_SETS compile each header below DIRECTORY by itself.
function(rollcall_headers target scope directory)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${directory}/*.h)
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
endfunction()

# Enables warnings (as errors with ROLLCALL_WERROR) and, unless UNSANITIZED, the chosen sanitizer.
function(rollcall_flags target)
  cmake_parse_arguments(ARG "UNSANITIZED" "" "" ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${ROLLCALL_WERROR}>:-Werror>)
  # gcc 12 warns about code of std::string at -O3 (gcc bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  if(ROLLCALL_SANITIZE AND NOT ARG_UNSANITIZED)
    target_compile_options(${target} PUBLIC -fsanitize=${ROLLCALL_SANITIZE}
                           -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${ROLLCALL_SANITIZE})
    target_compile_definitions(${target} PUBLIC ROLLCALL_ASSERTIONS)
    # Checks in other projects' headers take a quarter of the compile time. gcc has no such list and makes them in
    # scripts/test --full.
    if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
      target_compile_options(${target} PUBLIC
                             -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizer_ignorelist.txt)
    endif()
    if(ROLLCALL_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      # g++ warns that TSan does not model fences; the ring's payload is atomic words throughout.
      target_compile_options(${target} PUBLIC -Wno-tsan)
    endif()
  endif()
  if(ROLLCALL_FUZZERS AND NOT ARG_UNSANITIZED)
    target_compile_options(${target} PUBLIC -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# Compiles the sources of TARGET two dozen at a time: with ROLLCALL_UNITY=ALL for every target, with TESTS for targets
# that are marked TEST. Most of a file's compile time is spent on headers. For builds that are made once, such as
# those of scripts. Two sources of a target must not define the same local name (in an anonymous namespace, or a
# macro). The shim is never built this way. Of the scripts, only scripts/demo builds the tools for users this way.
function(rollcall_unity target)
  cmake_parse_arguments(ARG "TEST" "" "" ${ARGN})
  if(ROLLCALL_UNITY STREQUAL ALL OR (ARG_TEST AND ROLLCALL_UNITY STREQUAL TESTS))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
    # g++ treats an included source as a header and warns about classes with members of anonymous types.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Precompiles HEADERS of other projects that most sources of TARGET include and that take long to compile. Every
# source must still include what it needs: scripts/test --full compiles without precompiled headers
# (CMAKE_DISABLE_PRECOMPILE_HEADERS).
function(rollcall_precompile target)
  if(ROLLCALL_UNITY STREQUAL ALL)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${ARGN})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
endfunction()

# Splits the list SOURCES into the files that contain the macro WORD and the others.
function(rollcall_split sources word with without)
  foreach(file ${${sources}})
    file(STRINGS ${file} lines REGEX ${word} LIMIT_COUNT 1)
    if(lines)
      list(APPEND asking ${file})
    else()
      list(APPEND others ${file})
    endif()
  endforeach()
  set(${with} ${asking} PARENT_SCOPE)
  set(${without} ${others} PARENT_SCOPE)
endfunction()

# Compile options of the code that is loaded into every process of the user's job: only wrappers are exported, and TLS
# needs no allocation. Unwind tables are kept so that the user's exceptions pass through. Exceptions are disabled: a
# frame with a personality routine would bring in a second unwinder, which does not know the application's contexts.
function(rollcall_preload_options target)
  target_compile_options(${target} PRIVATE -fvisibility=hidden -fvisibility-inlines-hidden
    -fno-exceptions -fno-rtti -fno-semantic-interposition -fasynchronous-unwind-tables -ftls-model=initial-exec -O2)
  # gcc clears a struct of more than 96 bytes with `rep stos`, whose start-up takes longer than all the stores
  # together: 30 to 40 cycles, several times per recorded call.
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    target_compile_options(${target} PRIVATE
      -mmemset-strategy=vector_loop:256:noalign,rep_8byte:-1:noalign)
  endif()
  target_link_libraries(${target} PRIVATE rollcall_proto)
endfunction()

# Link options of the preloaded library: it depends on libc only, binds every symbol at load, and is never unloaded
# (NCCL closes its plugins, and our exit handlers may still have to run).
function(rollcall_preload_library target)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,now -Wl,-z,defs -Wl,-z,nodelete
    -Wl,--as-needed -Wl,--exclude-libs,ALL -Wl,-Bsymbolic-functions
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/shim/exports.map)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/shim/exports.map
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/rollcall)
endfunction()

# Adds TARGET, which copies the library of another build: it has no sanitizer, so sanitized builds need not build it.
function(rollcall_take_preload_library target library)
  if(NOT ROLLCALL_SANITIZE)
    message(FATAL_ERROR "ROLLCALL_PRELOAD is for sanitized builds: others test and install what they compile")
  endif()
  add_custom_target(${target} COMMAND ${CMAKE_COMMAND} -E copy_if_different ${library}
    ${PROJECT_BINARY_DIR}/lib/rollcall/librollcall.so VERBATIM)
endfunction()

# Adds a static library TARGET with the messages and gRPC stubs of PROTO.
function(rollcall_protobuf target proto)
  get_filename_component(name ${proto} NAME_WE)
  get_filename_component(dir ${proto} DIRECTORY)
  set(out ${PROJECT_BINARY_DIR}/generated)
  set(base ${out}/${dir}/${name})
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${base}.pb.cc ${base}.pb.h ${base}.grpc.pb.cc ${base}.grpc.pb.h
    COMMAND protobuf::protoc --cpp_out=${out} --grpc_out=${out}
            --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} -I${PROJECT_SOURCE_DIR} ${proto}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    DEPENDS ${PROJECT_SOURCE_DIR}/${proto} VERBATIM)
  add_library(${target} STATIC ${base}.pb.cc ${base}.grpc.pb.cc)
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
endfunction()

# Sets OUT to a generated source file that contains the pages of docs/verdicts.
function(rollcall_verdict_pages out)
  set(script ${PROJECT_SOURCE_DIR}/cmake/verdict_pages.cmake)
  set(source ${PROJECT_BINARY_DIR}/generated/verdict_pages.cc)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/verdicts/*.md)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DDOCS=${PROJECT_SOURCE_DIR}/docs/verdicts -DOUT=${source} -P ${script}
    DEPENDS ${script} ${pages} VERBATIM)
  set(${out} ${source} PARENT_SCOPE)
endfunction()

# Sets OUT to a generated source file that contains report/page.html.
function(rollcall_html_page out)
  set(script ${PROJECT_SOURCE_DIR}/cmake/html_page.cmake)
  set(page ${PROJECT_SOURCE_DIR}/report/page.html)
  set(source ${PROJECT_BINARY_DIR}/generated/html_page.cc)
  add_custom_command(OUTPUT ${source} COMMAND ${CMAKE_COMMAND} -DPAGE=${page} -DOUT=${source} -P ${script}
    DEPENDS ${script} ${page} VERBATIM)
  set(${out} ${source} PARENT_SCOPE)
endfunction()

# Adds to TARGET a source that defines the commit. It is generated at each build, and compiled again only if the commit
# changed.
function(rollcall_add_commit target)
  find_package(Git QUIET)
  set(script ${PROJECT_SOURCE_DIR}/cmake/commit.cmake)
  set(source ${PROJECT_BINARY_DIR}/generated/commit.cc)
  add_custom_target(rollcall_commit
    COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${source} -P ${script}
    BYPRODUCTS ${source} VERBATIM)
  set_source_files_properties(${source} PROPERTIES
    GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${source})
  add_dependencies(${target} rollcall_commit)
endfunction()

# Lets TARGET, the command, write its man pages and completions each time it is linked, and installs them. A
# cross-compiled command cannot be run, unless CMAKE_CROSSCOMPILING_EMULATOR is set.
function(rollcall_command_texts target)
  if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()
  endif()
  set(texts ${PROJECT_BINARY_DIR}/generated/texts)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${texts}
    COMMAND ${target} help --man ${texts}/man1
    COMMAND ${target} help --completion bash > ${texts}/rollcall
    COMMAND ${target} help --completion zsh > ${texts}/_rollcall
    COMMAND ${target} help --completion fish > ${texts}/rollcall.fish
    VERBATIM)
  install(DIRECTORY ${texts}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${texts}/rollcall DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${texts}/_rollcall DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${texts}/rollcall.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endfunction()

# Installs the package files for find_package(rollcall).
function(rollcall_install_package)
  include(CMakePackageConfigHelpers)
  set(package ${PROJECT_SOURCE_DIR}/cmake/package)
  set(generated ${PROJECT_BINARY_DIR}/generated/package)
  set(destination ${CMAKE_INSTALL_LIBDIR}/cmake/rollcall)
  configure_package_config_file(${package}/rollcallConfig.cmake.in ${generated}/rollcallConfig.cmake
    INSTALL_DESTINATION ${destination} PATH_VARS CMAKE_INSTALL_BINDIR)
  write_basic_package_version_file(${generated}/rollcallConfigVersion.cmake
    COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
  install(FILES ${generated}/rollcallConfig.cmake ${generated}/rollcallConfigVersion.cmake
    ${package}/rollcallAddTest.cmake DESTINATION ${destination})
endfunction()
