// SPDX-License-Identifier: Apache-2.0
#include "collector/live/mpich_call.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

namespace rollcall {
namespace {

using MpichRequest = MpichObjects::Request;
using MpichCommunicator = MpichObjects::Communicator;

constexpr size_t kMaxWaitall = 4096;

// "MPI_Wait" for "MPI_Wait" and "PMPI_Wait"; empty for other functions.
std::string_view CallOf(const CallFrame& frame) {
  std::string_view name = frame.function;
  if (name.starts_with('P')) name.remove_prefix(1);
  return name.starts_with("MPI_") ? name : std::string_view();
}

// Whether the call of that name returns when all of its requests are complete, and not before.
bool WaitsForAll(std::string_view call) {
  return call != "MPI_Waitany" && call != "MPI_Waitsome" && !call.starts_with("MPI_Test") &&
         call.find("robe") == std::string_view::npos;
}

bool HasOpen(const std::vector<MpichRequest>& requests) {
  return std::ranges::any_of(requests, &MpichRequest::open);
}

// The requests of MPI_Waitall. A function of the library has the array of the caller, and the
// beginning and the end of the array of the requests' addresses in registers.
std::vector<MpichRequest> RequestsOfWaitall(const std::set<uint64_t>& words,
                                            MpichObjects* objects) {
  std::vector<MpichRequest> longest;
  size_t most = 0;
  for (const uint64_t begin : words) {
    for (const uint64_t end : words) {
      const size_t count = (end - begin) / sizeof(uint64_t);
      if (end <= begin || (end - begin) % sizeof(uint64_t) != 0) continue;
      if (count > kMaxWaitall || count <= most) continue;
      for (const uint64_t handles : words) {
        auto requests = objects->RequestsIn(handles, begin, count);
        if (!requests || !HasOpen(*requests)) continue;
        longest = std::move(*requests);
        most = count;
        break;
      }
    }
  }
  return longest;
}

std::vector<MpichRequest> OpenRequestsAt(const std::set<uint64_t>& words, MpichObjects* objects) {
  std::vector<MpichRequest> requests;
  for (const uint64_t word : words) {
    const auto request = objects->RequestAt(word);
    if (request && request->open) requests.push_back(*request);
  }
  return requests;
}

// The receive of MPI_Sendrecv. MPICH keeps both requests on the stack. The last arguments of the
// call are on the stack of the caller: the source, the tag and the communicator.
std::vector<MpichRequest> ReceiveOfSendrecv(const CallFrame& caller,
                                            const MpichCommunicator& communicator,
                                            MpichObjects* objects) {
#if defined(__aarch64__)
  constexpr size_t kFirst = 0;
#else
  constexpr size_t kFirst = 2;
#endif
  const uint64_t arguments = caller.registers.stack_pointer + kFirst * sizeof(uint64_t);
  const auto argument = [&](size_t i) {
    return objects->NumberAt(arguments + i * sizeof(uint64_t));
  };
  const auto source = argument(0);
  const auto tag = argument(1);
  const auto handle = argument(2);
  if (caller.registers.stack_pointer == 0 || !source || !tag || !handle) return {};
  if (static_cast<uint32_t>(*handle) != communicator.handle || *source < 0 || *tag < 0) return {};
  for (const MpichRequest& request : objects->AllRequests()) {
    // An equal receive that was posted earlier is completed earlier.
    if (request.open && request.communicator == &communicator && request.source == *source &&
        request.tag == *tag) {
      return {request};
    }
  }
  return {};
}

// The requests that the call waits for, as far as known: those of the first function that shows
// some, from the called one inwards.
std::vector<MpichRequest> RequestsOf(std::span<const CallFrame> frames, size_t called,
                                     MpichObjects* objects) {
  const bool all = CallOf(frames[called]) == "MPI_Waitall";
  std::vector<MpichRequest> requests;
  for (size_t i = called + 1; i-- > 0 && requests.empty();) {
    if (frames[i].module != frames[called].module) break;
    const std::set<uint64_t> words = ChangedRegisters(frames[i], frames[i + 1]);
    requests = all ? RequestsOfWaitall(words, objects) : OpenRequestsAt(words, objects);
  }
  return requests;
}

// Sets the awaited ranks only if they are known for each of the open requests.
void SetAwaited(const std::vector<MpichRequest>& requests, LibraryCall* call) {
  std::set<int32_t> awaited;
  std::set<int32_t> answered;
  for (const MpichRequest& request : requests) {
    if (request.open) {
      awaited.insert(request.peer);
      call->outside |= request.outside;
    } else if (request.what == MpichRequest::What::kReceive) {
      answered.insert(request.peer);
    }
  }
  answered.erase(-1);
  if (awaited.empty() || *awaited.begin() < 0) return;
  call->awaited = *awaited.begin();
  call->also_awaited.assign(std::next(awaited.begin()), awaited.end());
  call->answered.assign(answered.begin(), answered.end());
}

}  // namespace

std::optional<LibraryCall> ReadMpichCall(std::span<const CallFrame> frames, MpichObjects* objects) {
  // The functions that the program calls may be wrappers, of Fortran for example.
  size_t called = frames.size();
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    if (!CallOf(frames[i]).empty()) called = i;
  }
  if (called == frames.size()) return std::nullopt;
  const std::string_view name = CallOf(frames[called]);
  LibraryCall call;
  // A collective may consist of others on internal communicators: only the called function has the
  // caller's communicator.
  std::vector<const MpichCommunicator*> communicators;
  for (const uint64_t word : ChangedRegisters(frames[called], frames[called + 1])) {
    if (const auto* each = objects->CommunicatorAt(word)) communicators.push_back(each);
  }
  if (communicators.size() > 1) return std::nullopt;
  std::vector<MpichRequest> requests;
  if (WaitsForAll(name)) requests = RequestsOf(frames, called, objects);
  if (name == "MPI_Sendrecv" && requests.empty() && !communicators.empty()) {
    requests = ReceiveOfSendrecv(frames[called + 1], *communicators.front(), objects);
  }
  // If there is a message among the requests, it shows for whom the rank waits.
  const auto is_open_collective = [](const MpichRequest& request) {
    return request.open && request.what == MpichRequest::What::kCollective;
  };
  const bool collectives =
      HasOpen(requests) && std::ranges::all_of(requests, [&](const auto& each) {
        return !each.open || is_open_collective(each);
      });
  const bool of_requests = name.starts_with("MPI_Wait");
  call.of_collective = collectives && of_requests;
  SetAwaited(requests, &call);
  // Calls with files and windows use the library's own communicators.
  for (const MpichRequest& request : requests) {
    if (communicators.empty() && of_requests && request.open && request.communicator != nullptr &&
        (collectives || !is_open_collective(request))) {
      communicators.push_back(request.communicator);
    }
  }
  if (communicators.empty()) return std::nullopt;
  call.communicator = communicators.front()->name;
  if (communicators.front()->intra) SetMembers(communicators.front()->peers, &call);
  return call;
}

}  // namespace rollcall
