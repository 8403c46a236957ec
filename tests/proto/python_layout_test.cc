// SPDX-License-Identifier: Apache-2.0
// Compares the rows of proto/python_layout.h with the headers of the installed interpreters, and
// tests the reading of published offsets with constructed and damaged ones.
#include "proto/python_layout.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rollcall::python {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, uint32_t Layout::*> kFields = {
    {"runtime_finalizing", &Layout::runtime_finalizing},
    {"runtime_interpreters_head", &Layout::runtime_interpreters_head},
    {"runtime_interpreters_main", &Layout::runtime_interpreters_main},
    {"runtime_main_thread", &Layout::runtime_main_thread},
    {"interpreter_next", &Layout::interpreter_next},
    {"interpreter_threads_head", &Layout::interpreter_threads_head},
    {"thread_next", &Layout::thread_next},
    {"thread_interpreter", &Layout::thread_interpreter},
    {"thread_id", &Layout::thread_id},
    {"thread_native_id", &Layout::thread_native_id},
    {"thread_frame", &Layout::thread_frame},
    {"cframe_frame", &Layout::cframe_frame},
    {"frame_previous", &Layout::frame_previous},
    {"frame_code", &Layout::frame_code},
    {"frame_instruction", &Layout::frame_instruction},
    {"frame_owner", &Layout::frame_owner},
    {"frame_is_entry", &Layout::frame_is_entry},
    {"code_bytes", &Layout::code_bytes},
    {"code_file", &Layout::code_file},
    {"code_name", &Layout::code_name},
    {"code_qualname", &Layout::code_qualname},
    {"code_first_line", &Layout::code_first_line},
    {"code_line_table", &Layout::code_line_table},
    {"code_instructions", &Layout::code_instructions},
    {"code_instruction_object", &Layout::code_instruction_object},
    {"code_first_traceable", &Layout::code_first_traceable},
    {"frame_globals", &Layout::frame_globals},
    {"frame_locals", &Layout::frame_locals},
    {"frame_slots", &Layout::frame_slots},
    {"frame_stack_top", &Layout::frame_stack_top},
    {"code_flags", &Layout::code_flags},
    {"code_stack_size", &Layout::code_stack_size},
    {"code_names", &Layout::code_names},
    {"code_slot_count", &Layout::code_slot_count},
    {"code_slot_names", &Layout::code_slot_names},
    {"code_slot_kinds", &Layout::code_slot_kinds},
    {"code_cell_names", &Layout::code_cell_names},
    {"code_free_names", &Layout::code_free_names},
    {"object_type", &Layout::object_type},
    {"object_size", &Layout::object_size},
    {"bytes_data", &Layout::bytes_data},
    {"text_length", &Layout::text_length},
    {"text_state", &Layout::text_state},
    {"text_ascii", &Layout::text_ascii},
    {"text_compact", &Layout::text_compact},
    {"text_state_shift", &Layout::text_state_shift},
    {"type_basic_size", &Layout::type_basic_size},
    {"type_item_size", &Layout::type_item_size},
    {"type_flags", &Layout::type_flags},
    {"type_next", &Layout::type_next},
    {"type_name", &Layout::type_name},
    {"type_dict", &Layout::type_dict},
    {"type_set", &Layout::type_set},
    {"type_dict_offset", &Layout::type_dict_offset},
    {"type_mro", &Layout::type_mro},
    {"type_cached_keys", &Layout::type_cached_keys},
    {"tuple_items", &Layout::tuple_items},
    {"cell_value", &Layout::cell_value},
    {"integer_size", &Layout::integer_size},
    {"integer_digits", &Layout::integer_digits},
    {"dict_keys", &Layout::dict_keys},
    {"dict_values", &Layout::dict_values},
    {"generator_frame", &Layout::generator_frame},
    {"generator_state", &Layout::generator_state},
    {"keys_index_bytes", &Layout::keys_index_bytes},
    {"keys_kind", &Layout::keys_kind},
};
// No header up to 3.10 has these.
const std::map<std::string, uint32_t Layout::*> kKeysFields = {
    {"keys_entry_count", &Layout::keys_entry_count},
    {"keys_indices", &Layout::keys_indices},
};

