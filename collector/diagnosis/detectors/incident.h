// Incidents: what went wrong and where, before it has a kind. The detectors find incidents; the
// rules name them.
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

// --- What only the incidents of one family have.

struct CallDetails {
  // kCalls: no rank's arguments match, not even its own; both sides are all ranks
  bool everybody = false;
  uint64_t shifted_by = 0;      // kShift: how many calls were skipped, or made by one side only
  bool each_time = false;       // kShift: one call, wherever the others make it
  bool extra = false;           // kShift: the deviating side made more, not fewer
  uint64_t showed_at = 0;       // kCalls: the later number at which operations differ; 0: this one
  uint64_t matching_until = 0;  // kHashes: the last number with equal hashes
  uint64_t difference = 0;      // kUnbalanced: number of calls that one side made more
};

struct WaitDetails {
  bool crossed = false;   // kCycle: no rank went past a call; each side entered another call first
  bool buffered = false;  // kBuffered: a send of the ring was buffered
};

// Ranks that wait at different places: Places::waiting.
struct PlaceDetails {
  // How the deviating side was chosen, or why none was.
  enum class Choice : uint8_t {
    kFewer,        // the others are more
    kMembers,      // they are ahead, and members of the communicator of the others' call
    kCondition,    // a condition around the others' call excludes them, or admits them alone
    kEqual,        // none: both places have the same number of ranks
    kNoMembers,    // none: those ahead are not members of that communicator
    kMayHaveLeft,  // none: ranks may leave the call of those behind before all have arrived
    kAwaited,      // the others wait for their messages, directly or behind others that do
  };
  // The groups that are compared, as indices into Places::waiting: of the others, and of the
  // deviating side.
  std::array<size_t, 2> groups = {0, 1};
  bool by_iteration = false;  // one place, in different iterations of a loop
  Choice choice = Choice::kFewer;
  const LibraryCall* call = nullptr;  // kMembers: the others' call
  bool certain = false;               // the order of the places does not rest on one frame alone
};

struct MessageDetails {
  bool mutual = false;  // they wait for each other's messages
  // Other ranks wait in collectives for them, and they wait for those ranks: only the order of
  // calls shows which of them is early and which is late.
  bool rests_on_order = false;
  bool itself = false;    // only the waiter itself could answer
  uint64_t unmarked = 0;  // partitions that the waiter has not marked ready
  uint64_t count = 0;     // kUnreceived: number of messages
};

// Two ranks have made different numbers of rounds of a loop that exchanges messages.
struct RoundDetails {
  uint32_t waiter = kNoIndex;  // waits for `awaited` to send it a message, or to receive one
  uint32_t awaited = kNoIndex;
  Message message;      // of the waiter
  uint64_t before = 0;  // number of such messages before this one
  bool more = false;    // the deviating side made a round too many, not too few
  // The number of such messages between one of the two and each of its other peers; 0: it is not
  // the same for all.
  uint64_t others = 0;
  // `others` is what the awaited process has received and, but for the last, handed on.
  bool relayed = false;
};

// A graph's edge that only one of its ends lists. Processes.
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
    kOwnCalls,    // the rank's earlier calls there differ
    kOtherRanks,  // those of other ranks differ
    kUnusedTag,   // no other rank uses the tag, and other ranks use that of the other end
    kPartner,     // the other end of the same exchange is with the right rank
    kProbed,      // the receiver had probed for any tag, and found this message
    kEverywhere,  // it is so on all of `deviating`
  };
  struct End {
    uint32_t process = kNoIndex;
    const Event* event = nullptr;  // the call, or the initialization; nullptr: its record is lost
    uint32_t communicator = kNoIndex;
    int32_t tag = 0;
  };
  End send;
  End receive;
  uint32_t to = kNoIndex;    // the process that it was sent to
  uint32_t from = kNoIndex;  // the process that the receive waits for
  Reason reason = Reason::kNone;
};

struct EndDetails {
  std::vector<const RejectedCall*> rejected;  // kRejected: for each of `deviating`
};

struct StartDetails {
  uint32_t index = kNoIndex;  // in Trace::creations; kNoIndex: MPI's own start-up, or `store`
  uint64_t expected = 0;      // how many ranks must call it; 0 if unknown
  // torch.distributed: what is not equal on all ranks, of those of a job that meet at a store.
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
  int64_t elapsed_ns = 0;  // the time that the collectives span
};

// Where two copies of data differ.
struct DataDifference {
  TypeClass type_class = TypeClass::kUnknown;
  // Every word that differs is known, or its sums say that it is one, and which one. Otherwise
  // `element` is the first one that may differ, and the first one that does is not behind `last`.
  bool exact = false;
  uint64_t element = 0;  // kUnknown: byte
  uint64_t last = 0;
  // Only if exact:
  uint64_t flipped = 0;   // the bits of the element that differ
  bool has_ulps = false;  // floating-point: the largest distance of two elements
  uint64_t ulps = 0;
  bool has_values = false;  // the bits of the element on both sides
  uint64_t deviating = 0;
  uint64_t agreeing = 0;
};

