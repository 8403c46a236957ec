// SPDX-License-Identifier: Apache-2.0
#include "collector/live/unwinder.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>

namespace rollcall {
namespace {

constexpr size_t kMaxCopiedModuleBytes = 64 << 20;

#if defined(__aarch64__)
constexpr int kInstruction = -1;  // not among the registers of a snapshot
#else
constexpr int kInstruction = 16;
#endif

// FNV-1a on words, with a shift. Without the shift, upper bits would not affect the lower ones.
uint64_t Mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x100000001b3;
  return hash ^ hash >> 32;
}
constexpr uint64_t kEmptyDigest = 0xcbf29ce484222325;

}  // namespace

class Unwinder::Impl {
 public:
  Impl(const ProcessImage* image, pid_t pid, std::string file_root)
      : image_(image), file_root_(std::move(file_root)) {
    // Uses only our own callbacks: libdwfl's standard ones open any path that is named, and query
    // debuginfod servers over the network.
    static const Dwfl_Callbacks callbacks = {
        .find_elf = &Impl::FindElf,
        .find_debuginfo = [](Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*,
                             const char*, GElf_Word, char**) { return -1; },
        .section_address = nullptr,
        .debuginfo_path = nullptr};
    static const Dwfl_Thread_Callbacks thread_callbacks = {
        .next_thread = &Impl::NextThread,
        .get_thread = &Impl::GetThread,
        .memory_read = &Impl::ReadMemory,
        .set_initial_registers = &Impl::SetRegisters,
        .detach = nullptr,
        .thread_detach = nullptr};
    elf_version(EV_CURRENT);
    dwfl_ = dwfl_begin(&callbacks);
    if (dwfl_ == nullptr) return;
    dwfl_report_begin(dwfl_);
    for (const LoadedModule& module : image_->modules()) {
      Dwfl_Module* reported =
          dwfl_report_module(dwfl_, module.path.c_str(), module.start, module.end);
      if (reported == nullptr) continue;
      void** user_data = nullptr;
      dwfl_module_info(reported, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
      *user_data = this;
    }
    dwfl_report_end(dwfl_, nullptr, nullptr);
    attached_ = dwfl_attach_state(dwfl_, nullptr, pid, &thread_callbacks, this);
  }

  ~Impl() { dwfl_end(dwfl_); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  UnwoundStack Unwind(const ThreadSnapshot& snapshot, size_t max_frames) {
    UnwoundStack stack;
    stack.end = ring::StackEnd::kBadFrame;
    if (!attached_) {
      // If libdwfl knows no module, at least the pc is known.
      stack.frames.push_back(image_->Locate(snapshot.pc, false));
      stack.end = ring::StackEnd::kNoUnwindInfo;
      stack.detail = "no module of the process could be read";
      return stack;
    }
    snapshot_ = &snapshot;
    missing_address_ = 0;
    Walk walk{.impl = this, .stack = &stack, .max_frames = max_frames};
    const int status = dwfl_getthread_frames(dwfl_, snapshot.tid, &Impl::OnFrame, &walk);
    snapshot_ = nullptr;
    if (status == 0 &&
        ((snapshot.all_registers && missing_address_ == 0) || IsOutermost(walk.last_lookup))) {
      stack.end = ring::StackEnd::kComplete;
    } else if (status == 0) {
      // libdwfl treats a return address that it could not compute as nonexistent.
      stack.detail = missing_address_ == 0 ? "needs a register that is not known"
                     : snapshot.stack_cut  ? "the stack is larger than the copy"
                                           : "the stack could not be read";
    } else if (status == DWARF_CB_ABORT) {
      stack.end = walk.stopped_for;
      if (stack.end == ring::StackEnd::kNoUnwindInfo) {
        stack.detail = "generated code, outside of every module";
      } else {
        stack.detail = "more than " + std::to_string(max_frames) + " frames";
      }
    } else {
      const char* message = dwfl_errmsg(-1);
      stack.detail = message != nullptr ? message : "unwinding failed";
      if (missing_address_ != 0 && snapshot.stack_cut) {
        stack.detail = "the stack is larger than the copy";
      }
      // Memory and registers were available, so the unwind tables are insufficient.
      if (missing_address_ == 0 && snapshot.all_registers)
        stack.end = ring::StackEnd::kNoUnwindInfo;
    }
    SetDigests(snapshot, &stack);
    if (stack.frames.empty()) stack.frames.push_back(image_->Locate(snapshot.pc, false));
    return stack;
  }

 private:
  struct Walk {
    Impl* impl;
    UnwoundStack* stack;
    size_t max_frames;
    ring::StackEnd stopped_for = ring::StackEnd::kDepthLimit;
    uint64_t last_lookup = 0;  // within the innermost instruction of the last frame reached
  };

  // Reads each byte of the stack once, from the outermost frame inwards. The bytes above the
  // outermost frame are excluded. They hold the program's arguments or thread-local data, such as
  // variables and the number of the last processor (rseq(2)).
  static void SetDigests(const ThreadSnapshot& snapshot, UnwoundStack* stack) {
    stack->digests.resize(stack->frames.size());
    uint64_t hash = kEmptyDigest;
    uint64_t end = snapshot.stack_start + snapshot.stack.size() / 8 * 8;
    if (stack->end == ring::StackEnd::kComplete && !stack->registers.empty()) {
      end = std::min(end, stack->registers.back().stack_pointer / 8 * 8);
    }
    for (size_t i = stack->digests.size(); i-- > 0;) {
      const FrameRegisters& registers = stack->registers[i];
      uint64_t begin = std::max(registers.stack_pointer, snapshot.stack_start);
      begin = std::min((begin + 7) / 8 * 8, end);
      for (uint64_t at = begin; at < end; at += 8) {
        uint64_t word = 0;
        std::memcpy(&word, snapshot.stack.data() + (at - snapshot.stack_start), sizeof(word));
        hash = Mixed(hash, word);
      }
      end = begin;
      stack->digests[i] =
          Mixed(hash, std::accumulate(registers.preserved.begin(), registers.preserved.end(),
                                      kEmptyDigest, Mixed));
    }
    if (!snapshot.all_registers || snapshot.vectors.empty() || stack->digests.empty()) return;
    stack->digest = stack->digests.front();
    for (int i = 0; i < ThreadSnapshot::kRegisters; ++i) {
      if (i != kInstruction) stack->digest = Mixed(stack->digest, snapshot.registers[i]);
    }
    for (size_t at = 0; at + 8 <= snapshot.vectors.size(); at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, snapshot.vectors.data() + at, sizeof(word));
      stack->digest = Mixed(stack->digest, word);
    }
  }

  // Whether the unwind tables mark the function around `pc` as one without a caller, such as _start
  // and clone.
  bool IsOutermost(uint64_t pc) const {
    Dwarf_Addr bias = 0;
    Dwfl_Module* module = dwfl_addrmodule(dwfl_, pc);
    Dwarf_CFI* cfi = module == nullptr ? nullptr : dwfl_module_eh_cfi(module, &bias);
    Dwarf_Frame* rules = nullptr;
    if (cfi == nullptr || dwarf_cfi_addrframe(cfi, pc - bias, &rules) != 0) return false;
    const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owned(rules, &std::free);
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    bool signal_frame = false;
    const int return_column = dwarf_frame_info(rules, &begin, &end, &signal_frame);
    Dwarf_Op buffer[3];
    Dwarf_Op* operations = nullptr;
    size_t count = 0;
    // "Undefined" differs from "same value" by the pointer; see elfutils/libdw.h.
    return return_column >= 0 &&
           dwarf_frame_register(rules, return_column, buffer, &operations, &count) == 0 &&
           count == 0 && operations == buffer;
  }

  static int OnFrame(Dwfl_Frame* frame, void* arg) {
    auto* walk = static_cast<Walk*>(arg);
    Dwarf_Addr pc = 0;
    bool interrupted = false;
    if (!dwfl_frame_pc(frame, &pc, &interrupted)) return -1;
    walk->last_lookup = pc - (interrupted ? 0 : 1);
    if (walk->stack->frames.size() >= walk->max_frames) return DWARF_CB_ABORT;
    walk->stack->frames.push_back(walk->impl->image_->Locate(pc, !interrupted));
    FrameRegisters& registers = walk->stack->registers.emplace_back();
    const auto read = [frame](unsigned number, uint64_t* value) {
      Dwarf_Word word = 0;
      const bool known = dwfl_frame_reg(frame, number, &word) == 0;
      if (known) *value = word;
      return known;
    };
    read(ThreadSnapshot::kStackPointer, &registers.stack_pointer);
    for (size_t i = 0; i < registers.known.size(); ++i) {
      registers.known[i] = read(FrameRegisters::kPreserved[i], &registers.preserved[i]);
    }
    // From here on, libdwfl would guess frames by frame pointers, which generated code may not
    // maintain.
    if (walk->stack->frames.back().module_path.empty()) {
      walk->stopped_for = ring::StackEnd::kNoUnwindInfo;
      return DWARF_CB_ABORT;
    }
    return DWARF_CB_OK;
  }

  static pid_t NextThread(Dwfl*, void* impl, void** thread) {
    auto* self = static_cast<Impl*>(impl);
    if (*thread != nullptr || self->snapshot_ == nullptr) return 0;
    *thread = self;
    return self->snapshot_->tid;
  }

  static bool GetThread(Dwfl*, pid_t tid, void* impl, void** thread) {
    auto* self = static_cast<Impl*>(impl);
    *thread = self;
    return self->snapshot_ != nullptr && self->snapshot_->tid == tid;
  }

  static bool SetRegisters(Dwfl_Thread* thread, void* impl) {
    const ThreadSnapshot& snapshot = *static_cast<Impl*>(impl)->snapshot_;
    if (snapshot.all_registers) {
      dwfl_thread_state_register_pc(thread, snapshot.pc);
      return dwfl_thread_state_registers(thread, 0, ThreadSnapshot::kRegisters,
                                         snapshot.registers.data());
    }
    const Dwarf_Word sp = snapshot.stack_pointer();
#if !defined(__aarch64__)
    const Dwarf_Word pc = snapshot.pc;  // x86-64's return address column is register 16 itself
    if (!dwfl_thread_state_registers(thread, 16, 1, &pc)) return false;
#endif
    dwfl_thread_state_register_pc(thread, snapshot.pc);
    return dwfl_thread_state_registers(thread, ThreadSnapshot::kStackPointer, 1, &sp);
  }

  static bool ReadMemory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void* impl) {
    auto* self = static_cast<Impl*>(impl);
    const ThreadSnapshot& snapshot = *self->snapshot_;
    const uint64_t offset = address - snapshot.stack_start;
    if (address >= snapshot.stack_start && snapshot.stack.size() >= sizeof(*result) &&
        offset <= snapshot.stack.size() - sizeof(*result)) {
      std::memcpy(result, snapshot.stack.data() + offset, sizeof(*result));
      return true;
    }
    // Reads an alternate signal stack, or read-only data. The process runs meanwhile, but the data
    // of an active frame below the snapshot's does not change while that frame is active. If the
    // frame has ended, the walk ends at an address that no table covers.
    if (self->image_->memory().Read(address, result, sizeof(*result)) == sizeof(*result))
      return true;
    self->missing_address_ = address;
    return false;
  }

