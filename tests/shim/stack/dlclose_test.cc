// SPDX-License-Identifier: Apache-2.0
// A library is unloaded and another one is loaded at the same address: libunwind 1.6.2 crashed
// then, whether or not its cache was flushed. The two libraries differ only in the size of one
// frame, so each address of the first is an address of the second with another rule.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "shim/stack/stack.h"
#include "tests/shim/stack/oracle.h"
#include "tests/support/temporary_directory.h"

namespace rollcall::shim {
namespace {

constexpr char kLibrarySource[] = R"(
__asm__(
  ".text\n.globl through\n.type through, @function\n"
  "through:\n.cfi_startproc\n"
#if defined(__x86_64__)
  "subq $" FRAME "-8, %rsp\n.cfi_def_cfa_offset " FRAME "\n"
  "movq %rsi, %rax\nmovq %rdi, %rdx\nmovq %rax, %rdi\ncallq *%rdx\n"
  "addq $" FRAME "-8, %rsp\n.cfi_def_cfa_offset 8\n"
#elif defined(__aarch64__)
  "stp x29, x30, [sp, #-" FRAME "]!\n.cfi_def_cfa_offset " FRAME "\n"
  ".cfi_rel_offset x29, 0\n.cfi_rel_offset x30, 8\n"
  "mov x2, x0\nmov x0, x1\nblr x2\n"
  "ldp x29, x30, [sp], #" FRAME "\n.cfi_def_cfa_offset 0\n"
#endif
  "ret\n.cfi_endproc\n.size through, . - through\n");
)";

class Dlclose : public testing::Test {
 protected:
  void SetUp() override {
    if (!arch::kSupported) GTEST_SKIP() << "no walker for this processor";
    Write("lib.c", kLibrarySource);
    ASSERT_TRUE(Run("cc -shared -fPIC -DFRAME='\"32\"' lib.c -o a.so"));
    ASSERT_TRUE(Run("cc -shared -fPIC -DFRAME='\"112\"' lib.c -o b.so"));
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(dir_ + "/" + name) << text;
  }
  // Runs a shell command in the directory.
  bool Run(const std::string& command) const {
    return std::system(("cd " + dir_ + " && " + command).c_str()) == 0;
  }

  const TemporaryDirectory directory_;
  const std::string& dir_ = directory_.path();
};

using Through = void (*)(void (*)(void*), void*);

struct OpenedLibrary {
  void* handle = nullptr;
  uint64_t base = 0;
  Through through = nullptr;
};

OpenedLibrary Open(const std::string& path) {
  OpenedLibrary library;
  library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) return library;
  link_map* map = nullptr;
  dlinfo(library.handle, RTLD_DI_LINKMAP, &map);
  library.base = map->l_addr;
  library.through = reinterpret_cast<Through>(dlsym(library.handle, "through"));
  return library;
}

void CaptureAlone(void* captured) { *static_cast<Captured*>(captured) = Capture(); }

TEST_F(Dlclose, NewLibraryAtTheSameAddressGetsItsOwnRules) {
  if (kEmulated) GTEST_SKIP() << "qemu-user does not reuse addresses: nothing is tested";
  ASSERT_TRUE(InitStacks());
  uint64_t base = 0;
  for (int round = 0; round < 6; ++round) {
    const OpenedLibrary library = Open(dir_ + (round % 2 == 0 ? "/a.so" : "/b.so"));
    ASSERT_NE(library.through, nullptr);
    if (round == 0) base = library.base;
    ASSERT_EQ(library.base, base) << "not at the same address: nothing is tested";
    for (int i = 0; i < 2; ++i) {
      Captured captured;
      library.through(CaptureAlone, &captured);
      EXPECT_EQ(captured.end, StackEnd::kComplete);
      ASSERT_GE(captured.pcs.size(), 4u);
      EXPECT_EQ(captured.pcs[1] & ~uint64_t{0xffff},
                reinterpret_cast<uint64_t>(library.through) & ~uint64_t{0xffff});
      Dl_info info{};
      ASSERT_NE(dladdr(reinterpret_cast<void*>(captured.pcs[2]), &info), 0);
      Dl_info self{};
      ASSERT_NE(dladdr(reinterpret_cast<void*>(&CaptureAlone), &self), 0);
      EXPECT_EQ(info.dli_fbase, self.dli_fbase) << "not back in the test";
    }
    OnDlclose();
    dlclose(library.handle);
    OnDlclose();
  }
}

