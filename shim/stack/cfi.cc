// SPDX-License-Identifier: Apache-2.0
#include "shim/stack/cfi.h"

#include "shim/stack/arch.h"
#include "shim/stack/cfi_cursor.h"

namespace rollcall::shim {
namespace {

constexpr uint8_t kEncodingOmit = 0xff;
constexpr uint8_t kEncodingTable = 0x3b;  // datarel | sdata4, which all linkers write

// The result of a DWARF expression, as far as rules need it: a number (kConst), a register plus a
// number (kSp, kFp), or the word at the address that is a register plus a number (kAtSp, kAtFp).
struct Value {
  enum class Base : uint8_t { kConst, kSp, kFp, kAtSp, kAtFp, kOther };
  Base base = Base::kOther;
  int64_t offset = 0;
};

Value Deref(Value value) {
  using Base = Value::Base;
  switch (value.base) {
    case Base::kSp:
      return {Base::kAtSp, value.offset};
    case Base::kFp:
      return {Base::kAtFp, value.offset};
    default:
      return {};
  }
}

Value Sum(Value a, Value b) {
  using Base = Value::Base;
  if (a.base == Base::kConst) {
    const Value swapped = a;
    a = b;
    b = swapped;
  }
  const bool linear = a.base == Base::kConst || a.base == Base::kSp || a.base == Base::kFp;
  int64_t offset = 0;
  if (!linear || b.base != Base::kConst || __builtin_add_overflow(a.offset, b.offset, &offset)) {
    return {};
  }
  return {a.base, offset};
}

Value Constant(int64_t number) { return {Value::Base::kConst, number}; }

// DW_OP_const<n>u and _s: the number that follows.
Value ReadConstant(uint8_t op, Cursor* cursor) {
  switch (op) {
    case 0x08:
      return Constant(cursor->Read<uint8_t>());
    case 0x09:
      return Constant(cursor->Read<int8_t>());
    case 0x0a:
      return Constant(cursor->Read<uint16_t>());
    case 0x0b:
      return Constant(cursor->Read<int16_t>());
    case 0x0c:
      return Constant(cursor->Read<uint32_t>());
    case 0x0d:
      return Constant(cursor->Read<int32_t>());
    default:
      return {};
  }
}

// DW_OP_breg<n>: a register plus the number that follows.
Value ReadRegister(uint8_t op, Cursor* cursor, uint64_t pc) {
  const uint64_t reg = op - 0x70u;
  const int64_t offset = cursor->Sleb();
  if (reg == arch::kDwarfSp) return {Value::Base::kSp, offset};
  if (reg == arch::kDwarfFp) return {Value::Base::kFp, offset};
  if (reg == arch::kDwarfPc && !arch::kLinkRegister) {
    return Constant(static_cast<int64_t>(pc + static_cast<uint64_t>(offset)));
  }
  return {};
}

Value Combine(uint8_t op, const Value& a, const Value& b) {
  using Base = Value::Base;
  const auto ub = static_cast<uint64_t>(b.offset);
  const auto ua = static_cast<uint64_t>(a.offset);
  if (op == 0x22) return Sum(a, b);            // DW_OP_plus
  if (op == 0x1c && b.base == Base::kConst) {  // DW_OP_minus
    return Sum(a, Constant(static_cast<int64_t>(~ub + 1)));
  }
  if (a.base != Base::kConst || b.base != Base::kConst) return {};
  if (op == 0x1a) return Constant(a.offset & b.offset);                        // DW_OP_and
  if (op == 0x24 && ub < 64) return Constant(static_cast<int64_t>(ua << ub));  // DW_OP_shl
  if (op == 0x2a) return Constant(a.offset >= b.offset ? 1 : 0);               // DW_OP_ge
  return {};
}

// Evaluates a DWARF expression for the frame at pc. Supports the operations that compilers,
// linkers (PLT entries compute with the pc) and libc (signal frames) put into .eh_frame.
Value Evaluate(Cursor cursor, uint64_t pc) {
  constexpr int kStack = 8;
  Value stack[kStack];
  int depth = 0;
  while (!cursor.done()) {
    const auto op = cursor.Read<uint8_t>();
    if (op == 0x96) continue;  // DW_OP_nop
    Value result;
    if (op >= 0x30 && op <= 0x4f) {  // DW_OP_lit<n>
      result = Constant(op - 0x30);
    } else if (op >= 0x70 && op <= 0x8f) {
      result = ReadRegister(op, &cursor, pc);
    } else if (op == 0x23) {  // DW_OP_plus_uconst
      if (depth < 1) return {};
      result = Sum(stack[--depth], Constant(static_cast<int64_t>(cursor.Uleb())));
    } else if (op >= 0x19 && op <= 0x2e) {
      if (depth < 2) return {};
      depth -= 2;
      result = Combine(op, stack[depth], stack[depth + 1]);
    } else if (op == 0x06) {  // DW_OP_deref
      if (depth < 1) return {};
      result = Deref(stack[--depth]);
    } else {
      result = ReadConstant(op, &cursor);
    }
    if (result.base == Value::Base::kOther || depth == kStack || !cursor.ok()) return {};
    stack[depth++] = result;
  }
  return cursor.ok() && depth == 1 ? stack[0] : Value{};
}

// The place where the caller's value of a register is saved. kSame: it is still in the register.
struct Place {
  enum class How : uint8_t { kSame, kUndefined, kAtCfa, kAtExpression, kOther };
  How how = How::kSame;
  int64_t offset = 0;  // kAtCfa
  Value value;         // kAtExpression: the address of the word

