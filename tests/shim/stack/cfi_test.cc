// SPDX-License-Identifier: Apache-2.0
// Tests that the rules read from .eh_frame are those of the directives, and that damaged tables are
// read only within their bounds.
#include "shim/stack/cfi.h"

#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "shim/stack/modules.h"

namespace rollcall::shim {
namespace {

Rule RuleAt(const char* label) { return FindModuleRule(reinterpret_cast<uint64_t>(label)).rule; }

// This code is never executed; each label marks an instruction whose rule the test reads.
#if defined(__x86_64__)
__asm__(R"(
  .text
rollcall_cfi_function:
  .cfi_startproc
rollcall_cfi_entry:
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset rbp, -16
rollcall_cfi_pushed:
  movq %rsp, %rbp
  .cfi_def_cfa_register rbp
rollcall_cfi_frame_pointer:
  nop
  .cfi_remember_state
  .cfi_restore rbp
  .cfi_def_cfa rsp, 8
rollcall_cfi_epilogue:
  ret
  .cfi_restore_state
rollcall_cfi_after_epilogue:
  nop
  .cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06   # CFA = *(rbp - 8)
  .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00   # rbp at rbp + 0
rollcall_cfi_realigned:
  nop
  .cfi_def_cfa r10, 0
  .cfi_restore rbp
rollcall_cfi_other_register:
  nop
  .cfi_def_cfa rsp, 0x12348
  .skip 300
rollcall_cfi_large:
  nop
  .cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
rollcall_cfi_computed:                        # as in a PLT entry: rsp + 8 + 8 * ((rip & 15) >= 11)
  nop
  .cfi_def_cfa rsp, 64
  .cfi_undefined rip
rollcall_cfi_outermost:
  nop
  .cfi_endproc
rollcall_cfi_no_fde:
  nop

  nop
  .cfi_startproc simple
  .cfi_signal_frame
  .cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06   # CFA = *(rsp + 160)
  .cfi_escape 0x10, 0x06, 0x03, 0x77, 0xf8, 0x00   # rbp at rsp + 120
  .cfi_escape 0x10, 0x07, 0x03, 0x77, 0xa0, 0x01   # rsp at rsp + 160
  .cfi_escape 0x10, 0x10, 0x03, 0x77, 0xa8, 0x01   # rip at rsp + 168
rollcall_cfi_signal_frame:
  nop
  .cfi_endproc
)");

extern "C" const char rollcall_cfi_entry[], rollcall_cfi_pushed[], rollcall_cfi_frame_pointer[],
    rollcall_cfi_epilogue[], rollcall_cfi_after_epilogue[], rollcall_cfi_realigned[],
    rollcall_cfi_other_register[], rollcall_cfi_large[], rollcall_cfi_computed[],
    rollcall_cfi_outermost[], rollcall_cfi_no_fde[], rollcall_cfi_signal_frame[];

TEST(Cfi, FollowsTheDirectives) {
  EXPECT_EQ(RuleAt(rollcall_cfi_entry), (Rule{RuleKind::kSp, 0, 0, 8}));
  EXPECT_EQ(RuleAt(rollcall_cfi_pushed), (Rule{RuleKind::kSp, 0, -2, 16}));
  EXPECT_EQ(RuleAt(rollcall_cfi_frame_pointer), (Rule{RuleKind::kFp, 0, -2, 16}));
  EXPECT_EQ(RuleAt(rollcall_cfi_epilogue), (Rule{RuleKind::kSp, 0, 0, 8}));
  EXPECT_EQ(RuleAt(rollcall_cfi_after_epilogue), (Rule{RuleKind::kFp, 0, -2, 16}));
  EXPECT_EQ(RuleAt(rollcall_cfi_realigned), (Rule{RuleKind::kFpIndirect, 0, 0, -8}));
  EXPECT_EQ(RuleAt(rollcall_cfi_other_register).kind, RuleKind::kUnsupported);
  EXPECT_EQ(RuleAt(rollcall_cfi_large), (Rule{RuleKind::kSp, 0, 0, 0x12348}));
  const int32_t plt = (reinterpret_cast<uint64_t>(rollcall_cfi_computed) & 15) >= 11 ? 16 : 8;
  EXPECT_EQ(RuleAt(rollcall_cfi_computed), (Rule{RuleKind::kSp, 0, 0, plt}));
  EXPECT_EQ(RuleAt(rollcall_cfi_outermost).kind, RuleKind::kOutermost);
  EXPECT_EQ(RuleAt(rollcall_cfi_no_fde).kind, RuleKind::kNoFde);
  EXPECT_EQ(RuleAt(rollcall_cfi_signal_frame), (Rule{RuleKind::kSignalFrame, 21, 15, 160}));
}

#elif defined(__aarch64__)
// Global, because the assembler refers to a local symbol by its section, which GOT entries cannot.
__asm__(R"(
  .text
  .globl rollcall_cfi_entry, rollcall_cfi_pushed, rollcall_cfi_frame_pointer
  .globl rollcall_cfi_epilogue, rollcall_cfi_signed, rollcall_cfi_locals_above
  .globl rollcall_cfi_locals_below, rollcall_cfi_locals_on_both_sides, rollcall_cfi_link_only
  .globl rollcall_cfi_other_register, rollcall_cfi_link_elsewhere, rollcall_cfi_outermost
  .globl rollcall_cfi_no_fde, rollcall_cfi_sigreturn
rollcall_cfi_function:
  .cfi_startproc
  .cfi_b_key_frame
rollcall_cfi_entry:
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset x29, -48
  .cfi_offset x30, -40
rollcall_cfi_pushed:
  mov x29, sp
  .cfi_def_cfa_register x29
rollcall_cfi_frame_pointer:
  nop
  .cfi_remember_state
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa sp, 0
rollcall_cfi_epilogue:
  ret
  .cfi_restore_state
  .cfi_negate_ra_state
rollcall_cfi_signed:
  nop
  .cfi_def_cfa sp, 0x1234560
  .cfi_offset x29, -0x1234560
  .cfi_offset x30, -0x1234558
rollcall_cfi_locals_above:
  nop
  .cfi_offset x29, -16
  .cfi_offset x30, -8
rollcall_cfi_locals_below:
  nop
  .cfi_offset x30, -0x234560
rollcall_cfi_locals_on_both_sides:
  nop
  .cfi_restore x29
  .cfi_def_cfa sp, 64
  .cfi_offset x30, -64
rollcall_cfi_link_only:
  nop
  .cfi_def_cfa x10, 0
rollcall_cfi_other_register:
  nop
  .cfi_def_cfa sp, 64
  .cfi_register x30, x17
rollcall_cfi_link_elsewhere:
  nop
  .cfi_undefined x30
rollcall_cfi_outermost:
  nop
  .cfi_endproc
rollcall_cfi_no_fde:
  nop
rollcall_cfi_sigreturn:
  mov x8, #139
  svc #0
)");

extern "C" const char rollcall_cfi_entry[], rollcall_cfi_pushed[], rollcall_cfi_frame_pointer[],
    rollcall_cfi_epilogue[], rollcall_cfi_signed[], rollcall_cfi_locals_above[],
    rollcall_cfi_locals_below[], rollcall_cfi_locals_on_both_sides[], rollcall_cfi_link_only[],
    rollcall_cfi_other_register[], rollcall_cfi_link_elsewhere[], rollcall_cfi_outermost[],
    rollcall_cfi_no_fde[], rollcall_cfi_sigreturn[];

TEST(Cfi, FollowsTheDirectives) {
  EXPECT_EQ(RuleAt(rollcall_cfi_entry), (Rule{RuleKind::kSp, 0, 0, 0}));
  EXPECT_EQ(RuleAt(rollcall_cfi_pushed), (Rule{RuleKind::kSp, -5, -6, 48}));
  EXPECT_EQ(RuleAt(rollcall_cfi_frame_pointer), (Rule{RuleKind::kFp, -5, -6, 48}));
  EXPECT_EQ(RuleAt(rollcall_cfi_epilogue), (Rule{RuleKind::kSp, 0, 0, 0}));
  EXPECT_EQ(RuleAt(rollcall_cfi_signed), (Rule{RuleKind::kFp, -5, -6, 48}));
  EXPECT_EQ(RuleAt(rollcall_cfi_locals_above), (Rule{RuleKind::kSp, 2, 1, 0x1234560}));
  EXPECT_EQ(RuleAt(rollcall_cfi_locals_below), (Rule{RuleKind::kSp, -1, -2, 0x1234560}));
  EXPECT_EQ(RuleAt(rollcall_cfi_locals_on_both_sides).kind, RuleKind::kUnsupported);
  EXPECT_EQ(RuleAt(rollcall_cfi_link_only), (Rule{RuleKind::kSp, -8, 0, 64}));
  EXPECT_EQ(RuleAt(rollcall_cfi_other_register).kind, RuleKind::kUnsupported);
  EXPECT_EQ(RuleAt(rollcall_cfi_link_elsewhere).kind, RuleKind::kUnsupported);
  EXPECT_EQ(RuleAt(rollcall_cfi_outermost).kind, RuleKind::kOutermost);
  EXPECT_EQ(RuleAt(rollcall_cfi_no_fde).kind, RuleKind::kNoFde);
}

TEST(Cfi, KnowsTheCodeThatEndsASignalHandler) {
  EXPECT_EQ(
      RuleAt(rollcall_cfi_sigreturn - 1),  // as of a call before it
      (Rule{RuleKind::kSignalFrame, arch::kSignalPcSlot, arch::kSignalFpSlot, arch::kSignalSp}));
  EXPECT_EQ(RuleAt(rollcall_cfi_sigreturn).kind, RuleKind::kNoFde);
  static_assert(arch::kSignalPcSlot * 8 ==
                sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.pc));
  static_assert(arch::kSignalFpSlot * 8 ==
                sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs[29]));
  static_assert(arch::kSignalSp == sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.sp));
}
#endif

