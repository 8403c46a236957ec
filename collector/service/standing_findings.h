// Which findings were reported and still stand, which of them are to be acted on, and which are
// void because somebody who was said to wait has moved. A pure state machine: time and movement
// come in as arguments.
#ifndef ROLLCALL_COLLECTOR_SERVICE_STANDING_FINDINGS_H_
#define ROLLCALL_COLLECTOR_SERVICE_STANDING_FINDINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/diagnosis/verdict/finding.h"
#include "collector/model/trace.h"
#include "collector/service/progress_steps.h"

namespace rollcall::service {

// What a finding is about: the same found again is not news, whatever words it is said in.
std::string FindingKey(const Trace& trace, const Finding& finding);

// A finding, as one look shows it.
struct Sighting {
  struct Rank {
    uint64_t id = 0;  // of the process
    int32_t rank = -1;
    uint64_t activity = 0;
  };
  std::string key;
  VerdictKind kind = VerdictKind::kInconclusive;
  Certainty certainty = Certainty::kInconclusive;
  size_t waiting_ranks = 0;
  // The rest: of one that says that the job hangs.
  bool hangs = false;
  std::vector<Rank> waiting;   // those that it says wait
  int64_t still_since_ns = 0;  // the last record entered or completed by a rank of the finding
  bool computes = false;       // one of them is outside every call and uses the processor
};

// What is known of a process of a trace besides its ring, at the moment of the look.
struct Observed {
  uint64_t id = 0;  // 0: nothing
  uint64_t activity = 0;
  int64_t still_since_ns = 0;
  // Of one processor, by its threads that neither wait inside a call nor poll tightly, since the
  // look before; 0 if unknown.
  double cpu_share = 0;
};

// The findings of a report; `observed` by process of the trace, as far as it goes.
std::vector<Sighting> SightingsOf(const Trace& trace, const Report& report,
                                  const std::vector<Observed>& observed);

// What a process did since.
struct Movement {
  uint64_t activity = 0;
  bool gave_up = false;     // what it entered is MPI_Abort
  bool ended_well = false;  // by itself, with 0
};

// Findings that are void.
struct Withdrawal {
  std::vector<std::string> keys;
  std::vector<VerdictKind> kinds;  // parallel to keys
  std::vector<int32_t> ranks;      // that moved; rising
  bool all = false;                // nothing that was reported says any more that the job hangs

  // "ranks 0,1 moved again; the verdict above is withdrawn"
  std::string Text() const;
};

class StandingFindings {
 public:
  explicit StandingFindings(const ProgressTimes& times) : times_(times) {}

  // A look is over that found these, and they are reported. More certain than before is new.
  enum class ReportDelta : uint8_t { kNone, kMoreRanks, kNew };
  ReportDelta Report(const std::vector<Sighting>& sightings, int64_t now_ns);

  // Whether the job may be ended because of one of those that the newest look found: if it is
  // proven at once, if it is likely after kill_after without progress, or stall_after where
  // somebody computes; if it is suspected after stall_after.
  bool AnyDue(int64_t now_ns) const;

  // When to look again whatever the digests show: one that stands may be more certain then, or due.
  // INT64_MAX: nothing stands that could.
  int64_t NextDiagnosisNs() const;

  // Takes out what is void. `moved`: what a process did, as far as that is known.
  Withdrawal Withdraw(const std::function<std::optional<Movement>(uint64_t id)>& moved);

  bool empty() const { return standing_.empty(); }
  // How many stand, by kind and by how certain the newest look was.
  std::map<std::pair<VerdictKind, Certainty>, size_t> Counts() const;

 private:
  struct Standing {
    Sighting newest;
    int64_t seen_ns = 0;
    size_t most_ranks = 0;
    Certainty best = Certainty::kInconclusive;
  };

  bool IsDue(const Sighting& sighting, int64_t now_ns) const;

  const ProgressTimes times_;
  std::map<std::string, Standing> standing_;
  int64_t looked_ns_ = 0;  // the newest look
};

}  // namespace rollcall::service

#endif  // ROLLCALL_COLLECTOR_SERVICE_STANDING_FINDINGS_H_
