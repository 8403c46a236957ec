// SPDX-License-Identifier: Apache-2.0
#include "collector/bundle/writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "collector/bundle/format.h"

namespace rollcall::bundle {
namespace {

constexpr int64_t kNsPerS = 1'000'000'000;

la_ssize_t Pack(archive* /*tar*/, void* packer, const void* bytes, size_t size) {
  const bool packed =
      static_cast<Packer*>(packer)->Write({static_cast<const uint8_t*>(bytes), size});
  return packed ? static_cast<la_ssize_t>(size) : -1;
}

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

// Replaces each invalid character, and each part that is empty, "." or "..", by "_". Of a name that
// is too long, only the end is kept, which has ranks and suffixes.
std::string Harmless(std::string_view wanted) {
  std::string name;
  while (!wanted.empty()) {
    const size_t end = std::min(wanted.find('/'), wanted.size());
    std::string part(wanted.substr(0, end));
    for (char& c : part) c = IsNameCharacter(c) ? c : '_';
    if (part.empty() || part == "." || part == "..") part = "_";
    name += name.empty() ? part : "/" + part;
    wanted.remove_prefix(std::min(end + 1, wanted.size()));
  }
  constexpr size_t kRoom = kMaxNameBytes - 16;  // room for the prefix that makes it unique
  if (name.size() > kRoom) {
    name.erase(0, name.size() - kRoom);
    if (name.front() == '/') name.front() = '_';
    // The first part may have become "." or "..".
    if (!IsMemberName(name)) name.front() = '_';
  }
  return name.empty() ? "_" : name;
}

}  // namespace

void Writer::Free::operator()(archive* tar) const { archive_write_free(tar); }

Writer::Writer(const std::string& path, std::string_view rollcall, int64_t now_ns)
    : packer_(path), now_ns_(now_ns), tar_(archive_write_new()) {
  if (tar_ == nullptr) throw std::bad_alloc();
  archive_write_set_format_pax(tar_.get());  // times in nanoseconds
  archive_write_set_bytes_in_last_block(tar_.get(), 1);
  archive_write_open(tar_.get(), &packer_, nullptr, &Pack, nullptr);
  nlohmann::ordered_json manifest;
  manifest["format"] = kFormat;
  manifest["version"] = kVersion;
  manifest["rollcall"] = rollcall;
  manifest["made_at_ns"] = now_ns;
  Add(kManifestName, manifest.dump() + "\n");
}

// Freeing the archive writes to the packer, which is destroyed after the archive (reverse order of
// members).
Writer::~Writer() = default;

std::string Writer::FreeName(std::string_view wanted) {
  std::string name = Harmless(wanted);
  const size_t last = name.size() - LastName(name).size();
  // Inserted in front, so that a rank at the end stays readable.
  for (int n = 2; !names_.insert(name).second; ++n) {
    name = Harmless(wanted).insert(last, fmt::format("{}_", n));
  }
  return name;
}

bool Writer::Add(std::string_view name, std::span<const uint8_t> bytes, int64_t modified_ns) {
  if (!packer_.error().empty()) return false;
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  if (entry == nullptr) throw std::bad_alloc();
  const int64_t time_ns = modified_ns == kNoTime ? now_ns_ : modified_ns;
  archive_entry_set_pathname(entry.get(), FreeName(name).c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  archive_entry_set_mtime(entry.get(), time_ns / kNsPerS, static_cast<long>(time_ns % kNsPerS));
  return archive_write_header(tar_.get(), entry.get()) == ARCHIVE_OK &&
         archive_write_data(tar_.get(), bytes.data(), bytes.size()) ==
             static_cast<la_ssize_t>(bytes.size());
}

bool Writer::Add(std::string_view name, std::string_view text) {
  return Add(name, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

bool Writer::Finish() { return archive_write_close(tar_.get()) == ARCHIVE_OK && packer_.Finish(); }

}  // namespace rollcall::bundle
