# SPDX-License-Identifier: Apache-2.0
# Toolchain file: builds for AArch64 Linux with Debian's cross compiler (package g++-aarch64-linux-gnu).
#
#   cmake -B build/aarch64 --toolchain cmake/aarch64.cmake -DROLLCALL_SHIM_ONLY=ON
#
# More than the preloaded library needs other libraries: CMAKE_SYSROOT is then an unpacked Debian of arm64 that has them
# (tests/packages/arm64 makes one). Tools that run during the build, as protoc, are those of the build machine. What is
# built runs on this machine under qemu-aarch64-static (package qemu-user-static).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
