#include "collector/attach/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collector/attach/variables.h"
#include "collector/diagnosis/culprit_hosts.h"
#include "collector/matching/call_site.h"
#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "proto/operations.h"

namespace rollcall::attach {
namespace {

// Ranks that stand at one place.
struct Group {
  std::vector<const RankStanding*> members;
  std::vector<int32_t> ranks;

  const RankStanding& front() const { return *members.front(); }
  const LibraryCall& library() const { return front().call; }
  const std::string& call() const { return front().meaning.call; }
  Kind kind() const { return FindOperation(static_cast<uint16_t>(front().meaning.operation)).kind; }
};

bool IsMpi(const Group& group, Operation operation) {
  return group.front().meaning.operation == operation;
}

// A call that waits for a nonblocking collective.
bool OfCollective(const Group& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const RankStanding* rank) { return rank->call.of_collective; });
}

// A call that waits for messages, not for all members.
bool IsOfMessages(const Group& group) {
  if (group.front().meaning.meaning != FrameMeaning::kMpi) return false;
  if (OfCollective(group)) return false;
  const CallGroup kind = GroupOf(group.kind());
  return kind == CallGroup::kP2p || kind == CallGroup::kRequests;
}

// A call that ends when another rank gives a lock back, or exposes its memory.
bool IsOfWindow(const Group& group) { return group.kind() == Kind::kWindowSync; }

bool ReducesGradients(const Group& group) { return group.call().starts_with("c10d::Reducer::"); }

// It is known that the two wait on different communicators.
bool Differ(const LibraryCall& a, const LibraryCall& b) {
  return !a.communicator.empty() && !b.communicator.empty() && !a.member_runs.empty() &&
         !b.member_runs.empty() &&
         (a.communicator != b.communicator || a.member_runs != b.member_runs);
}

std::string NameOf(const LibraryCall& call) {
  return call.communicator.find(' ') == std::string::npos ? call.communicator
                                                          : '"' + call.communicator + '"';
}

// Nobody leaves that call before all have entered it.
bool HoldsAll(const Group& group) {
  if (OfCollective(group)) return false;  // which collective is not known
  const Rule rule = FindOperation(static_cast<uint16_t>(group.front().meaning.operation)).rule;
  const Needs needs = NeedsOf(rule);
  return needs == Needs::kAll || needs == Needs::kAllIfCounted || needs == Needs::kUnknown;
}

