// SPDX-License-Identifier: Apache-2.0
#include "shim/data/type_map.h"

#include <cstdlib>
#include <cstring>

#include "shim/platform.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

constexpr uint32_t kMaxRuns = 1u << 16;
constexpr size_t kMaxMemory = size_t{8} << 20;  // of all type maps
constexpr int kMaxDimensions = 16;

// The runs of a type map that is being made.
class Runs {
 public:
  Runs() = default;
  ~Runs() { free(runs_); }
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  void Add(int64_t offset, uint64_t length) {
    if (failed_ || length == 0) return;
    if (count_ != 0) {
      const TypeRun& last = runs_[count_ - 1];
      if (last.offset + static_cast<int64_t>(bytes_ - last.start) == offset) {
        bytes_ += length;
        return;
      }
    }
    if (count_ == room_ && !Grow()) return;
    runs_[count_++] = {offset, bytes_};
    bytes_ += length;
  }

  // `count` consecutive elements of `map` at `offset`.
  void Add(const TypeMap* map, int64_t offset, int64_t count) {
    if (map == nullptr) failed_ = true;
    if (failed_ || count <= 0) return;
    if (basics_ == 0 && bytes_ == 0) type_class_ = map->type_class;
    if (map->bytes != 0 && map->type_class != type_class_) type_class_ = TypeClass::kUnknown;
    basics_ += map->basics * static_cast<uint64_t>(count);
    if (map->run_count == 0) return;
    if (map->run_count == 1 && static_cast<uint64_t>(map->extent) == map->bytes) {
      return Add(offset + map->runs[0].offset, map->bytes * static_cast<uint64_t>(count));
    }
    for (int64_t i = 0; i < count && !failed_; ++i) {
      for (uint32_t run = 0; run < map->run_count; ++run) {
        Add(offset + i * map->extent + map->runs[run].offset,
            map->EndOf(run) - map->runs[run].start);
      }
    }
  }

  void Fail() { failed_ = true; }
  const TypeMap* Intern(int64_t extent);

 private:
  bool Grow() {
    const uint32_t more = room_ == 0 ? 16 : 4 * room_;
    void* grown = count_ >= kMaxRuns ? nullptr : realloc(runs_, more * sizeof(TypeRun));
    if (grown == nullptr) {
      failed_ = true;
      return false;
    }
    runs_ = static_cast<TypeRun*>(grown);
    room_ = more;
    return true;
  }

  TypeRun* runs_ = nullptr;
  uint32_t count_ = 0;
  uint32_t room_ = 0;
  uint64_t bytes_ = 0;
  uint64_t basics_ = 0;
  TypeClass type_class_ = TypeClass::kUnknown;
  bool failed_ = false;
};

// All type maps, by their hash.
struct Interned {
  TypeMap map;
  Interned* next;
};
constinit Interned* g_maps[256] = {};
constinit size_t g_memory = 0;
constinit SpinLock g_lock;

const TypeMap* Runs::Intern(int64_t extent) {
  if (failed_) return nullptr;
  const size_t run_bytes = count_ * sizeof(TypeRun);
  uint64_t hash = Mix64(static_cast<uint64_t>(extent), bytes_);
  for (uint32_t i = 0; i < count_; ++i) {
    hash = Mix64(Mix64(hash, static_cast<uint64_t>(runs_[i].offset)), runs_[i].start);
  }
  const SpinGuard guard(g_lock);
  Interned** bucket = &g_maps[hash % 256];
  for (const Interned* known = *bucket; known != nullptr; known = known->next) {
    const TypeMap& map = known->map;
    if (map.extent == extent && map.bytes == bytes_ && map.basics == basics_ &&
        map.type_class == type_class_ && map.run_count == count_ &&
        (count_ == 0 || memcmp(map.runs, runs_, run_bytes) == 0)) {
      return &map;
    }
  }
  const size_t needed = sizeof(Interned) + run_bytes;
  if (g_memory + needed > kMaxMemory) return nullptr;
  auto* made = static_cast<Interned*>(malloc(needed));
  if (made == nullptr) return nullptr;
  g_memory += needed;
  auto* runs = reinterpret_cast<TypeRun*>(made + 1);
  if (count_ != 0) memcpy(runs, runs_, run_bytes);
  made->map = {.extent = extent,
               .bytes = bytes_,
               .basics = basics_,
               .type_class = type_class_,
               .run_count = count_,
               .runs = runs};
  made->next = *bucket;
  *bucket = made;
  return &made->map;
}

