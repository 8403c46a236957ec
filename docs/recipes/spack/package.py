# SPDX-License-Identifier: Apache-2.0
"""Spack recipe that builds rollcall from its source. In a clone of rollcall:

    spack repo create repo rollcall && mkdir -p repo/packages/rollcall
    cp docs/recipes/spack/package.py repo/packages/rollcall/ && spack repo add repo
    spack dev-build rollcall@0.2.0
"""

from spack.package import *


class Rollcall(CMakePackage):
    """Debugger for distributed jobs that hang: reports which rank of an MPI or NCCL job diverged."""

    version("0.2.0")

    # The shim alone: it needs a compiler and nothing else. Its traces are read elsewhere.
    variant("tools", default=True, description="build the rollcall command, too")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    with when("+tools"):
        depends_on("pkgconfig", type="build")
        depends_on("grpc@1.51:")
        depends_on("protobuf@3.21:")
        depends_on("openssl@3:")
        depends_on("fmt@9:")
        depends_on("nlohmann-json@3.11:")
        depends_on("cli11@2.3:")
        depends_on("elfutils")  # libdw
        depends_on("libunwind components=coredump")  # core files
        depends_on("libarchive compression=zstd")
        depends_on("zstd")
        depends_on("libevent")
        depends_on("ncurses")

    conflicts("platform=darwin")
    conflicts("platform=windows")

    def cmake_args(self):
        return [self.define("ROLLCALL_TESTS", False), self.define("ROLLCALL_SHIM_ONLY", "~tools" in self.spec)]
