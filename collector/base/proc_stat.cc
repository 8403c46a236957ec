#include "collector/base/proc_stat.h"

#include <charconv>
#include <cstddef>

namespace rollcall {

std::string_view ProcStatField(std::string_view stat, int number) {
  size_t begin = stat.rfind(')');
  for (int field = 2; begin != std::string_view::npos && field < number; ++field) {
    begin = stat.find(' ', begin + 1);
  }
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = stat.substr(begin + 1);
  return rest.substr(0, rest.find_first_of(" \n"));
}

uint64_t ProcStatStartTicks(std::string_view stat) {
  const std::string_view field = ProcStatField(stat, 22);
  uint64_t ticks = 0;
  std::from_chars(field.data(), field.data() + field.size(), ticks);
  return ticks;
}

}  // namespace rollcall
