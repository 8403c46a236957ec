// SPDX-License-Identifier: Apache-2.0
#include "collector/export/exporter.h"

namespace rollcall {

std::string RelativeTo(const std::string& root, const std::string& file) {
  const bool below = !root.empty() && file.size() > root.size() + 1 && file.starts_with(root) &&
                     file[root.size()] == '/';
  return below ? file.substr(root.size() + 1) : file;
}

}  // namespace rollcall
