#include "collector/import/machine.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string_view>
#include <thread>

#include "collector/base/clock.h"

namespace rollcall {
namespace {

class RealMachine : public Machine {
 public:
  std::string Hostname() override {
    char name[256] = {};
    if (gethostname(name, sizeof(name) - 1) != 0) return {};
    return name;
  }

  uint64_t StartTicks(uint32_t pid) override {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line)) return 0;
    // The name, in parentheses, may hold anything; field 3 follows the last one (proc(5)).
    const size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::string_view rest = std::string_view(line).substr(name_end + 1);
    std::string_view field;
    for (int number = 3; number <= 22; ++number) {
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      field = rest.substr(0, rest.find(' '));
      if (number == 3 && (field == "Z" || field == "X")) return 0;  // dead, not yet waited for
      rest.remove_prefix(field.size());
    }
    uint64_t ticks = 0;
    std::from_chars(field.data(), field.data() + field.size(), ticks);
    return ticks;
  }

  int64_t NowNs() override { return Now(CLOCK_REALTIME); }

  void Wait(std::chrono::milliseconds time) override { std::this_thread::sleep_for(time); }
};

}  // namespace

Machine& ThisMachine() {
  static RealMachine machine;
  return machine;
}

}  // namespace rollcall
