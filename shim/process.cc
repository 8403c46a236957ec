// SPDX-License-Identifier: Apache-2.0
#include "shim/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "proto/environment.h"
#include "proto/run_directory.h"
#include "shim/data/settings.h"
#include "shim/exit_marks.h"
#include "shim/job_environment.h"
#include "shim/python/interpreter.h"
#include "shim/ring_file.h"
#include "shim/spin_lock.h"
#include "shim/stack/stack.h"
#include "shim/stack/thread_stack.h"
#include "shim/terminate.h"
#include "shim/user_phase.h"

namespace rollcall::shim {

constinit Process g_process;
namespace {
constexpr uint64_t kNotRecording = 0;
std::atomic<bool> g_started{false};
}  // namespace
constinit const uint64_t* g_recording = &kNotRecording;

namespace {

bool EnvironmentIs(const char* name, char value) {
  const char* text = getenv(name);
  return text != nullptr && text[0] == value && text[1] == '\0';
}

bool WantsMarks() {
  const char* text = getenv(env::kGpu);
  return text != nullptr && strcmp(text, "marks") == 0;
}

uint64_t EnvironmentNumber(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end = nullptr;
  const unsigned long long value = strtoull(text, &end, 10);
  return *end == '\0' ? value : otherwise;
}

uint64_t g_test_clock_shift_ns = 0;

ring::ClockAnchor ReadClocks() {
  return {Ticks(), MonotonicNs(), RealtimeNs() + g_test_clock_shift_ns};
}

// Reads a small file below /proc into `line`, NUL-terminated. Returns the number of bytes.
size_t ReadLine(const char* path, char* line, size_t size) {
  line[0] = '\0';
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t got = read(fd, line, size - 1);
  close(fd);
  line[got > 0 ? got : 0] = '\0';
  return got > 0 ? static_cast<size_t>(got) : 0;
}

uint64_t ProcessStartTicks() {
  char line[1024];
  // Other programs recognise the process by the kernel's start time. QEMU's user emulation replaces
  // the content of /proc/self/stat, with another start time. It does not recognise the path with a
  // dot.
  ReadLine("/proc/self/./stat", line, sizeof(line));
  // The name in parentheses may contain any character: count fields from the last ')', which ends
  // field 2.
  const char* at = strrchr(line, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = strchr(at + 1, ' ');
  return at == nullptr ? 0 : strtoull(at + 1, nullptr, 10);
}

void FillCommand(ring::FileHeader* header) {
  const ssize_t got =
      readlink("/proc/self/exe", header->executable, sizeof(header->executable) - 1);
  header->executable[got > 0 ? got : 0] = '\0';
  const size_t length = ReadLine("/proc/self/cmdline", header->command, sizeof(header->command));
  for (size_t i = 0; i + 1 < length; ++i) {
    if (header->command[i] == '\0') header->command[i] = ' ';
  }
  char groups[1024];
  ReadLine("/proc/self/cgroup", groups, sizeof(groups));
  if (const char* v2 = strstr(groups, "0::")) {
    const size_t bytes = strcspn(v2 + 3, "\n");
    snprintf(header->cgroup, sizeof(header->cgroup), "%.*s", static_cast<int>(bytes), v2 + 3);
  }
}

// Creates the default run directory, for a shim that is preloaded manually, without `rollcall run`.
bool DefaultRunDirectory(char* path, size_t size, uint64_t job_key) {
  const int root = snprintf(path, size, "%s/%s%u", kSharedMemory, kRunRootPrefix, geteuid());
  if (root < 0 || static_cast<size_t>(root) >= size) return false;
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return false;
  struct stat info;
  if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
      (info.st_mode & 0077) != 0) {
    return false;
  }
  const int all = snprintf(path + root, size - static_cast<size_t>(root), "/preload-%016llx",
                           static_cast<unsigned long long>(job_key));
  if (all < 0 || static_cast<size_t>(root) + static_cast<size_t>(all) >= size) return false;
  return mkdir(path, 0700) == 0 || errno == EEXIST;
}

// Finds or creates the run directory. On failure, prints a line for the user and returns false.
bool FindRunDirectory(uint64_t job_key, char* directory, size_t size) {
  const char* given = getenv(env::kRunDirectory);
  if (given != nullptr && *given != '\0') {
    snprintf(directory, size, "%s", given);
    return true;
  }
  if (DefaultRunDirectory(directory, size, job_key)) return true;
  PrintLine("not recording: no run directory in shared memory");
  return false;
}

// Identifies this process among those of the job, and names its ring file.
struct Identity {
  uint64_t random[2];
  char host[64];
  char ring_name[112];
};

Identity MakeIdentity() {
  Identity identity{{MonotonicNs(), static_cast<uint64_t>(getpid())}, {}, {}};
  if (syscall(SYS_getrandom, identity.random, sizeof(identity.random), GRND_NONBLOCK) < 0) {
    identity.random[0] = Mix64(identity.random[0], RealtimeNs());
  }
  char* host = identity.host;
  if (gethostname(host, sizeof(identity.host)) != 0) {
    snprintf(host, sizeof(identity.host), "localhost");
  }
  host[sizeof(identity.host) - 1] = '\0';
  for (char* c = host; *c != '\0'; ++c) {
    if (*c == '/') *c = '_';
  }
  snprintf(identity.ring_name, sizeof(identity.ring_name), "%.48s-%d-%016llx%s", host,
           static_cast<int>(getpid()), static_cast<unsigned long long>(identity.random[0]),
           kRingSuffix);
  return identity;
}

void FillHeader(const Identity& identity, uint64_t job_key, ring::FileHeader* header) {
  header->process_id_random[0] = identity.random[0];
  header->process_id_random[1] = identity.random[1];
  header->pid = static_cast<uint32_t>(getpid());
  header->uid = geteuid();
  header->process_start_ticks = ProcessStartTicks();
  struct stat name_space;
  if (stat("/proc/self/ns/pid", &name_space) == 0) header->pid_namespace = name_space.st_ino;
  header->job_key = job_key;
  header->world_rank = EarlyRank();
  header->world_size = EarlySize();
  header->thread_level = 0xffffffff;
  memcpy(header->host, identity.host, sizeof(header->host));
  FillCommand(header);
  g_process.use_tsc = HasInvariantTsc();
  header->clock =
      static_cast<uint64_t>(g_process.use_tsc ? ring::Clock::kTsc : ring::Clock::kMonotonicNs);
  g_test_clock_shift_ns = EnvironmentNumber(env::kTestClockShift, 0);  // may be negative
  header->first_anchor = ReadClocks();
  header->last_anchor = header->first_anchor;
  header->phase_ticks = header->first_anchor.ticks;
}

void PrepareStacks(bool has_python, ring::FileHeader* header) {
  // With Python, stacks are deeper: a Python frame takes two or three native frames.
  const uint64_t depth = EnvironmentNumber(env::kStackDepth, has_python ? kMaxStackDepth : 32);
  g_process.stack_depth = static_cast<int>(depth < 1                ? 1
                                           : depth > kMaxStackDepth ? kMaxStackDepth
                                                                    : depth);
  g_process.stacks = !EnvironmentIs(env::kStacks, '0') && InitStacks();
  if (!g_process.stacks) InitThreadStack();  // otherwise InitStacks() has called it
  header->stacks = g_process.stacks ? 1 : 0;
}

// Maps a page that is zeroed in a forked child. Returns nullptr on failure. If the kernel does not
// support such pages, also prints a line for the user.
uint64_t* PageWipedOnFork() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  if (madvise(page, 4096, MADV_WIPEONFORK) == 0) return static_cast<uint64_t*>(page);  // Linux 4.14
  PrintLine("not recording this rank",
            "this kernel cannot keep a forked child from writing the ring");
  munmap(page, 4096);
  return nullptr;
}

void MakeRing() {
  char directory[512];
  const uint64_t job_key = JobKey();
  if (!FindRunDirectory(job_key, directory, sizeof(directory))) return;
  const Identity identity = MakeIdentity();
  const bool has_python = !EnvironmentIs(env::kStacks, '0') && python::FindInterpreter();
  const bool wants_data = data::ReadSettings();
  const RingFile file = CreateRingFile({directory,
                                        EnvironmentNumber(env::kRingKiB, 4096) << 10,
                                        static_cast<uint64_t>(RanksOnNode()),
                                        identity.ring_name,
                                        {has_python, WantsMarks(), wants_data}});
  if (file.header == nullptr) {
    PrintLine("not recording this rank", file.refused);
    ReportRefused(directory, file.refused);
    return;
  }
  ring::FileHeader* header = file.header;
  FillHeader(identity, job_key, header);
  g_process.header = header;
  for (uint32_t i = 0; i < header->section_count; ++i) {
    g_process.sections[header->sections[i].kind] = &header->sections[i];
  }
  // Index 0 of strings and call paths means "none".
  TakeFrom(g_process.Of(ring::SectionKind::kStrings), 8);
  TakeFrom(g_process.Of(ring::SectionKind::kCallPaths), 1);
  PrepareStacks(has_python, header);
  g_process.data = wants_data && g_process.Of(ring::SectionKind::kData) != nullptr;
  g_process.gpu = !EnvironmentIs(env::kGpu, '0');
  g_process.marks = WantsMarks() && g_process.Of(ring::SectionKind::kMarks) != nullptr;
  if (g_process.stacks) python::PublishInterpreter();

  uint64_t* page = PageWipedOnFork();
  if (page == nullptr) return;
  PublishRingFile(header);
  InstallExitMarks();
  PrepareForTerminate();
  StoreRelease(page, uint64_t{1});
  StoreRelease(&g_recording, static_cast<const uint64_t*>(page));
  PublishUserPhase();
}

}  // namespace

