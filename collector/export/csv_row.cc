// SPDX-License-Identifier: Apache-2.0
#include "collector/export/csv_row.h"

#include <string_view>

namespace rollcall {
namespace {

std::string Quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

void WriteCsvRow(std::initializer_list<std::string> fields, std::ostream* out) {
  const char* separator = "";
  for (const std::string& field : fields) {
    *out << separator << Quoted(field);
    separator = ",";
  }
  *out << "\r\n";
}

}  // namespace rollcall
