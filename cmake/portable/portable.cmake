# SPDX-License-Identifier: Apache-2.0
# Builds tools that run on older systems than the build machine. They are linked with an older glibc in the directory
# ROLLCALL_SYSROOT (its headers are not used); all other libraries are linked statically. See
# docs/decisions/0023-portable-by-sysroot.md.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(multiarch ${CMAKE_LIBRARY_ARCHITECTURE})
# The link options of what is installed. Tests are linked with this system's glibc, as the MPI libraries need it.
add_library(rollcall_old_glibc INTERFACE)
target_link_options(rollcall_old_glibc INTERFACE --sysroot=${ROLLCALL_SYSROOT}
  -B${ROLLCALL_SYSROOT}/usr/lib/${multiarch} -L${ROLLCALL_SYSROOT}/usr/lib/${multiarch}
  -L${ROLLCALL_SYSROOT}/lib/${multiarch}
  -static-libstdc++ -static-libgcc -s)  # -s: paths in debug information would change the build id
set(ROLLCALL_OLD_GLIBC rollcall_old_glibc)
# libunwind-coredump.a is not compiled for position-independent executables. Its function that resumes a process at
# another frame is not used here; it would pull in all of libunwind.a, including an unwinder for C++ exceptions.
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -no-pie -Wl,--gc-sections -Wl,--defsym=_U${CMAKE_SYSTEM_PROCESSOR}_setcontext=0")
# These libraries are parts of libc since glibc 2.34.
set(CMAKE_CXX_STANDARD_LIBRARIES "-ldl -lpthread -lrt")

# Functions of a newer glibc that the libraries use. An object library, because libstdc++, which needs them, is linked
# last.
add_library(rollcall_newer_glibc OBJECT ${CMAKE_CURRENT_LIST_DIR}/newer_glibc.cc)
rollcall_flags(rollcall_newer_glibc)
set(ROLLCALL_TOOL_OBJECTS ${ROLLCALL_OLD_GLIBC} $<TARGET_OBJECTS:rollcall_newer_glibc>)

# Debian has no static library of fmt.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/fmt.cc CONTENT [[
#include <fmt/format-inl.h>
namespace fmt {
inline namespace v9 {
namespace detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl(locale_ref);
}
}
}
]] @ONLY)
add_library(rollcall_fmt STATIC ${PROJECT_BINARY_DIR}/generated/fmt.cc)
add_library(fmt::fmt ALIAS rollcall_fmt)

# Replaces the shared libraries of imported targets by static ones. Call after all packages are found.
function(rollcall_link_statically)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${targets})
    get_target_property(location ${target} IMPORTED_LOCATION_NONE)
    if(location MATCHES "^(.*)\\.so[.0-9]*$")
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE ${CMAKE_MATCH_1}.a)
    endif()
  endforeach()
  find_library(RE2 re2 REQUIRED)
  set_target_properties(re2::re2 PROPERTIES INTERFACE_LINK_LIBRARIES ${RE2})
  # libdw reads compressed sections with these libraries.
  foreach(name lzma bz2 z)
    find_library(STATIC_${name} ${name} REQUIRED)
    set_property(TARGET PkgConfig::DW APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${STATIC_${name}})
  endforeach()
endfunction()
