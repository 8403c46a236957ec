// SPDX-License-Identifier: Apache-2.0
#include "shim/user_phase.h"

#include <unistd.h>

#include <cstring>

#include "shim/process.h"
#include "shim/spin_lock.h"

namespace rollcall::shim {
namespace {

constexpr size_t kBytes = ring::kUserPhaseBytes;
constexpr size_t kWords = kBytes / sizeof(uint64_t);

// Never waited for: a signal handler may have interrupted the holder, and in a forked child the
// lock of another thread stays held.
constinit SpinLock g_busy;
constinit uint64_t g_text[kWords] = {};  // NUL-terminated; zero after its end

// The caller holds g_busy.
void Write() {
  if (!Recording()) return;
  ring::FileHeader* header = g_process.header;
  if (static_cast<uint32_t>(getpid()) != header->pid) return;  // a vfork child shares our memory
  auto* words = reinterpret_cast<uint64_t*>(header->user_phase);
  ChangeUnderLock(&header->user_phase_lock, [&] {
    for (size_t i = 0; i < kWords; ++i) StoreRelaxed(words + i, g_text[i]);
  });
}

// The length to which a text is cut. A character of UTF-8 has at most three continuation bytes.
size_t LengthOf(const char* text) {
  size_t length = strnlen(text, kBytes);
  if (length < kBytes) return length;
  --length;
  for (int i = 0; i < 3 && (text[length] & 0xc0) == 0x80; ++i) --length;
  return length;
}

}  // namespace

void SetUserPhase(const char* text) {
  if (!g_busy.TryLock()) return;
  const size_t length = text == nullptr ? 0 : LengthOf(text);
  char* bytes = reinterpret_cast<char*>(g_text);
  if (length != 0) memcpy(bytes, text, length);
  memset(bytes + length, 0, kBytes - length);
  Write();
  g_busy.Unlock();
}

void PublishUserPhase() {
  if (!g_busy.TryLock()) return;
  if (g_text[0] != 0) Write();
  g_busy.Unlock();
}

}  // namespace rollcall::shim

#ifndef ROLLCALL_NO_EXPORTS
extern "C" ROLLCALL_EXPORT void rollcall_phase(const char* text) {
  rollcall::shim::SetUserPhase(text);
}
#endif
