// SPDX-License-Identifier: Apache-2.0
// Finds MPICH's communicators and requests in the memory of a process. An object begins with its
// handle, which encodes its kind and its place in a pool, and its reference count
// (MPIR_OBJECT_HEADER, src/include/mpir_objects.h). The library exports no symbols of objects, so
// the pools are located by their content, and the fields of objects by their mutual relations. Data
// that cannot be verified stays unknown.
#ifndef ROLLCALL_COLLECTOR_LIVE_MPICH_OBJECTS_H_
#define ROLLCALL_COLLECTOR_LIVE_MPICH_OBJECTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collector/live/process_image.h"

namespace rollcall {

// Reads memory of the process. Not thread-safe.
class MpichObjects {
 public:
  struct Communicator {
    // The same on all members: "MPI_COMM_WORLD", "context id 0x1f0".
    std::string name;
    uint32_t handle = 0;
    uint16_t receive_context = 0;
    bool intra = true;
    // Targets of ranks in calls, by rank: ranks in MPI_COMM_WORLD; -1: a process outside of it.
    // Empty: unknown. In an intercommunicator, the remote group.
    std::vector<int32_t> peers = {};
  };
  struct Request {
    enum class What : uint8_t { kOther, kSend, kReceive, kCollective };
    What what = What::kOther;
    bool open = false;                           // not complete
    const Communicator* communicator = nullptr;  // owned by the MpichObjects; null: unknown
    int32_t peer = -1;     // rank in MPI_COMM_WORLD of the sender or receiver; -1: unknown
    bool outside = false;  // the peer is known to be outside of MPI_COMM_WORLD
    // Of a receive, as in the call; -1: unknown, or any.
    int32_t source = -1;
    int32_t tag = -1;
  };

  // None if the process has no MPICH. `image` must outlive the result. `file_root`: see
  // FindExports(). `world_size`: -1 if unknown.
  static std::optional<MpichObjects> In(const ProcessImage& image, const std::string& file_root,
                                        int32_t world_size);
  // `version`: "4.0.2". [data_start, data_end): the library's writable data.
  MpichObjects(const ProcessMemory* memory, std::string version, int32_t world_size,
               uint64_t data_start, uint64_t data_end);

  // Null if there is no communicator at `address`. Owned by this object.
  const Communicator* CommunicatorAt(uint64_t address);
  // None if there is no request at `address`.
  std::optional<Request> RequestAt(uint64_t address);
  // The requests whose handles are in the array `handles`, without MPI_REQUEST_NULL and without
  // complete ones of the library's own. None unless the array `addresses` contains the addresses of
  // all of them, at the same indexes.
  std::optional<std::vector<Request>> RequestsIn(uint64_t handles, uint64_t addresses,
                                                 size_t count);
  std::optional<int32_t> NumberAt(uint64_t address) const;
  // All requests that the program or the library holds.
  std::vector<Request> AllRequests();

 private:
  struct Pool {
    uint64_t blocks = 0;  // address of the addresses of blocks of objects
    uint32_t block_count = 0;
    uint32_t allocated = 0;  // objects, direct and in blocks
    uint32_t size = 0;       // of an object; 0: no pool
    uint64_t direct = 0;     // address of objects in the library's data
    uint32_t direct_count = 0;
  };
  struct Match {
    uint16_t context;
    int32_t source;  // -1: any
    int32_t tag;     // -1: any
  };

  template <typename T>
  bool Get(uint64_t address, T* value) const {
    return memory_->Read(address, value, sizeof(*value)) == sizeof(*value);
  }
  bool IsInData(uint64_t address, uint64_t size) const;
  Pool FindPool(uint32_t what) const;
  bool IsPool(const Pool& pool, uint32_t what) const;
  void FindWorld(int32_t world_size);
  // The addresses of all objects of a pool, live or not.
  std::vector<uint64_t> AddressesIn(const Pool& pool, uint32_t what) const;
  // Of the object with that handle; 0 if there is none.
  uint64_t AddressOf(uint32_t handle) const;
  // The handle of the object of kind `what` at `address`; 0 if there is none.
  uint32_t HandleAt(uint64_t address, uint32_t what) const;
  std::vector<int32_t> ReadPeers(std::span<const char> communicator, int32_t size) const;
  const std::map<uint64_t, std::optional<Communicator>>& AllCommunicators();
  const Communicator* CommunicatorOf(uint16_t receive_context);
  // The words before `address`, in the record that the transport (UCX) keeps of a request.
  std::vector<uint64_t> RecordBefore(uint64_t address) const;
  void ReadReceive(uint64_t address, Request* request);
  void ReadSend(uint64_t address, Request* request);
  void SetPeer(int32_t rank, Request* request) const;
  // What a receive waits for, if `record` is the transport's record of the receive at `address`.
  static std::optional<Match> MatchIn(std::span<const uint64_t> record, uint64_t address);
  int32_t SenderOf(uint64_t address);
  // The transport's endpoints of the processes of MPI_COMM_WORLD, by rank. Empty if unknown.
  const std::vector<uint64_t>& Endpoints();
  std::vector<uint64_t> ReadEndpoints(uint64_t table) const;

  const ProcessMemory* memory_;
  std::string version_;
  uint64_t data_start_;
  std::vector<uint64_t> data_;
  Pool communicator_pool_;
  Pool request_pool_;
  uint64_t world_ = 0;  // address of MPI_COMM_WORLD; 0: not found, and nothing is read
  int32_t world_size_ = 0;
  int32_t world_rank_ = -1;
  size_t fields_ = 0;  // in a communicator: offset of the size, see FindWorld()
  size_t map_ = 0;     // in a communicator: offset of the map of ranks; 0: unknown
  std::map<uint64_t, std::optional<Communicator>> communicators_;  // by address
  bool has_all_ = false;                                           // all communicators were read
  std::optional<std::vector<uint64_t>> endpoints_;
};

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_LIVE_MPICH_OBJECTS_H_
