# SPDX-License-Identifier: Apache-2.0
"""Drives NCCL through ctypes by the library's full path, like vLLM's pynccl: argv is the path of
libnccl, the path of libcudart, and --fault, with which the last rank omits the second reduction."""

import ctypes
import os
import sys


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]


class Nccl:
    def __init__(self, nccl_path, cuda_path):
        self.cuda = ctypes.CDLL(cuda_path)
        self.nccl = ctypes.CDLL(nccl_path)
        self.nccl.ncclCommInitRank.argtypes = [
            ctypes.POINTER(ctypes.c_void_p), ctypes.c_int, UniqueId, ctypes.c_int]
        self.nccl.ncclAllReduce.argtypes = [
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
            ctypes.c_void_p, ctypes.c_void_p]
        self.nccl.ncclCommDestroy.argtypes = [ctypes.c_void_p]
        self.cuda.cudaStreamCreate.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
        self.cuda.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
        self.comm, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.cuda.cudaStreamCreate(ctypes.byref(self.stream)))

    @staticmethod
    def check(result):
        if result != 0:
            raise RuntimeError("error %d" % result)

    def init(self, size, unique_id, rank):
        self.check(self.nccl.ncclCommInitRank(ctypes.byref(self.comm), size, unique_id, rank))

    def all_reduce(self, buffer):
        self.check(self.nccl.ncclAllReduce(buffer, buffer, len(buffer), 7, 0, self.comm, self.stream))

    def wait(self):
        self.check(self.cuda.cudaStreamSynchronize(self.stream))


def main():
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    nccl = Nccl(sys.argv[1], sys.argv[2])
    text = (os.environ["TORCHELASTIC_RUN_ID"] + "-0").encode()
    unique_id = UniqueId()
    unique_id.internal[:len(text)] = list(text)
    nccl.init(size, unique_id, rank)
    buffer = (ctypes.c_float * 4)(1, 1, 1, 1)
    for step in range(2):
        if "--fault" not in sys.argv or step != 1 or rank != size - 1:
            nccl.all_reduce(buffer)
        nccl.wait()
    nccl.check(nccl.nccl.ncclCommDestroy(nccl.comm))
    if rank == 0:
        print("sum", buffer[0], flush=True)


if __name__ == "__main__":
    main()