// Without OnDlclose, as when libc itself unloads a library, the first new address reveals the
// unload.
TEST_F(Dlclose, UnloadWithoutTheWrapperIsDetected) {
  if (kEmulated) GTEST_SKIP() << "qemu-user does not reuse addresses: nothing is tested";
  ASSERT_TRUE(InitStacks());
  const OpenedLibrary first = Open(dir_ + "/a.so");
  ASSERT_NE(first.through, nullptr);
  Captured captured;
  first.through(CaptureAlone, &captured);
  EXPECT_EQ(captured.end, StackEnd::kComplete);
  dlclose(first.handle);

  const OpenedLibrary second = Open(dir_ + "/b.so");
  ASSERT_EQ(second.base, first.base) << "not at the same address: nothing is tested";
  const Captured noticing = Capture();  // a new call site
  EXPECT_EQ(noticing.end, StackEnd::kComplete);
  second.through(CaptureAlone, &captured);
  EXPECT_EQ(captured.end, StackEnd::kComplete);
  dlclose(second.handle);
  OnDlclose();
}

// Tests the exported wrapper in an ordinary program. The control is the same program without the
// wrapper, which must fail.
TEST_F(Dlclose, WrapperInvalidatesTheRules) {
  if (kEmulated) GTEST_SKIP() << "qemu-user does not reuse addresses: nothing is tested";
  Write("hook.cc", R"(
#include "shim/stack/stack.h"
using namespace rollcall::shim;
extern "C" __attribute__((visibility("default"))) int hook_init() { return InitStacks() ? 0 : 1; }
extern "C" __attribute__((visibility("default"))) int hook_capture(uint64_t* pcs) {
  StackEnd end;
  uint64_t hash;
  const int depth = CaptureStack(ROLLCALL_CALLER_FRAME(), pcs, kMaxStackDepth, &end, &hash);
  return IsComplete(end) ? depth : -1;
}
)");
  Write("main.c", R"(
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <string.h>
int hook_init(void);
int hook_capture(void** pcs);
static void* ours[64];
static void* theirs[64];
static int depth, expected;
static void __attribute__((noinline)) leaf(void* unused) {
  depth = hook_capture(ours);
  expected = backtrace(theirs, 64);
  (void)unused;
  __asm__ volatile("" ::: "memory");
}
int main(int argc, char** argv) {
  unsigned long base = 0;
  int wrong = 0;
  if (hook_init() != 0) return 2;
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    if (!library) return 3;
    struct link_map* map;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    if (i == 1) base = map->l_addr;
    if (map->l_addr != base) return 4;
    void (*through)(void (*)(void*), void*) = dlsym(library, "through");
    through(leaf, 0);
    /* both in leaf first, at different addresses; glibc's ends in _start as ours does */
    if (depth != expected || memcmp(ours + 1, theirs + 1, (depth - 1) * sizeof(void*)) != 0) wrong = 1;
    dlclose(library);
  }
  return wrong;
}
)");
  const std::string sources = std::string(ROLLCALL_SOURCE_DIR) + "/shim/stack/*.cc hook.cc";
  const std::string compile = "c++ -std=c++20 -O2 -shared -fPIC -fvisibility=hidden -I" +
                              std::string(ROLLCALL_SOURCE_DIR) + " " + sources;
  ASSERT_TRUE(Run(compile + " -o libhook.so"));
  ASSERT_TRUE(Run(compile + " -DROLLCALL_NO_EXPORTS -o libbare.so"));
  ASSERT_TRUE(Run("cc -O1 -g main.c ./libhook.so -o with_wrapper"));
  ASSERT_TRUE(Run("cc -O1 -g main.c ./libbare.so -o without_wrapper"));
  const std::string libraries = " ./a.so ./b.so ./a.so ./b.so";
  EXPECT_TRUE(Run("./with_wrapper" + libraries));
  EXPECT_FALSE(Run("./without_wrapper" + libraries)) << "the control: nothing is tested";
}

// Threads capture stacks while libraries are loaded and unloaded.
TEST_F(Dlclose, DoesNotDisturbCapturesOfOtherThreads) {
  ASSERT_TRUE(InitStacks());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> captures{0};
  std::atomic<uint64_t> wrong{0};
  std::thread threads[2];
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      while (!stop.load()) {
        if (Capture().end != StackEnd::kComplete) wrong.fetch_add(1);
        captures.fetch_add(1);
      }
    });
  }
  for (int round = 0; round < 200 || captures.load() < 10000; ++round) {
    const OpenedLibrary library = Open(dir_ + (round % 2 == 0 ? "/a.so" : "/b.so"));
    ASSERT_NE(library.through, nullptr);
    Captured captured;
    library.through(CaptureAlone, &captured);
    if (captured.end != StackEnd::kComplete) wrong.fetch_add(1);
    OnDlclose();
    dlclose(library.handle);
    OnDlclose();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace
}  // namespace rollcall::shim
