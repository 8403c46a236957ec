// SPDX-License-Identifier: Apache-2.0
#include "shim/datatypes.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "proto/datatypes.h"
#include "proto/ring_format.h"
#include "shim/handle_map.h"
#include "shim/process.h"

namespace rollcall::shim {

std::atomic<uint64_t> g_type_generation{1};

namespace {

// Described handles. The slot of a freed type is reused. If a program never frees types, the oldest
// types are forgotten, unless the program has several threads: another thread may be reading them.
constexpr uint32_t kTypes = 2048;
constinit TypeInfo g_types[kTypes];
constinit HandleMap<8192> g_by_handle;
constinit uint64_t g_key_of[kTypes];
std::atomic<uint32_t> g_next{0};
// Free list: slot + 1 in the lower half, a counter against ABA in the upper one.
std::atomic<uint64_t> g_free{0};
std::atomic<uint32_t> g_next_free[kTypes];
constexpr uint32_t kNoSlot = kTypes;

uint32_t TakeSlot() {
  uint64_t head = g_free.load(std::memory_order_acquire);
  while ((head & 0xffffffff) != 0) {
    const auto slot = static_cast<uint32_t>(head & 0xffffffff) - 1;
    const uint64_t next = g_next_free[slot].load(std::memory_order_relaxed) | ((head >> 32) + 1)
                                                                                  << 32;
    if (g_free.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return slot;
  }
  const uint32_t fresh = g_next.fetch_add(1);
  if (fresh < kTypes) return fresh;
  if (fresh > 1u << 31) g_next.store(kTypes);
  return g_process.multiple_threads ? kNoSlot : fresh % kTypes;
}

void ReturnSlot(uint32_t slot) {
  uint64_t head = g_free.load(std::memory_order_relaxed);
  for (;;) {
    g_next_free[slot].store(static_cast<uint32_t>(head & 0xffffffff), std::memory_order_relaxed);
    const uint64_t next = (slot + 1) | ((head >> 32) + 1) << 32;
    if (g_free.compare_exchange_weak(head, next, std::memory_order_acq_rel)) return;
  }
}
constinit const TypeInfo kUnknownType{};
constinit const TypeInfo kNullType{
    static_cast<uint16_t>(BasicType::kMPI_DATATYPE_NULL), 0, 0, 0, {}, nullptr};

TypeInfo FromBasic(const BasicTypeInfo& basic) {
  TypeInfo info;
  info.index = basic.number;
  info.basic = basic.number;
  // A pair (MPI_DOUBLE_INT) has two basic elements. It matches itself and a struct of the two, but
  // programs do not mix the two forms in reductions. A pair therefore gets a class of its own, made
  // from its number.
  const auto type_class =
      basic.type_class == TypeClass::kPair || basic.type_class == TypeClass::kUnknown
          ? 0x100u + basic.number
          : static_cast<uint32_t>(basic.type_class);
  info.uniform = type_class;
  info.basics = 1;
  info.element = BasicSignature(type_class);
  return info;
}

// Accumulates a sequence of types.
struct Builder {
  Signature signature;
  uint64_t basics = 0;
  uint32_t uniform = 0;
  uint16_t basic = 0;
  bool mixed = false;
  bool unknown = false;

  void Add(const TypeInfo& type, uint64_t count) {
    if (type.index == 0 && type.basics == 0 && type.uniform == 0) unknown = true;
    if (count == 0 || type.basics == 0) return;
    if (type.uniform == 0) {
      mixed = true;
    } else if (basics == 0) {
      uniform = type.uniform;
      basic = type.basic;
    } else if (uniform != type.uniform) {
      mixed = true;
    }
    basics += type.basics * count;
    signature = Concatenate(signature, Repeat(type.element, count));
  }
};

// Converts a combiner number. Both libraries number the combiners in the same order from NAMED on
// (ompi/include/mpi.h, MPICH's mpi.h), but start with different numbers.
TypeShape ShapeOf(const Library& library, int value) {
  constexpr TypeShape kShapes[] = {
      TypeShape::kOther,         // NAMED
      TypeShape::kDup,           // DUP
      TypeShape::kContiguous,    // CONTIGUOUS
      TypeShape::kVector,        // VECTOR
      TypeShape::kHvector,       // HVECTOR_INTEGER
      TypeShape::kHvector,       // HVECTOR
      TypeShape::kIndexed,       // INDEXED
      TypeShape::kHindexed,      // HINDEXED_INTEGER
      TypeShape::kHindexed,      // HINDEXED
      TypeShape::kIndexedBlock,  // INDEXED_BLOCK
      TypeShape::kStruct,        // STRUCT_INTEGER
      TypeShape::kStruct,        // STRUCT
      TypeShape::kSubarray,      // SUBARRAY
      TypeShape::kOther,         // DARRAY
      TypeShape::kOther,         // F90_REAL
      TypeShape::kOther,         // F90_COMPLEX
      TypeShape::kOther,         // F90_INTEGER
      TypeShape::kResized,       // RESIZED
      TypeShape::kHindexedBlock  // HINDEXED_BLOCK
  };
  const int index = value - library.abi.combiner_named;
  return index >= 0 && index < static_cast<int>(std::size(kShapes)) ? kShapes[index]
                                                                    : TypeShape::kOther;
}

TypeInfo Derive(Library* library, uint64_t handle, int depth, char* text, size_t text_size);

// Adds the types of a datatype to `builder`. The meaning of the integers of Type_get_contents
// depends on the combiner (MPI 4.0, 5.1.13).
void Combine(TypeShape shape, const int* ints, int count, const TypeInfo* types, int type_count,
             Builder* builder) {
  if (type_count < 1) {
    builder->unknown = true;
    return;
  }
  switch (shape) {
    case TypeShape::kDup:
    case TypeShape::kResized:
      builder->Add(types[0], 1);
      return;
    case TypeShape::kContiguous:
      if (count >= 1) return builder->Add(types[0], static_cast<uint64_t>(ints[0]));
      break;
    case TypeShape::kVector:
    case TypeShape::kHvector:
    case TypeShape::kIndexedBlock:
    case TypeShape::kHindexedBlock:
      if (count >= 2) {
        return builder->Add(types[0],
                            static_cast<uint64_t>(ints[0]) * static_cast<uint64_t>(ints[1]));
      }
      break;
    case TypeShape::kIndexed:
    case TypeShape::kHindexed: {
      uint64_t total = 0;
      for (int i = 0; count >= 1 && i < ints[0] && 1 + i < count; ++i) {
        total += static_cast<uint64_t>(ints[1 + i]);
      }
      return builder->Add(types[0], total);
    }
    case TypeShape::kStruct:
      for (int i = 0; count >= 1 && i < ints[0] && 1 + i < count && i < type_count; ++i) {
        builder->Add(types[i], static_cast<uint64_t>(ints[1 + i]));
      }
      return;
    case TypeShape::kSubarray: {
      // ndims, sizes[], subsizes[], starts[], order
      uint64_t total = 1;
      for (int i = 0; count >= 1 && i < ints[0] && 1 + ints[0] + i < count; ++i) {
        total *= static_cast<uint64_t>(ints[1 + ints[0] + i]);
      }
      return builder->Add(types[0], total);
    }
    case TypeShape::kOther:
      break;
  }
  builder->unknown = true;
}

void FreeIfDerived(Library* library, uint64_t handle) {
  int ints = 0, addresses = 0, types = 0, combiner = library->abi.combiner_named;
  if (library->query.Type_get_envelope(handle, &ints, &addresses, &types, &combiner) == 0 &&
      combiner != library->abi.combiner_named && library->query.Type_free != nullptr) {
    alignas(8) uint64_t copy = handle;
    library->query.Type_free(&copy);
  }
}

// False if the library does not provide it.
bool QueryExtent(const Library& library, uint64_t handle, int64_t* extent) {
  int64_t lower_bound = 0;
  return library.query.Type_get_extent != nullptr &&
         library.query.Type_get_extent(handle, &lower_bound, extent) == 0;
}

TypeInfo FromContents(Library* library, uint64_t handle, int ints, int addresses, int type_count,
                      int combiner, int depth, char* text, size_t text_size) {
  TypeInfo info;
  auto* memory = static_cast<char*>(calloc(
      1, (static_cast<size_t>(ints) + 2) * sizeof(int) + static_cast<size_t>(addresses + 1) * 8 +
             static_cast<size_t>(type_count + 1) * (16 + sizeof(TypeInfo))));
  if (memory == nullptr) return info;
  auto* parts = reinterpret_cast<TypeInfo*>(memory);
  auto* handles = reinterpret_cast<uint64_t*>(parts + type_count + 1);
  auto* maps = reinterpret_cast<const TypeMap**>(handles + type_count + 1);
  auto* places = reinterpret_cast<int64_t*>(maps + type_count + 1);
  auto* values = reinterpret_cast<int*>(places + addresses + 1);
  Builder builder;
  if (library->query.Type_get_contents(handle, ints, addresses, type_count, values, places,
                                       handles) == 0) {
    char inner[96] = "";
    for (int i = 0; i < type_count; ++i) {
      const uint64_t part = library->At(handles, static_cast<uint64_t>(i));
      parts[i] = Derive(library, part, depth + 1, inner, sizeof(inner));
      maps[i] = parts[i].map;
      FreeIfDerived(library, part);
    }
    const TypeShape shape = ShapeOf(*library, combiner);
    Combine(shape, values, ints, parts, type_count, &builder);
    int64_t extent = 0;
    if (g_process.data && QueryExtent(*library, handle, &extent)) {
      info.map = MakeTypeMap(shape, {values, ints, places, addresses, maps, type_count}, extent);
    }
    if (text != nullptr) {
      if (builder.mixed || type_count != 1) {
        snprintf(text, text_size, "struct of %llu basics",
                 static_cast<unsigned long long>(builder.basics));
      } else {
        snprintf(text, text_size, "derived type of %llu x %s",
                 static_cast<unsigned long long>(
                     parts[0].basics == 0 ? 0 : builder.basics / parts[0].basics),
                 inner);
      }
    }
  } else {
    builder.unknown = true;
  }
  free(memory);
  if (builder.unknown) return {};
  info.basics = builder.basics;
  info.uniform = builder.mixed ? 0 : builder.uniform;
  info.basic = builder.mixed ? 0 : builder.basic;
  info.element = builder.signature;
  info.index = kNoDatatypeRoom;
  return info;
}

TypeInfo Derive(Library* library, uint64_t handle, int depth, char* text, size_t text_size) {
  const Queries& query = library->query;
  int ints = 0, addresses = 0, types = 0, combiner = 0;
  if (depth > 16 || query.Type_get_envelope == nullptr || query.Type_get_contents == nullptr ||
      query.Type_get_name == nullptr ||
      query.Type_get_envelope(handle, &ints, &addresses, &types, &combiner) != 0 || ints < 0 ||
      addresses < 0 || types < 0) {
    return {};
  }
  if (combiner != library->abi.combiner_named) {
    return FromContents(library, handle, ints, addresses, types, combiner, depth, text, text_size);
  }
  char name[1024] = "";  // MPI_MAX_OBJECT_NAME: 64 in Open MPI, 128 in MPICH
  int length = 0;
  if (query.Type_get_name(handle, name, &length) != 0) return {};
  if (text != nullptr) snprintf(text, text_size, "%.90s", name);
  // Some libraries report this alias.
  if (strcmp(name, "MPI_LONG_LONG_INT") == 0) memcpy(name, "MPI_LONG_LONG", 14);
  for (const BasicTypeInfo& basic : kBasicTypes) {
    if (basic.name != name) continue;
    TypeInfo info = FromBasic(basic);
    int size = 0;
    int64_t extent = 0;
    if (g_process.data && query.Type_size != nullptr && query.Type_size(handle, &size) == 0 &&
        QueryExtent(*library, handle, &extent)) {
      info.map = MakeTypeMap(basic, static_cast<uint64_t>(size), extent);
    }
    return info;
  }
  return {};
}

// Returns the index of the ring's entry for a derived type. Equal types share an entry.
uint16_t EnterDatatype(const TypeInfo& info, uint64_t bytes, const char* text) {
  ring::Section* section = g_process.Of(ring::SectionKind::kDatatypes);
  auto* table = g_process.Table<ring::Datatype>(ring::SectionKind::kDatatypes);
  const uint64_t used = LoadAcquire(&section->used);
  for (uint64_t i = 0; i < used && i < section->capacity; ++i) {
    if (LoadAcquire(&table[i].name) != 0 && table[i].signature == info.element.hash &&
        table[i].basics == info.basics && table[i].bytes == bytes) {
      return static_cast<uint16_t>(kFirstDerived + i);
    }
  }
  const uint64_t index = TakeFrom(section, 1);
  if (index >= section->capacity || kFirstDerived + index >= kNoDatatypeRoom)
    return kNoDatatypeRoom;
  table[index].signature = info.element.hash;
  table[index].basics = info.basics;
  table[index].bytes = bytes;
  table[index].basic = info.basic;
  StoreRelease(&table[index].name, InternString(text));
  return static_cast<uint16_t>(kFirstDerived + index);
}

// True if the shim may query the library about the handle. A query with an invalid handle would
// cause an error that the library reports as the program's. MPICH encodes the class of an object in
// its handle (mpir_objects.h: 2 bits of kind, 4 bits of class; 3 is a datatype).
bool MayBeType(const Library& library, uint64_t handle) {
  if (handle == 0 || handle == library.abi.datatype_null) return false;
  if (LoadRelaxed(&g_process.header->phase) >= static_cast<uint64_t>(ring::Phase::kFinalized))
    return false;
  if (library.abi.flavor != ring::Flavor::kMpich) return true;
  return handle >> 30 != 0 && ((handle >> 26) & 0xf) == 3;
}

ROLLCALL_COLD const TypeInfo& DescribeNewType(Library* library, uint64_t handle) {
  const ErrnoGuard keeper;
  char text[160] = "";
  TypeInfo info = Derive(library, handle, 0, text, sizeof(text));
  if (info.index == kNoDatatypeRoom) {
    int bytes = 0;
    if (library->query.Type_size != nullptr) library->query.Type_size(handle, &bytes);
    info.index = EnterDatatype(info, static_cast<uint64_t>(bytes < 0 ? 0 : bytes), text);
  }
  const uint32_t slot = TakeSlot();
  if (slot == kNoSlot) return kUnknownType;
  if (g_key_of[slot] != 0) g_by_handle.Erase(g_key_of[slot]);
  g_types[slot] = info;
  const uint64_t key = library->KeyOf(handle);
  g_key_of[slot] = key;
  if (g_by_handle.Insert(key, slot)) return g_types[slot];
  g_key_of[slot] = 0;
  ReturnSlot(slot);
  return kUnknownType;
}

}  // namespace

const TypeInfo& DescribeType(Library* library, Word word) {
  const uint64_t handle = library->Handle(word);
  const uint32_t slot = g_by_handle.Find(library->KeyOf(handle));
  if (__builtin_expect(slot < kTypes, 1)) return g_types[slot];
  if (handle == library->abi.datatype_null) return kNullType;
  if (!MayBeType(*library, handle)) return kUnknownType;
  return DescribeNewType(library, handle);
}

Side DescribeNewSide(SideMemo* memo, Library* library, uint64_t count, Word type) {
  const uint64_t generation = g_type_generation.load(std::memory_order_relaxed);
  const TypeInfo& info = DescribeType(library, type);
  const bool negative = static_cast<int64_t>(count) < 0;
  const Side side{count, info.index, BufferSignature(info, negative ? 0 : count)};
  memo->generation = 0;  // no memo, in case a signal handler leaves this call by longjmp
  std::atomic_signal_fence(std::memory_order_seq_cst);
  memo->library = library;
  memo->handle = library->Handle(type);
  memo->side = side;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (info.index != 0) memo->generation = generation;
  return side;
}

void UnregisterType(const Library& library, uint64_t handle) {
  g_type_generation.fetch_add(1, std::memory_order_relaxed);
  const uint32_t slot = g_by_handle.Erase(library.KeyOf(handle));
  if (slot >= kTypes) return;
  g_key_of[slot] = 0;
  ReturnSlot(slot);
}

}  // namespace rollcall::shim