// The integers of a subarray: dimensions, sizes[], subsizes[], starts[], order.
void AddSubarray(const TypeContents& from, Runs* runs) {
  const int dimensions = from.int_count >= 1 ? from.ints[0] : 0;
  if (dimensions < 1 || dimensions > kMaxDimensions || from.int_count < 3 * dimensions + 2) {
    return runs->Fail();
  }
  const int* sizes = from.ints + 1;
  const int* subsizes = sizes + dimensions;
  const int* starts = subsizes + dimensions;
  const int order = from.ints[3 * dimensions + 1];
  // MPI_ORDER_C is 0 in Open MPI, 56 in MPICH, and 0xC in the standard ABI; MPI_ORDER_FORTRAN is 1,
  // 57 and 0xF.
  const bool rows_first = order == 0 || order == 56 || order == 0xC;
  if (!rows_first && order != 1 && order != 57 && order != 0xF) return runs->Fail();
  // Dimensions by increasing distance of neighbours in memory.
  int by_stride[kMaxDimensions];
  int64_t strides[kMaxDimensions];
  int64_t stride = from.types[0] == nullptr ? 0 : from.types[0]->extent;
  int64_t offset = 0;
  for (int i = 0; i < dimensions; ++i) {
    const int dimension = rows_first ? dimensions - 1 - i : i;
    if (subsizes[dimension] < 1) return;
    by_stride[i] = dimension;
    strides[i] = stride;
    offset += stride * starts[dimension];
    stride *= sizes[dimension];
  }
  int64_t at[kMaxDimensions] = {};
  uint64_t rows = 0;
  for (;;) {
    runs->Add(from.types[0], offset, subsizes[by_stride[0]]);
    if (++rows > kMaxRuns) return runs->Fail();
    int i = 1;
    for (; i < dimensions; ++i) {
      offset += strides[i];
      if (++at[i] < subsizes[by_stride[i]]) break;
      offset -= strides[i] * at[i];
      at[i] = 0;
    }
    if (i >= dimensions) return;
  }
}

// Adds blocks, each with its own length and place. Block i has ints[1 + i] elements, or ints[1] if
// all blocks have the same length.
void AddBlocks(TypeShape shape, const TypeContents& from, Runs* runs) {
  const bool one_length = shape == TypeShape::kIndexedBlock || shape == TypeShape::kHindexedBlock;
  const bool by_address = shape == TypeShape::kHindexed || shape == TypeShape::kHindexedBlock ||
                          shape == TypeShape::kStruct;
  const int64_t count = from.int_count >= 1 ? from.ints[0] : 0;
  const int64_t lengths = one_length ? 1 : count;
  if (count < 0 || from.int_count < 1 + lengths + (by_address ? 0 : count) ||
      (by_address && from.address_count < count) ||
      (shape == TypeShape::kStruct && from.type_count < count)) {
    return runs->Fail();
  }
  for (int64_t i = 0; i < count; ++i) {
    const TypeMap* type = from.types[shape == TypeShape::kStruct ? i : 0];
    if (type == nullptr) return runs->Fail();
    const int64_t offset =
        by_address ? from.addresses[i] : from.ints[1 + lengths + i] * type->extent;
    runs->Add(type, offset, from.ints[one_length ? 1 : 1 + i]);
  }
}

void AddVector(TypeShape shape, const TypeContents& from, Runs* runs) {
  const bool by_address = shape == TypeShape::kHvector;
  if (from.int_count < (by_address ? 2 : 3) || (by_address && from.address_count < 1) ||
      from.types[0] == nullptr) {
    return runs->Fail();
  }
  const int64_t stride = by_address ? from.addresses[0] : from.ints[2] * from.types[0]->extent;
  if (from.ints[1] <= 0) return;
  if (stride == from.ints[1] * from.types[0]->extent) {
    return runs->Add(from.types[0], 0, int64_t{from.ints[0]} * from.ints[1]);
  }
  if (from.ints[0] > static_cast<int>(kMaxRuns)) return runs->Fail();
  for (int i = 0; i < from.ints[0]; ++i) runs->Add(from.types[0], i * stride, from.ints[1]);
}

}  // namespace

