// SPDX-License-Identifier: Apache-2.0
#include "collector/live/open_mpi_call.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <unordered_set>
#include <utility>

#include "collector/base/find.h"
#include "collector/base/text.h"
#include "collector/live/exported_symbols.h"

namespace rollcall {
namespace {

constexpr size_t kCommunicatorWords = 64;
constexpr size_t kRequestWords = 96;
constexpr size_t kMaxRequests = 4096;
// The beginning of a request, which all kinds of requests share.
constexpr size_t kCommonWords = 32;
constexpr std::string_view kWait = "ompi_request_default_wait";
constexpr size_t kMaxNameBytes = 64;  // MPI_MAX_OBJECT_NAME of Open MPI
constexpr size_t kMaxMembers = 1 << 20;
constexpr int kMaxParents = 8;
constexpr std::string_view kWorldName = "MPI_COMM_WORLD";

// opal_class_t
constexpr uint64_t kClassParent = 8;
// ompi_group_t
constexpr uint64_t kGroupSize = 16;
constexpr uint64_t kGroupProcesses = 32;

// Whether `frame` belongs to a function that makes its requests on the caller's communicator. Other
// collectives may consist of collectives on internal communicators (coll/han). Their requests show
// nothing about the caller's communicator.
bool UsesCallersCommunicator(const CallFrame& frame) {
  for (const std::string_view prefix :
       {"PMPI_", "MPI_", "pmpi_", "mpi_", "ompi_coll_base_", "ompi_coll_tuned_", "mca_coll_basic_",
        "mca_pml_", "ompi_request_"}) {
    if (frame.function.starts_with(prefix)) return true;
  }
  const std::string_view file = frame.module.substr(frame.module.rfind('/') + 1);
  for (const std::string_view prefix :
       {"mca_coll_tuned.", "mca_coll_basic.", "mca_coll_libnbc.", "mca_pml_"}) {
    if (file.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

std::optional<OpenMpiObjects> OpenMpiObjects::In(const ProcessImage& image,
                                                 const std::string& file_root) {
  for (const LoadedModule& module : image.modules()) {
    const std::string_view path = module.path;
    if (!path.substr(path.rfind('/') + 1).starts_with("libmpi.so")) continue;
    std::array<uint64_t, kExports> exports{};
    FindExports(module, file_root, kExportNames, exports);
    if (std::ranges::find(exports, 0) != exports.end()) return std::nullopt;
    for (uint64_t& address : exports) address += module.bias;
    return OpenMpiObjects(&image.memory(), exports);
  }
  return std::nullopt;
}

OpenMpiObjects::OpenMpiObjects(const ProcessMemory* memory,
                               const std::array<uint64_t, kExports>& exports)
    : memory_(memory), exports_(exports) {
  uint64_t world = 0;
  std::array<char, kCommunicatorWords * sizeof(uint64_t)> bytes{};
  if (!Get(exports_[kWorld], &world) || ClassOf(world) != Class::kCommunicator) return;
  memory_->Read(world, bytes.data(), bytes.size());
  const auto name = std::search(bytes.begin(), bytes.end(), kWorldName.data(),
                                kWorldName.data() + kWorldName.size() + 1);
  if (name == bytes.end()) return;  // the communicator was renamed
  name_offset_ = static_cast<size_t>(name - bytes.begin());
  if (const auto communicator = ReadCommunicator(world)) {
    for (const uint64_t process : communicator->members) {
      world_.emplace(process, static_cast<int32_t>(world_.size()));
    }
  }
}

std::vector<uint64_t> OpenMpiObjects::Words(uint64_t address, size_t count) const {
  std::vector<uint64_t> words(count);
  memory_->Read(address, words.data(), count * sizeof(uint64_t));
  return words;
}

OpenMpiObjects::Class OpenMpiObjects::ClassOf(uint64_t object) {
  uint64_t type = 0;
  if (object % alignof(uint64_t) != 0 || !Get(object, &type) || type == 0) return Class::kOther;
  const auto [known, is_new] = classes_.try_emplace(type, Class::kOther);
  if (!is_new) return known->second;
  // A request whose class is the base class itself is one of the library's own, which are always
  // complete.
  if (type == exports_[kRequestClass]) return Class::kOther;
  for (int i = 0; i < kMaxParents && type != 0; ++i) {
    if (type == exports_[kCommunicatorClass]) known->second = Class::kCommunicator;
    if (type == exports_[kGroupClass]) known->second = Class::kGroup;
    if (type == exports_[kRequestClass]) known->second = Class::kRequest;
    if (type == exports_[kCollectiveClass]) known->second = Class::kCollectiveRequest;
    if (known->second != Class::kOther || !Get(type + kClassParent, &type)) break;
  }
  return known->second;
}

std::vector<uint64_t> OpenMpiObjects::ReadGroup(uint64_t address) const {
  int32_t size = 0;
  uint64_t processes = 0;
  if (!Get(address + kGroupSize, &size) || !Get(address + kGroupProcesses, &processes)) return {};
  if (size <= 0 || static_cast<size_t>(size) > kMaxMembers) return {};
  std::vector<uint64_t> members = Words(processes, static_cast<size_t>(size));
  // If this is not a list of processes, an entry is null or occurs twice.
  const std::unordered_set<uint64_t> all(members.begin(), members.end());
  if (all.size() != members.size() || all.contains(0)) members.clear();
  return members;
}

std::optional<OpenMpiObjects::Communicator> OpenMpiObjects::ReadCommunicator(uint64_t address) {
  if (name_offset_ == 0) return std::nullopt;
  Communicator communicator;
  std::array<char, kMaxNameBytes> name{};
  memory_->Read(address + name_offset_, name.data(), name.size());
  communicator.name =
      CleanText(std::string(name.data(), strnlen(name.data(), name.size())), kMaxNameBytes);
  // The communicator's own group, and the group that it sends to.
  std::vector<uint64_t> groups;
  for (const uint64_t word : Words(address, kCommunicatorWords)) {
    if (ClassOf(word) == Class::kGroup) groups.push_back(word);
  }
  if (groups.size() < 2) return communicator;
  communicator.peers = ReadGroup(groups[1]);
  if (groups[0] == groups[1]) communicator.members = communicator.peers;
  return communicator;
}

int32_t OpenMpiObjects::WorldRank(uint64_t process) const { return FindOr(world_, process, -1); }

void OpenMpiObjects::SetCommunicator(const Communicator& communicator, LibraryCall* call) const {
  call->communicator = communicator.name;
  std::vector<int32_t> ranks;
  for (const uint64_t process : communicator.members) ranks.push_back(WorldRank(process));
  SetMembers(std::move(ranks), call);
}

// A point-to-point request contains the entry of the peer process, preceded by the peer's rank in
// the communicator and the tag.
uint64_t OpenMpiObjects::PeerOf(uint64_t request) {
  const Communicator* communicator = CommunicatorOf(request);
  if (communicator == nullptr) return 0;
  const std::vector<uint64_t>& peers = communicator->peers;
  const std::vector<uint64_t> words = Words(request, kRequestWords);
  for (size_t i = 1; i < words.size(); ++i) {
    const auto peer = static_cast<int32_t>(words[i - 1]);
    const bool fits = words[i] != 0 && peer >= 0 && static_cast<size_t>(peer) < peers.size() &&
                      peers[static_cast<size_t>(peer)] == words[i];
    if (fits) return words[i];
  }
  return 0;
}

// Sets the awaited ranks only if they are known for each of the open requests.
void OpenMpiObjects::SetAwaited(const Requests& requests, LibraryCall* call) {
  std::set<int32_t> ranks;
  for (const uint64_t request : requests.open) {
    if (ClassOf(request) != Class::kRequest) return;
    const uint64_t peer = PeerOf(request);
    ranks.insert(WorldRank(peer));
    call->outside |= peer != 0 && WorldRank(peer) < 0;
  }
  if (ranks.empty() || *ranks.begin() < 0) return;
  call->awaited = *ranks.begin();
  call->also_awaited.assign(std::next(ranks.begin()), ranks.end());
  ranks.clear();
  for (const uint64_t request : requests.arrived) ranks.insert(WorldRank(PeerOf(request)));
  ranks.erase(-1);
  call->answered.assign(ranks.begin(), ranks.end());
}

// Decides by the name of the request's class (mca_pml_ob1_recv_request_t). A class begins with the
// address of its name.
bool OpenMpiObjects::IsReceive(uint64_t request) const {
  uint64_t type = 0;
  uint64_t name = 0;
  std::array<char, kMaxNameBytes> text{};
  if (!Get(request, &type) || !Get(type, &name)) return false;
  memory_->Read(name, text.data(), text.size() - 1);
  return std::string_view(text.data()).find("_recv_request") != std::string_view::npos;
}

// While a request is open, it refers to an object on the stack of the function that waits for it
// (req_complete, ompi/request/request.h).
OpenMpiObjects::Requests OpenMpiObjects::RequestsOf(uint64_t array, uint64_t stack_begin,
                                                    uint64_t stack_end) {
  Requests requests;
  if (array % alignof(uint64_t) != 0) return requests;
  for (const uint64_t request : Words(array, kMaxRequests)) {
    uint64_t type = 0;
    if (!Get(request, &type)) return requests;
    if (type == exports_[kRequestClass]) continue;  // MPI_REQUEST_NULL
    const Class known = ClassOf(request);
    if (known != Class::kRequest && known != Class::kCollectiveRequest) return requests;
    const std::vector<uint64_t> words = Words(request, kCommonWords);
    if (std::ranges::any_of(
            words, [&](uint64_t word) { return stack_begin <= word && word < stack_end; })) {
      requests.open.push_back(request);
    } else if (known == Class::kRequest && IsReceive(request)) {
      requests.arrived.push_back(request);
    }
  }
  return {};  // there may be more
}

OpenMpiObjects::Requests OpenMpiObjects::ReadRequests(std::span<const CallFrame> frames) {
  const uint64_t begin = frames[0].registers.stack_pointer;
  const uint64_t end = frames[1].registers.stack_pointer;
  if (begin == 0) return {};
  for (size_t i = 0; i + 1 < frames.size() && UsesCallersCommunicator(frames[i]); ++i) {
    for (const uint64_t word : ChangedRegisters(frames[i], frames[i + 1])) {
      Requests requests = RequestsOf(word, begin, end);
      if (!requests.open.empty()) return requests;
    }
  }
  return {};
}

const OpenMpiObjects::Communicator* OpenMpiObjects::CommunicatorOf(uint64_t request) {
  for (const uint64_t word : Words(request, kRequestWords)) {
    if (ClassOf(word) != Class::kCommunicator) continue;
    const auto [known, is_new] = communicators_.try_emplace(word);
    if (is_new) known->second = ReadCommunicator(word);
    return known->second ? &*known->second : nullptr;
  }
  return nullptr;
}

std::optional<LibraryCall> OpenMpiObjects::Read(std::span<const CallFrame> frames) {
  if (name_offset_ == 0 || frames.size() < 2) return std::nullopt;
  Requests all;
  std::vector<uint64_t>& requests = all.open;
  bool open = true;  // all of them are awaited
  for (size_t i = frames.size() - 1;
       i-- > 0 && UsesCallersCommunicator(frames[i]) && requests.empty();) {
    if (frames[i].function.starts_with(kWait)) {
      const std::string_view which = frames[i].function.substr(kWait.size());
      open = which.empty() || which == "_all";
      if (open) all = ReadRequests(frames.subspan(i));
      if (!requests.empty()) break;
      open = which.empty();
    }
    // The caller's registers may hold anything. The function itself has set only a few.
    for (const uint64_t word : ChangedRegisters(frames[i], frames[i + 1])) {
      const Class type = ClassOf(word);
      if (type == Class::kRequest || type == Class::kCollectiveRequest) requests.push_back(word);
    }
    if (requests.size() > 1) return std::nullopt;
  }
  if (requests.empty()) return std::nullopt;
  // If there is a message among the requests, it shows for whom the rank waits.
  const auto message = std::ranges::find_if(
      requests, [&](uint64_t request) { return ClassOf(request) == Class::kRequest; });
  LibraryCall call;
  // If the call waits for several requests, a request that is not known to be open may be complete.
  call.of_collective = open && message == requests.end();
  const auto communicator = CommunicatorOf(message == requests.end() ? requests.front() : *message);
  if (communicator) SetCommunicator(*communicator, &call);
  if (open && message != requests.end()) SetAwaited(all, &call);
  return call;
}

}  // namespace rollcall
