// SPDX-License-Identifier: Apache-2.0
// Incidents: what went wrong and where, before a rule has given it a kind. The detectors find
// incidents; the rules name them.
#ifndef ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_INCIDENT_H_
#define ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_INCIDENT_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collector/diagnosis/graph/analysis.h"
#include "collector/matching/match_rules.h"
#include "collector/model/messages.h"

namespace rollcall {

// --- The fields of the incidents of one family.

struct CallDetails {
  // kCalls: no rank's arguments match, not even with its own; each side lists all ranks
  bool everybody = false;
  uint64_t shifted_by = 0;      // kShift: the number of calls that only one side made
  bool each_time = false;       // kShift: one call, at every occurrence
  bool extra = false;           // kShift: the deviating side made more, not fewer
  uint64_t showed_at = 0;       // kCalls: later number at which operations differ; 0: `sequence`
  uint64_t matching_until = 0;  // kHashes: the last number with equal hashes
  uint64_t difference = 0;      // kUnbalanced: the number of additional calls of one side
};

struct WaitDetails {
  bool crossed = false;   // kCycle: no rank has passed a call; each side entered another call first
  bool buffered = false;  // kBuffered: a send of the ring was buffered
};

// Ranks that wait at different places: Places::waiting.
struct PlaceDetails {
  // How the deviating side was chosen, or why no side was chosen.
  enum class Choice : uint8_t {
    kFewer,        // the other side has more ranks
    kMembers,      // they are ahead, and are members of the communicator of the others' call
    kCondition,    // a condition excludes them from the others' call, or admits only them to theirs
    kEqual,        // none: both places have the same number of ranks
    kNoMembers,    // none: the ranks ahead are not members of that communicator
    kMayHaveLeft,  // none: ranks may leave the lagging ranks' call before all have arrived
    kAwaited,      // the others wait for their messages, directly or through other ranks
  };
  // The groups that are compared, as indices into Places::waiting: first that of the others, then
  // that of the deviating side.
  std::array<size_t, 2> groups = {0, 1};
  bool by_iteration = false;  // one place, in different iterations of a loop
  Choice choice = Choice::kFewer;
  const LibraryCall* call = nullptr;  // kMembers: the others' call
  bool certain = false;               // the order of the places is confirmed by more than one frame
};

struct MessageDetails {
  bool mutual = false;  // they wait for each other's messages
  // Other ranks wait in collectives for these ranks, and these ranks wait for the other ranks. Only
  // the order of calls shows which of them is early and which is late.
  bool rests_on_order = false;
  bool itself = false;           // only the waiter itself could answer
  uint64_t unmarked = 0;         // partitions that the waiter has not marked ready
  uint64_t count = 0;            // kUnreceived: number of messages
  const Event* taker = nullptr;  // kTaken: the receive that may have taken the message
};

// Two ranks have made different numbers of rounds of a loop that exchanges messages.
struct RoundDetails {
  uint32_t waiter = kNoIndex;  // waits for `awaited` to send or receive a message
  uint32_t awaited = kNoIndex;
  Message message;      // of the waiter
  uint64_t before = 0;  // number of such messages before this one
  bool more = false;    // the deviating side made a round too many, not too few
  // The number of such messages between one of the two and each of its other peers; 0 if the number
  // is not the same for all.
  uint64_t others = 0;
  // `others` is the number of messages that the awaited process has received. It has passed on all
  // but the last.
  bool relayed = false;
};

// An edge of a graph that only one of its ends lists. The ends are processes.
struct NeighborhoodDetails {
  uint32_t from = kNoIndex;
  uint32_t to = kNoIndex;
  bool from_lists = false;
  bool mutual = false;  // all other edges exist in both directions
  size_t others = 0;    // number of further such edges
};

// A message that was sent and not received, and the receive that it was meant for.
struct StrayDetails {
  enum class Reason : uint8_t {
    kNone,        // the records do not show which end is wrong
    kOwnCalls,    // the rank's earlier calls at this place differ
    kOtherRanks,  // the other ranks' calls at this place differ
    kUnusedTag,   // no other rank uses the tag, and other ranks use the tag of the other end
    kPartner,     // the other half of the same exchange is with the right rank
    kProbed,      // the receiver had probed for any tag, and found this message
    kEverywhere,  // all of `deviating` have the same mismatch
  };
  struct End {
    uint32_t process = kNoIndex;
    const Event* event = nullptr;  // the call, or the initialization; nullptr: its record is lost
    uint32_t communicator = kNoIndex;
    int32_t tag = 0;
  };
  End send;
  End receive;
  uint32_t to = kNoIndex;    // the process that the message was sent to
  uint32_t from = kNoIndex;  // the process that the receive waits for
  Reason reason = Reason::kNone;
};

struct EndDetails {
  std::vector<const RejectedCall*> rejected;  // kRejected: for each of `deviating`
};

struct StartDetails {
  uint32_t index = kNoIndex;  // in Trace::creations; kNoIndex: the start-up of MPI, or `store`
  uint64_t expected = 0;      // how many ranks must call it; 0 if unknown
  // torch.distributed: what differs between the ranks of a job that meet at a store.
  enum class Of : uint8_t { kNothing, kRank, kSize, kEndpoint };
  bool rendezvous = false;
  Of differs = Of::kNothing;
  std::vector<int32_t> unused;  // with kRank: the ranks that no process has
  bool store = false;           // the ranks wait for a key in the store
};

struct LeakDetails {
  uint64_t count = 0;     // of requests or handles
  bool at_most = false;   // some of `deviating` have fewer
  bool at_least = false;  // not all were counted
};

// How late one rank is, over the collectives in which every member waits for every other.
struct Lateness {
  uint64_t last = 0;       // number of collectives at which it arrived last
  uint64_t of = 0;         // out of this number
  int64_t median_ns = 0;   // median time that the others waited for it alone
  int64_t total_ns = 0;    // sum of these times
  int64_t elapsed_ns = 0;  // the time from the first of the collectives to the last
};

// Where two copies of data differ.
struct DataDifference {
  TypeClass type_class = TypeClass::kUnknown;
  // All words that differ are known, or the sums show that one word differs, and which one. If not
  // exact, the first element that differs is in the range from `element` to `last`.
  bool exact = false;
  uint64_t element = 0;  // kUnknown: byte
  uint64_t last = 0;
  // Only if exact:
  uint64_t flipped = 0;   // the bits of the element that differ
  bool has_ulps = false;  // floating-point: `ulps` is the largest distance of two elements
  uint64_t ulps = 0;
  bool has_values = false;  // the bits of the element on both sides
  uint64_t deviating = 0;
  uint64_t agreeing = 0;
};

// The problem in data that ranks exchanged.
struct DataDetails {
  bool sampled = false;     // some of it was read in part
  bool incomplete = false;  // the data of some members is not on record
  bool exact_type = false;  // kResults: equality does not depend on rounding
  DataDifference difference;
  // The call paths of the two sides' calls. The records of the calls may be lost, and the calls may
  // be starts of a request.
  std::vector<uint32_t> deviating_paths;
  std::vector<uint32_t> agreeing_paths;
  // kNonFinite: the value that the first of `deviating` passed, and how it spread.
  FirstNonFinite first;
  size_t members = 0;                 // of the communicator
  std::vector<uint32_t> received_by;  // processes with one in the call's result
  std::vector<uint32_t> later;        // other communicators that it reached
  bool from_messages = false;         // `deviating` had received messages before
  // Processes that had a NaN or an infinity before. `deviating` may have received it from them by
  // calls whose data is not searched, or as an infinity from a minimum or maximum.
  std::vector<uint32_t> earlier;
  bool overwritten = false;   // `earlier` is incomplete: reads of minima and maxima are lost
  bool transfer = false;      // kResults: received data differs from sent data
  bool from_sender = false;   // transfer: `deviating` is the sender of all that differs
  uint64_t calls = 0;         // kSameInputs, kDrift: the number of calls in a row with equal inputs
  std::string replica;        // kDrift: the name of a buffer
  bool sizes_differ = false;  // kDrift: the sizes of that buffer differ
};

// Properties of a type of incident, for other code.
enum class Trait : uint16_t {
  kNone = 0,
  kFact = 1,        // a process' end, or an error from MPI; holds even if others may continue
  kError = 2,       // wrong, whether or not ranks hang because of it
  kByNumber = 4,    // stops every member of the communicator from that number on
  kOfOrder = 8,     // rests on which calls came first: their records may be lost
  kOfSilence = 16,  // rests on the assumption that no thread of a rank acts any more
  kOfTime = 32,     // more time might resolve it
  kOfMessages = 64,
};
constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<uint16_t>(a) | static_cast<uint16_t>(b));
}

