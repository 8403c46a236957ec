// SPDX-License-Identifier: Apache-2.0
// The parameters of a wrapper, as assigned by their roles (roles.h). There is one struct for all
// functions: in each call, most fields keep their initial value.
//
// Reading a field costs less than initialising it. The fields of RareArguments therefore have no
// value in a blocking collective (Kind::kCollective), whose functions have no such parameters.
#ifndef ROLLCALL_SHIM_ARGUMENTS_H_
#define ROLLCALL_SHIM_ARGUMENTS_H_

#include <cstdint>

#include "shim/library.h"

namespace rollcall::shim {

struct RareArguments {
  void* request;  // out, or in-out
  void* requests;
  Word request_in;
  void* status;
  void* statuses;
  int* flag;
  int* index;
  int* out_count;
  int* indices;
  void* new_comm;
  void* new_handle;  // out: a window, file, session, group, datatype or operation
  Word window;
  Word file;
  void* handle_inout;  // comm, group, datatype or op that is freed
  void* message;
  const char* name;  // or a file's name, a session's string tag
  Word group;
  Word peer_comm;
  int32_t request_count;
  int32_t color;  // or the first partition
  int32_t key;    // or the last partition
  int32_t error_code;
  bool has_status;  // MPI_STATUS_IGNORE is a null pointer in Open MPI
};

struct Arguments : RareArguments {
  explicit Arguments(bool has_rare) {  // NOLINT: the others have no value
    if (has_rare) static_cast<RareArguments&>(*this) = {};
  }

  Word comm = 0;
  const void* send_buffer = nullptr;
  const void* recv_buffer = nullptr;
  int64_t send_count = 0;
  int64_t recv_count = 0;
  Word send_type = 0;
  Word recv_type = 0;
  Word op = 0;
  int32_t root_or_peer = 0;
  int32_t tag = 0;
  int32_t peer2 = 0;  // a Sendrecv's source
  int32_t tag2 = 0;
  const void* send_counts = nullptr;  // int[], or MPI_Count[] for large counts
  const void* recv_counts = nullptr;
  const void* send_types = nullptr;  // handle arrays
  const void* recv_types = nullptr;
  bool has_send_type = false;
  bool has_recv_type = false;
  bool has_peer = false;
  bool has_peer2 = false;
  bool large = false;  // counts are MPI_Count
  // Read only for calls that have these parameters, so that other calls need not initialise them.
  const void* buffer;       // NOLINT: of a call with one buffer
  const void* displs;       // NOLINT: int[] or MPI_Aint[]; an Alltoall's: of the receive buffer
  const void* send_displs;  // NOLINT
};

}  // namespace rollcall::shim

#endif  // ROLLCALL_SHIM_ARGUMENTS_H_