// What is wrong with data that ranks exchanged.
struct DataDetails {
  bool sampled = false;     // some of it was read in part
  bool incomplete = false;  // that of some members is not on record
  bool exact_type = false;  // kResults: equality does not depend on rounding
  DataDifference difference;
  // The call paths of the two sides' calls, which may be lost, or starts of a request.
  std::vector<uint32_t> deviating_paths;
  std::vector<uint32_t> agreeing_paths;
  // kNonFinite: what the first of `deviating` passed, and how it spread.
  FirstNonFinite first;
  size_t members = 0;              // of the communicator
  std::vector<uint32_t> infected;  // processes whose result of the call has one
  std::vector<uint32_t> later;     // other communicators that it reached
  bool from_messages = false;      // `deviating` had received messages before
  // Processes that had a NaN or an infinity before. `deviating` may have got it from them by calls
  // whose data is not searched, or as an infinity from a minimum or maximum.
  std::vector<uint32_t> earlier;
  bool overwritten = false;   // or it is unknown, as reads of minima and maxima are lost
  bool transfer = false;      // kResults: what was received differs from what was sent
  bool from_sender = false;   // transfer: `deviating` is the sender of all that differs
  uint64_t calls = 0;         // kSameInputs, kDrift: that had equal inputs in a row
  std::string replica;        // kDrift: the name of a buffer
  bool sizes_differ = false;  // kDrift: of that buffer
};

// What other code asks of a type of incident.
enum class Trait : uint16_t {
  kNone = 0,
  kFact = 1,        // how a process ended or what MPI returned, even if other ranks may continue
  kError = 2,       // wrong, whether or not ranks hang because of it
  kByNumber = 4,    // it stops every member of the communicator from that number on
  kOfOrder = 8,     // it rests on which calls came first: they may be lost
  kOfSilence = 16,  // it rests on what no thread of a rank will do any more
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

  // Processes. If no side can be singled out, `tie` is set: the order of the two sides means
  // nothing, and the finding has no culprits.
  std::vector<uint32_t> deviating;
  std::vector<uint32_t> agreeing;
  bool tie = false;
  std::vector<int32_t> absent;  // world ranks without a trace
  // Why two calls cannot match, if that is what went wrong. Its indices were resolved into the two
  // sides above.
  Mismatch mismatch;
  // How `deviating` left the code in which `agreeing` are, if the source shows it.
  std::optional<PathExit> exit;
  uint64_t repeated = 0;  // number of further incidents at the same lines
  // A representative call of each side. That of the deviating side may be on another communicator,
  // or MPI_Finalize; nullptr if it made none.
  const Event* deviating_event = nullptr;
  const Event* agreeing_event = nullptr;
  // If they do not follow from the number: the call of each of `deviating`. `agreeing` has no lines
  // then.
  std::vector<const Event*> calls;
  std::variant<CallDetails, WaitDetails, PlaceDetails, MessageDetails, RoundDetails, StrayDetails,
               NeighborhoodDetails, EndDetails, StartDetails, LeakDetails, Lateness, DataDetails>
      details;

  // The details of the incident's family; the defaults if it is of another family.
  template <typename Details>
  const Details& Of() const {
    static const Details kDefaults;
    const auto* own = std::get_if<Details>(&details);
    return own != nullptr ? *own : kDefaults;
  }
  // For detectors, of the family of `what`.
  template <typename Details>
  Details& Set() {
    return std::holds_alternative<Details>(details) ? std::get<Details>(details)
                                                    : details.emplace<Details>();
  }
  bool Is(Trait trait) const;
};

// Whether the incident holds even if other ranks may continue: that a rank ended, for example, but
// not that MPI rejected a call of a rank that continues. Programs provoke such errors on purpose;
// only a wait would tell.
bool IsFact(const Analysis& analysis, const Incident& incident);

// A culprit has ended, or has called a function that ends it.
bool AnyGone(const Trace& trace, const Incident& incident);

// The result of comparing calls with one number, before it is known which ranks hang.
struct CallIncidents {
  std::vector<Incident> incidents;
  std::vector<uint32_t> mismatched;  // nodes of the graph that never complete: see Analysis
  std::vector<std::string> notes;    // remarks on what is allowed but odd
};
CallIncidents FindCallIncidents(const AlignedTrace& aligned);

// A trace in which it is known which ranks hang, and the incidents that were found on the way.
struct AnalyzedTrace {
  Analysis analysis;
  std::vector<Incident> call_incidents;
  std::vector<std::string> notes;
};
// Refers to both arguments, which must outlive it.
AnalyzedTrace Analyze(const Trace& trace, const DiagnoseOptions& options);

// All incidents of the trace, including Analyze()'s `call_incidents`: independent ones, causes
// before consequences where that is known.
std::vector<Incident> FindIncidents(const Analysis& analysis, std::vector<Incident> call_incidents);

