// SPDX-License-Identifier: Apache-2.0
#include "shim/torch/binding.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shim/loaded_object.h"
#include "shim/platform.h"

namespace rollcall::shim::torch {
namespace {

constexpr char kLibrary[] = "/libtorch_cpu.so";

struct Path {
  char text[4096];
};

// The file name of libtorch_cpu.so; empty if it is not loaded.
void FindTorch(Path* path) {
  path->text[0] = '\0';
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* out = static_cast<Path*>(data);
        const char* name = info->dlpi_name;
        if (name == nullptr || strstr(name, kLibrary) == nullptr) return 0;
        if (strlen(name) >= sizeof(out->text)) return 0;
        memcpy(out->text, name, strlen(name) + 1);
        return 1;
      },
      path);
}

int VersionIn(const char* text) {
  char* end = nullptr;
  const long major = strtol(text, &end, 10);
  if (end == text || *end != '.') return 0;
  const char* at = end + 1;
  const long minor = strtol(at, &end, 10);
  if (end == at || major < 1 || major > 99 || minor < 0 || minor > 99) return 0;
  return static_cast<int>(major * 100 + minor);
}

int ReadVersion() {
  const ErrnoGuard keeper;
  static Path path;  // called once
  FindTorch(&path);
  char* name = strstr(path.text, kLibrary);
  if (name == nullptr) return 0;
  if (const char* suffix = strstr(name, ".so.")) return VersionIn(suffix + 4);  // Debian
  // torch/lib/libtorch_cpu.so: torch/version.py has a line __version__ = '2.6.0+cu124'.
  *name = '\0';
  strncat(path.text, "/../version.py", sizeof(path.text) - strlen(path.text) - 1);
  char text[512];
  const int file = open(path.text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, sizeof(text) - 1);
  close(file);
  text[got > 0 ? got : 0] = '\0';
  const char* line = strstr(text, "__version__ = ");
  return line == nullptr ? 0 : VersionIn(line + strlen("__version__ = '"));
}

constexpr Library MakeLibrary() {
  Library library;
  library.abi.handle_bytes = 8;
  library.abi.handle_mask = ~uint64_t{0};
  return library;
}
constinit Library g_library = MakeLibrary();
constinit std::atomic<int> g_version{-1};  // -1: not read yet

}  // namespace

std::atomic<uint64_t> g_own_start{0}, g_own_end{0};

void* FindInTorch(const char* symbol) {
  const ErrnoGuard keeper;
  static Path path;
  static std::atomic<bool> known{false};
  if (!known.load(std::memory_order_acquire)) {
    Path found;
    FindTorch(&found);
    if (found.text[0] == '\0') return nullptr;
    path = found;  // every thread writes the same
    known.store(true, std::memory_order_release);
  }
  return FindDefinition(path.text, symbol);
}

void* Target::Find() {
  const ErrnoGuard keeper;
  void* found = FindInTorch(symbol);
  // The backend is not in libtorch_cpu.so (CUDA's, a plugin's), or PyTorch was linked into another
  // object.
  if (found == nullptr) found = FindDefinitionAnywhere(symbol);
  if (found != nullptr) function.store(found, std::memory_order_release);
  return found;
}

void* TargetOfOwner::Find(const void* owner) {
  const ErrnoGuard keeper;
  void* found = FindDefinitionFrom(owner, any.symbol);
  if (found == nullptr) return any.Get();
  const void* none = nullptr;
  if (first.compare_exchange_strong(none, owner)) {
    function.store(found, std::memory_order_release);
  }
  return found;
}

void SetOwnCalls(const void* function) {
  if (g_own_end.load(std::memory_order_relaxed) != 0) return;
  const ErrnoGuard keeper;
  const CodeRange range = RangeAt(function);
  g_own_start.store(range.start, std::memory_order_relaxed);
  g_own_end.store(range.end, std::memory_order_release);
}

Library* TorchLibrary() { return &g_library; }

int TorchVersion() {
  int known = g_version.load(std::memory_order_relaxed);
  if (known < 0) {
    known = ReadVersion();
    g_version.store(known, std::memory_order_relaxed);
  }
  return known;
}

void SetTorchVersion(int version) { g_version.store(version, std::memory_order_relaxed); }

}  // namespace rollcall::shim::torch