TEST(Cfi, ReportsAddressesOutsideAllModules) {
  int on_stack = 0;
  for (const uint64_t pc : {uint64_t{0}, uint64_t{4096}, reinterpret_cast<uint64_t>(&on_stack)}) {
    EXPECT_EQ(FindModuleRule(pc).rule.kind, RuleKind::kNoModule);
    EXPECT_FALSE(IsInLoadedModule(pc));
  }
}

// The image of libc, in which a copy before an inaccessible page replaces the segment of unwind
// tables, so that a read past its end faults.
class CopiedTables : public testing::Test {
 protected:
  void SetUp() override {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
          if (std::string_view(info->dlpi_name).find("libc.so") == std::string_view::npos) return 0;
          auto* self = static_cast<CopiedTables*>(data);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const ElfW(Phdr)& header = info->dlpi_phdr[i];
            const uint64_t begin = info->dlpi_addr + header.p_vaddr;
            if (header.p_type == PT_GNU_EH_FRAME) self->image_.eh_frame_hdr = begin;
            if (header.p_type != PT_LOAD) continue;
            self->image_.segments[self->image_.count++] = {begin, begin + header.p_filesz,
                                                           reinterpret_cast<uint8_t*>(begin)};
            if ((header.p_flags & PF_X) != 0) {
              self->text_ = begin;
              self->text_size_ = header.p_filesz;
            }
          }
          return 1;
        },
        this);
    if (image_.eh_frame_hdr == 0) GTEST_SKIP() << "libc is not a shared library here";
    for (int i = 0; i < image_.count; ++i) {
      Segment& segment = image_.segments[i];
      if (image_.eh_frame_hdr < segment.begin || image_.eh_frame_hdr >= segment.end) continue;
      size_ = segment.end - segment.begin;
      const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
      mapped_ = (size_ + page - 1) / page * page + page;
      map_ = static_cast<uint8_t*>(
          mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      ASSERT_NE(map_, MAP_FAILED);
      ASSERT_EQ(mprotect(map_ + mapped_ - page, page, PROT_NONE), 0);
      copy_ = map_ + mapped_ - page - size_;  // ends where the inaccessible page begins
      std::memcpy(copy_, segment.bytes, size_);
      original_ = image_;
      segment.bytes = copy_;
      segment_ = &segment;
    }
    ASSERT_NE(segment_, nullptr);
    std::mt19937_64 random(7);
    for (int i = 0; i < 500; ++i) pcs_.push_back(text_ + random() % text_size_);
  }
  void TearDown() override {
    if (map_ != nullptr) munmap(map_, mapped_);
  }

  uint8_t* At(uint64_t address) const { return copy_ + (address - segment_->begin); }

  ModuleImage image_;
  ModuleImage original_;
  Segment* segment_ = nullptr;
  uint8_t* map_ = nullptr;
  uint8_t* copy_ = nullptr;
  uint64_t mapped_ = 0;
  uint64_t size_ = 0;
  uint64_t text_ = 0;
  uint64_t text_size_ = 0;
  std::vector<uint64_t> pcs_;
};