struct Incident {
  enum class What : uint8_t {
#define INCIDENT(identifier, ...) k##identifier,
#include "collector/diagnosis/detectors/incidents.def"
#undef INCIDENT
  };
  What what = What::kCalls;
  uint32_t communicator = kNoIndex;
  uint64_t sequence = 0;
  uint64_t start = 0;  // persistent collective: as CollectiveNode::start
  bool hangs = false;

  // Processes. If no side can be singled out, `tie` is set: the order of the two sides then means
  // nothing, and the finding has no culprits.
  std::vector<uint32_t> deviating;
  std::vector<uint32_t> agreeing;
  bool tie = false;
  std::vector<int32_t> absent;  // world ranks without a trace
  // Why two calls cannot match, if they are the problem. The indices of the mismatch were resolved
  // into the two sides above.
  Mismatch mismatch;
  // How `deviating` left the code in which `agreeing` are, if the source shows that.
  std::optional<PathExit> exit;
  uint64_t repeated = 0;  // number of further incidents at the same lines
  // A representative call of each side; nullptr if the side made none. The call of the deviating
  // side may be on another communicator, or MPI_Finalize.
  const Event* deviating_event = nullptr;
  const Event* agreeing_event = nullptr;
  // The call of each of `deviating`, if the calls do not follow from the number. `agreeing` then
  // has no lines.
  std::vector<const Event*> calls;
  std::variant<CallDetails, WaitDetails, PlaceDetails, MessageDetails, RoundDetails, StrayDetails,
               NeighborhoodDetails, EndDetails, StartDetails, LeakDetails, Lateness, DataDetails>
      details;

