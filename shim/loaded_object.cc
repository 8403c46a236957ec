#include "shim/loaded_object.h"

namespace rollcall::shim {

CodeRange RangeOf(const dl_phdr_info& object) {
  CodeRange range{~uint64_t{0}, 0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t from = object.dlpi_addr + segment.p_vaddr;
    if (from < range.start) range.start = from;
    if (from + segment.p_memsz > range.end) range.end = from + segment.p_memsz;
  }
  return range;
}

CodeRange RangeAt(const void* address) {
  struct Wanted {
    uint64_t inside;
    CodeRange range;
  } wanted{reinterpret_cast<uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* asked = static_cast<Wanted*>(data);
        const CodeRange range = RangeOf(*info);
        if (!range.Contains(asked->inside)) return 0;
        asked->range = range;
        return 1;
      },
      &wanted);
  return wanted.range;
}

}  // namespace rollcall::shim