TEST_F(CopiedTables, CopyGivesTheSameRules) {
  int regular = 0;
  for (const uint64_t pc : pcs_) {
    const Rule rule = RuleFromTables(original_, pc);
    EXPECT_EQ(RuleFromTables(image_, pc), rule);
    regular += rule.kind == RuleKind::kSp || rule.kind == RuleKind::kFp ? 1 : 0;
  }
  EXPECT_GT(regular, 300);  // the executable segment may contain read-only data
}

TEST_F(CopiedTables, CopyWithoutIndexGivesTheSameRules) {
  At(image_.eh_frame_hdr)[2] = 0xff;  // no count, so no table: .eh_frame is searched from its start
  At(image_.eh_frame_hdr)[3] = 0xff;
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(RuleFromTables(image_, pcs_[i]), RuleFromTables(original_, pcs_[i]));
  }
}

TEST_F(CopiedTables, TruncatedTablesGiveTheSameRuleOrNone) {
  int lost = 0;
  std::mt19937_64 random(11);
  for (int i = 0; i < 1000; ++i) {
    const uint64_t left = random() % size_;
    ModuleImage cut = image_;
    Segment& segment = cut.segments[segment_ - image_.segments];
    segment.end = segment.begin + left;
    segment.bytes = copy_ + size_ - left;  // ends where the inaccessible page begins
    std::memcpy(copy_ + size_ - left, original_.segments[segment_ - image_.segments].bytes, left);
    const uint64_t pc = pcs_[random() % pcs_.size()];
    const Rule rule = RuleFromTables(cut, pc);
    if (rule != RuleFromTables(original_, pc)) {
      ++lost;
      EXPECT_TRUE(rule.kind == RuleKind::kUnsupported || rule.kind == RuleKind::kNoFde);
    }
  }
  EXPECT_GT(lost, 100);
}