  // The details of the incident's family; the defaults if the incident is of another family.
  template <typename Details>
  const Details& Of() const {
    static const Details kDefaults;
    const auto* own = std::get_if<Details>(&details);
    return own != nullptr ? *own : kDefaults;
  }
  // For detectors. `Details` is the family of `what`.
  template <typename Details>
  Details& Set() {
    return std::holds_alternative<Details>(details) ? std::get<Details>(details)
                                                    : details.emplace<Details>();
  }
  bool Is(Trait trait) const;
};

// Whether the incident holds even if other ranks may continue. The end of a rank does, for example.
// A rejected call of a rank that continues does not: programs provoke such errors on purpose, and
// only a rank that waits shows that the error matters.
bool IsFact(const Analysis& analysis, const Incident& incident);

// Whether a culprit has ended, or has called a function that ends it.
bool AnyGone(const Trace& trace, const Incident& incident);

// The result of comparing calls with the same number, before it is known which ranks hang.
struct CallIncidents {
  std::vector<Incident> incidents;
  std::vector<uint32_t> mismatched;  // nodes of the graph that never complete: see Analysis
  std::vector<std::string> notes;    // remarks on what is allowed but odd
};
CallIncidents FindCallIncidents(const AlignedTrace& aligned);

// A trace with the result of which ranks hang, and the incidents that were found on the way.
struct AnalyzedTrace {
  Analysis analysis;
  std::vector<Incident> call_incidents;
  std::vector<std::string> notes;
};
// Refers to both arguments, which must outlive it.
AnalyzedTrace Analyze(const Trace& trace, const DiagnoseOptions& options);

// All independent incidents of the trace, including the `call_incidents` of Analyze(). Causes come
// before consequences where the order is known.
std::vector<Incident> FindIncidents(const Analysis& analysis, std::vector<Incident> call_incidents);

// The detectors that FindIncidents() calls:
void FindWaitIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindStrays(const Analysis& analysis, std::vector<Incident>* incidents);
void FindDeviceIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindNeighborhoods(const Analysis& analysis, std::vector<Incident>* incidents);
void FindCycles(const Analysis& analysis, std::vector<Incident>* incidents);
// Replaces the incidents about the waits of the ranks that it finds.
void FindUnevenRounds(const Analysis& analysis, std::vector<Incident>* incidents);
void FindDeaths(const Analysis& analysis, std::vector<Incident>* incidents);
// Turns incidents that a rejected call explains into incidents of that call. Adds incidents for
// rejected calls that a process did not return from.
void FindRejected(const Analysis& analysis, std::vector<Incident>* incidents);
void FindHashIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindStartIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
// Replaces all other detectors for a trace without records.
void FindPlaceIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
// Ranks that left a function or a loop without the collective in which others wait deviate, even if
// they are the majority. Makes these ranks the deviating side of the incident.
void FindExits(const Analysis& analysis, std::vector<Incident>* incidents);
void FindGroupIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
// Finds nothing if another incident explains why the job hangs.
void FindWindowIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindJoinedIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindTakenMessages(const Analysis& analysis, std::vector<Incident>* incidents);

