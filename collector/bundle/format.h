// SPDX-License-Identifier: Apache-2.0
// A bundle: the traces of a job in one file that `rollcall analyze` reads on any machine. bundle.md
// describes the format; this header is shared by writer and reader.
#ifndef ROLLCALL_COLLECTOR_BUNDLE_FORMAT_H_
#define ROLLCALL_COLLECTOR_BUNDLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall::bundle {

// The beginning of a Zstandard frame (RFC 8878, 3.1.1).
inline constexpr unsigned char kMagic[4] = {0x28, 0xb5, 0x2f, 0xfd};

// The first member: {"format": kFormat, "version": kVersion, ...}. A reader ignores unknown
// members; a change that an old reader would misread needs a new version.
inline constexpr char kManifestName[] = "rollcall-bundle.json";
inline constexpr char kFormat[] = "rollcall-bundle";
inline constexpr int kVersion = 1;

// These members are recognized by the last component of their name, all other members by their
// content.
inline constexpr char kObservedName[] = "observed.jsonl";
inline constexpr char kSourcesName[] = "sources.jsonl";
inline constexpr char kEnvironmentName[] = "environment.json";

// Limits of a reader; a larger bundle is damaged or malicious.
inline constexpr size_t kMaxMembers = 1 << 17;
inline constexpr size_t kMaxNameBytes = 200;
inline constexpr uint64_t kMaxMemberBytes = uint64_t{512} << 20;
inline constexpr uint64_t kMaxPackedBytes = uint64_t{1} << 36;
inline constexpr uint64_t kMaxUnpackedBytes = uint64_t{1} << 36;
// Rings shrink to a tenth, text to a fiftieth. The first bytes are exempt, so that a small,
// repetitive file is not taken for a decompression bomb.
inline constexpr uint64_t kMaxRatio = 500;
inline constexpr uint64_t kFreeBytes = uint64_t{64} << 20;
// Largest window of a decoder, which bounds its memory (RFC 8878, 3.1.1.1.2 recommends 8 MiB).
inline constexpr int kMaxWindowLog = 23;

inline bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-+=,@").find(c) != std::string_view::npos;
}

// Relative, without "." and "..", of harmless characters: safe to unpack from an untrusted bundle.
inline bool IsMemberName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  while (true) {
    const size_t end = name.find('/');
    const std::string_view part = name.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    for (const char c : part) {
      if (!IsNameCharacter(c)) return false;
    }
    if (end == std::string_view::npos) return true;
    name.remove_prefix(end + 1);
  }
}

inline std::string_view LastName(std::string_view name) {
  return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace rollcall::bundle

#endif  // ROLLCALL_COLLECTOR_BUNDLE_FORMAT_H_