  // Gives libdwfl the module's ELF file. This is the file on disk if it is the loaded file, else a
  // copy from the process's memory.
  static int FindElf(Dwfl_Module*, void** user_data, const char*, Dwarf_Addr base, char** file_name,
                     Elf** elf) {
    auto* self = static_cast<Impl*>(*user_data);
    const LoadedModule* module = self->image_->FindModule(base);
    if (module == nullptr) return -1;
    *file_name = nullptr;
    *elf = nullptr;
    if (module->path != "[vdso]" && !module->build_id.empty()) {
      for (const std::string& root : {self->file_root_, std::string()}) {
        auto file = ElfFile::Open(root + module->path, {}).value_or(nullptr);
        if (file == nullptr || file->build_id() != module->build_id) continue;
        // libdwfl closes the handle that it is given, so it gets a reference of its own.
        *elf = elf_begin(-1, ELF_C_READ, file->elf());
        self->files_.push_back(std::move(file));
        return -1;
      }
    }
    auto copy =
        std::make_unique<std::vector<char>>(self->image_->CopyFile(*module, kMaxCopiedModuleBytes));
    if (copy->empty()) return -1;
    *elf = elf_memory(copy->data(), copy->size());
    self->copies_.push_back(std::move(copy));
    return -1;
  }

  const ProcessImage* image_;
  std::string file_root_;
  Dwfl* dwfl_ = nullptr;
  bool attached_ = false;
  const ThreadSnapshot* snapshot_ = nullptr;
  uint64_t missing_address_ = 0;
  std::vector<std::unique_ptr<ElfFile>> files_;             // the Elf handles refer to these
  std::vector<std::unique_ptr<std::vector<char>>> copies_;  // the Elf handles refer to these, too
};

Unwinder::Unwinder(const ProcessImage* image, pid_t pid, std::string file_root)
    : impl_(std::make_unique<Impl>(image, pid, std::move(file_root))) {}
Unwinder::~Unwinder() = default;

UnwoundStack Unwinder::Unwind(const ThreadSnapshot& snapshot, size_t max_frames) {
  return impl_->Unwind(snapshot, max_frames);
}

}  // namespace rollcall
