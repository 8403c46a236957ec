// When the members of a communicator arrived at its collectives.
#ifndef ROLLCALL_COLLECTOR_PAGE_ARRIVALS_H_
#define ROLLCALL_COLLECTOR_PAGE_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collector/matching/communicator_history.h"
#include "collector/model/trace.h"

namespace rollcall::page {

class Arrivals {
 public:
  struct At {
    int64_t first_ns = kNoTime;
    int64_t last_ns = kNoTime;
    uint32_t last_process = kNoIndex;
    size_t arrived = 0;
    bool all = false;  // the arrivals of all members are known, and there are several
  };

  // Of the sequence numbers from `first` to `last`.
  Arrivals(const CommunicatorHistory& histories, uint64_t first, uint64_t last);

  const At& Of(uint64_t number) const { return at_[number - first_]; }

 private:
  const uint64_t first_;
  std::vector<At> at_;
};

}  // namespace rollcall::page

#endif  // ROLLCALL_COLLECTOR_PAGE_ARRIVALS_H_