  static Place AtCfa(int64_t offset) { return {How::kAtCfa, offset, {}}; }
};

// A row of the table that the instructions define, with the three registers that rules need.
struct Row {
  Value cfa;
  Place sp;
  Place fp;
  Place pc;

  Place* Register(uint64_t reg) {
    if (reg == arch::kDwarfSp) return &sp;
    if (reg == arch::kDwarfFp) return &fp;
    if (reg == arch::kDwarfPc) return &pc;
    return nullptr;
  }
};

struct Cie {
  uint64_t code_align = 0;
  int64_t data_align = 0;
  uint8_t pointer_encoding = 0;
  bool has_augmentation_data = false;
  bool signal_frame = false;
  uint64_t program = 0;
  uint64_t program_size = 0;
};

// Reads the length of the CIE or FDE at the cursor, and limits the cursor to that entry. Returns
// false on an error, and at the terminator. Accepts DWARF's 64-bit form.
bool EnterEntry(Cursor& cursor) {
  uint64_t length = cursor.Read<uint32_t>();
  if (length == 0xffffffff) length = cursor.Read<uint64_t>();
  if (!cursor.ok() || length == 0) return false;
  cursor.Limit(length);
  return cursor.ok();
}

bool ReadCie(const ModuleImage& module, uint64_t address, Cie* cie) {
  Cursor cursor(module, address);
  if (!EnterEntry(cursor) || cursor.Read<uint32_t>() != 0) return false;
  const auto version = cursor.Read<uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8] = {};
  for (char& c : augmentation) {
    c = cursor.Read<char>();
    if (c == 0) break;
  }
  if (augmentation[sizeof(augmentation) - 1] != 0) return false;
  cie->code_align = cursor.Uleb();
  cie->data_align = cursor.Sleb();
  const uint64_t pc_register = version == 1 ? cursor.Read<uint8_t>() : cursor.Uleb();
  if (pc_register != arch::kDwarfPc) return false;
  if (augmentation[0] == 'z') {
    cie->has_augmentation_data = true;
    const uint64_t size = cursor.Uleb();
    Cursor data = cursor;
    data.Limit(size);
    for (const char* c = augmentation + 1; *c != 0; ++c) {
      switch (*c) {
        case 'R':
          cie->pointer_encoding = data.Read<uint8_t>();
          break;
        case 'L':
          data.Skip(1);
          break;
        case 'P': {  // only its size matters
          const auto encoding = data.Read<uint8_t>();
          data.Pointer(encoding & 0x0f, 0);
          break;
        }
        case 'S':
          cie->signal_frame = true;
          break;
        case 'B':  // return addresses are signed with the B key
        case 'G':  // the function sets memory tags
          if (!arch::kLinkRegister) return false;
          break;
        default:
          return false;
      }
    }
    if (!data.ok()) return false;
    cursor.Skip(size);
  } else if (augmentation[0] != 0) {
    return false;
  }
  cie->program = cursor.address();
  cie->program_size = cursor.end() - cursor.address();
  return cursor.ok();
}

// The call frame instructions, up to the row for pc.
class Program {
 public:
  Program(const Cie& cie, uint64_t pc) : cie_(cie), pc_(pc) {}

