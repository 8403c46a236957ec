// SPDX-License-Identifier: Apache-2.0
#include "collector/core/core_file.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/procfs.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

#include "collector/base/text.h"

namespace rollcall {
namespace {

constexpr size_t kMaxNotes = 1 << 18;
constexpr size_t kMaxMappings = 1 << 18;
constexpr size_t kMaxFileNote = size_t{32} << 20;  // NT_FILE
constexpr size_t kMaxAuxv = 4096;
constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxProblems = 16;
constexpr uint64_t kUserEnd = uint64_t{1} << 56;  // above every address of a process

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr size_t kStackRegister = 31;  // struct user_pt_regs: x0 to x30, sp, pc, pstate
constexpr size_t kPcRegister = 32;
#else
constexpr uint16_t kMachine = EM_X86_64;
constexpr size_t kStackRegister = 19;  // struct user_regs_struct
constexpr size_t kPcRegister = 16;
constexpr size_t kFsBaseRegister = 21;
#endif

template <typename T>
const T* FindRange(const std::vector<T>& ranges, uint64_t address) {
  const auto after = std::ranges::upper_bound(ranges, address, {}, &T::start);
  if (after == ranges.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

// Sorts by start and drops ranges that overlap an earlier one. Returns the number dropped.
template <typename T>
size_t MakeDisjoint(std::vector<T>* ranges) {
  std::ranges::stable_sort(*ranges, {}, &T::start);
  uint64_t end = 0;
  return std::erase_if(*ranges, [&end](const T& range) {
    if (range.start < end) return true;
    end = range.end;
    return false;
  });
}

class Reader {
 public:
  explicit Reader(ByteSource& source) : source_(source), size_(source.Size()) {}

  Result<CoreFile> Run() {
    Elf64_Ehdr header{};
    const size_t got = source_.Read(0, &header, sizeof(header));
    const bool elf = got >= EI_NIDENT + 2 && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
    if (!elf || header.e_type != ET_CORE) return Error{};
    if (got < sizeof(header)) {
      return Error{fmt::format("it ends after {} bytes, within its header", got)};
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        header.e_machine != kMachine) {
      return Error{"it is of another architecture than this machine"};
    }
    if (header.e_phentsize != sizeof(Elf64_Phdr)) {
      return Error{"its program headers have an unknown size"};
    }
    ReadSegments(header);
    for (const Elf64_Phdr& notes : notes_) ReadNotes(notes);
    Finish();
    if (!core_.threads.empty()) return std::move(core_);
    core_.problems.insert(core_.problems.begin(), "it has no thread");
    return Error{fmt::format("{}", fmt::join(core_.problems, "; "))};
  }

 private:
  void Problem(std::string text) {
    if (core_.problems.size() < kMaxProblems) core_.problems.push_back(std::move(text));
  }

  // If there are more than 65,534 segments, their number is in the first section header.
  uint64_t SegmentCount(const Elf64_Ehdr& header) {
    if (header.e_phnum != PN_XNUM) return header.e_phnum;
    Elf64_Shdr first{};
    if (source_.Read(header.e_shoff, &first, sizeof(first)) != sizeof(first)) {
      Problem(
          fmt::format("the number of its segments, at {:#x}, could not be read", header.e_shoff));
      return 0;
    }
    return first.sh_info;
  }

  void ReadSegments(const Elf64_Ehdr& header) {
    const uint64_t count = SegmentCount(header);
    if (count > kMaxCoreSegments) {
      Problem(fmt::format("only {} of its {} segments are looked at", kMaxCoreSegments, count));
    }
    uint64_t missing = 0;
    for (uint64_t i = 0; i < std::min<uint64_t>(count, kMaxCoreSegments); ++i) {
      Elf64_Phdr segment{};
      const uint64_t at = header.e_phoff + i * sizeof(segment);
      if (at < header.e_phoff || source_.Read(at, &segment, sizeof(segment)) != sizeof(segment)) {
        Problem(fmt::format("it ends at segment header {} of {}", i, count));
        break;
      }
      if (segment.p_type == PT_NOTE) notes_.push_back(segment);
      if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
      if (segment.p_vaddr >= kUserEnd || segment.p_memsz > kUserEnd - segment.p_vaddr) {
        // The vsyscall page is at the end of the address space and is not needed.
        continue;
      }
      const uint64_t dumped = std::min(segment.p_filesz, segment.p_memsz);
      const uint64_t held = segment.p_offset < size_ ? size_ - segment.p_offset : 0;
      missing += dumped > held ? dumped - held : 0;
      core_.segments.push_back({.start = segment.p_vaddr,
                                .end = segment.p_vaddr + segment.p_memsz,
                                .offset = segment.p_offset,
                                .file_bytes = std::min(dumped, held),
                                .readable = (segment.p_flags & PF_R) != 0,
                                .writable = (segment.p_flags & PF_W) != 0,
                                .executable = (segment.p_flags & PF_X) != 0});
    }
    if (missing != 0) {
      Problem(fmt::format("it is truncated: {} bytes of its memory are missing after {:#x}",
                          missing, size_));
    }
  }

  // Reads headers, and only the contents that are needed: the states of vector registers are much
  // larger.
  void ReadNotes(const Elf64_Phdr& segment) {
    uint64_t at = segment.p_offset;
    const uint64_t end = segment.p_offset + std::min(segment.p_filesz, size_);
    for (; at < end && note_count_ < kMaxNotes; ++note_count_) {
      Elf64_Nhdr note{};
      if (source_.Read(at, &note, sizeof(note)) != sizeof(note)) {
        Problem(fmt::format("it ends within its notes, at {:#x}", at));
        return;
      }
      const uint64_t content = at + sizeof(note) + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
      at = content + ((uint64_t{note.n_descsz} + 3) & ~uint64_t{3});
      if (content + note.n_descsz > end) {
        Problem(fmt::format("a note at {:#x} is larger than all notes", content));
        return;
      }
      ReadNote(note.n_type, content, note.n_descsz);
    }
  }

  void ReadNote(uint32_t type, uint64_t at, uint64_t bytes) {
    switch (type) {
      case NT_PRSTATUS:
        return AddThread(at, bytes);
      case NT_PRPSINFO: {
        elf_prpsinfo info{};
        if (!ReadStruct(at, bytes, &info)) return;
        core_.pid = info.pr_pid;
        core_.parent = info.pr_ppid;
        core_.name = CleanText({info.pr_fname, strnlen(info.pr_fname, sizeof(info.pr_fname))},
                               sizeof(info.pr_fname));
        return;
      }
      case NT_SIGINFO: {
        siginfo_t info{};
        if (!ReadStruct(at, bytes, &info)) return;
        core_.signal = info.si_signo;
        has_sender_ = info.si_code <= 0;  // a call of kill(2), sigqueue(3), tgkill(2)
        sender_ = info.si_pid;
        return;
      }
      case NT_AUXV:
        return ReadAuxv(at, bytes);
      case NT_FILE:
        return ReadFiles(at, bytes);
#if defined(__aarch64__)
      case NT_ARM_TLS:
        if (!all_threads_.empty() && bytes >= 8) {
          source_.Read(at, &all_threads_.back().thread_pointer, 8);
        }
        return;
#endif
      default:
        return;
    }
  }

  template <typename T>
  bool ReadStruct(uint64_t at, uint64_t bytes, T* to) {
    if (bytes >= sizeof(T) && source_.Read(at, to, sizeof(T)) == sizeof(T)) return true;
    Problem(fmt::format("a note at {:#x} has {} bytes instead of {}", at, bytes, sizeof(T)));
    return false;
  }

  void AddThread(uint64_t at, uint64_t bytes) {
    elf_prstatus status{};
    if (!ReadStruct(at, bytes, &status)) return;
    if (all_threads_.empty()) {
      core_.signaled_thread = status.pr_pid;
      if (core_.signal == 0) core_.signal = status.pr_cursig;
    }
    CoreThread thread;
    thread.tid = status.pr_pid;
    thread.status.resize(sizeof(status));
    std::memcpy(thread.status.data(), &status, sizeof(status));
    thread.pc = status.pr_reg[kPcRegister];
    thread.stack_pointer = status.pr_reg[kStackRegister];
#if !defined(__aarch64__)
    thread.thread_pointer = status.pr_reg[kFsBaseRegister];
#endif
    all_threads_.push_back(std::move(thread));
  }

  void ReadAuxv(uint64_t at, uint64_t bytes) {
    core_.auxv.resize(std::min<uint64_t>(bytes, kMaxAuxv));
    core_.auxv.resize(source_.Read(at, core_.auxv.data(), core_.auxv.size()));
    for (size_t i = 0; i + sizeof(Elf64_auxv_t) <= core_.auxv.size(); i += sizeof(Elf64_auxv_t)) {
      Elf64_auxv_t entry;
      std::memcpy(&entry, core_.auxv.data() + i, sizeof(entry));
      if (entry.a_type == AT_SYSINFO_EHDR) core_.vdso = entry.a_un.a_val;
      if (entry.a_type == AT_ENTRY) core_.entry = entry.a_un.a_val;
      if (entry.a_type == AT_RANDOM) core_.random = entry.a_un.a_val;
    }
  }

  // NT_FILE: count, page size; (start, end, page in the file) of each; the NUL-terminated paths.
  void ReadFiles(uint64_t at, uint64_t bytes) {
    if (bytes > kMaxFileNote) return Problem("its list of files is implausibly large");
    std::vector<char> note(bytes);
    note.resize(source_.Read(at, note.data(), note.size()));
    const auto word = [&note](size_t index) {
      uint64_t value = 0;
      std::memcpy(&value, note.data() + 8 * index, sizeof(value));
      return value;
    };
    const uint64_t words = note.size() / 8;
    const uint64_t count = words < 2 ? 0 : word(0);
    if (count > kMaxMappings || count > (words - 2) / 3 || words < 2) {
      return Problem(fmt::format("its list of files, at {:#x}, is damaged", at));
    }
    const uint64_t page = word(1);
    size_t name = 8 * (2 + 3 * count);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string_view rest(note.data() + name, note.size() - name);
      const size_t end = rest.find('\0');
      if (end == std::string_view::npos) {
        return Problem(fmt::format("its list of files ends at file {} of {}", i, count));
      }
      name += end + 1;
      CoreMapping mapping = {.start = word(2 + 3 * i),
                             .end = word(3 + 3 * i),
                             .offset = 0,
                             .path = CleanText(rest.substr(0, end), kMaxPathBytes)};
      const bool sound = mapping.start < mapping.end && mapping.end <= kUserEnd &&
                         !__builtin_mul_overflow(word(4 + 3 * i), page, &mapping.offset) &&
                         mapping.offset < kUserEnd;
      if (sound) core_.mappings.push_back(std::move(mapping));
    }
  }

  void Finish() {
    const size_t overlapping = MakeDisjoint(&core_.segments) + MakeDisjoint(&core_.mappings);
    if (overlapping != 0) Problem(fmt::format("{} of its segments overlap others", overlapping));
    if (core_.pid == 0) core_.pid = core_.signaled_thread;
    core_.signal_from_outside = has_sender_ && sender_ != core_.pid;
    // The main thread goes first. It need not be the first in the notes.
    std::stable_partition(all_threads_.begin(), all_threads_.end(),
                          [this](const CoreThread& thread) { return thread.tid == core_.pid; });
    if (all_threads_.size() > kMaxCoreThreads) {
      core_.threads_left_out = all_threads_.size() - kMaxCoreThreads;
      all_threads_.resize(kMaxCoreThreads);
    }
    core_.threads = std::move(all_threads_);
  }

  ByteSource& source_;
  const uint64_t size_;
  CoreFile core_;
  std::vector<Elf64_Phdr> notes_;
  std::vector<CoreThread> all_threads_;
  size_t note_count_ = 0;
  bool has_sender_ = false;
  pid_t sender_ = 0;
};

}  // namespace

const CoreSegment* CoreFile::FindSegment(uint64_t address) const {
  return FindRange(segments, address);
}

const CoreMapping* CoreFile::FindMapping(uint64_t address) const {
  return FindRange(mappings, address);
}

Result<CoreFile> ReadCoreFile(ByteSource& source) { return Reader(source).Run(); }

}  // namespace rollcall
