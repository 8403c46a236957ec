// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/modules.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstddef>

#include "shim/stack/cfi.h"

namespace rollcall::shim {
namespace {

// The type of _dl_find_object, which <dlfcn.h> declares only from glibc 2.35 on. The function is
// found by dlsym, because a reference would raise the glibc version that librollcall.so needs and
// add ld.so to its NEEDED list. `result` points to a buffer that is larger than any glibc's
// structure (glibc manual, "Dynamic Linker Introspection").
using FindObject = int (*)(void* address, void* result);
std::atomic<FindObject> find_object{nullptr};

struct Query {
  uint64_t pc;
  ModuleRule result{{RuleKind::kNoModule, 0, 0, 0}, 0};
};

ModuleImage ImageOf(const dl_phdr_info& info) {
  ModuleImage image;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    const uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) image.eh_frame_hdr = begin;
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0 || header.p_filesz == 0) continue;
    if (image.count == ModuleImage::kMaxSegments) continue;
    image.segments[image.count++] = {begin, begin + header.p_filesz,
                                     // NOLINTNEXTLINE(performance-no-int-to-ptr)
                                     reinterpret_cast<const uint8_t*>(begin)};
  }
  return image;
}

bool Covers(const dl_phdr_info& info, uint64_t pc) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    const uint64_t begin = info.dlpi_addr + header.p_vaddr;
    if (pc >= begin && pc - begin < header.p_memsz) return true;
  }
  return false;
}

int OnModule(dl_phdr_info* info, size_t size, void* data) {
  auto* query = static_cast<Query*>(data);
  if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
    query->result.unloads = info->dlpi_subs;
  }
  if (!Covers(*info, query->pc)) return 0;
  query->result.rule = RuleFromTables(ImageOf(*info), query->pc);
  return 1;
}

}  // namespace

void InitModules() {
  find_object.store(reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object")),
                    std::memory_order_relaxed);
}

ModuleRule FindModuleRule(uint64_t pc) {
  Query query{pc};
  dl_iterate_phdr(OnModule, &query);
  return query.result;
}

bool IsInLoadedModule(uint64_t pc) {
  const FindObject find = find_object.load(std::memory_order_relaxed);
  uint64_t result[32];
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return find != nullptr && find(reinterpret_cast<void*>(pc), result) == 0;
}

}  // namespace rollcall::shim