// For a job that moves or has finished; only if requested in DiagnoseOptions.
void FindStragglers(const Analysis& analysis, std::vector<Incident>* incidents);
// Evaluates the calls a second time, as strictly as the standard allows: no send returns before its
// receive is posted, and no collective before all members have called it. Finds nothing if the
// records do not decide. See buffering.cc.
void FindBufferedRings(const Analysis& analysis, std::vector<Incident>* incidents);
// Whether the collective may return before every member has called it.
bool MayReturnEarly(const Analysis& analysis, const Event& call);
// Finds messages whose two sides describe different data, if the records show which send matched
// which receive. See message_types.cc.
void FindUnevenMessages(const Analysis& analysis, std::vector<Incident>* incidents);
// The message that was too long for a receive of this process; nullptr if there was none.
Incident* CutOffMessage(std::vector<Incident>* incidents, uint32_t process);
// Drops departures that a cut-off message explains: a rank that got an error for the message, and
// finalized while other ranks need it, left because of the error.
void FoldDeparturesAfterErrors(const Analysis& analysis, std::vector<Incident>* incidents);
// The incident of one message with the calls `send` and `receive`, whose two sides have `mismatch`.
Incident MessageIncident(uint32_t sender, const Event& send, uint32_t receiver,
                         const Event& receive, uint32_t communicator, Mismatch mismatch);

// For a job that is over; only if requested by DiagnoseOptions::judge_end, compare_call_sites and
// time_limit_ns. The first three require AllFinalized().
void FindUnbalanced(const Analysis& analysis, std::vector<Incident>* incidents);
void FindUnreceived(const Analysis& analysis, std::vector<Incident>* incidents);
void FindLeaks(const Analysis& analysis, std::vector<Incident>* incidents);
void FindDivergentSites(const Analysis& analysis, std::vector<Incident>* incidents);
void FindTimedOut(const Analysis& analysis, std::vector<Incident>* incidents);
// Finds problems in the data of collectives; nothing for calls that `others` explain.
std::vector<Incident> FindDataIncidents(const Analysis& analysis,
                                        const std::vector<Incident>& others);
// Whether every rank of every world has a trace and has finalized, and only its oldest records may
// be missing.
bool AllFinalized(const Analysis& analysis);

// Whether an incident already explains why the communicator is out of step at this number or
// before.
bool Explained(const std::vector<Incident>& incidents, uint32_t communicator, uint64_t sequence);

// The two sides called different operations with number `mismatch`. Earlier pairs of calls may have
// matched by chance: returns the number of the first such pair, or `mismatch` if there is none.
// `deviating` and `agreeing` are processes. See first_wrong_pair.cc.
uint64_t FindFirstWrongPair(const AlignedTrace& aligned, const CommunicatorHistory& histories,
                            uint64_t mismatch, uint32_t deviating, uint32_t agreeing);

// The incident of histories of this communicator that are shifted against each other: the members
// on both sides, at the number where the shift began. Does not set the representative calls and
// `hangs`.
Incident ShiftIncident(const CommunicatorHistory& histories, const Shift& shift);

// The call of `process` with this number, or the call that the process is in if it made none.
// `start`: if not 0, the n-th start that the process waits for, instead of the initialization.
const Event* CallOrPlace(const Analysis& analysis, uint32_t communicator, uint64_t sequence,
                         uint32_t process, uint64_t start = 0);

// Whether an incident of FindStrays() explains why the process waits.
bool HasStray(const std::vector<Incident>& incidents, uint32_t process);

// For an incident of processes that did not return from its call: sets `agreeing` to the processes
// inside the call, which wait for them.
void AddThoseInside(const Analysis& analysis, Incident* incident);

// Swaps the two sides. The incident is then at the call of the new agreeing side, if that call is a
// collective.
void SwapSides(const Trace& trace, Incident* incident);

// Whether the call waits for processes that are not known members of its communicator: the other
// side of a new intercommunicator, spawned processes, or members of a communicator of such
// processes.
bool NeedsOutsiders(const Analysis& analysis, const Event& call);

// All processes with a trace that have entered the node, whether still inside or not.
std::vector<uint32_t> WhoEntered(const Analysis& analysis, const CollectiveNode& node);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_INCIDENT_H_