// Of rising ranks.
std::vector<int32_t> Common(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}
std::vector<int32_t> Without(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

// What other ranks do decides when the call returns.
bool Waits(const RankStanding& rank) {
  const Kind kind = FindOperation(static_cast<uint16_t>(rank.meaning.operation)).kind;
  return WaitsForRanks(rank.meaning.meaning) && !IsLocal(kind);
}

bool Still(const RankStanding& rank) {
  return rank.stillness == Stillness::kAsleep || rank.stillness == Stillness::kSame;
}

class Judgement {
 public:
  Judgement(const FoundJob& job, const Standings& standings)
      : job_(job),
        standings_(standings),
        sites_(standings.trace),
        variables_(CompareVariables(standings)) {}

  Report Run() {
    report_.ranks = static_cast<uint32_t>(standings_.ranks.size());
    report_.ranks_expected = static_cast<uint32_t>(std::max(job_.size, 0));
    report_.hosts = standings_.cores ? 0 : CountHosts(standings_.trace);  // a core does not tell
    report_.status = standings_.cores ? Report::Status::kStopped : Report::Status::kRunning;
    Sort();
    NoteMissing();
    if (!unreadable_.empty()) return Unreadable();
    if (!moving_.empty()) return Moving();
    if (waiting_.empty() && !(standings_.cores && !gone_.empty())) {
      const std::vector<int32_t> stopped = Stopped();
      report_.notes.push_back(stopped.empty()
                                  ? "no rank waits for another one in a call that is known"
                                  : fmt::format("{} {} stopped, by a signal or a debugger",
                                                RanksPhrase(stopped), Verb(stopped, "is", "are")));
      return std::move(report_);
    }
    if (!Outside() && !Ended()) Apart();
    return std::move(report_);
  }

 private:
  static uint32_t CountHosts(const Trace& trace) {
    std::set<std::string_view> hosts;
    for (const Process& process : trace.processes) hosts.insert(process.host);
    return static_cast<uint32_t>(hosts.size());
  }

  // Is there a rank in a call that none makes before all have called MPI_Init, nor behind
  // MPI_Finalize?
  bool AllHaveBegun() const {
    return std::any_of(
        standings_.ranks.begin(), standings_.ranks.end(), [](const RankStanding& rank) {
          const Kind kind = FindOperation(static_cast<uint16_t>(rank.meaning.operation)).kind;
          return !rank.no_library && rank.meaning.meaning == FrameMeaning::kMpi &&
                 kind != Kind::kInit && rank.meaning.operation != Operation::kFinalize &&
                 Waits(rank) && Still(rank);
        });
  }

  void Sort() {
    const bool begun = AllHaveBegun();
    for (const RankStanding& rank : standings_.ranks) {
      const bool waits = Waits(rank);
      // What started the rank's program, a shell, say, is still there.
      if (rank.gone || (rank.no_library && begun && rank.stillness == Stillness::kAsleep)) {
        gone_.push_back(&rank);
      } else if (rank.denied) {
        unreadable_.push_back(&rank);
      } else if (rank.pace == Pace::kStopped) {
        outside_.push_back(&rank);  // whatever it was about to do
      } else if (standings_.cores) {
        waits ? Join(rank) : outside_.push_back(&rank);
      } else if (rank.ended || rank.may_act || !Still(rank) || (rank.timed && !waits)) {
        moving_.push_back(&rank);
      } else if (waits) {
        Join(rank);
      } else {
        outside_.push_back(&rank);
      }
    }
    for (Group& group : waiting_) Normalize(&group.ranks);
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const Group& a, const Group& b) {
      return a.members.size() > b.members.size();
    });
  }

  void Join(const RankStanding& rank) {
    for (Group& group : waiting_) {
      if (group.call() != rank.meaning.call ||
          sites_.Id(group.front().call_path) != sites_.Id(rank.call_path)) {
        continue;
      }
      // Rows of a grid are in one call at one place; who belongs to two of them is in one.
      if (!IsOfMessages(group) && Differ(group.library(), rank.call) &&
          group.library().HasMember(rank.rank)) {
        continue;
      }
      group.members.push_back(&rank);
      group.ranks.push_back(rank.rank);
      return;
    }
    waiting_.push_back({{&rank}, {rank.rank}});
  }

  std::vector<int32_t> Waiting() const {
    std::vector<int32_t> ranks;
    for (const Group& group : waiting_)
      ranks.insert(ranks.end(), group.ranks.begin(), group.ranks.end());
    Normalize(&ranks);
    return ranks;
  }

  static std::vector<int32_t> RanksOf(const std::vector<const RankStanding*>& standings) {
    std::vector<int32_t> ranks;
    ranks.reserve(standings.size());
    for (const RankStanding* standing : standings) ranks.push_back(standing->rank);
    Normalize(&ranks);
    return ranks;
  }

  std::vector<int32_t> Stopped() const {
    std::vector<const RankStanding*> stopped;
    std::copy_if(outside_.begin(), outside_.end(), std::back_inserter(stopped),
                 [](const RankStanding* rank) { return rank->pace == Pace::kStopped; });
    return RanksOf(stopped);
  }

  std::string Place(const RankStanding& rank) const {
    const SourceFrame frame = sites_.UserFrame(rank.call_path);
    const std::string place = PlaceText(frame);
    const std::string function = frame.function.empty() ? "?" : frame.function;
    return place.empty() ? function : fmt::format("{} ({})", function, place);
  }

  Site SiteOf(const RankStanding& rank, std::vector<int32_t> ranks, Site::Role role,
              bool culprit) const {
    Site site;
    site.role = role;
    site.culprit = culprit;
    site.ranks = std::move(ranks);
    site.frame = sites_.UserFrame(rank.call_path);
    const bool leaves = rank.meaning.meaning == FrameMeaning::kExit;
    if (leaves && !IsUserLine(site.frame)) site.frame = {};
    site.call_path = rank.call_path;
    if (!rank.fault.empty()) {
      site.what = "ended by " + rank.fault;
    } else if (WaitsForRanks(rank.meaning.meaning)) {
      site.what = rank.meaning.call;
    } else {
      site.what = fmt::format("{}{}{}", rank.state, rank.state.empty() ? "" : ", ",
                              MeaningText(rank.meaning.meaning));
    }
    return site;
  }

  void AddWaiting(Finding* finding) const {
    for (const Group& group : waiting_) {
      finding->sites.push_back(SiteOf(group.front(), group.ranks, Site::Role::kWaiting, false));
    }
  }

  Finding Draft(VerdictKind kind, Certainty certainty) const {
    Finding finding;
    finding.kind = kind;
    finding.certainty = certainty;
    finding.kind_certainty = certainty;
    finding.hangs = true;
    finding.world = 0;
    if (!waiting_.empty()) finding.operation = waiting_.front().front().meaning.operation;
    finding.waiting = Waiting();
    return finding;
  }

  void Add(Finding finding) {
    report_.status = finding.hangs ? Report::Status::kHung : Report::Status::kFailed;
    for (const ComparedVariable& variable : variables_) {
      if (variable.counts) finding.notes.push_back(VariableText(variable));
    }
    if (standings_.cores && !finding.culprit_gone) {
      finding.certainty = finding.kind_certainty = Certainty::kSuspected;
    }
    for (const Group& group : waiting_) {
      for (const RankStanding* rank : group.members) {
        if (!rank->in_kernel) continue;
        finding.notes.push_back(fmt::format(
            "rank {} is in an uninterruptible wait in the kernel (state D)", rank->rank));
      }
    }
    if (const std::string awaited = AwaitedText(); !awaited.empty()) {
      finding.notes.push_back("by the library's requests, " + awaited);
    }
    finding.notes.push_back(fmt::format(
        "seen from the stacks alone, {}: under `rollcall run` the calls themselves are compared",
        standings_.cores ? "at one look at each rank, which may have moved still"
                         : "at two looks"));
    report_.findings.push_back(std::move(finding));
  }

  void NoteMissing() {
    const std::vector<uint32_t>& processes = standings_.trace.worlds[0].processes;
    for (int32_t rank = 0; rank < job_.size; ++rank) {
      if (processes[static_cast<size_t>(rank)] == kNoIndex) missing_.push_back(rank);
    }
    if (missing_.empty()) return;
    if (standings_.cores) {
      report_.notes.push_back(
          fmt::format("of {} of {} there is no core file", RanksPhrase(missing_), job_.size));
      return;
    }
    const std::string where = report_.hosts > 1
                                  ? fmt::format("on none of these {} hosts", report_.hosts)
                                  : "not on this machine";
    report_.notes.push_back(fmt::format(
        "{} of {} {} {}{}", RanksPhrase(missing_), job_.size, Verb(missing_, "is", "are"), where,
        job_.all_local ? ", although the launcher started all ranks here" : ""));
  }

  Report Unreadable() {
    Finding finding = Draft(VerdictKind::kInconclusive, Certainty::kInconclusive);
    finding.hangs = false;
    const std::vector<int32_t> ranks = RanksOf(unreadable_);
    finding.title = fmt::format("the stack{} of {} could not be taken",
                                ranks.size() == 1 ? "" : "s", RanksPhrase(ranks));
    finding.why = unreadable_.front()->problem;
    AddWaiting(&finding);
    for (const RankStanding* rank : unreadable_) {
      if (!rank->state.empty()) {
        finding.notes.push_back(fmt::format("rank {} is {}", rank->rank, rank->state));
      }
    }
    report_.findings.push_back(std::move(finding));
    return std::move(report_);
  }

  // Who moves may still come. Where the others wait for it, it is shown.
  Report Moving() {
    constexpr size_t kMostShown = 4;
    const std::vector<int32_t> moving = RanksOf(moving_);
    if (waiting_.empty()) {
      report_.notes.push_back(fmt::format("{} {} between the two looks", RanksPhrase(moving),
                                          Verb(moving, "moved", "moved")));
      return std::move(report_);
    }
    const std::vector<int32_t> waiting = Waiting();
    report_.notes.push_back(fmt::format("{} {} in {}; {} {}", RanksPhrase(waiting),
                                        Verb(waiting, "waits", "wait"), waiting_.front().call(),
                                        RanksPhrase(moving), Verb(moving, "moves", "move")));
    for (size_t i = 0; i < std::min(kMostShown, moving_.size()); ++i) {
      const RankStanding& rank = *moving_[i];
      std::string text = fmt::format("rank {} is {}: {}", rank.rank,
                                     rank.timed ? "asleep for a time" : rank.state, Place(rank));
      if (rank.may_act && Still(rank)) text += "; another of its threads may act";
      if (!rank.problem.empty()) text += fmt::format(" ({})", rank.problem);
      if (!rank.meaning.call.empty()) text += fmt::format(", in {}", rank.meaning.call);
      report_.notes.push_back(std::move(text));
    }
    return std::move(report_);
  }

  std::string Survivor(const RankStanding& rank) const {
    const Process& process = standings_.trace.processes[rank.process];
    return fmt::format(
        "its process {} ({}) has no MPI loaded, and the others are past MPI_Init: the rank's "
        "program ended, and what started it is left",
        process.pid, process.executable);
  }

  // Ranks outside of every wait that others are in. True if there are any.
  bool Outside() {
    if (gone_.empty() && outside_.empty()) return false;
    if (standings_.cores && !gone_.empty()) return Crashed();
    const std::string call = waiting_.front().call();
    const std::vector<int32_t> waiting = Waiting();
    const std::string others =
        fmt::format("{} {} in {}", RanksPhrase(waiting), Verb(waiting, "waits", "wait"), call);
    if (!gone_.empty()) {
      const std::vector<int32_t> ranks = RanksOf(gone_);
      const bool gone = gone_.front()->gone;
      Finding finding =
          Draft(VerdictKind::kRankDied, gone ? Certainty::kLikely : Certainty::kSuspected);
      finding.culprits = ranks;
      finding.culprit_gone = gone;
      finding.title = fmt::format("{} ended; {}", RanksPhrase(ranks), others);
      finding.why = gone ? "its process is gone, or a zombie" : Survivor(*gone_.front());
      AddWaiting(&finding);
      Add(std::move(finding));
      return true;
    }
    std::vector<const RankStanding*> leaving;
    std::vector<const RankStanding*> stalled;
    for (const RankStanding* rank : outside_) {
      (rank->meaning.meaning == FrameMeaning::kExit ? leaving : stalled).push_back(rank);
    }
    if (!stalled.empty()) Stalled(stalled, others);
    if (!leaving.empty()) Leaving(leaving, others);
    return true;
  }

  // Ranks whose cores say that they ended by themselves, whether or not others wait.
  bool Crashed() {
    const std::vector<int32_t> ranks = RanksOf(gone_);
    const std::vector<int32_t> waiting = Waiting();
    Finding finding = Draft(VerdictKind::kRankDied, Certainty::kLikely);
    finding.culprits = ranks;
    finding.culprit_gone = true;
    finding.hangs = !waiting.empty();
    finding.title = fmt::format("{} {} ended by {}", RanksPhrase(ranks), Verb(ranks, "was", "were"),
                                gone_.front()->fault);
    if (!waiting.empty()) {
      finding.title += fmt::format("; {} {} in {}", RanksPhrase(waiting),
                                   Verb(waiting, "waits", "wait"), waiting_.front().call());
    }
    finding.why = "its core file says so";
    AddWaiting(&finding);
    for (const RankStanding* rank : gone_) {
      finding.sites.push_back(SiteOf(*rank, {rank->rank}, Site::Role::kEnded, true));
    }
    Add(std::move(finding));
    return true;
  }

  void Stalled(const std::vector<const RankStanding*>& stalled, const std::string& others) {
    const std::vector<int32_t> ranks = RanksOf(stalled);
    const RankStanding& first = *stalled.front();
    const bool stopped = first.pace == Pace::kStopped;
    // Somebody may have stopped it because the job hung: where the others part anyway, too.
    const bool explains = stopped && waiting_.size() == 1;
    Finding finding =
        Draft(VerdictKind::kRankStalled, explains ? Certainty::kLikely : Certainty::kSuspected);
    finding.culprits = ranks;
    finding.title = fmt::format(
        "{} {} {}, and {}", RanksPhrase(ranks), Verb(ranks, "is", "are"),
        stopped && Waits(first) ? "stopped in " + first.meaning.call : "outside every call",
        others);
    finding.why =
        standings_.cores ? "it had not come there when its core was written"
        : stopped        ? "it is stopped, by a signal or a debugger"
        : first.stillness == Stillness::kAsleep
            ? "it did not run between the two looks"
            : "it runs, and nothing on its stack or in its registers changed between the two looks";
    if (stopped) finding.fix = fmt::format("continue {}, and look again", RanksPhrase(ranks));
    AddWaiting(&finding);
    for (const RankStanding* rank : stalled) {
      finding.sites.push_back(SiteOf(*rank, {rank->rank}, Site::Role::kStalled, true));
      AddAwaited(*rank, &finding);
    }
    Add(std::move(finding));
  }

  void Leaving(const std::vector<const RankStanding*>& leaving, const std::string& others) {
    const std::vector<int32_t> ranks = RanksOf(leaving);
    const bool finalizes = leaving.front()->meaning.operation == Operation::kFinalize;
    Finding finding = Draft(finalizes ? VerdictKind::kFinalizedEarly : VerdictKind::kRankDied,
                            Certainty::kLikely);
    finding.culprits = ranks;
    finding.title =
        fmt::format("{} {} on {} way out{}, and {}", RanksPhrase(ranks), Verb(ranks, "is", "are"),
                    Verb(ranks, "its", "their"), finalizes ? ", in MPI_Finalize" : "", others);
    AddWaiting(&finding);
    if (!finalizes) finding.why = fmt::format("it is in {}", leaving.front()->meaning.call);
    for (const RankStanding* rank : leaving) {
      finding.sites.push_back(SiteOf(*rank, {rank->rank}, Site::Role::kEnded, true));
      AddAwaited(*rank, &finding);
    }
    Add(std::move(finding));
  }

  static void AddAwaited(const RankStanding& rank, Finding* finding) {
    for (const std::string& awaited : rank.awaited) {
      finding->notes.push_back(fmt::format("of rank {}, {}", rank.rank, awaited));
    }
  }

  // A rank in MPI_Finalize makes no other call any more; one that is not there never will.
  bool Ended() {
    const auto finalizes = [](const Group& group) { return IsMpi(group, Operation::kFinalize); };
    const bool some = std::any_of(waiting_.begin(), waiting_.end(), finalizes);
    const bool all = std::all_of(waiting_.begin(), waiting_.end(), finalizes);
    if (some && !all) {
      std::vector<const RankStanding*> leaving;
      for (const Group& group : waiting_) {
        if (finalizes(group))
          leaving.insert(leaving.end(), group.members.begin(), group.members.end());
      }
      std::erase_if(waiting_, finalizes);
      // From whom a message is awaited is not known: who finalizes may have nothing to do with it.
      const bool messages = std::all_of(waiting_.begin(), waiting_.end(), IsOfMessages);
      Finding finding = messages ? Draft(VerdictKind::kP2pUnmatched, Certainty::kSuspected)
                                 : Draft(VerdictKind::kFinalizedEarly, Certainty::kLikely);
      const std::vector<int32_t> finalizing = RanksOf(leaving);
      const std::vector<int32_t> waiting = Waiting();
      if (!messages) {
        finding.culprits = finalizing;
      } else if (!WindowsOnly(&finding)) {
        finding.culprits = std::exchange(finding.waiting, {});
      }
      finding.title = fmt::format("{} {} in MPI_Finalize, and {} {} in {}", RanksPhrase(finalizing),
                                  Verb(finalizing, "is", "are"), RanksPhrase(waiting),
                                  Verb(waiting, "waits", "wait"), waiting_.front().call());
      AddWaiting(&finding);
      for (Site& site : finding.sites) site.culprit = messages && !finding.culprits.empty();
      finding.sites.push_back(SiteOf(*leaving.front(), finalizing, Site::Role::kEnded, !messages));
      Add(std::move(finding));
      return true;
    }
    if (missing_.empty()) return false;
    // Who waits in MPI_Init waits for those that are still to be started; a job that finalizes
    // ends.
    const bool starts = std::any_of(waiting_.begin(), waiting_.end(),
                                    [](const Group& group) { return group.kind() == Kind::kInit; });
    if (starts || all) return true;
    if (!job_.all_local) return false;
    Finding finding = Draft(VerdictKind::kRankDied, Certainty::kLikely);
    finding.culprits = missing_;
    finding.culprit_gone = true;
    finding.title = fmt::format("there is no process of {}, and {} {} in {}", RanksPhrase(missing_),
                                RanksPhrase(finding.waiting),
                                Verb(finding.waiting, "waits", "wait"), waiting_.front().call());
    finding.why = "the launcher started all ranks on this machine";
    AddWaiting(&finding);
    Add(std::move(finding));
    return true;
  }

  // All ranks wait, at one place or at several.
  void Apart() {
    if (!missing_.empty()) {
      Finding finding = Draft(VerdictKind::kInconclusive, Certainty::kInconclusive);
      finding.hangs = false;
      finding.title =
          fmt::format("{} {} in {}; what {} {} was not seen", RanksPhrase(finding.waiting),
                      Verb(finding.waiting, "waits", "wait"), waiting_.front().call(),
                      RanksPhrase(missing_), Verb(missing_, "does", "do"));
      finding.fix = standings_.cores
                        ? "look at the cores of those ranks, too"
                        : "look at the machines where those ranks run, too: --hosts, or --slurm";
      AddWaiting(&finding);
      report_.findings.push_back(std::move(finding));
      return;
    }
    if (std::all_of(waiting_.begin(), waiting_.end(), IsOfMessages)) return Messages();
    if (waiting_.size() == 1) return Together();
    Diverged();
  }

  // Do those who wait for messages all wait for a window? Then nobody of them is named.
  bool WindowsOnly(Finding* finding) const {
    const bool windows = std::all_of(waiting_.begin(), waiting_.end(), [](const Group& group) {
      return !IsOfMessages(group) || IsOfWindow(group);
    });
    if (!windows) return false;
    finding->kind = VerdictKind::kP2pUnmatched;
    finding->culprits.clear();
    finding->notes.push_back(
        "which rank holds the lock, or is to expose its memory, is not known from stacks");
    return true;
  }

  // Ranks that wait for each other in a circle, as far as the library tells.
  std::vector<int32_t> Circle() const {
    std::map<int32_t, int32_t> awaited;
    for (const Group& group : waiting_) {
      for (const RankStanding* rank : group.members) awaited[rank->rank] = rank->call.awaited;
    }
    // Who is awaited by nobody that is left is in no circle.
    for (bool less = true; less;) {
      std::set<int32_t> wanted;
      for (const auto& [rank, other] : awaited) wanted.insert(other);
      less = std::erase_if(awaited, [&](const auto& entry) {
               return !wanted.contains(entry.first) || !awaited.contains(entry.second);
             }) != 0;
    }
    std::vector<int32_t> ranks(awaited.size());
    std::transform(awaited.begin(), awaited.end(), ranks.begin(),
                   [](const auto& entry) { return entry.first; });
    return ranks;
  }

  // "rank 0 waits for rank 1, rank 1 for rank 2"; empty if the library tells of nobody.
  std::string AwaitedText() const {
    constexpr int kMostShown = 8;
    std::string text;
    int shown = 0;
    for (const RankStanding& rank : standings_.ranks) {
      if (rank.call.awaited < 0 || !Waits(rank)) continue;
      if (++shown > kMostShown) return text + ", and so on";
      text += fmt::format("{}rank {} {}for rank {}", shown == 1 ? "" : ", ", rank.rank,
                          shown == 1 ? "waits " : "", rank.call.awaited);
    }
    return text;
  }

  void Messages() {
    Finding finding = Draft(VerdictKind::kP2pDeadlock, Certainty::kSuspected);
    const bool named = !WindowsOnly(&finding);
    finding.title = fmt::format(
        "{} {} in calls for {} that nobody is left to answer", RanksPhrase(finding.waiting),
        Verb(finding.waiting, "waits", "wait"), named ? "messages" : "a window");
    finding.why = "no rank is outside of these calls";
    AddWaiting(&finding);
    for (Site& site : finding.sites) site.culprit = named;
    const std::vector<int32_t> circle = Circle();
    if (named && !circle.empty()) {
      finding.certainty = finding.kind_certainty = Certainty::kLikely;
      finding.why = "they wait for each other's messages in a circle";
      finding.culprits = circle;
      finding.waiting = Without(finding.waiting, circle);
      for (Site& site : finding.sites) site.culprit = !Common(site.ranks, circle).empty();
    } else if (named) {
      finding.culprits = std::exchange(finding.waiting, {});
    }
    Add(std::move(finding));
  }

  void Together() {
    const Group& group = waiting_.front();
    // To start and to end processes, and to write files, takes as long as it takes.
    if (group.front().meaning.meaning == FrameMeaning::kMpi && group.kind() != Kind::kCollective) {
      report_.notes.push_back(fmt::format("all ranks are in {}", group.call()));
      return;
    }
    Finding finding = Draft(VerdictKind::kTransportStalled, Certainty::kSuspected);
    finding.title = fmt::format("all ranks are in {}, called at one place", group.call());
    AddWaiting(&finding);
    if (!OneIsBehind(&finding)) {
      finding.why = "every rank has arrived, and none goes on";
      finding.fix =
          "compare the arguments of the call (root, count, datatype, communicator), which stacks "
          "do not show; if they match, look below the program, at network, driver and library";
    }
    Add(std::move(finding));
  }

  // A loop that some are in another turn of.
  bool OneIsBehind(Finding* finding) const {
    const auto counter =
        std::find_if(variables_.begin(), variables_.end(), [](const ComparedVariable& variable) {
          return variable.counts && variable.values.size() == 2;
        });
    if (counter == variables_.end()) return false;
    const std::vector<int32_t>& most = counter->values[0].ranks;
    const std::vector<int32_t>& others = counter->values[1].ranks;
    finding->kind = VerdictKind::kUnevenIterations;
    finding->why = "they are in different turns of a loop";
    if (most.size() != others.size()) {
      finding->culprits = others;
      finding->waiting = most;
    }
    return true;
  }

  // Some wait for messages, others for all: who is to send is not known from stacks.
  void BlameMessages(Finding* finding) const {
    finding->certainty = finding->kind_certainty = Certainty::kSuspected;
    finding->culprits.clear();
    finding->waiting = Waiting();
    if (WindowsOnly(finding)) return;
    for (const Group& group : waiting_) {
      if (!IsOfMessages(group)) continue;
      finding->culprits.insert(finding->culprits.end(), group.ranks.begin(), group.ranks.end());
    }
    Normalize(&finding->culprits);
    finding->waiting = Without(finding->waiting, finding->culprits);
    // Two that wait for each other.
    if (finding->waiting.size() == 1 && finding->culprits.size() == 1) {
      finding->culprits = Waiting();
      finding->waiting.clear();
    }
  }

  // Which of two groups is ahead in the program: < 0 if the second one is, 0 if it is not known.
  int Order(const Group& a, const Group& b, const PathDivergence& part) const {
    for (const ComparedVariable& variable : variables_) {
      if (!variable.counts) continue;
      const auto turn = [&variable](const Group& group) {
        return std::find_if(variable.values.begin(), variable.values.end(), [&](const auto& value) {
          return std::includes(value.ranks.begin(), value.ranks.end(), group.ranks.begin(),
                               group.ranks.end());
        });
      };
      const auto of_a = turn(a);
      const auto of_b = turn(b);
      if (of_a == variable.values.end() || of_b == variable.values.end() || of_a == of_b) continue;
      return of_a->value < of_b->value ? -1 : 1;
    }
    return part.known ? part.order : 0;
  }

  // Which ranks of those that are ahead left out the call that the others wait in. None: not known.
  static std::optional<std::vector<int32_t>> Skipped(const Group& behind, const Group& ahead) {
    if (!HoldsAll(behind) || !Differ(behind.library(), ahead.library())) return std::nullopt;
    std::vector<int32_t> skipped;
    std::copy_if(ahead.ranks.begin(), ahead.ranks.end(), std::back_inserter(skipped),
                 [&](int32_t rank) { return behind.library().HasMember(rank); });
    return skipped;
  }

  // A call that may be left before all have come: who made it, and who did not, a condition around
  // it tells. False if there is none, or if it does not fit.
  bool BlameByCondition(const Group& behind, const Group& ahead, const PathDivergence& part,
                        Finding* finding) const {
    const SourceBlock* arm = part.branch ? sites_.ArmAround(part.b, part.a) : nullptr;
    if (arm == nullptr) return false;
    finding->certainty = Certainty::kSuspected;
    finding->culprits = behind.ranks;
    if (arm->subject.empty()) return true;
    int32_t value = -1;
    std::from_chars(arm->value.data(), arm->value.data() + arm->value.size(), value);
    if (arm->equal) return behind.ranks == std::vector<int32_t>{value};
    std::set<int32_t> awaited;
    for (const RankStanding* rank : behind.members) {
      if (std::binary_search(ahead.ranks.begin(), ahead.ranks.end(), rank->call.awaited)) {
        awaited.insert(rank->call.awaited);
      }
    }
    if (!awaited.empty()) finding->certainty = Certainty::kLikely;
    finding->culprits = {value};
    return awaited.empty() ? std::binary_search(ahead.ranks.begin(), ahead.ranks.end(), value)
                           : awaited == std::set<int32_t>{value};
  }

  static VerdictKind KindOf(const Group& main, const Group& other, const PathDivergence& part) {
    const bool in_loop = part.known && part.branch && !part.same && !part.arms &&
                         (!part.loops_a.empty() || !part.loops_b.empty());
    if (IsOfMessages(main) || IsOfMessages(other)) return VerdictKind::kP2pDeadlock;
    if (part.same && Differ(main.library(), other.library())) return VerdictKind::kOrderInversion;
    if (in_loop && main.call() != other.call()) return VerdictKind::kUnevenIterations;
    if (part.known && part.branch) return VerdictKind::kRankConditionalCollective;
    return VerdictKind::kCollectiveMismatch;
  }

  // Ranks wait in different collectives, or in one that they called at different places.
  void Diverged() {
    const Group& main = waiting_.front();
    std::vector<const Group*> others;
    for (size_t i = 1; i < waiting_.size(); ++i) others.push_back(&waiting_[i]);
    const Group& other = *others.front();
    const PathDivergence part = sites_.Part(main.front().call_path, other.front().call_path);
    const VerdictKind kind = KindOf(main, other, part);
    Finding finding = Draft(kind, part.known ? Certainty::kLikely : Certainty::kSuspected);
    finding.kind_certainty = Certainty::kSuspected;
    for (const Group* group : others) {
      finding.culprits.insert(finding.culprits.end(), group->ranks.begin(), group->ranks.end());
    }
    Normalize(&finding.culprits);
    const bool apart = Differ(main.library(), other.library());
    const auto where = [this, apart](const Group& group) {
      const std::string place = PlaceText(sites_.UserFrame(group.front().call_path));
      return fmt::format("{}{}{}", group.call(), place.empty() ? "" : " (" + place + ")",
                         apart ? " on " + NameOf(group.library()) : "");
    };
    finding.title = fmt::format("{} {} in {}, {} in {}", RanksPhrase(main.ranks),
                                Verb(main.ranks, "waits", "wait"), where(main),
                                RanksPhrase(other.ranks), where(other));
    if (others.size() > 1) {
      finding.title += fmt::format(", others at {} more places", others.size() - 1);
    }
    if (part.known && part.branch && !part.same && !part.a.function.empty()) {
      finding.why = fmt::format("the stacks part in {}, at lines {} and {}", part.a.function,
                                part.a.line, part.b.line);
    } else if (kind == VerdictKind::kOrderInversion) {
      finding.why = "the call site is the same, the communicators are not";
    }
    if (kind == VerdictKind::kP2pDeadlock) {
      BlameMessages(&finding);
    } else {
      Blame(main, other, part, &finding);
    }
    if (std::any_of(waiting_.begin(), waiting_.end(), ReducesGradients)) {
      finding.notes.push_back(
          "DistributedDataParallel reduces gradients once each rank has used each parameter: "
          "find_unused_parameters where a step leaves some out, Join where ranks have fewer steps");
    }
    for (const Group& group : waiting_) {
      std::vector<int32_t> culprits = Common(group.ranks, finding.culprits);
      std::vector<int32_t> others = Without(group.ranks, culprits);
      const auto add = [&](std::vector<int32_t>* ranks, Site::Role role) {
        if (ranks->empty()) return;
        finding.sites.push_back(
            SiteOf(group.front(), std::move(*ranks), role, role == Site::Role::kCulprit));
      };
      add(&others, Site::Role::kWaiting);
      add(&culprits, Site::Role::kCulprit);
    }
    Add(std::move(finding));
  }

  // Names the smaller part, unless more is known, or not enough.
  void Blame(const Group& main, const Group& other, const PathDivergence& part,
             Finding* finding) const {
    const int order = Order(main, other, part);
    const bool alone = waiting_.size() == 2;
    std::optional<std::vector<int32_t>> skipped;
    if (alone && order != 0) {
      skipped = order < 0 ? Skipped(main, other) : Skipped(other, main);
    }
    // Who stands behind a call that does not hold everybody back may have made it as all should.
    const auto passes = [&other](int by) { return by > 0 && !HoldsAll(other); };
    const bool passed = passes(order);
    const bool tie = alone && main.members.size() == other.members.size();
    if (skipped && skipped->empty()) {
      finding->culprits.clear();
      finding->certainty = Certainty::kSuspected;
      finding->notes.push_back("those who are ahead do not belong to the communicator of the call");
    } else if (skipped) {
      finding->culprits = *skipped;
      const LibraryCall& library = (order < 0 ? main : other).library();
      finding->why += fmt::format("; {} {} to {}", RanksPhrase(*skipped),
                                  Verb(*skipped, "belongs", "belong"), NameOf(library));
    } else if (tie) {
      finding->culprits.clear();
      finding->certainty = Certainty::kSuspected;
      finding->notes.push_back(
          "as many ranks stand at the one place as at the other: which of them went wrong is not "
          "known");
    } else if (passed && !(alone && BlameByCondition(other, main, part, finding))) {
      finding->culprits.clear();
      finding->certainty = Certainty::kSuspected;
      finding->notes.push_back(fmt::format(
          "a rank may leave {} before all have come: which of those behind it skipped it is not "
          "known",
          other.call()));
    }
    // Where it is the turns that tell: a loop may count downwards.
    if (part.known && passed != passes(part.order)) finding->certainty = Certainty::kSuspected;
    finding->waiting =
        finding->culprits.empty() ? main.ranks : Without(Waiting(), finding->culprits);
  }

  const FoundJob& job_;
  const Standings& standings_;
  const CallSites sites_;
  const std::vector<ComparedVariable> variables_;
  Report report_;
  std::vector<Group> waiting_;  // the largest first
  std::vector<const RankStanding*> outside_;
  std::vector<const RankStanding*> moving_;
  std::vector<const RankStanding*> gone_;
  std::vector<const RankStanding*> unreadable_;
  std::vector<int32_t> missing_;
};

}  // namespace

Report Judge(const FoundJob& job, const Standings& standings) {
  Report report = Judgement(job, standings).Run();
  for (Finding& finding : report.findings) {
    if (report.hosts > 1) finding.culprit_hosts = HostsOf(standings.trace, finding);
  }
  return report;
}

}  // namespace rollcall::attach