// Returns the directories of the system and of pyenv that contain Python.h and the internal
// headers.
std::vector<fs::path> IncludeDirectories() {
  std::vector<fs::path> roots = {"/usr/include", "/usr/local/include"};
  const char* home = std::getenv("HOME");
  const char* pyenv = std::getenv("PYENV_ROOT");
  const fs::path versions = pyenv != nullptr ? fs::path(pyenv) / "versions"
                                             : fs::path(home ? home : "/") / ".pyenv/versions";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(versions, none)) {
    roots.push_back(entry.path() / "include");
  }
  std::vector<fs::path> found;
  for (const fs::path& root : roots) {
    for (const auto& entry : fs::directory_iterator(root, none)) {
      if (entry.path().filename().string().rfind("python3.", 0) != 0) continue;
      if (fs::exists(entry.path() / "internal/pycore_pystate.h", none)) found.push_back(entry);
    }
  }
  return found;
}

std::map<std::string, uint32_t> OffsetsOf(const fs::path& include) {
  const fs::path probe =
      fs::temp_directory_path() / ("rollcall-offsets-" + std::to_string(getpid()));
  const std::string quoted = "'" + include.string() + "'";
  const std::string command = "cc -w -I" + quoted + " -I" + quoted +
                              "/internal " ROLLCALL_SOURCE_DIR
                              "/tests/proto/python_layout/offsets.c -o " +
                              probe.string() + " 2>/dev/null && " + probe.string();
  std::map<std::string, uint32_t> offsets;
  FILE* pipe = popen(command.c_str(), "r");
  char name[64];
  unsigned value = 0;
  while (pipe != nullptr && fscanf(pipe, "%63s %u", name, &value) == 2) offsets[name] = value;
  if (pipe != nullptr) pclose(pipe);
  fs::remove(probe);
  return offsets;
}

