// SPDX-License-Identifier: Apache-2.0
// The words of proto/functions.def. A word is the name and role of a parameter. Each word has a C
// type, a type in large-count (_c) functions, and a statement that records the argument.
// tests/shim/abi compares the types with mpi.h of Open MPI and MPICH.
//
// A handle is a Word, because one register holds either a pointer or an int. Out-handles and arrays
// of handles are void*, because their stride depends on the library (Library::At).
#ifndef ROLLCALL_SHIM_ROLES_H_
#define ROLLCALL_SHIM_ROLES_H_

#include <cstdint>

#include "shim/arguments.h"

namespace rollcall::shim::roles {

using Count = int64_t;  // MPI_Count, MPI_Aint
using Address = int64_t;

// A table with one word per line, not formatted by clang-format.
// clang-format off

// ROLE(word, type, large type, statement that records `value` in `a`)
#define ROLE(word, small_type, large_type_, ...)                               \
  struct word {                                                                \
    using type = small_type;                                                   \
    using large_type = large_type_;                                            \
    template <typename T>                                                      \
    static inline void Take([[maybe_unused]] Arguments& a, [[maybe_unused]] T value) { \
      __VA_ARGS__;                                                             \
    }                                                                          \
    /* Passed on to the library unchanged; only `status` differs. */           \
    template <typename T>                                                      \
    static inline T Pass(const Arguments&, T value) { return value; }          \
  };

// Buffers. The buffers of messages and windows are not recorded.
ROLE(sendbuf, const void*, const void*, a.send_buffer = value)
ROLE(recvbuf, void*, void*, a.recv_buffer = value)
ROLE(buffer, void*, void*, a.buffer = value)
ROLE(buf_inout, void*, void*, (void)value)
ROLE(buf, const void*, const void*, (void)value)

// Counts and datatypes.
ROLE(count, int, Count, a.send_count = value; a.recv_count = value)
ROLE(sendcount, int, Count, a.send_count = value)
ROLE(recvcount, int, Count, a.recv_count = value)
ROLE(datatype, Word, Word, a.send_type = a.recv_type = value; a.has_send_type = a.has_recv_type = true)
ROLE(sendtype, Word, Word, a.send_type = value; a.has_send_type = true)
ROLE(recvtype, Word, Word, a.recv_type = value; a.has_recv_type = true)
ROLE(sendcounts, const int*, const Count*, a.send_counts = value; a.large = sizeof(*value) == 8)
ROLE(recvcounts, const int*, const Count*, a.recv_counts = value; a.large = sizeof(*value) == 8)
ROLE(displs, const int*, const Address*, a.displs = value)
ROLE(sdispls, const int*, const Address*, a.send_displs = value)
ROLE(rdispls, const int*, const Address*, a.displs = value)
ROLE(sdispls_aint, const Address*, const Address*, (void)value)
ROLE(rdispls_aint, const Address*, const Address*, (void)value)
ROLE(sendtypes, const void*, const void*, a.send_types = value)
ROLE(recvtypes, const void*, const void*, a.recv_types = value)

// Communicators, peers and tags.
ROLE(comm, Word, Word, a.comm = value)
ROLE(root, int, int, a.root_or_peer = value; a.has_peer = true)
ROLE(dest, int, int, a.root_or_peer = value; a.has_peer = true)
ROLE(source, int, int, if (a.has_peer) { a.peer2 = value; a.has_peer2 = true; } else { a.root_or_peer = value; a.has_peer = true; })
ROLE(tag, int, int, a.tag = value)
ROLE(sendtag, int, int, a.tag = value)
ROLE(recvtag, int, int, a.tag2 = value)
ROLE(op, Word, Word, a.op = value)

// Requests, statuses, results.
ROLE(request, void*, void*, a.request = value)
ROLE(request_inout, void*, void*, a.request = value)
ROLE(request_in, Word, Word, a.request_in = value)
ROLE(requests, void*, void*, a.requests = value)
ROLE(request_count, int, int, a.request_count = value)
// If the program ignores the status of a wildcard receive, Begin passes a status of the shim
// instead: the sender is reported only in the status. In calls for a single operation, this has no
// other effect on the library.
struct status {
  using type = void*;
  using large_type = void*;
  static inline void Take(Arguments& a, void* value) {
    a.status = value;
    a.has_status = true;
  }
  static inline void* Pass(const Arguments& a, void*) { return a.status; }
};
ROLE(statuses, void*, void*, a.statuses = value)
ROLE(flag, int*, int*, a.flag = value)
ROLE(index_out, int*, int*, a.index = value)
ROLE(outcount, int*, int*, a.out_count = value)
ROLE(indices_out, int*, int*, a.indices = value)
ROLE(message, void*, void*, a.message = value)

// Communicators, created and freed.
ROLE(newcomm, void*, void*, a.new_comm = value)
ROLE(comm_inout, void*, void*, a.handle_inout = value)
ROLE(datatype_inout, void*, void*, a.handle_inout = value)
ROLE(op_inout, void*, void*, a.handle_inout = value)
ROLE(group, Word, Word, a.group = value)
ROLE(color, int, int, a.color = value)
ROLE(split_type, int, int, a.color = value)
ROLE(key, int, int, a.key = value)
ROLE(peer_comm, Word, Word, a.peer_comm = value)
ROLE(local_leader, int, int, (void)value)
ROLE(remote_leader, int, int, (void)value)
ROLE(high, int, int, (void)value)
ROLE(name, const char*, const char*, a.name = value)

// Forwarded, not recorded.
ROLE(info, Word, Word, (void)value)
ROLE(ndims, int, int, (void)value)
ROLE(nnodes, int, int, (void)value)
ROLE(reorder, int, int, (void)value)
ROLE(ints_in, const int*, const int*, (void)value)
ROLE(ints_in2, const int*, const int*, (void)value)
ROLE(ints_in3, const int*, const int*, (void)value)
ROLE(ints_in4, const int*, const int*, (void)value)
ROLE(count_plain, int, int, (void)value)
ROLE(count_plain2, int, int, (void)value)
ROLE(argc, int*, int*, (void)value)
ROLE(argv, char***, char***, (void)value)
ROLE(required, int, int, (void)value)
ROLE(provided, int*, int*, (void)value)
ROLE(errorcode, int, int, a.error_code = value)
ROLE(user_function, void*, void*, (void)value)
ROLE(commute, int, int, (void)value)
ROLE(newop, void*, void*, a.new_handle = value)
ROLE(errhandler, Word, Word, (void)value)
ROLE(buffer_out, void*, void*, (void)value)
ROLE(size_out, int*, Count*, (void)value)

// Local calls: groups, datatypes, topologies.
ROLE(newgroup, void*, void*, a.new_handle = value)
ROLE(newtype, void*, void*, a.new_handle = value)
ROLE(group_inout, void*, void*, a.handle_inout = value)
ROLE(group2, Word, Word, (void)value)
ROLE(comm2, Word, Word, (void)value)
ROLE(session, Word, Word, (void)value)
ROLE(ranges, const void*, const void*, (void)value)
ROLE(length, int, Count, (void)value)
ROLE(lengths, const int*, const Count*, (void)value)
ROLE(lengths2, const int*, const Count*, (void)value)
ROLE(lengths3, const int*, const Count*, (void)value)
ROLE(stride, int, Count, (void)value)
ROLE(stride_aint, Address, Address, (void)value)
ROLE(extent_aint, Address, Address, (void)value)
ROLE(order, int, int, (void)value)
ROLE(nprocs, int, int, (void)value)
ROLE(rank_plain, int, int, (void)value)
ROLE(int_out, int*, int*, (void)value)
ROLE(int_out2, int*, int*, (void)value)
ROLE(int_out3, int*, int*, (void)value)
ROLE(ints_out, int*, int*, (void)value)
ROLE(ints_out2, int*, int*, (void)value)
ROLE(ints_out3, int*, int*, (void)value)
ROLE(ints_out4, int*, int*, (void)value)

// Partitioned communication.
ROLE(partitions, int, int, a.key = value)
ROLE(count_large, Count, Count, a.send_count = a.recv_count = value)
ROLE(partition, int, int, a.color = a.key = value)
ROLE(partition_high, int, int, a.key = value)
ROLE(partition_count, int, int, a.request_count = value)
ROLE(partition_list, const int*, const int*, if (a.request_count > 0) { a.color = value[0]; a.key = value[a.request_count - 1]; })

// Windows.
ROLE(win, Word, Word, a.window = value)
ROLE(win_inout, void*, void*, a.handle_inout = value)
ROLE(newwin, void*, void*, a.new_handle = value)
ROLE(base, void*, void*, (void)value)
ROLE(size_aint, Address, Address, (void)value)
ROLE(disp_unit, int, Address, (void)value)
ROLE(assertion, int, int, (void)value)
ROLE(origin, const void*, const void*, (void)value)
ROLE(origin_count, int, Count, (void)value)
ROLE(origin_type, Word, Word, (void)value)
ROLE(compared, const void*, const void*, (void)value)
ROLE(result, void*, void*, (void)value)
ROLE(result_count, int, Count, (void)value)
ROLE(result_type, Word, Word, (void)value)
ROLE(target_disp, Address, Address, (void)value)
ROLE(target_count, int, Count, (void)value)
ROLE(target_type, Word, Word, (void)value)
ROLE(lock_type, int, int, (void)value)
ROLE(target, int, int, a.root_or_peer = value; a.has_peer = true)

// Files. File handles are pointers, also in MPICH.
ROLE(file, Word, Word, a.file = value)
ROLE(file_inout, void*, void*, a.handle_inout = value)
ROLE(newfile, void*, void*, a.new_handle = value)
ROLE(offset, int64_t, int64_t, (void)value)
ROLE(amode, int, int, (void)value)
ROLE(etype, Word, Word, (void)value)
ROLE(filetype, Word, Word, (void)value)
ROLE(datarep, const char*, const char*, (void)value)
ROLE(flag_in, int, int, (void)value)
ROLE(whence, int, int, (void)value)

// Processes and sessions.
ROLE(command, const char*, const char*, (void)value)
ROLE(commands, char**, char**, (void)value)
ROLE(spawn_argv, char**, char**, (void)value)
ROLE(spawn_argvs, char***, char***, (void)value)
ROLE(maxprocs, int, int, (void)value)
ROLE(infos, const void*, const void*, (void)value)
ROLE(errcodes, int*, int*, (void)value)
ROLE(port_name, const char*, const char*, (void)value)
ROLE(fd, int, int, (void)value)
ROLE(newsession, void*, void*, a.new_handle = value)
ROLE(session_inout, void*, void*, a.handle_inout = value)
ROLE(stringtag, const char*, const char*, a.name = value)
ROLE(remote_group, Word, Word, (void)value)

#undef ROLE
// clang-format on

}  // namespace rollcall::shim::roles

// For RC_LIST and RC_EACH of for_each_word.h: what a wrapper does with a parameter. RC_TAKE fills
// in its variable `arguments`.
#define RC_SMALL_PARAMETER(word) rollcall::shim::roles::word::type word
#define RC_LARGE_PARAMETER(word) rollcall::shim::roles::word::large_type word
#define RC_SMALL_TYPE(word) rollcall::shim::roles::word::type
#define RC_LARGE_TYPE(word) rollcall::shim::roles::word::large_type
#define RC_NAME(word) word
#define RC_TAKE(word) rollcall::shim::roles::word::Take(arguments, word);

#endif  // ROLLCALL_SHIM_ROLES_H_