// The detectors that it calls:
void FindWaitIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindStrays(const Analysis& analysis, std::vector<Incident>* incidents);
void FindDeviceIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindNeighborhoods(const Analysis& analysis, std::vector<Incident>* incidents);
void FindCycles(const Analysis& analysis, std::vector<Incident>* incidents);
// Replaces the incidents of these ranks' waits.
void FindUnevenRounds(const Analysis& analysis, std::vector<Incident>* incidents);
void FindDeaths(const Analysis& analysis, std::vector<Incident>* incidents);
// Turns incidents that a rejected call explains into incidents of that call, and adds rejected
// calls that a process did not return from.
void FindRejected(const Analysis& analysis, std::vector<Incident>* incidents);
void FindHashIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindStartIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
// Instead of all others, for a trace without records.
void FindPlaceIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
// Who left a function or a loop without the collective in which others wait deviates, even if those
// are more: makes them the deviating side of the incident.
void FindExits(const Analysis& analysis, std::vector<Incident>* incidents);
void FindGroupIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
// Finds nothing if another incident explains why the job hangs.
void FindWindowIncidents(const Analysis& analysis, std::vector<Incident>* incidents);
void FindJoinedIncidents(const Analysis& analysis, std::vector<Incident>* incidents);

// For a job that moves or has finished; only if requested in DiagnoseOptions.
void FindStragglers(const Analysis& analysis, std::vector<Incident>* incidents);
// Evaluates the calls a second time, as strictly as the standard allows: no send returns before its
// receive is posted, no collective before all members have called it. Finds nothing if the records
// do not decide; see buffering.cc.
void FindBufferedRings(const Analysis& analysis, std::vector<Incident>* incidents);
// Whether the collective need not wait for every member.
bool MayReturnEarly(const Analysis& analysis, const Event& call);
// Finds messages whose two sides describe different data, if the records decide which send matched
// which receive; see message_types.cc.
void FindUnevenMessages(const Analysis& analysis, std::vector<Incident>* incidents);
// The message that was too long for a receive of this process; nullptr if there was none.
Incident* CutOffMessage(std::vector<Incident>* incidents, uint32_t process);
// Drops departures that such a message explains: a rank that got an error for it, and finalized
// while others need it, left because of the error.
void FoldDeparturesAfterErrors(const Analysis& analysis, std::vector<Incident>* incidents);
// `send` and `receive` are of one message, and `mismatch` is of its two sides.
Incident MessageIncident(uint32_t sender, const Event& send, uint32_t receiver,
                         const Event& receive, uint32_t communicator, Mismatch mismatch);

// For a job that is over; only if requested: see DiagnoseOptions::judge_end, compare_call_sites and
// time_limit_ns. The first three require AllFinalized().
void FindUnbalanced(const Analysis& analysis, std::vector<Incident>* incidents);
void FindUnreceived(const Analysis& analysis, std::vector<Incident>* incidents);
void FindLeaks(const Analysis& analysis, std::vector<Incident>* incidents);
void FindDivergentSites(const Analysis& analysis, std::vector<Incident>* incidents);
void FindTimedOut(const Analysis& analysis, std::vector<Incident>* incidents);
// What is wrong with the data of collectives; nothing for calls that `others` explain.
std::vector<Incident> FindDataIncidents(const Analysis& analysis,
                                        const std::vector<Incident>& others);
// Every rank of every world has a trace and finalized, and only its oldest records may be missing.
bool AllFinalized(const Analysis& analysis);

// Whether this communicator is out of step at or before this number for a reason that was already
// found.
bool Explained(const std::vector<Incident>& incidents, uint32_t communicator, uint64_t sequence);

// The number of the first of the pairs of calls that met by chance, before the two sides called
// different operations with number `mismatch`; `mismatch` if there was none. Both are processes.
uint64_t FindFirstWrongPair(const AlignedTrace& aligned, const CommunicatorHistory& histories,
                            uint64_t mismatch, uint32_t deviating, uint32_t agreeing);

// The incident of histories of this communicator that are shifted against each other: its members
// on both sides, at the number where it began. Does not set the representative calls and `hangs`.
Incident ShiftIncident(const CommunicatorHistory& histories, const Shift& shift);

// The call of `process` with a number, or the call that it is in if it made none. `start`: if not
// 0, the n-th start that it waits for, instead of the initialization.
const Event* CallOrPlace(const Analysis& analysis, uint32_t communicator, uint64_t sequence,
                         uint32_t process, uint64_t start = 0);

// An incident of FindStrays() explains why the process waits.
bool HasStray(const std::vector<Incident>& incidents, uint32_t process);

// For processes that did not return from the incident's call: adds the other processes inside,
// which wait for them.
void AddThoseInside(const Analysis& analysis, Incident* incident);

// Swaps the two sides. The incident is then at the call of the new agreeing side, if that call is a
// collective.
void SwapSides(const Trace& trace, Incident* incident);

// Whether the call waits for processes that are not known members of its communicator: the other
// side of a new intercommunicator, spawned processes, or members of a communicator made of such.
bool NeedsOutsiders(const Analysis& analysis, const Event& call);

// All processes with a trace that have entered it, whether still inside or not.
std::vector<uint32_t> WhoEntered(const Analysis& analysis, const CollectiveNode& node);

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_DIAGNOSIS_DETECTORS_INCIDENT_H_
