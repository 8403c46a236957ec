#include "collector/import/machine.h"

#include <fmt/core.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string_view>
#include <thread>

#include "collector/base/clock.h"
#include "collector/base/proc_stat.h"

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
    const std::string_view state = ProcStatField(line, 3);
    if (state == "Z" || state == "X") return 0;  // dead, not yet waited for
    return ProcStatStartTicks(line);
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