  bool Run(Cursor cursor, uint64_t location) {
    while (!cursor.done()) {
      const auto op = cursor.Read<uint8_t>();
      const uint64_t low = op & 0x3f;
      switch (op >> 6) {
        case 1:  // DW_CFA_advance_loc
          if (Passed(&location, low)) return true;
          continue;
        case 2:  // DW_CFA_offset
          Set(low, Place::AtCfa(Factored(static_cast<int64_t>(cursor.Uleb()))));
          continue;
        case 3:  // DW_CFA_restore
          Restore(low);
          continue;
        default:
          break;
      }
      bool passed = false;
      if (!Extended(cursor, low, &location, &passed)) return false;
      if (passed) return true;
    }
    return cursor.ok();
  }

  void SetInitial() { initial_ = row_; }
  Row& row() { return row_; }

 private:
  bool Extended(Cursor& cursor, uint64_t op, uint64_t* location, bool* passed) {
    using Base = Value::Base;
    switch (op) {
      case 0x00:
        break;    // nop
      case 0x01:  // set_loc
        *location = cursor.Pointer(cie_.pointer_encoding, 0);
        *passed = *location > pc_;
        break;
      case 0x02:
        *passed = Passed(location, cursor.Read<uint8_t>());
        break;  // advance_loc1
      case 0x03:
        *passed = Passed(location, cursor.Read<uint16_t>());
        break;  // advance_loc2
      case 0x04:
        *passed = Passed(location, cursor.Read<uint32_t>());
        break;      // advance_loc4
      case 0x05:    // offset_extended
      case 0x11: {  // offset_extended_sf
        const uint64_t reg = cursor.Uleb();
        const int64_t n = op == 0x05 ? static_cast<int64_t>(cursor.Uleb()) : cursor.Sleb();
        Set(reg, Place::AtCfa(Factored(n)));
        break;
      }
      case 0x06:
        Restore(cursor.Uleb());
        break;  // restore_ext.
      case 0x07:
        Set(cursor.Uleb(), {Place::How::kUndefined, 0, {}});
        break;  // undefined
      case 0x08:
        Set(cursor.Uleb(), {});
        break;      // same_value
      case 0x09: {  // register
        const uint64_t reg = cursor.Uleb();
        cursor.Uleb();
        Set(reg, {Place::How::kOther, 0, {}});
        break;
      }
      case 0x0a:  // remember_state
        if (remembered_ == kMaxRemembered) return false;
        saved_[remembered_++] = row_;
        break;
      case 0x0b:  // restore_state
        if (remembered_ == 0) return false;
        row_ = saved_[--remembered_];
        break;
      case 0x0c:    // def_cfa
      case 0x12: {  // def_cfa_sf
        const Base base = RegisterBase(cursor.Uleb());
        row_.cfa = {base,
                    op == 0x0c ? static_cast<int64_t>(cursor.Uleb()) : Factored(cursor.Sleb())};
        break;
      }
      case 0x0d:
        row_.cfa.base = RegisterBase(cursor.Uleb());
        break;  // def_cfa_register
      case 0x0e:
        row_.cfa.offset = static_cast<int64_t>(cursor.Uleb());
        break;  // def_cfa_offset
      case 0x13:
        row_.cfa.offset = Factored(cursor.Sleb());
        break;  // .._offset_sf
      case 0x0f:
        row_.cfa = Evaluate(Block(cursor), pc_);
        break;      // .._expression
      case 0x10: {  // expression
        const uint64_t reg = cursor.Uleb();
        // DWARF pushes the CFA first. This code does not: an expression that uses the CFA finds too
        // few operands, and its rule is unsupported.
        Set(reg, {Place::How::kAtExpression, 0, Evaluate(Block(cursor), pc_)});
        break;
      }
      case 0x14:    // val_offset
      case 0x15: {  // val_offset_sf
        const uint64_t reg = cursor.Uleb();
        cursor.Uleb();
        Set(reg, {Place::How::kOther, 0, {}});
        break;
      }
      case 0x16: {  // val_expression
        const uint64_t reg = cursor.Uleb();
        Block(cursor);
        Set(reg, {Place::How::kOther, 0, {}});
        break;
      }
      case 0x2d:  // AARCH64_negate_ra_state: see arch::LoadReturnAddress
        return arch::kLinkRegister;
      case 0x2e:
        cursor.Uleb();
        break;      // GNU_args_size
      case 0x2f: {  // GNU_negative_offset_extended
        const uint64_t reg = cursor.Uleb();
        Set(reg, Place::AtCfa(Factored(-static_cast<int64_t>(cursor.Uleb() & INT64_MAX))));
        break;
      }
      default:
        return false;
    }
    return cursor.ok();
  }

