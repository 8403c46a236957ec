// SPDX-License-Identifier: Apache-2.0
#include "collector/live/mpich_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include "collector/live/exported_symbols.h"

namespace rollcall {
namespace {

// The bits of a handle: how the object is stored, its kind, and its index. The index of an object
// in a block consists of the number of the block and the index in the block.
enum How : uint32_t { kBuiltin = 1, kDirect = 2, kInBlock = 3 };
constexpr uint32_t HowOf(uint32_t handle) { return handle >> 30; }
constexpr uint32_t WhatOf(uint32_t handle) { return (handle >> 26) & 0xf; }
constexpr uint32_t IndexOf(uint32_t handle) { return handle & 0x03ffffff; }
constexpr uint32_t HandleOf(uint32_t how, uint32_t what, uint32_t index) {
  return how << 30 | what << 26 | index;
}
constexpr uint32_t kBlockShift = 12;
constexpr uint32_t kIsCommunicator = 1;
constexpr uint32_t kIsRequest = 11;
constexpr uint32_t kWorldHandle = HandleOf(kBuiltin, kIsCommunicator, 0);
constexpr uint32_t kNullRequest = HandleOf(0, kIsRequest, 0);
// MPI_COMM_WORLD, MPI_COMM_SELF, and an internal one.
constexpr uint32_t kBuiltinCommunicators = 3;

constexpr int32_t kMaxReferences = 1 << 20;
constexpr int32_t kMaxWorld = 1 << 20;
constexpr uint64_t kMaxDataBytes = 16 << 20;
constexpr uint32_t kMaxPoolObjectBytes = 8192;
constexpr uint32_t kMaxDirect = 1024;
constexpr uint32_t kMaxBlocks = 64;
constexpr uint32_t kMaxBlockObjects = 4096;

// MPIR_Request
constexpr uint64_t kRequestKind = 8;
constexpr uint64_t kRequestCounter = 16;  // a pointer to a counter that becomes 0
constexpr uint64_t kRequestCount = 24;    // the counter of a request that is not persistent
constexpr uint64_t kRequestCommunicator = 40;
constexpr uint64_t kRequestStatus = 48;
constexpr int32_t kSendKind = 1;
constexpr int32_t kReceiveKind = 2;
// The other numbers of MPIR_Request_kind_t change between versions; this one was observed.
struct CollectiveKind {
  std::string_view version;
  int32_t kind;
};
constexpr CollectiveKind kCollectiveKinds[] = {{"4.0", 10}};

// The record of UCX (ucp_request_t) ends where MPICH's part begins.
constexpr size_t kRecordBytes = 512;
constexpr uint64_t kPageBytes = 4096;
// MPICH's tag for UCX consists of the context id, the rank of the sender, and the tag. Bits of the
// mask that are 0 are not compared: two bits that report errors, and the fields that may have any
// value (src/mpid/ch4/netmod/ucx/ucx_impl.h).
constexpr uint64_t kContextMask = 0xffff000000000000;
constexpr uint64_t kSourceMask = 0x0000ffff00000000;
constexpr uint64_t kTagMask = 0x000000009fffffff;
constexpr uint64_t kAnyTagMask = 0x0000000090000000;
// The last bit of a context id tells collectives from messages. The bits above it are 0 in a
// communicator of the program, and not in those that the library derives from it
// (src/include/mpir_contextid.h).
constexpr uint16_t kOfCollectives = 1;
constexpr uint16_t kInternalContexts = 0xe;

// MPIDI_rank_map_t: how ranks of a communicator are mapped to processes.
struct RankMap {
  enum Mode : uint32_t {
    kSame = 0,  // each mode has a variant, its number + 1, for processes of the same job
    kOffset = 2,
    kStride = 4,
    kBlocks = 6,
    kTable = 8,
    kTableOfJobs = 10,
    kNone = 11
  };
  uint32_t mode;
  int32_t job;  // 0: the processes of MPI_COMM_WORLD
  int32_t size;
  int32_t offset;
  int32_t stride;
  int32_t block_size;
  uint64_t owner;
  uint64_t table;  // of ranks, or of pairs of a job and a rank
};
static_assert(sizeof(RankMap) == 40);

template <typename T>
T At(std::span<const char> bytes, size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

constexpr uint32_t Low(uint64_t word) { return static_cast<uint32_t>(word); }
constexpr uint32_t High(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
constexpr size_t Aligned(size_t offset) { return (offset + 7) / 8 * 8; }
bool MayBePointer(uint64_t word) { return word % 8 == 0 && word >= kPageBytes; }

// The fields of a communicator: context_id, recvcontext_id, remote_size, rank, attributes,
// local_size, local_group, remote_group, comm_kind.
struct CommunicatorFields {
  uint16_t context;
  uint16_t receive_context;
  int32_t remote_size;
  int32_t rank;
  int32_t size;
  int32_t kind;  // 0: intracommunicator, 1: intercommunicator
  uint64_t pointers[3];

  static constexpr size_t kBytes = 64;
  CommunicatorFields(std::span<const char> bytes, size_t at) {
    const size_t local_size = Aligned(at + 8) + 8;
    const size_t groups = Aligned(local_size + 4);
    context = At<uint16_t>(bytes, at - 4);
    receive_context = At<uint16_t>(bytes, at - 2);
    remote_size = At<int32_t>(bytes, at);
    rank = At<int32_t>(bytes, at + 4);
    size = At<int32_t>(bytes, local_size);
    kind = At<int32_t>(bytes, groups + 16);
    pointers[0] = At<uint64_t>(bytes, Aligned(at + 8));
    pointers[1] = At<uint64_t>(bytes, groups);
    pointers[2] = At<uint64_t>(bytes, groups + 8);
  }
  bool AreSound() const {
    const bool intra = kind == 0 && remote_size == size && context == receive_context;
    return (intra || kind == 1) && remote_size > 0 && remote_size <= kMaxWorld && size > 0 &&
           rank >= 0 && rank < size && std::ranges::all_of(pointers, [](uint64_t word) {
             return word == 0 || MayBePointer(word);
           });
  }
};

}  // namespace

std::optional<MpichObjects> MpichObjects::In(const ProcessImage& image,
                                             const std::string& file_root, int32_t world_size) {
  constexpr std::array<std::string_view, 1> kNames = {"MPII_Version_string"};
  for (const LoadedModule& module : image.modules()) {
    const std::string_view file = std::string_view(module.path).substr(module.path.rfind('/') + 1);
    if (!file.starts_with("libmpich.so") && !file.starts_with("libmpi.so")) continue;
    std::array<uint64_t, 1> found{};
    std::array<char, 16> version{};
    FindExports(module, file_root, kNames, found);
    if (found[0] == 0) continue;
    image.memory().Read(found[0] + module.bias, version.data(), version.size() - 1);
    return MpichObjects(&image.memory(), version.data(), world_size, module.data_start,
                        module.data_end);
  }
  return std::nullopt;
}

MpichObjects::MpichObjects(const ProcessMemory* memory, std::string version, int32_t world_size,
                           uint64_t data_start, uint64_t data_end)
    : memory_(memory), version_(std::move(version)), data_start_(Aligned(data_start)) {
  if (data_end < data_start_ || data_end - data_start_ > kMaxDataBytes) return;
  data_.resize((data_end - data_start_) / sizeof(uint64_t));
  const size_t bytes = data_.size() * sizeof(uint64_t);
  if (memory_->Read(data_start_, data_.data(), bytes) != bytes) return;
  communicator_pool_ = FindPool(kIsCommunicator);
  request_pool_ = FindPool(kIsRequest);
  if (communicator_pool_.size != 0) FindWorld(world_size);
}

bool MpichObjects::IsInData(uint64_t address, uint64_t size) const {
  const uint64_t bytes = data_.size() * sizeof(uint64_t);
  return address % 8 == 0 && address >= data_start_ && size <= bytes &&
         address - data_start_ <= bytes - size;
}

// MPIR_Object_alloc_t: avail, initialized, indirect, indirect_size, num_allocated, num_avail, kind,
// size, direct, direct_size.
MpichObjects::Pool MpichObjects::FindPool(uint32_t what) const {
  Pool found;
  for (size_t i = 0; i + 8 <= data_.size(); ++i) {
    if (High(data_[i + 4]) != what) continue;
    const Pool pool = {.blocks = data_[i + 2],
                       .block_count = Low(data_[i + 3]),
                       .allocated = High(data_[i + 3]),
                       .size = Low(data_[i + 5]),
                       .direct = data_[i + 6],
                       .direct_count = Low(data_[i + 7])};
    if (!IsPool(pool, what)) continue;
    if (found.size != 0) return {};
    found = pool;
  }
  return found;
}

// All direct objects have their handles since the first one was made.
bool MpichObjects::IsPool(const Pool& pool, uint32_t what) const {
  const bool fits = pool.size % 8 == 0 && pool.size > kRequestStatus &&
                    pool.size <= kMaxPoolObjectBytes && pool.direct_count > 0 &&
                    pool.direct_count <= kMaxDirect && pool.block_count <= kMaxBlocks &&
                    IsInData(pool.direct, uint64_t{pool.size} * pool.direct_count);
  const auto handle = [&](uint32_t i) {
    return Low(data_[(pool.direct - data_start_ + uint64_t{pool.size} * i) / sizeof(uint64_t)]);
  };
  const bool is_used = fits && handle(0) != 0;
  for (uint32_t i = 0; fits && i < pool.direct_count; ++i) {
    if (handle(i) != (is_used ? HandleOf(kDirect, what, i) : 0)) return false;
  }
  return fits;
}

void MpichObjects::FindWorld(int32_t world_size) {
  std::vector<char> bytes(communicator_pool_.size);
  for (size_t i = 0; i < data_.size(); ++i) {
    const uint64_t address = data_start_ + i * sizeof(uint64_t);
    if (Low(data_[i]) != kWorldHandle || !IsInData(address, bytes.size())) continue;
    std::memcpy(bytes.data(), &data_[i], bytes.size());
    for (size_t at = 12; at + CommunicatorFields::kBytes <= bytes.size(); at += 4) {
      const CommunicatorFields fields(bytes, at);
      if (!fields.AreSound() || fields.kind != 0) continue;
      if (world_size > 0 && fields.size != world_size) continue;
      if (world_ != 0) {
        world_ = 0;
        return;
      }
      world_ = address;
      world_size_ = fields.size;
      world_rank_ = fields.rank;
      fields_ = at;
      break;
    }
  }
  if (world_ == 0) return;
  // The map of an intracommunicator is followed by an empty map.
  std::memcpy(bytes.data(), &data_[(world_ - data_start_) / sizeof(uint64_t)], bytes.size());
  size_t found = 0;
  for (size_t at = Aligned(fields_ + CommunicatorFields::kBytes);
       at + 2 * sizeof(RankMap) <= bytes.size(); at += 8) {
    const auto map = At<RankMap>(bytes, at);
    const auto next = At<RankMap>(bytes, at + sizeof(RankMap));
    if (map.mode > RankMap::kSame + 1 || map.size != world_size_ || map.job != 0) continue;
    if (next.mode != RankMap::kNone) continue;
    map_ = at;
    ++found;
  }
  if (found != 1) map_ = 0;
}

std::vector<uint64_t> MpichObjects::AddressesIn(const Pool& pool, uint32_t what) const {
  std::vector<uint64_t> addresses;
  for (uint32_t i = 0; i < pool.direct_count; ++i) {
    addresses.push_back(AddressOf(HandleOf(kDirect, what, i)));
  }
  const uint32_t in_blocks = pool.allocated > pool.direct_count && pool.block_count != 0
                                 ? (pool.allocated - pool.direct_count) / pool.block_count
                                 : 0;
  for (uint32_t block = 0; block < pool.block_count && in_blocks <= kMaxBlockObjects; ++block) {
    for (uint32_t i = 0; i < in_blocks; ++i) {
      addresses.push_back(AddressOf(HandleOf(kInBlock, what, block << kBlockShift | i)));
    }
  }
  return addresses;
}

uint64_t MpichObjects::AddressOf(uint32_t handle) const {
  const bool is_request = WhatOf(handle) == kIsRequest;
  if (!is_request && WhatOf(handle) != kIsCommunicator) return 0;
  const Pool& pool = is_request ? request_pool_ : communicator_pool_;
  const uint32_t index = IndexOf(handle);
  switch (HowOf(handle)) {
    case kBuiltin:
      return !is_request && index < kBuiltinCommunicators ? world_ + uint64_t{pool.size} * index
                                                          : 0;
    case kDirect:
      return index < pool.direct_count ? pool.direct + uint64_t{pool.size} * index : 0;
    case kInBlock: {
      const uint32_t number = index >> kBlockShift;
      uint64_t block = 0;
      if (number >= pool.block_count || !Get(pool.blocks + sizeof(block) * number, &block))
        return 0;
      return block + uint64_t{pool.size} * (index & ((1 << kBlockShift) - 1));
    }
    default:
      return 0;
  }
}

uint32_t MpichObjects::HandleAt(uint64_t address, uint32_t what) const {
  struct {
    uint32_t handle;
    int32_t references;
  } head{};
  if (world_ == 0 || !MayBePointer(address) || !Get(address, &head)) return 0;
  const bool sound = WhatOf(head.handle) == what && head.references > 0 &&
                     head.references <= kMaxReferences && AddressOf(head.handle) == address;
  return sound ? head.handle : 0;
}

const MpichObjects::Communicator* MpichObjects::CommunicatorAt(uint64_t address) {
  const uint32_t handle = HandleAt(address, kIsCommunicator);
  if (handle == 0) return nullptr;
  const auto [known, is_new] = communicators_.try_emplace(address);
  std::optional<Communicator>& communicator = known->second;
  if (is_new) {
    std::vector<char> bytes(communicator_pool_.size);
    if (memory_->Read(address, bytes.data(), bytes.size()) != bytes.size()) return nullptr;
    const CommunicatorFields fields(bytes, fields_);
    if (!fields.AreSound()) return nullptr;
    communicator = {.name = handle == kWorldHandle
                                ? "MPI_COMM_WORLD"
                                : fmt::format("context id {:#x}", fields.context),
                    .handle = handle,
                    .receive_context = fields.receive_context,
                    .intra = fields.kind == 0};
    std::vector<int32_t> peers = ReadPeers(bytes, fields.remote_size);
    // The peers of an intercommunicator are the other group.
    const auto rank = static_cast<size_t>(fields.rank);
    const bool has_self = rank < peers.size() && peers[rank] == world_rank_;
    if (!communicator->intra || has_self) communicator->peers = std::move(peers);
  }
  return communicator ? &*communicator : nullptr;
}

// Each process of the job occurs once at most.
std::vector<int32_t> MpichObjects::ReadPeers(std::span<const char> communicator,
                                             int32_t size) const {
  if (map_ == 0) return {};
  const auto map = At<RankMap>(communicator, map_);
  const uint32_t mode = map.mode == RankMap::kTableOfJobs ? map.mode : map.mode / 2 * 2;
  if (map.size != size || map.mode >= RankMap::kNone) return {};
  if (mode == RankMap::kBlocks && map.block_size <= 0) return {};
  std::vector<int32_t> peers;
  std::set<int32_t> ranks;
  for (int32_t i = 0; i < size; ++i) {
    struct {
      int32_t job = 0;
      int32_t rank = 0;
    } process;
    if (map.mode == mode) process.job = map.job;
    const auto rank = static_cast<uint64_t>(i);
    bool known = true;
    // Numbers of a damaged map may be too large for 32 bits.
    int64_t computed = i;
    if (mode == RankMap::kOffset) computed += map.offset;
    if (mode == RankMap::kStride) computed = computed * map.stride + map.offset;
    if (mode == RankMap::kBlocks) {
      const int64_t gap = int64_t{map.stride} - map.block_size;
      computed += i / map.block_size * gap + map.offset;
    }
    process.rank = computed >= 0 && computed < world_size_ ? static_cast<int32_t>(computed) : -1;
    if (mode == RankMap::kTable) known = Get(map.table + rank * 4, &process.rank);
    if (mode == RankMap::kTableOfJobs) known = Get(map.table + rank * 8, &process);
    if (process.job != 0) process.rank = -1;
    known &= process.job != 0 ||
             (process.rank >= 0 && process.rank < world_size_ && ranks.insert(process.rank).second);
    if (!known) return {};
    peers.push_back(process.rank);
  }
  return peers;
}

const std::map<uint64_t, std::optional<MpichObjects::Communicator>>&
MpichObjects::AllCommunicators() {
  if (!std::exchange(has_all_, true)) {
    for (uint32_t i = 0; i < kBuiltinCommunicators; ++i) {
      CommunicatorAt(AddressOf(HandleOf(kBuiltin, kIsCommunicator, i)));
    }
    for (const uint64_t address : AddressesIn(communicator_pool_, kIsCommunicator)) {
      CommunicatorAt(address);
    }
  }
  return communicators_;
}

const MpichObjects::Communicator* MpichObjects::CommunicatorOf(uint16_t receive_context) {
  const Communicator* found = nullptr;
  for (const auto& [address, communicator] : AllCommunicators()) {
    if (!communicator || communicator->receive_context != receive_context) continue;
    if (found != nullptr) return nullptr;
    found = &*communicator;
  }
  return found;
}

std::optional<MpichObjects::Request> MpichObjects::RequestAt(uint64_t address) {
  uint64_t counter = 0;
  int32_t count = 0;
  if (HandleAt(address, kIsRequest) == 0 || !Get(address + kRequestCounter, &counter) ||
      !Get(counter, &count) || count < 0 || count > kMaxReferences) {
    return std::nullopt;
  }
  Request request{.open = count > 0};
  uint64_t communicator = 0;
  if (Get(address + kRequestCommunicator, &communicator)) {
    request.communicator = CommunicatorAt(communicator);
  }
  // The counter of a persistent request is the counter of the request of its current round.
  const uint64_t round = counter - kRequestCount;
  int32_t kind = 0;
  if (HandleAt(round, kIsRequest) == 0 || !Get(round + kRequestKind, &kind)) return request;
  const auto is_collective = [&](const CollectiveKind& each) {
    return version_.starts_with(each.version) && kind == each.kind;
  };
  if (kind == kSendKind) ReadSend(round, &request);
  if (kind == kReceiveKind) ReadReceive(round, &request);
  if (std::ranges::any_of(kCollectiveKinds, is_collective)) {
    request.what = Request::What::kCollective;
  }
  return request;
}

std::optional<std::vector<MpichObjects::Request>> MpichObjects::RequestsIn(uint64_t handles,
                                                                           uint64_t addresses,
                                                                           size_t count) {
  std::vector<Request> requests;
  for (size_t i = 0; i < count; ++i) {
    uint32_t handle = 0;
    uint64_t address = 0;
    if (!Get(handles + i * sizeof(handle), &handle) ||
        !Get(addresses + i * sizeof(address), &address)) {
      return std::nullopt;
    }
    if (handle == kNullRequest || HowOf(handle) == kBuiltin) continue;
    auto request = AddressOf(handle) == address ? RequestAt(address) : std::nullopt;
    if (!request) return std::nullopt;
    requests.push_back(*request);
  }
  return requests;
}

std::optional<int32_t> MpichObjects::NumberAt(uint64_t address) const {
  int32_t number = 0;
  return Get(address, &number) ? std::optional(number) : std::nullopt;
}

std::vector<MpichObjects::Request> MpichObjects::AllRequests() {
  std::vector<Request> requests;
  for (const uint64_t address : AddressesIn(request_pool_, kIsRequest)) {
    if (const auto request = RequestAt(address)) requests.push_back(*request);
  }
  return requests;
}

std::vector<uint64_t> MpichObjects::RecordBefore(uint64_t address) const {
  if (!MayBePointer(address)) return {};
  std::vector<uint64_t> words;
  // The record may be at the beginning of a mapping.
  for (const uint64_t start : {address - kRecordBytes, address / kPageBytes * kPageBytes}) {
    words.resize(std::min<uint64_t>(kRecordBytes, address - start) / sizeof(uint64_t));
    const size_t bytes = words.size() * sizeof(uint64_t);
    if (memory_->Read(start, words.data(), bytes) == bytes) return words;
  }
  return {};
}

// The record refers to the request, and contains the tag and its mask after that.
std::optional<MpichObjects::Match> MpichObjects::MatchIn(std::span<const uint64_t> record,
                                                         uint64_t address) {
  std::optional<Match> match;
  const auto back = std::ranges::find(record, address);
  if (back == record.end() || std::find(back + 1, record.end(), address) != record.end()) {
    return std::nullopt;
  }
  for (auto word = back + 1; word != record.end() && word + 1 != record.end(); ++word) {
    const uint64_t tag = word[0];
    const uint64_t mask = word[1];
    const uint64_t source = mask & kSourceMask;
    const uint64_t low = Low(mask);
    const bool fits = (mask & kContextMask) == kContextMask &&
                      (source == kSourceMask || source == 0) &&
                      (low == kTagMask || low == kAnyTagMask) && (tag & ~mask) == 0;
    if (!fits) continue;
    if (match) return std::nullopt;
    match = {.context = static_cast<uint16_t>(tag >> 48),
             .source = source == 0 ? -1 : static_cast<int32_t>((tag & kSourceMask) >> 32),
             .tag = low == kAnyTagMask ? -1 : static_cast<int32_t>(Low(tag))};
  }
  return match;
}

// A complete receive no longer shows its communicator. The sender is known if the rank of the
// source is the same process in all communicators that the program may use.
int32_t MpichObjects::SenderOf(uint64_t address) {
  struct {
    uint32_t count;
    uint32_t more_count_and_cancelled;
    int32_t source;
    int32_t tag;
    int32_t error;
  } status{};
  if (!Get(address + kRequestStatus, &status) || status.error != 0 || status.source < 0 ||
      (status.more_count_and_cancelled & 1) != 0) {
    return -1;
  }
  std::set<int32_t> senders;
  for (const auto& [at, communicator] : AllCommunicators()) {
    // A process does not use the transport for messages to itself.
    if (!communicator || communicator->peers.size() == 1) continue;
    if ((communicator->receive_context & kInternalContexts) != 0) continue;
    const std::vector<int32_t>& peers = communicator->peers;
    const auto source = static_cast<size_t>(status.source);
    if (source < peers.size()) senders.insert(peers[source]);
    if (peers.empty()) return -1;
  }
  return senders.size() == 1 ? *senders.begin() : -1;
}

void MpichObjects::ReadReceive(uint64_t address, Request* request) {
  request->what = Request::What::kReceive;
  if (!request->open) request->peer = SenderOf(address);
  for (uint64_t at = kRequestStatus; request->open && at + 8 <= request_pool_.size; at += 8) {
    uint64_t word = 0;
    if (!Get(address + at, &word) || IsInData(word, 0)) continue;
    const auto match = MatchIn(RecordBefore(word), address);
    if (!match) continue;
    request->communicator = CommunicatorOf(static_cast<uint16_t>(match->context & ~kOfCollectives));
    request->source = match->source;
    request->tag = match->tag;
    SetPeer(match->source, request);
    return;
  }
}

void MpichObjects::SetPeer(int32_t rank, Request* request) const {
  if (rank < 0 || request->communicator == nullptr) return;
  const std::vector<int32_t>& peers = request->communicator->peers;
  if (static_cast<size_t>(rank) >= peers.size()) return;
  request->peer = peers[static_cast<size_t>(rank)];
  request->outside = request->peer < 0;
}

// The record contains the endpoint of the receiver, and is followed by the address of the request.
void MpichObjects::ReadSend(uint64_t address, Request* request) {
  request->what = Request::What::kSend;
  for (uint64_t at = kRequestStatus; request->open && at + 8 <= request_pool_.size; at += 8) {
    uint64_t word = 0;
    uint64_t owner = 0;
    if (!Get(address + at, &word) || IsInData(word, 0) || !MayBePointer(word)) continue;
    if (!Get(word, &owner) || owner != address) continue;
    std::set<int32_t> ranks;
    const std::vector<uint64_t>& endpoints = Endpoints();
    for (const uint64_t each : RecordBefore(word)) {
      const auto found = std::ranges::find(endpoints, each);
      if (found != endpoints.end()) ranks.insert(static_cast<int32_t>(found - endpoints.begin()));
    }
    if (ranks.size() == 1) request->peer = *ranks.begin();
    return;
  }
}

const std::vector<uint64_t>& MpichObjects::Endpoints() {
  if (!endpoints_) {
    endpoints_.emplace();
    std::set<uint64_t> tables;
    for (const uint64_t word : data_) {
      if (MayBePointer(word) && !IsInData(word, 0)) tables.insert(word);
    }
    for (const uint64_t table : tables) {
      std::vector<uint64_t> endpoints = ReadEndpoints(table);
      if (endpoints.empty()) continue;
      if (!endpoints_->empty()) {
        endpoints_->clear();
        break;
      }
      *endpoints_ = std::move(endpoints);
    }
  }
  return *endpoints_;
}

// MPIDI_av_table_t: handle, reference count, size, and for each rank the endpoint and a number. All
// endpoints begin with the address of the one worker of the process.
std::vector<uint64_t> MpichObjects::ReadEndpoints(uint64_t table) const {
  struct {
    uint64_t head;
    int32_t size;
    int32_t padding;
  } head{};
  if (!Get(table, &head) || head.size != world_size_ || world_size_ < 2) return {};
  std::vector<uint64_t> words(2 * static_cast<size_t>(world_size_));
  const size_t bytes = words.size() * sizeof(uint64_t);
  if (memory_->Read(table + sizeof(head), words.data(), bytes) != bytes) return {};
  std::vector<uint64_t> endpoints;
  std::set<uint64_t> workers;
  for (size_t i = 0; i < words.size(); i += 2) {
    uint64_t worker = 0;
    if (!MayBePointer(words[i]) || !Get(words[i], &worker) || !MayBePointer(worker)) return {};
    endpoints.push_back(words[i]);
    workers.insert(worker);
  }
  const std::set<uint64_t> all(endpoints.begin(), endpoints.end());
  return workers.size() == 1 && all.size() == endpoints.size() ? endpoints
                                                               : std::vector<uint64_t>();
}

}  // namespace rollcall