bool Disabled() { return EnvironmentIs(env::kDisable, '1'); }

void Start() {
  if (g_started.load(std::memory_order_relaxed) || g_started.exchange(true)) return;
  const ErrnoGuard keeper;
  if (!Disabled()) MakeRing();
}

void SetPhase(ring::Phase phase) {
  ring::FileHeader* header = g_process.header;
  if (LoadRelaxed(&header->phase) >= static_cast<uint64_t>(phase)) return;
  StoreRelaxed(&header->phase_ticks, Ticks());
  StoreRelease(&header->phase, static_cast<uint64_t>(phase));
}

void SetFlavor(ring::Flavor flavor) {
  uint32_t* known = &g_process.header->flavor;
  if (LoadRelaxed(known) == 0) StoreRelaxed(known, static_cast<uint32_t>(flavor));
}

void SetWorld(int rank, int size, int thread_level, const char* library, ring::Flavor flavor) {
  ring::FileHeader* header = g_process.header;
  snprintf(header->library, sizeof(header->library), "%.*s",
           static_cast<int>(strcspn(library, "\n")), library);
  StoreRelaxed(&header->world_rank, rank);
  StoreRelaxed(&header->world_size, size);
  StoreRelaxed(&header->flavor, static_cast<uint32_t>(flavor));
  StoreRelaxed(&header->thread_level, static_cast<uint32_t>(thread_level));
  g_process.multiple_threads = thread_level != 0 && thread_level != 1;
  RefreshClockAnchor();
}