  static Cursor Block(Cursor& cursor) {
    const uint64_t size = cursor.Uleb();
    Cursor block = cursor;
    block.Limit(size);
    cursor.Skip(size);
    return block;
  }

  static Value::Base RegisterBase(uint64_t reg) {
    if (reg == arch::kDwarfSp) return Value::Base::kSp;
    if (reg == arch::kDwarfFp) return Value::Base::kFp;
    return Value::Base::kOther;
  }

  // Advances the location. True if the row that was built so far is the one for pc.
  bool Passed(uint64_t* location, uint64_t delta) const {
    *location += delta * cie_.code_align;
    return *location > pc_;
  }

  int64_t Factored(int64_t n) const {
    int64_t product = 0;
    return __builtin_mul_overflow(n, cie_.data_align, &product) ? INT64_MAX : product;
  }

  void Set(uint64_t reg, Place place) {
    if (Place* slot = row_.Register(reg)) *slot = place;
  }
  void Restore(uint64_t reg) {
    if (Place* slot = row_.Register(reg)) *slot = *initial_.Register(reg);
  }

  static constexpr int kMaxRemembered = 8;
  const Cie& cie_;
  uint64_t pc_;
  Row row_;
  Row initial_;
  Row saved_[kMaxRemembered];
  int remembered_ = 0;
};

constexpr Rule kUnsupportedRule{RuleKind::kUnsupported, 0, 0, 0};

bool FitsSlot(int64_t offset) {
  return offset % 8 == 0 && offset / 8 >= INT16_MIN && offset / 8 <= INT16_MAX;
}

// Finds the slot of a register for a Rule, on processors with a link register. False: a Rule cannot
// express the place.
[[maybe_unused]] bool FindSlot(const Place& place, int64_t cfa, int64_t limit, int64_t* slot) {
  *slot = 0;
  if (place.how == Place::How::kSame) return true;
  if (place.how != Place::How::kAtCfa || place.offset >= 0 || place.offset % 8 != 0) return false;
  *slot = place.offset / 8;
  if (*slot >= -limit) return true;
  *slot = (place.offset + cfa) / 8 + 1;
  return cfa % 8 == 0 && *slot > 0 && *slot < limit;
}

// Converts a row to a rule.
Rule Condense(const Row& row, bool signal_frame) {
  using Base = Value::Base;
  using How = Place::How;
  if (row.pc.how == How::kUndefined) return {RuleKind::kOutermost, 0, 0, 0};
  const int64_t cfa = row.cfa.offset;
  if (cfa < INT32_MIN || cfa > INT32_MAX) return kUnsupportedRule;
  Rule rule{RuleKind::kUnsupported, 0, 0, static_cast<int32_t>(cfa)};

  if (signal_frame) {  // every register in the kernel's ucontext, addressed from sp
    const auto in_context = [](const Place& place) {
      return place.how == How::kAtExpression && place.value.base == Base::kSp &&
             FitsSlot(place.value.offset);
    };
    const bool sp_is_cfa =
        row.sp.how == How::kSame || (in_context(row.sp) && row.sp.value.offset == cfa);
    if (row.cfa.base != Base::kAtSp || !sp_is_cfa || !in_context(row.pc) || !in_context(row.fp)) {
      return kUnsupportedRule;
    }
    const int64_t pc_slot = row.pc.value.offset / 8;
    if (pc_slot < 0 || pc_slot >= 1 << (arch::kPcSlotBits - 1)) return kUnsupportedRule;
    rule.kind = RuleKind::kSignalFrame;
    rule.pc_slot = static_cast<int32_t>(pc_slot);
    rule.fp_slot = static_cast<int32_t>(row.fp.value.offset / 8);
    return rule;
  }

  if (row.sp.how != How::kSame) return kUnsupportedRule;
  if constexpr (arch::kLinkRegister) {
    constexpr int64_t kLimit = 1 << (arch::kPcSlotBits - 1);
    int64_t pc_slot = 0;
    int64_t fp_slot = 0;
    if ((row.cfa.base != Base::kSp && row.cfa.base != Base::kFp) ||
        !FindSlot(row.pc, cfa, kLimit, &pc_slot) || !FindSlot(row.fp, cfa, kLimit, &fp_slot)) {
      return kUnsupportedRule;
    }
    rule.kind = row.cfa.base == Base::kSp ? RuleKind::kSp : RuleKind::kFp;
    rule.pc_slot = static_cast<int32_t>(pc_slot);
    rule.fp_slot = static_cast<int32_t>(fp_slot);
    return rule;
  }
  if (row.pc.how != How::kAtCfa || row.pc.offset != -8) return kUnsupportedRule;
  if (row.cfa.base == Base::kSp || row.cfa.base == Base::kFp) {
    if (row.fp.how == How::kAtCfa && row.fp.offset != 0 && FitsSlot(row.fp.offset)) {
      rule.fp_slot = static_cast<int32_t>(row.fp.offset / 8);
    } else if (row.fp.how != How::kSame) {
      return kUnsupportedRule;
    }
    rule.kind = row.cfa.base == Base::kSp ? RuleKind::kSp : RuleKind::kFp;
    return rule;
  }
  if (row.cfa.base == Base::kAtFp && row.fp.how == How::kAtExpression &&
      row.fp.value.base == Base::kFp && FitsSlot(row.fp.value.offset)) {
    rule.kind = RuleKind::kFpIndirect;
    rule.fp_slot = static_cast<int32_t>(row.fp.value.offset / 8);
    return rule;
  }
  return kUnsupportedRule;
}

// Returns the rule of the FDE at `address` for pc; kNoFde if the FDE does not cover pc.
Rule RuleFromFde(const ModuleImage& module, uint64_t address, uint64_t pc) {
  Cursor cursor(module, address);
  if (!EnterEntry(cursor)) return {RuleKind::kNoFde, 0, 0, 0};
  const uint64_t cie_field = cursor.address();
  const auto cie_distance = cursor.Read<uint32_t>();
  if (!cursor.ok() || cie_distance == 0) return {RuleKind::kNoFde, 0, 0, 0};
  Cie cie;
  if (!ReadCie(module, cie_field - cie_distance, &cie)) return kUnsupportedRule;
  const uint64_t start = cursor.Pointer(cie.pointer_encoding, 0);
  const uint64_t size = cursor.Pointer(cie.pointer_encoding & 0x0f, 0);
  if (!cursor.ok()) return kUnsupportedRule;
  if (pc < start || pc - start >= size) return {RuleKind::kNoFde, 0, 0, 0};
  if (cie.has_augmentation_data) cursor.Skip(cursor.Uleb());
  if (!cursor.ok()) return kUnsupportedRule;

  Program program(cie, pc);
  Cursor initial(module, cie.program);
  initial.Limit(cie.program_size);
  // The CIE's instructions do not advance the location.
  if (cie.program_size != 0 && !program.Run(initial, 0)) return kUnsupportedRule;
  program.SetInitial();
  if (!program.Run(cursor, start)) return kUnsupportedRule;
  return Condense(program.row(), cie.signal_frame);
}

// Searches .eh_frame from its start, for modules without a sorted index.
Rule ScanForRule(const ModuleImage& module, uint64_t eh_frame, uint64_t pc) {
  uint64_t address = eh_frame;
  for (;;) {
    Cursor entry(module, address);
    if (!EnterEntry(entry)) return {RuleKind::kNoFde, 0, 0, 0};
    const Rule rule = RuleFromFde(module, address, pc);
    if (rule.kind != RuleKind::kNoFde && rule.kind != RuleKind::kUnsupported) return rule;
    address = entry.end();
  }
}

// The rule of the FDE that the index finds for pc.
Rule RuleFromIndex(const ModuleImage& module, uint64_t pc) {
  if (!arch::kSupported || module.eh_frame_hdr == 0) return {RuleKind::kNoFde, 0, 0, 0};
  const uint64_t base = module.eh_frame_hdr;
  Cursor header(module, base);
  if (header.Read<uint8_t>() != 1) return kUnsupportedRule;  // version
  const auto eh_frame_encoding = header.Read<uint8_t>();
  const auto count_encoding = header.Read<uint8_t>();
  const auto table_encoding = header.Read<uint8_t>();
  const uint64_t eh_frame = header.Pointer(eh_frame_encoding, base);
  if (!header.ok()) return kUnsupportedRule;
  if (count_encoding == kEncodingOmit || table_encoding != kEncodingTable) {
    return ScanForRule(module, eh_frame, pc);
  }
  const uint64_t count = header.Pointer(count_encoding, base);
  constexpr uint64_t kRowSize = 8;  // {sdata4 start, sdata4 FDE}, sorted by start
  if (!header.ok() || count > (header.end() - header.address()) / kRowSize) return kUnsupportedRule;

  uint64_t low = 0;
  uint64_t high = count;
  while (low < high) {  // finds the first row that starts after pc
    const uint64_t middle = low + (high - low) / 2;
    Cursor row(module, header.address() + middle * kRowSize);
    if (row.Pointer(kEncodingTable, base) <= pc) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {RuleKind::kNoFde, 0, 0, 0};
  Cursor row(module, header.address() + (low - 1) * kRowSize);
  row.Skip(4);
  const uint64_t fde = row.Pointer(kEncodingTable, base);
  return row.ok() ? RuleFromFde(module, fde, pc) : kUnsupportedRule;
}

}  // namespace

Rule RuleFromTables(const ModuleImage& module, uint64_t pc) {
  const Rule rule = RuleFromIndex(module, pc);
  if (arch::kSigreturnCode == 0 || rule.kind != RuleKind::kNoFde) return rule;
  Cursor code(module, pc + 1);  // a handler returns to the first instruction
  if (code.Read<uint64_t>() != arch::kSigreturnCode) return rule;
  return {RuleKind::kSignalFrame, arch::kSignalPcSlot, arch::kSignalFpSlot, arch::kSignalSp};
}

}  // namespace rollcall::shim
