// SPDX-License-Identifier: Apache-2.0
// The stack walker's cost per capture, beside libunwind's cached unw_backtrace and glibc's
// backtrace() on the same stacks in the same run. The recursion keeps no frame pointers
// (-fomit-frame-pointer is the default) and calls from different sites, so that each frame is a
// call site of its own.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdint>
#include <cstdio>

#include "shim/stack/stack.h"

namespace {

using rollcall::shim::CaptureStack;
using rollcall::shim::kMaxStackDepth;
using rollcall::shim::StackEnd;

constexpr int kMaxFrames = 128;
using Backtrace = int (*)(void**, int);

[[gnu::noinline]] int Capture() {
  uint64_t pcs[kMaxStackDepth];
  StackEnd end;
  uint64_t hash;
  const int depth = CaptureStack(ROLLCALL_CALLER_FRAME(), pcs, kMaxStackDepth, &end, &hash);
  benchmark::DoNotOptimize(hash);
  benchmark::DoNotOptimize(pcs);
  return depth;
}

// Two call sites taken in turn: no capture equals the last one at the same place, and with `period`
// of more sites than memos, none is remembered: the walk itself.
template <int kSite>
[[gnu::noinline]] int Site() {
  const int depth = Capture();
  benchmark::DoNotOptimize(depth);
  return depth + kSite;
}

template <int... kSites>
int AllSites(std::integer_sequence<int, kSites...>) {
  int sum = 0;
  ((sum += Site<kSites>()), ...);
  return sum;
}

// Runs `body` below `depth` frames of two alternating functions.
template <typename Body>
[[gnu::noinline]] void Odd(int depth, const Body& body);
template <typename Body>
[[gnu::noinline]] void Even(int depth, const Body& body) {
  volatile char room[40];
  room[0] = 1;
  if (depth <= 0) {
    body();
  } else {
    Odd(depth - 1, body);
  }
  room[1] = room[0];
}
template <typename Body>
[[gnu::noinline]] void Odd(int depth, const Body& body) {
  volatile char room[88];
  room[0] = 1;
  if (depth <= 0) {
    body();
  } else {
    Even(depth - 1, body);
  }
  room[1] = room[0];
}

// Frames of the benchmark library and libc below the recursion.
int FramesBelow() {
  static const int frames = [] {
    int depth = 0;
    Even(0, [&depth] { depth = Capture(); });
    return depth;
  }();
  return frames;
}

void SameStack(benchmark::State& state) {
  rollcall::shim::InitStacks();
  int depth = 0;
  Even(static_cast<int>(state.range(0)) - FramesBelow() + 1, [&] {
    for (auto _ : state) depth = Capture();
  });
  state.counters["depth"] = depth;
}

// 64 call sites in turn, four times as many as a thread remembers.
void ChangingStacks(benchmark::State& state) {
  rollcall::shim::InitStacks();
  constexpr int kSites = 64;
  int sum = 0;
  Even(static_cast<int>(state.range(0)) - FramesBelow() - 1, [&] {
    while (state.KeepRunningBatch(kSites)) {
      sum = AllSites(std::make_integer_sequence<int, kSites>());
      benchmark::DoNotOptimize(sum);
    }
  });
  const int depth = (sum - kSites * (kSites - 1) / 2) / kSites;
  state.counters["depth"] = depth;
}

void Baseline(benchmark::State& state, Backtrace backtrace) {
  void* pcs[kMaxFrames];
  int depth = 0;
  Even(static_cast<int>(state.range(0)) - FramesBelow() + 1, [&] {
    for (auto _ : state) {
      depth = backtrace(pcs, kMaxFrames);
      benchmark::DoNotOptimize(pcs);
    }
  });
  state.counters["depth"] = depth;
}

void Libunwind(benchmark::State& state) {
  rollcall::shim::InitStacks();
  void* library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, "unw_backtrace");
  if (symbol == nullptr) {
    state.SkipWithError("no libunwind.so.8");
    return;
  }
  Baseline(state, reinterpret_cast<Backtrace>(symbol));
}

void Glibc(benchmark::State& state) {
  rollcall::shim::InitStacks();
  Baseline(state, &backtrace);
}

BENCHMARK(SameStack)->Arg(16)->Arg(32)->Arg(64);
BENCHMARK(ChangingStacks)->Arg(16)->Arg(32)->Arg(64);
BENCHMARK(Libunwind)->Arg(16)->Arg(32)->Arg(64);
BENCHMARK(Glibc)->Arg(16);

}  // namespace

BENCHMARK_MAIN();