TEST_F(CopiedTables, TablesWithFlippedBitsAreReadWithinTheirBounds) {
  std::mt19937_64 random(13);
  const uint64_t tables = image_.eh_frame_hdr - segment_->begin;
  int changed = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t pc = pcs_[random() % pcs_.size()];
    std::vector<uint64_t> flipped;
    for (int flips = 0; flips < 40; ++flips) {
      // An eighth of the flips are in the header, whose few bytes every look-up reads.
      const uint64_t at =
          flips % 8 == 0 ? tables + random() % 12 : tables + random() % (size_ - tables);
      copy_[at] ^= static_cast<uint8_t>(1u << random() % 8);
      flipped.push_back(at);
    }
    const Rule rule = RuleFromTables(image_, pc);
    EXPECT_NE(rule.kind, RuleKind::kInvalid);
    changed += rule != RuleFromTables(original_, pc) ? 1 : 0;
    for (const uint64_t at : flipped)
      copy_[at] = original_.segments[segment_ - image_.segments].bytes[at];
  }
  EXPECT_GT(changed, 1000);
}

// Sets each byte of the entries that a look-up reads to every value in turn.
TEST_F(CopiedTables, TablesWithDamagedEntriesAreReadWithinTheirBounds) {
  std::mt19937_64 random(17);
  const uint64_t header = image_.eh_frame_hdr;
  const auto word = [&](uint64_t address) {
    int32_t value = 0;
    std::memcpy(&value, At(address), sizeof(value));
    return int64_t{value};
  };
  const auto count = static_cast<uint64_t>(word(header + 8));
  int changed = 0;
  for (int i = 0; i < 40; ++i) {
    const uint64_t row = header + 12 + 8 * (random() % count);  // {start, FDE}, from the header
    const uint64_t pc = header + word(row) + random() % 64;
    const uint64_t fde_address = header + word(row + 4);
    uint8_t* fde = At(fde_address);
    uint8_t* cie = fde + 4 - word(fde_address + 4);
    const Rule expected = RuleFromTables(original_, pc);
    for (uint8_t* entry : {fde, cie}) {
      for (int at = 0; at < 32 && entry + at < copy_ + size_; ++at) {
        const uint8_t before = entry[at];
        for (int value = 0; value < 256; ++value) {
          entry[at] = static_cast<uint8_t>(value);
          changed += RuleFromTables(image_, pc) != expected ? 1 : 0;
        }
        entry[at] = before;
      }
    }
  }
  EXPECT_GT(changed, 1000);
}

}  // namespace
}  // namespace rollcall::shim
