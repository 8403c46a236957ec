// SPDX-License-Identifier: Apache-2.0
// Functions of glibc 2.32 to 2.36 that Debian 12's static libraries and rollcall use, for tools
// that run with glibc 2.31. Linked only into the tools of a portable build (portable.cmake), which
// do not export them.
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

extern "C" {

// 2.32. libstdc++ omits atomic instructions if it is true. It stays false, as no code here updates
// it when a thread starts.
char __libc_single_threaded = false;

// 2.32. Null: the signal has no name, such as a real-time signal.
const char* sigabbrev_np(int number) noexcept {
  static constexpr const char* kNames[] = {
      nullptr, "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
      "SEGV",  "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
      "TTOU",  "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
  constexpr int kCount = sizeof(kNames) / sizeof(kNames[0]);
  static_assert(kCount == SIGSYS + 1);
  return number >= 0 && number < kCount ? kNames[number] : nullptr;
}

// 2.34. Callers handle the failure on kernels before 5.9, which lack it.
int close_range(unsigned first, unsigned last, int flags) noexcept {
  return static_cast<int>(syscall(SYS_close_range, first, last, flags));
}

// 2.36, for libevent and std::random_device.
void arc4random_buf(void* buffer, size_t size) noexcept {
  for (size_t done = 0; done < size;) {
    const ssize_t got = getrandom(static_cast<char*>(buffer) + done, size - done, 0);
    if (got < 0 && errno != EINTR) abort();
    if (got > 0) done += static_cast<size_t>(got);
  }
}
uint32_t arc4random() noexcept {
  uint32_t value = 0;
  arc4random_buf(&value, sizeof(value));
  return value;
}

// 2.35, for libgcc's unwinder, which looks up the object of each return address.
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  struct Search {
    uintptr_t address;
    dl_find_object* result;
  } search = {reinterpret_cast<uintptr_t>(address), result};
  const auto look = [](dl_phdr_info* info, size_t, void* argument) {
    auto* wanted = static_cast<Search*>(argument);
    const ElfW(Phdr)* code = nullptr;
    const ElfW(Phdr)* frames = nullptr;
    uintptr_t end = 0;
    for (const ElfW(Phdr)* header = info->dlpi_phdr; header != info->dlpi_phdr + info->dlpi_phnum;
         ++header) {
      const uintptr_t begin = info->dlpi_addr + header->p_vaddr;
      if (header->p_type == PT_GNU_EH_FRAME) frames = header;
      if (header->p_type == PT_LOAD && wanted->address - begin < header->p_memsz) {
        code = header;
        end = begin + header->p_memsz;
      }
    }
    if (code == nullptr || frames == nullptr) return 0;
    *wanted->result = {};
    wanted->result->dlfo_map_start = reinterpret_cast<void*>(info->dlpi_addr + code->p_vaddr);
    wanted->result->dlfo_map_end = reinterpret_cast<void*>(end);
    wanted->result->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + frames->p_vaddr);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}

}  // extern "C"
