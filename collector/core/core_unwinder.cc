// SPDX-License-Identifier: Apache-2.0
#include "collector/core/core_unwinder.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libunwind-coredump.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>

#include "collector/model/signal_name.h"

namespace rollcall {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxCopiedModuleBytes = size_t{64} << 20;

// How a thread's stack ended, as the child reports it.
enum class Outcome : uint32_t {
  kComplete,
  kTooDeep,
  kNoTable,   // no unwind table for the last frame's code
  kNoMemory,  // the core lacks memory that the table refers to
  kFailed,    // libunwind gave up
  kNoFrame,   // not even the innermost frame
};

// The child's messages in the pipe: a thread's frames, innermost first, then the stack's end.
struct Message {
  enum Kind : uint32_t { kFrame, kInterruptedFrame, kEnd };
  uint32_t thread;
  uint32_t kind;
  uint64_t value;  // pc; Outcome
};

// --- the child ---------------------------------------------------------------------------------

// The process that the child unwinds. A global: libunwind passes only UCD_info to its callbacks.
const CoreProcess* g_process = nullptr;
bool g_missing_table = false;
bool g_missing_memory = false;

void Append(std::string* bytes, const void* data, size_t size) {
  bytes->append(static_cast<const char*>(data), size);
}

// Makes a core with the threads' registers and an empty segment for each module. The segments begin
// at the file's start, because libunwind up to 1.7 assumes that a segment is the start of its
// backing file.
std::string SmallCore(const CoreProcess& process) {
  std::string notes;
  for (const CoreThread& thread : process.core().threads) {
    const Elf64_Nhdr note = {.n_namesz = 5,
                             .n_descsz = static_cast<Elf64_Word>(thread.status.size()),
                             .n_type = NT_PRSTATUS};
    Append(&notes, &note, sizeof(note));
    notes.append("CORE\0\0\0\0", 8);
    Append(&notes, thread.status.data(), thread.status.size());
    notes.resize((notes.size() + 3) & ~size_t{3});
  }
  // libunwind considers the last note damaged if nothing follows it.
  notes.append(sizeof(Elf64_Nhdr), '\0');
  const std::vector<LoadedModule>& modules = process.image().modules();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_CORE;
#if defined(__aarch64__)
  header.e_machine = EM_AARCH64;
#else
  header.e_machine = EM_X86_64;
#endif
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phnum = static_cast<Elf64_Half>(std::min<size_t>(modules.size(), PN_XNUM - 2) + 1);
  const uint64_t notes_at = sizeof(header) + header.e_phnum * sizeof(Elf64_Phdr);
  std::string core;
  Append(&core, &header, sizeof(header));
  const auto add = [&core](uint32_t type, uint64_t address, uint64_t offset, uint64_t file_bytes,
                           uint64_t bytes) {
    Elf64_Phdr segment{};
    segment.p_type = type;
    segment.p_flags = PF_R | PF_X;
    segment.p_vaddr = address;
    segment.p_offset = offset;
    segment.p_filesz = file_bytes;
    segment.p_memsz = bytes;
    Append(&core, &segment, sizeof(segment));
  };
  for (size_t i = 0; i + 1 < header.e_phnum; ++i) {
    add(PT_LOAD, modules[i].start, 0, 0, modules[i].end - modules[i].start);
  }
  add(PT_NOTE, 0, notes_at, notes.size(), notes.size());
  return core + notes;
}

// Makes a file in memory. Returns a name that this process can open; empty on failure. The file
// stays open.
std::string FileInMemory(std::string_view content) {
  const int fd = memfd_create("rollcall", MFD_CLOEXEC);
  while (fd >= 0 && !content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written <= 0) return "";
    content.remove_prefix(static_cast<size_t>(written));
  }
  return fd < 0 ? "" : fmt::format("/proc/self/fd/{}", fd);
}

int FindProcInfo(unw_addr_space_t space, unw_word_t pc, unw_proc_info_t* info, int need_info,
                 void* core) {
  const int result = _UCD_find_proc_info(space, pc, info, need_info, core);
  g_missing_table |= result < 0;
  return result;
}

int AccessMemory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void*) {
  if (write == 0 && g_process->memory().Read(address, value, sizeof(*value)) == sizeof(*value)) {
    return 0;
  }
  g_missing_memory = true;
  return -UNW_EINVAL;
}

