// SPDX-License-Identifier: Apache-2.0
// Core files in memory, written in a few lines:
//
//   CoreBuilder core;
//   core.Process(100, 99, "app").Thread(100, 0x401000, 0x7000).Memory(0x7000, "stack");
//   std::vector<uint8_t> bytes = core.Build();
#ifndef ROLLCALL_TESTS_COLLECTOR_CORE_CORE_BUILDER_H_
#define ROLLCALL_TESTS_COLLECTOR_CORE_CORE_BUILDER_H_

#include <elf.h>
#include <sys/procfs.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rollcall {

class CoreBuilder {
 public:
  CoreBuilder& Process(pid_t pid, pid_t parent, const std::string& name) {
    elf_prpsinfo info{};
    info.pr_pid = pid;
    info.pr_ppid = parent;
    name.copy(info.pr_fname, sizeof(info.pr_fname));
    return Note(NT_PRPSINFO, &info, sizeof(info));
  }
  CoreBuilder& Thread(pid_t tid, uint64_t pc, uint64_t stack_pointer) {
    elf_prstatus status{};
    status.pr_pid = tid;
#if defined(__aarch64__)
    status.pr_reg[32] = pc;
    status.pr_reg[31] = stack_pointer;
#else
    status.pr_reg[16] = pc;
    status.pr_reg[19] = stack_pointer;
    status.pr_reg[21] = 0x1000 + static_cast<uint64_t>(tid);  // fs_base
#endif
    return Note(NT_PRSTATUS, &status, sizeof(status));
  }
  CoreBuilder& Signal(int number, int code, pid_t sender) {
    siginfo_t info{};
    info.si_signo = number;
    info.si_code = code;
    info.si_pid = sender;
    return Note(NT_SIGINFO, &info, sizeof(info));
  }
  CoreBuilder& Auxv(const std::vector<std::pair<uint64_t, uint64_t>>& entries) {
    return Note(NT_AUXV, entries.data(), entries.size() * sizeof(entries[0]));
  }
  // The top of the main thread's stack, from 0x7ffe0000 on, with an auxiliary vector.
  CoreBuilder& Environment(const std::vector<std::string>& variables) {
    constexpr uint64_t kStart = 0x7ffe0000;
    constexpr uint64_t kStrings = kStart + 0x1000;
    const std::vector<uint64_t> auxv = {AT_PAGESZ, 4096, AT_ENTRY,  0x400800,       AT_UID,  0,
                                        AT_GID,    0,    AT_RANDOM, kStart + 0xf00, AT_NULL, 0};
    std::string strings = "argument=0";
    std::vector<uint64_t> words = {1, kStrings, 0};
    for (const std::string& variable : variables) {
      words.push_back(kStrings + strings.size() + 1);
      strings += '\0' + variable;
    }
    words.push_back(0);
    words.insert(words.end(), auxv.begin(), auxv.end());
    std::string stack(0xe80 - words.size() * 8, '\0');
    Append(&stack, words.data(), words.size() * 8);
    stack.resize(0x1000);
    Note(NT_AUXV, auxv.data(), auxv.size() * 8);
    return Memory(kStart, stack + strings + '\0');
  }
  // `page` is the offset in the file, in pages of 4,096 bytes.
  CoreBuilder& File(uint64_t start, uint64_t end, uint64_t page, const std::string& path) {
    for (const uint64_t word : {start, end, page}) files_.push_back(word);
    paths_ += path + '\0';
    return *this;
  }
  // `size` bytes of memory at `address`, of which the core has `content`; 0: exactly `content`.
  CoreBuilder& Memory(uint64_t address, const std::string& content, uint64_t size = 0,
                      uint32_t flags = PF_R | PF_W) {
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = flags;
    segment.p_vaddr = address;
    segment.p_filesz = content.size();
    segment.p_memsz = size == 0 ? content.size() : size;
    segments_.push_back({segment, content});
    return *this;
  }
  CoreBuilder& Note(uint32_t type, const void* content, size_t size) {
    const Elf64_Nhdr note = {
        .n_namesz = 5, .n_descsz = static_cast<Elf64_Word>(size), .n_type = type};
    Append(&notes_, &note, sizeof(note));
    notes_.append("CORE\0\0\0\0", 8);
    Append(&notes_, content, size);
    notes_.resize((notes_.size() + 3) & ~size_t{3});
    return *this;
  }

  std::vector<uint8_t> Build() {
    if (!files_.empty()) {
      std::string note;
      const std::vector<uint64_t> head = {files_.size() / 3, 4096};
      Append(&note, head.data(), 16);
      Append(&note, files_.data(), files_.size() * 8);
      note += paths_;
      files_.clear();
      Note(NT_FILE, note.data(), note.size());
    }
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_CORE;
#if defined(__aarch64__)
    header.e_machine = EM_AARCH64;
#else
    header.e_machine = EM_X86_64;
#endif
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<Elf64_Half>(segments_.size() + 1);
    std::string file;
    Append(&file, &header, sizeof(header));
    uint64_t at = sizeof(header) + header.e_phnum * sizeof(Elf64_Phdr);
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = at;
    notes.p_filesz = notes_.size();
    Append(&file, &notes, sizeof(notes));
    at += notes_.size();
    for (auto& [segment, content] : segments_) {
      segment.p_offset = at;
      at += content.size();
      Append(&file, &segment, sizeof(segment));
    }
    file += notes_;
    for (const auto& [segment, content] : segments_) file += content;
    return {file.begin(), file.end()};
  }

 private:
  static void Append(std::string* to, const void* bytes, size_t size) {
    to->append(static_cast<const char*>(bytes), size);
  }

  std::string notes_;
  std::vector<uint64_t> files_;
  std::string paths_;
  std::vector<std::pair<Elf64_Phdr, std::string>> segments_;
};

}  // namespace rollcall

#endif  // ROLLCALL_TESTS_COLLECTOR_CORE_CORE_BUILDER_H_