void RefreshClockAnchor() {
  ring::FileHeader* header = g_process.header;
  static constinit SpinLock busy;
  if (!busy.TryLock()) return;  // another thread does it now
  StoreRelaxed(&header->last_anchor_lock, LoadRelaxed(&header->last_anchor_lock) | 1);
  std::atomic_thread_fence(std::memory_order_release);
  const ring::ClockAnchor now = ReadClocks();
  StoreRelaxed(&header->last_anchor.ticks, now.ticks);
  StoreRelaxed(&header->last_anchor.monotonic_ns, now.monotonic_ns);
  StoreRelaxed(&header->last_anchor.realtime_ns, now.realtime_ns);
  StoreRelease(&header->last_anchor_lock, LoadRelaxed(&header->last_anchor_lock) + 1);
  busy.Unlock();
}

bool MayMarkExit() {
  if (!Recording()) return false;
  const ring::FileHeader* header = g_process.header;
  return static_cast<uint32_t>(getpid()) == header->pid && LoadRelaxed(&header->exit_mark) == 0;
}

void MarkExit(ring::ExitMark mark, int status, uint64_t call_path) {
  if (!MayMarkExit()) return;
  ring::FileHeader* header = g_process.header;
  StoreRelaxed(&header->exit_call_path, call_path);
  StoreRelaxed(&header->exit_status, static_cast<uint64_t>(static_cast<int64_t>(status)));
  StoreRelaxed(&header->exit_ticks, Ticks());
  StoreRelease(&header->exit_mark, static_cast<uint64_t>(mark));
}

void NoteError(int code, uint64_t call_path) { MarkExit(ring::ExitMark::kNone, code, call_path); }

