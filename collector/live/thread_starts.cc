// SPDX-License-Identifier: Apache-2.0
#include "collector/live/thread_starts.h"

#include <array>
#include <optional>
#include <string_view>

#include "collector/live/exported_symbols.h"

namespace rollcall {
namespace {

constexpr int kMaxListed = 1 << 16;

// Each exported triple of words holds a field's size in bits, its number of elements, and its
// offset.
enum Field : uint8_t { kList, kTid, kStart, kNextNode, kUsed, kUser, kFields };
constexpr std::array<std::string_view, kFields> kFieldNames = {
    "_thread_db_pthread_list",
    "_thread_db_pthread_tid",
    "_thread_db_pthread_start_routine",
    "_thread_db_list_t_next",
    "_thread_db_rtld_global__dl_stack_used",
    "_thread_db_rtld_global__dl_stack_user"};
constexpr std::array<std::string_view, 1> kGlobalNames = {"_rtld_global"};

struct GlibcLayout {
  std::array<uint64_t, kFields> offset{};
  uint64_t rtld_global = 0;
};

const LoadedModule* FindNamed(const ProcessImage& image, std::string_view name) {
  for (const LoadedModule& module : image.modules()) {
    const size_t slash = module.path.rfind('/');
    if (std::string_view(module.path).substr(slash + 1).starts_with(name)) return &module;
  }
  return nullptr;
}

template <typename T>
bool ReadWords(const ProcessImage& image, uint64_t address, T* value) {
  return image.memory().Read(address, value, sizeof(T)) == sizeof(T);
}

std::optional<GlibcLayout> ReadGlibcLayout(const ProcessImage& image,
                                           const std::string& file_root) {
  const LoadedModule* libc = FindNamed(image, "libc.so.");
  const LoadedModule* loader = FindNamed(image, "ld-linux");
  std::array<uint64_t, kFields> fields{};
  std::array<uint64_t, 1> globals{};
  if (libc == nullptr || loader == nullptr || !FindExports(*libc, file_root, kFieldNames, fields) ||
      !FindExports(*loader, file_root, kGlobalNames, globals) || globals[0] == 0) {
    return std::nullopt;
  }
  GlibcLayout layout;
  layout.rtld_global = globals[0] + loader->bias;
  for (size_t i = 0; i < kFields; ++i) {
    std::array<uint32_t, 3> descriptor{};
    if (fields[i] == 0 || !ReadWords(image, fields[i] + libc->bias, &descriptor))
      return std::nullopt;
    layout.offset[i] = descriptor[2];
  }
  return layout;
}

}  // namespace

std::map<pid_t, uint64_t> ReadThreadStarts(const ProcessImage& image,
                                           const std::string& file_root) {
  std::map<pid_t, uint64_t> starts;
  const std::optional<GlibcLayout> layout = ReadGlibcLayout(image, file_root);
  if (!layout) return starts;
  const auto& offset = layout->offset;
  for (const Field list : {kUsed, kUser}) {
    const uint64_t head = layout->rtld_global + offset[list];
    uint64_t node = 0;
    if (!ReadWords(image, head + offset[kNextNode], &node)) continue;
    for (int i = 0; node != head && node != 0 && i < kMaxListed; ++i) {
      const uint64_t thread = node - offset[kList];
      int32_t tid = 0;
      uint64_t start = 0;
      if (!ReadWords(image, thread + offset[kTid], &tid) ||
          !ReadWords(image, thread + offset[kStart], &start) ||
          !ReadWords(image, node + offset[kNextNode], &node)) {
        break;
      }
      if (tid > 0 && start != 0) starts[tid] = start;
    }
  }
  return starts;
}

}  // namespace rollcall
