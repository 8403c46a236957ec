# Toolchain file: builds for AArch64 Linux with Debian's cross compiler (package g++-aarch64-linux-gnu).
#
#   cmake -B build/aarch64 --toolchain cmake/aarch64.cmake -DROLLCALL_SHIM_ONLY=ON
#
# More than the preloaded library needs other libraries: CMAKE_SYSROOT is then a Debian of arm64 with their packages.
# tests/packages/arm64 makes one. Tools that run during the build (protoc) are those of the build machine. What is built
# runs under qemu-aarch64-static (package qemu-user-static).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