void MarkException(const UncaughtException& exception) {
  if (!Recording()) return;
  ring::FileHeader* header = g_process.header;
  if (static_cast<uint32_t>(getpid()) != header->pid) return;
  if (LoadRelaxed(&header->exception) != 0) return;
  StoreRelaxed(&header->exception_type, exception.type);
  StoreRelaxed(&header->exception_message, exception.message);
  StoreRelaxed(&header->exception_call_path, static_cast<uint64_t>(exception.call_path));
  StoreRelaxed(&header->exception_ticks, Ticks());
  StoreRelease(&header->exception, static_cast<uint64_t>(exception.kind));
}

uint64_t TakeFrom(ring::Section* section, uint64_t elements) {
  const uint64_t at = __atomic_fetch_add(&section->used, elements, __ATOMIC_ACQ_REL);
  if (at + elements <= section->capacity) return at;
  __atomic_fetch_add(&section->lost, 1, __ATOMIC_RELAXED);
  // Keep the counter near the capacity, so that it never wraps, however long the job runs.
  StoreRelaxed(&section->used, section->capacity);
  return section->capacity;
}

uint32_t InternBytes(const void* bytes, uint32_t length) {
  // Recent entries are reused: thousands of communicators may have the same members.
  static std::atomic<uint32_t> recent[256];
  std::atomic<uint32_t>& known = recent[HashBytes(bytes, length, 3) % 256];
  ring::Section* section = g_process.Of(ring::SectionKind::kStrings);
  const char* table = g_process.Table<char>(ring::SectionKind::kStrings);
  if (const uint32_t ref = known.load(std::memory_order_acquire);
      ref != 0 && LoadAcquire(reinterpret_cast<const uint32_t*>(table + ref)) == length &&
      memcmp(table + ref + 4, bytes, length) == 0) {
    return ref;
  }
  const uint64_t room = (4 + static_cast<uint64_t>(length) + 7) & ~uint64_t{7};
  const uint64_t at = TakeFrom(section, room);
  if (at >= section->capacity) return 0;
  char* place = g_process.Table<char>(ring::SectionKind::kStrings) + at;
  memcpy(place + 4, bytes, length);
  StoreRelease(reinterpret_cast<uint32_t*>(place), length);
  known.store(static_cast<uint32_t>(at), std::memory_order_release);
  return static_cast<uint32_t>(at);
}

uint32_t InternString(const char* text) {
  return InternBytes(text, static_cast<uint32_t>(strlen(text)));
}

uint32_t InternRanks(const int* ranks, int count) {
  // There are few runs in practice (blocks, strides). Communicators are rarely created, so malloc
  // is fast enough.
  constexpr int kMaxRuns = 4096;
  auto* runs = static_cast<ring::RankRun*>(malloc(kMaxRuns * sizeof(ring::RankRun)));
  if (runs == nullptr) return 0;
  int used = 0;
  for (int i = 0; i < count;) {
    const int stride = i + 1 < count ? ranks[i + 1] - ranks[i] : 1;
    int length = 1;
    while (i + length < count && ranks[i + length] - ranks[i + length - 1] == stride) ++length;
    if (used == kMaxRuns) {
      free(runs);
      return 0;
    }
    runs[used++] = {ranks[i], stride, static_cast<uint32_t>(length)};
    i += length;
  }
  const uint32_t ref = InternBytes(runs, static_cast<uint32_t>(used * sizeof(ring::RankRun)));
  free(runs);
  return ref;
}

void PrintLine(const char* text, const char* detail) {
  char line[512];
  const int length = detail == nullptr
                         ? snprintf(line, sizeof(line), "rollcall: %s\n", text)
                         : snprintf(line, sizeof(line), "rollcall: %s: %s\n", text, detail);
  if (length <= 0) return;
  const size_t bytes =
      static_cast<size_t>(length) < sizeof(line) ? static_cast<size_t>(length) : sizeof(line) - 1;
  // If stderr is a file at its size limit, a write would kill the job (SIGXFSZ).
  struct stat info;
  rlimit limit;
  if (fstat(STDERR_FILENO, &info) != 0) return;
  if (S_ISREG(info.st_mode) && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY &&
      static_cast<uint64_t>(info.st_size) + bytes > limit.rlim_cur) {
    return;
  }
  if (write(STDERR_FILENO, line, bytes) < 0) return;  // the error cannot be reported anywhere
}

}  // namespace rollcall::shim