TEST(PythonLayout, RowsEqualTheInstalledHeaders) {
  int compared = 0;
  for (const fs::path& include : IncludeDirectories()) {
    const auto offsets = OffsetsOf(include);
    if (offsets.empty() || VersionOf(offsets.at("version_hex")) < kRows[0].version) continue;
    const uint32_t version = VersionOf(offsets.at("version_hex"));
    const Layout* row = nullptr;
    for (const Layout& each : kRows) {
      if (each.version == version) row = &each;
    }
    ASSERT_NE(row, nullptr) << include;
    auto fields = kFields;
    if (version >= 0x30b) fields.insert(kKeysFields.begin(), kKeysFields.end());
    for (const auto& [name, member] : fields) {
      const auto at = offsets.find(name);
      const uint32_t expected = at == offsets.end() ? kNone : at->second;
      // Later versions publish the other offsets; the row has only the unpublished ones.
      if (version > 0x30d && (row->*member == kNone || row->*member == 0)) continue;
      EXPECT_EQ(row->*member, expected) << include << " " << name;
    }
    const StoreOpcodes opcodes = StoreOpcodesOf(version);
    EXPECT_EQ(opcodes.store_name, offsets.at("store_name")) << include;
    EXPECT_EQ(opcodes.store_global, offsets.at("store_global")) << include;
    EXPECT_EQ(opcodes.extended_argument, offsets.at("extended_argument")) << include;
    EXPECT_EQ(kDigitBits, offsets.at("digit_bits")) << include;
    EXPECT_EQ(kIntegerFlag, offsets.at("integer_flag")) << include;
    EXPECT_EQ(kOptimizedCode, offsets.at("optimized_code")) << include;
    if (version >= 0x30b) {
      EXPECT_EQ(kCellSlot, offsets.at("cell_slot")) << include;
      EXPECT_EQ(kFreeSlot, offsets.at("free_slot")) << include;
      EXPECT_EQ(kManagedDict, offsets.at("managed_dict")) << include;
      EXPECT_EQ(row->values_items, offsets.at("values_items")) << include;
    }
    if (version >= 0x30d) {
      EXPECT_EQ(kInlineValues, offsets.at("inline_values")) << include;
    }
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "no interpreter's internal headers are installed";
}

// Returns the offsets of a row as the interpreter publishes them.
std::vector<unsigned char> Publish(const Layout& row, uint32_t version_hex) {
  std::vector<unsigned char> bytes(kDebugOffsetsBytes);
  std::memcpy(bytes.data(), kDebugCookie, sizeof(kDebugCookie));
  const auto put = [&](uint32_t word, uint64_t value) { std::memcpy(&bytes[word * 8], &value, 8); };
  put(1, version_hex);
  const published::Groups at = published::GroupsOf(row.version);
  const auto group = [&](uint32_t first, std::initializer_list<uint64_t> values) {
    for (const uint64_t value : values) put(first++, value);
  };
  group(at.runtime, {100000, row.runtime_finalizing, row.runtime_interpreters_head});
  group(at.interpreter, {100000, 0, row.interpreter_next, row.interpreter_threads_head});
  group(at.thread, {400, 0, row.thread_next, row.thread_interpreter, row.thread_frame,
                    row.thread_id, row.thread_native_id});
  group(at.frame, {88, row.frame_previous, row.frame_code, row.frame_instruction, row.frame_slots,
                   row.frame_owner});
  if (row.version >= 0x30e) put(at.frame + 6, row.frame_stack_top);
  group(at.code,
        {row.code_bytes, row.code_file, row.code_name, row.code_qualname, row.code_line_table,
         row.code_first_line, 0, row.code_slot_names, row.code_slot_kinds, row.code_instructions});
  group(at.object, {16, row.object_type});
  group(at.tuple, {40, row.tuple_items});
  group(at.dict, {48, row.dict_keys, row.dict_values});
  group(at.integer, {32, row.integer_size, row.integer_digits});
  group(at.bytes, {40, row.object_size, row.bytes_data});
  group(at.text, {row.text_compact + 8, row.text_state, row.text_length, row.text_ascii});
  return bytes;
}

Layout Like313(uint32_t version) {
  Layout row = rows::Python313();
  row.version = version;
  return row;
}

TEST(PythonLayout, PublishedOffsetsHavePriorityOverTheRow) {
  for (const uint32_t hex : {0x030d00f0u, 0x030d02c1u, 0x030e00f0u}) {
    Layout moved = Like313(VersionOf(hex));
    moved.thread_frame = 96;
    moved.code_file = 80;
    Layout layout;
    const auto bytes = Publish(moved, hex);
    ASSERT_EQ(FindLayout(hex, bytes.data(), &layout), LayoutResult::kFound) << hex;
    EXPECT_EQ(layout.thread_frame, 96u);
    EXPECT_EQ(layout.code_file, 80u);
    EXPECT_EQ(layout.code_instructions, moved.code_instructions);
    EXPECT_EQ(layout.text_compact, moved.text_compact);
    EXPECT_TRUE(layout.shim_frames);
  }
}

TEST(PythonLayout, UnpublishedOffsetsNeedTheSizesOfTheRow) {
  Layout moved = Like313(0x30d);
  Layout layout;
  auto bytes = Publish(moved, 0x030d00f0);
  ASSERT_EQ(FindLayout(0x030d00f0, bytes.data(), &layout), LayoutResult::kFound);
  EXPECT_EQ(layout.code_first_traceable, rows::Python313().code_first_traceable);
  moved.code_bytes += 8;
  bytes = Publish(moved, 0x030d00f0);
  ASSERT_EQ(FindLayout(0x030d00f0, bytes.data(), &layout), LayoutResult::kFound);
  EXPECT_EQ(layout.code_first_traceable, kNone);
}

// If one of the offsets differs, the layout is still found, but without variables.
TEST(PythonLayout, VariablesNeedTheOffsetsOfTheRow) {
  uint32_t Layout::*const kMembers[] = {
      &Layout::frame_previous, &Layout::frame_code,      &Layout::frame_instruction,
      &Layout::frame_slots,    &Layout::code_file,       &Layout::code_first_line,
      &Layout::tuple_items,    &Layout::code_slot_names, &Layout::code_slot_kinds,
      &Layout::dict_keys,      &Layout::dict_values,     &Layout::integer_size,
      &Layout::integer_digits};
  for (const uint32_t hex : {0x030d00f0u, 0x030e00f0u}) {
    Layout sound = Like313(VersionOf(hex));
    if (hex >= 0x030e0000) {
      sound.frame_slots = rows::Python314().frame_slots;
      sound.tuple_items = rows::Python314().tuple_items;
    }
    Layout layout;
    auto bytes = Publish(sound, hex);
    ASSERT_EQ(FindLayout(hex, bytes.data(), &layout), LayoutResult::kFound);
    EXPECT_EQ(layout.frame_slots, sound.frame_slots);
    for (uint32_t Layout::*const member : kMembers) {
      Layout moved = sound;
      moved.*member += 8;
      bytes = Publish(moved, hex);
      ASSERT_EQ(FindLayout(hex, bytes.data(), &layout), LayoutResult::kFound);
      EXPECT_EQ(layout.frame_slots, kNone) << hex << " " << sound.*member;
    }
  }
}

TEST(PythonLayout, OtherBuildsAndVersionsAreRefused) {
  Layout layout;
  auto bytes = Publish(Like313(0x30d), 0x030d00f0);
  bytes[16] = 1;
  EXPECT_EQ(FindLayout(0x030d00f0, bytes.data(), &layout), LayoutResult::kOtherBuild);
  for (const uint32_t hex : {0x030710f0u, 0x030f00f0u, 0x02071200u, 0x030e00a4u, 0x030800b1u, 0u}) {
    EXPECT_EQ(FindLayout(hex, bytes.data(), &layout), LayoutResult::kUnknownVersion) << hex;
  }
  EXPECT_EQ(FindLayout(0x030800f0, nullptr, &layout), LayoutResult::kFound);
  EXPECT_EQ(FindLayout(0x030d00f0, nullptr, &layout), LayoutResult::kDamaged);
}

// If any word is wrong, the offsets are refused or stay within their structures.
TEST(PythonLayout, DamagedOffsetsStayInBounds) {
  const auto good = Publish(Like313(0x30d), 0x030d00f0);
  for (size_t word = 0; word < kDebugOffsetsBytes / 8; ++word) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{1} << 20, ~uint64_t{0}, uint64_t{1} << 63}) {
      auto bytes = good;
      std::memcpy(&bytes[word * 8], &value, 8);
      Layout layout;
      if (FindLayout(0x030d00f0, bytes.data(), &layout) != LayoutResult::kFound) continue;
      EXPECT_LE(layout.code_bytes, 1024u) << word;
      EXPECT_LT(layout.frame_owner, 256u) << word;
      EXPECT_LE(layout.code_instructions, layout.code_bytes) << word;
      EXPECT_LT(layout.thread_frame, 1u << 24) << word;
    }
  }
  // In 3.14 one group begins one word later.
  Layout layout;
  const auto shifted = Publish(Like313(0x30e), 0x030e00f0);
  EXPECT_EQ(FindLayout(0x030d00f0, shifted.data(), &layout), LayoutResult::kDamaged);
}