class Walker {
 public:
  explicit Walker(int out) : out_(out) {}

  void Run(UCD_info* core, uint32_t threads, size_t max_frames) {
    unw_accessors_t accessors = _UCD_accessors;
    accessors.find_proc_info = &FindProcInfo;
    accessors.access_mem = &AccessMemory;
    unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
    if (space == nullptr) return;
    unw_set_caching_policy(space, UNW_CACHE_NONE);
    for (uint32_t i = 0; i < threads; ++i) {
      _UCD_select_thread(core, static_cast<int>(i));
      Send(i, Message::kEnd, static_cast<uint64_t>(Walk(i, space, core, max_frames)));
    }
  }

 private:
  Outcome Walk(uint32_t thread, unw_addr_space_t space, UCD_info* core, size_t max_frames) {
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, space, core) < 0) return Outcome::kNoFrame;
    bool interrupted = true;
    for (size_t i = 0;; ++i) {
      unw_word_t pc = 0;
      if (unw_get_reg(&cursor, UNW_REG_IP, &pc) < 0) return Outcome::kFailed;
      if (pc == 0) return Outcome::kComplete;
      if (i == max_frames) return Outcome::kTooDeep;
      Send(thread, interrupted ? Message::kInterruptedFrame : Message::kFrame, pc);
      interrupted = unw_is_signal_frame(&cursor) > 0;
      g_missing_table = g_missing_memory = false;
      const int step = unw_step(&cursor);
      // Without a table, libunwind guesses by frame pointers, which generated code need not
      // maintain.
      if (g_missing_table) return Outcome::kNoTable;
      if (g_missing_memory) return Outcome::kNoMemory;
      if (step < 0) return Outcome::kFailed;
      if (step == 0) return Outcome::kComplete;
    }
  }

  void Send(uint32_t thread, Message::Kind kind, uint64_t value) const {
    const Message message = {.thread = thread, .kind = kind, .value = value};
    // Smaller than PIPE_BUF: written completely or not at all.
    if (write(out_, &message, sizeof(message)) != sizeof(message)) _exit(1);
  }

  const int out_;
};

void LimitChild(std::chrono::milliseconds deadline) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A handler that exits prevents a core of the child. A limit of 0 would not apply to cores that
  // are piped to a program (core(5)).
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGXCPU}) {
    signal(number, [](int which) { _exit(128 + which); });
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto seconds = static_cast<rlim_t>(deadline.count() / 1000 + 1);
  const rlimit cpu = {.rlim_cur = seconds, .rlim_max = seconds + 1};
  setrlimit(RLIMIT_CPU, &cpu);
}

[[noreturn]] void RunChild(const CoreProcess& process, const CoreUnwindOptions& options, int out) {
  LimitChild(options.deadline);
  if (options.in_child) options.in_child();
  RaiseFileLimit();  // each module takes a descriptor
  g_process = &process;
  const std::string name = FileInMemory(SmallCore(process));
  UCD_info* core = name.empty() ? nullptr : _UCD_create(name.c_str());
  if (core == nullptr) _exit(1);
  const std::vector<LoadedModule>& modules = process.image().modules();
  for (size_t i = 0; i < modules.size(); ++i) {
    std::string file = modules[i].path;
    if (!process.IsSame(modules[i])) {
      // The core contains the vDSO, and may contain enough of other modules.
      const std::vector<char> copy = process.image().CopyFile(modules[i], kMaxCopiedModuleBytes);
      file = copy.empty() ? "" : FileInMemory({copy.data(), copy.size()});
    }
    if (!file.empty()) _UCD_add_backing_file_at_segment(core, static_cast<int>(i), file.c_str());
  }
  Walker(out).Run(core, static_cast<uint32_t>(process.core().threads.size()), options.max_frames);
  _exit(0);
}

// --- this process ------------------------------------------------------------------------------

class Collector {
 public:
  Collector(const CoreProcess& process, size_t max_frames)
      : process_(process), max_frames_(max_frames) {
    stacks_.threads.resize(process.core().threads.size());
  }

