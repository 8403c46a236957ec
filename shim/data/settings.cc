// SPDX-License-Identifier: Apache-2.0
#include "shim/data/settings.h"

#include <strings.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "proto/environment.h"
#include "shim/process.h"

namespace rollcall::shim::data {
namespace {

constexpr uint32_t kMaxNames = 16;
constexpr uint32_t kNameBytes = 129;  // more than MPI_MAX_OBJECT_NAME of any library

struct Settings {
  bool all = false;
  bool by_rule = false;
  bool rules[64] = {};
  uint32_t name_count = 0;  // of communicators; 0: any
  char names[kMaxNames][kNameBytes] = {};
};
constinit Settings g_settings;

constexpr std::string_view kRuleNames[] = {
#define RULE(name, ...) #name,
#include "proto/matching_rules.def"
#undef RULE
};
static_assert(sizeof(kRuleNames) / sizeof(kRuleNames[0]) <= sizeof(Settings::rules));

// True if `word` is the name of a function with this rule. MPI_Reduce_scatter, MPI_Ireduce_scatter
// and MPI_Reduce_scatter_init have the rule ReduceScatter.
bool IsNameOf(std::string_view rule, const char* word, size_t length) {
  if (length >= 4 && strncasecmp(word, "MPI_", 4) == 0) {
    word += 4;
    length -= 4;
  }
  if (length > 5 && strncasecmp(word + length - 5, "_init", 5) == 0) length -= 5;
  if (length == 0) return false;
  if ((*word == 'I' || *word == 'i') && IsNameOf(rule, word + 1, length - 1)) return true;
  size_t at = 0;
  for (size_t i = 0; i < length; ++i) {
    if (word[i] == '_') continue;
    if (at == rule.size() || strncasecmp(&rule[at], word + i, 1) != 0) return false;
    ++at;
  }
  return at == rule.size();
}

void AddToScope(const char* word, size_t length) {
  if (length == 0) return;
  for (size_t rule = 0; rule < sizeof(kRuleNames) / sizeof(kRuleNames[0]); ++rule) {
    const bool exscan = static_cast<Rule>(rule) == Rule::kScan && IsNameOf("Exscan", word, length);
    if (!exscan && !IsNameOf(kRuleNames[rule], word, length)) continue;
    g_settings.by_rule = g_settings.rules[rule] = true;
    return;
  }
  if (strncasecmp(word, "MPI_", 4) == 0 && strncasecmp(word, "MPI_COMM_", 9) != 0) {
    PrintLine("unknown function in ROLLCALL_DATA_SCOPE", word);
  }
  if (g_settings.name_count == kMaxNames) return;
  char* name = g_settings.names[g_settings.name_count++];
  memcpy(name, word, length < kNameBytes - 1 ? length : kNameBytes - 1);
}

}  // namespace

bool ReadSettings() {
  const char* mode = getenv(env::kData);
  if (mode == nullptr || *mode == '\0' || strcmp(mode, "off") == 0) return false;
  g_settings.all = strcmp(mode, "full") == 0;
  if (!g_settings.all && strcmp(mode, "sampled") != 0) {
    PrintLine("data is not read: ROLLCALL_DATA must be off, sampled or full");
    return false;
  }
  const char* word = getenv(env::kDataScope);
  while (word != nullptr && *word != '\0') {
    const size_t length = strcspn(word, ",");
    AddToScope(word, length);
    word += length + (word[length] == ',' ? 1 : 0);
  }
  return true;
}

bool ReadsAll() { return g_settings.all; }

bool IsInScope(Rule rule, const Comm& comm) {
  if (g_settings.by_rule && !g_settings.rules[static_cast<size_t>(rule)]) return false;
  if (g_settings.name_count == 0) return true;
  const uint32_t ref = LoadAcquire(&comm.entry->name);
  if (ref == 0) return false;
  const char* text = g_process.Table<char>(ring::SectionKind::kStrings) + ref;
  uint32_t length;
  memcpy(&length, text, sizeof(length));
  for (uint32_t i = 0; i < g_settings.name_count; ++i) {
    const char* name = g_settings.names[i];
    if (strlen(name) == length && memcmp(name, text + sizeof(length), length) == 0) return true;
  }
  return false;
}

}  // namespace rollcall::shim::data
