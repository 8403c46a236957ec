// SPDX-License-Identifier: Apache-2.0
#include "collector/model/runtime_modules.h"

namespace rollcall {

ModuleFamily FamilyOf(std::string_view path) {
  struct Row {
    ModuleFamily family;
    std::string_view prefix;
  };
  constexpr Row kRows[] = {
#define MODULE(family, prefix) {ModuleFamily::k##family, prefix},
#include "collector/model/runtime_modules.def"
#undef MODULE
  };
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const Row& row : kRows) {
    if (name.starts_with(row.prefix)) return row.family;
  }
  return ModuleFamily::kUser;
}

}  // namespace rollcall