std::string Utf8(const void* characters, uint32_t kind, uint64_t length, size_t room = 64) {
  char out[64];
  return {out, ToUtf8(static_cast<const unsigned char*>(characters), kind, length, out, room)};
}

TEST(PythonLayout, ConvertsTextToUtf8) {
  EXPECT_EQ(Utf8("abc", 1, 3), "abc");
  EXPECT_EQ(Utf8("\xe9", 1, 1), "\xc3\xa9");
  const uint16_t two[] = {'a', 0x4f8b, 0xdcff, 0xd800};
  EXPECT_EQ(Utf8(two, 2, 4), "a\xe4\xbe\x8b\xff?");
  const uint32_t four[] = {0x1f40d, 0x110000};
  EXPECT_EQ(Utf8(four, 4, 2), "\xf0\x9f\x90\x8d?");
  // Whole characters only.
  EXPECT_EQ(Utf8(two, 2, 2, 3), "a");
  EXPECT_EQ(Utf8("abc", 1, 3, 2), "ab");
}

TEST(PythonLayout, DecodesTheStateOfAStr) {
  // interned 1, kind 1, compact, ascii, in the layout of 3.8 to 3.13; then a state of 3.14.
  const TextState old_state = DecodeTextState(1 | 1 << 2 | 1 << 5 | 1 << 6, rows::Python312());
  EXPECT_EQ(old_state.kind, 1u);
  EXPECT_TRUE(old_state.compact && old_state.ascii);
  const TextState new_state = DecodeTextState(3 | 2 << 16 | 1 << 19, rows::Python314());
  EXPECT_EQ(new_state.kind, 2u);
  EXPECT_TRUE(new_state.compact && !new_state.ascii);
}

}  // namespace
}  // namespace rollcall::python