const TypeMap* MakeTypeMap(TypeShape shape, const TypeContents& contents, int64_t extent) {
  Runs runs;
  if (contents.type_count < 1) return nullptr;
  switch (shape) {
    case TypeShape::kDup:
    case TypeShape::kResized:
      runs.Add(contents.types[0], 0, 1);
      break;
    case TypeShape::kContiguous:
      if (contents.int_count < 1) return nullptr;
      runs.Add(contents.types[0], 0, contents.ints[0]);
      break;
    case TypeShape::kVector:
    case TypeShape::kHvector:
      AddVector(shape, contents, &runs);
      break;
    case TypeShape::kIndexed:
    case TypeShape::kHindexed:
    case TypeShape::kIndexedBlock:
    case TypeShape::kHindexedBlock:
    case TypeShape::kStruct:
      AddBlocks(shape, contents, &runs);
      break;
    case TypeShape::kSubarray:
      AddSubarray(contents, &runs);
      break;
    case TypeShape::kOther:
      return nullptr;
  }
  return runs.Intern(extent);
}

const TypeMap* MakeTypeMap(const BasicTypeInfo& basic, uint64_t size, int64_t extent) {
  // Types with gaps. A pair is a C struct of two members (MPI 4.1, 6.9.4); a long double has 10
  // bytes of data.
  struct Parts {
    BasicType type;
    uint64_t first;
    int64_t second_at;
    uint64_t second;
    int64_t extent;
  };
  static constexpr Parts kWithGaps[] = {
    {BasicType::kMPI_DOUBLE_INT, 8, 8, 4, 16},
    {BasicType::kMPI_LONG_INT, 8, 8, 4, 16},
    {BasicType::kMPI_SHORT_INT, 2, 4, 4, 8},
#if defined(__x86_64__)
    {BasicType::kMPI_LONG_DOUBLE_INT, 10, 16, 4, 32},
    {BasicType::kMPI_LONG_DOUBLE, 10, 0, 0, 16},
    {BasicType::kMPI_C_LONG_DOUBLE_COMPLEX, 10, 16, 10, 32},
    {BasicType::kMPI_CXX_LONG_DOUBLE_COMPLEX, 10, 16, 10, 32},
#else
    {BasicType::kMPI_LONG_DOUBLE_INT, 16, 16, 4, 32},
#endif
  };
  const TypeMap one{.basics = 1, .type_class = basic.type_class};
  Runs runs;
  runs.Add(&one, 0, 1);
  for (const Parts& parts : kWithGaps) {
    if (static_cast<uint16_t>(parts.type) != basic.number) continue;
    if (extent != parts.extent) return nullptr;
    runs.Add(0, parts.first);
    runs.Add(parts.second_at, parts.second);
    return runs.Intern(extent);
  }
  if (size != basic.bytes || extent != static_cast<int64_t>(size)) return nullptr;
  runs.Add(0, size);
  return runs.Intern(extent);
}

void CopyData(const TypedBuffer& buffer, uint64_t from, uint64_t length, void* to) {
  const TypeMap& map = *buffer.map;
  if (length == 0) return;
  if (map.contiguous()) {
    memcpy(to, buffer.base + from, length);
    return;
  }
  uint64_t element = from / map.bytes;
  uint64_t within = from % map.bytes;
  // The run that contains `within`.
  uint32_t low = 0, high = map.run_count - 1;
  while (low < high) {
    const uint32_t middle = (low + high + 1) / 2;
    if (map.runs[middle].start <= within) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  auto* out = static_cast<char*>(to);
  for (uint32_t run = low;;) {
    const uint64_t left = map.EndOf(run) - within;
    const uint64_t take = left < length ? left : length;
    // Computed as an integer, because `base` may be nullptr.
    const auto address =
        reinterpret_cast<uintptr_t>(buffer.base) + element * static_cast<uint64_t>(map.extent) +
        static_cast<uint64_t>(map.runs[run].offset) + (within - map.runs[run].start);
    memcpy(out, reinterpret_cast<const void*>(address), take);
    out += take;
    length -= take;
    if (length == 0) return;
    if (++run == map.run_count) {
      run = 0;
      ++element;
    }
    within = map.runs[run].start;
  }
}

}  // namespace rollcall::shim