  // Returns false at the end of the pipe. The child's messages are as untrusted as the core.
  bool Take(int pipe) {
    std::array<char, 256 * sizeof(Message)> buffer;
    const ssize_t got = read(pipe, buffer.data(), buffer.size());
    if (got < 0) return errno == EINTR;
    pending_.append(buffer.data(), static_cast<size_t>(got));
    size_t at = 0;
    for (; pending_.size() - at >= sizeof(Message); at += sizeof(Message)) {
      Message message;
      std::memcpy(&message, pending_.data() + at, sizeof(message));
      Add(message);
    }
    pending_.erase(0, at);
    return got > 0;
  }

  CoreStacks Finish(std::string error) {
    stacks_.error = std::move(error);
    for (CoreStack& stack : stacks_.threads) {
      if (stack.end != ring::StackEnd::kNone) continue;
      stack.end = ring::StackEnd::kBadFrame;
      stack.detail = stacks_.error;
    }
    return std::move(stacks_);
  }

 private:
  void Add(const Message& message) {
    if (message.thread >= stacks_.threads.size()) return;
    CoreStack& stack = stacks_.threads[message.thread];
    if (stack.end != ring::StackEnd::kNone) return;
    if (message.kind == Message::kEnd) return End(static_cast<Outcome>(message.value), &stack);
    if (stack.frames.size() >= max_frames_) return;
    const bool interrupted = message.kind == Message::kInterruptedFrame;
    if (interrupted) stack.interrupted = stack.frames.size();
    stack.frames.push_back(process_.image().Locate(message.value, !interrupted));
  }

  void End(Outcome outcome, CoreStack* stack) const {
    stack->end = ring::StackEnd::kBadFrame;
    switch (outcome) {
      case Outcome::kComplete:
        stack->end = ring::StackEnd::kComplete;
        return;
      case Outcome::kTooDeep:
        stack->end = ring::StackEnd::kDepthLimit;
        stack->detail = fmt::format("more than {} frames", max_frames_);
        return;
      case Outcome::kNoTable:
        stack->end = ring::StackEnd::kNoUnwindInfo;
        stack->detail = stack->frames.empty() ? "" : NoTable(stack->frames.back());
        return;
      case Outcome::kNoMemory:
        stack->detail = "the core lacks a part of the stack";
        return;
      case Outcome::kNoFrame:
        stack->detail = "its registers could not be read";
        return;
      case Outcome::kFailed:
        break;
    }
    stack->detail = "unwinding failed";
  }

  std::string NoTable(const CodeAddress& frame) const {
    const std::string& path = frame.module_path;
    if (path.empty()) return "generated code, outside of every module";
    const std::vector<std::string>& unknown = process_.unknown_modules();
    return std::ranges::binary_search(unknown, path)
               ? path + " is not here, or not the file that was loaded"
               : "no unwind table for its code in " + path;
  }

  const CoreProcess& process_;
  const size_t max_frames_;
  CoreStacks stacks_;
  std::string pending_;
};

std::string ChildEndText(int status) {
  if (WIFSIGNALED(status) || WEXITSTATUS(status) > 128) {
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - 128;
    return fmt::format("libunwind was ended by {} at this core", SignalName(number));
  }
  return WEXITSTATUS(status) == 0 ? "" : "libunwind could not read this core";
}

}  // namespace

CoreStacks UnwindCore(const CoreProcess& process, const CoreUnwindOptions& options) {
  Collector collector(process, options.max_frames);
  UniqueFd reading;
  pid_t child = -1;
  {
    // A child that another thread forks meanwhile would keep the pipe open.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return collector.Finish("no pipe could be made");
    reading.reset(ends[0]);
    const UniqueFd writing(ends[1]);
    child = fork();
    if (child == 0) RunChild(process, options, writing.get());
  }
  if (child < 0) return collector.Finish("no process could be started");
  const auto deadline = Clock::now() + options.deadline;
  bool in_time = false;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) break;
    pollfd wait = {.fd = reading.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, static_cast<int>(left)) <= 0) continue;
    if (!collector.Take(reading.get())) {
      in_time = true;
      break;
    }
  }
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (in_time) return collector.Finish(ChildEndText(status));
  return collector.Finish(fmt::format("libunwind did not finish with this core within {} s",
                                      static_cast<double>(options.deadline.count()) / 1e3));
}

}  // namespace rollcall
