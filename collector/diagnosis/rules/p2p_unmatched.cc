// SPDX-License-Identifier: Apache-2.0
// docs/verdicts/p2p-unmatched.md
#include <fmt/format.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collector/diagnosis/detectors/near_miss.h"
#include "collector/diagnosis/detectors/window_locks.h"
#include "collector/diagnosis/rules/neighborhood.h"
#include "collector/diagnosis/rules/rules.h"
#include "collector/diagnosis/rules/stalled_host.h"
#include "collector/diagnosis/wording/call_text.h"
#include "collector/diagnosis/wording/describe.h"
#include "collector/diagnosis/wording/rounds_text.h"
#include "collector/matching/match_rules.h"
#include "collector/matching/user_code.h"
#include "collector/model/messages.h"
#include "collector/model/rank_set.h"

namespace rollcall {

namespace {

// Adds the note unless it is empty.
void AddNote(std::string note, Finding* finding) {
  if (!note.empty()) finding->notes.push_back(std::move(note));
}

// The text for "waits for …". A probe specifies no data, so its text needs the words "a message".
std::string Awaited(const Analysis& analysis, const Event& call) {
  const Arguments& arguments = analysis.Args(call);
  const Messages messages = MessagesOf(arguments);
  const bool probes = !messages.empty() && messages.begin()->probes;
  return (probes ? "a message " : "") + ArgumentsText(analysis.trace, arguments);
}

std::string NearMissText(const Analysis& analysis, uint32_t waiter, const Event& call) {
  std::optional<NearMiss> miss = FindNearReceive(analysis, waiter, call);
  const bool posted = miss.has_value();
  if (!posted) miss = FindNearMiss(analysis, waiter, call);
  if (!miss) return "";
  const uint32_t wanted = analysis.CommunicatorOf(call);
  const bool elsewhere = miss->communicator != wanted;
  const auto on = [&](uint32_t communicator) {
    return elsewhere ? " on " + analysis.CommunicatorName(communicator) : "";
  };
  const bool itself = miss->other == waiter;
  const std::string other = itself ? "it" : fmt::format("rank {}", analysis.RankOf(miss->other));
  if (posted) {
    return fmt::format(
        "near miss: {} has posted a receive from it with {}{}, {}; it sends {}{}", other,
        miss->tag == ring::kAnyTag ? "any tag" : fmt::format("tag {}", miss->tag),
        on(miss->communicator), miss->freed ? "and freed its request" : "which waits",
        Awaited(analysis, call), on(wanted));
  }
  return fmt::format("near miss: {} sent {} tag {}{}, which no rank received; it waits for {}{}",
                     other, itself ? "itself" : "it", miss->tag, on(miss->communicator),
                     Awaited(analysis, call), on(wanted));
}

std::string StrayReason(const Analysis& analysis, const StrayDetails& details, bool sends,
                        const std::string& sent, const std::string& awaited) {
  using enum StrayDetails::Reason;
  const int32_t rank = analysis.RankOf(sends ? details.send.process : details.receive.process);
  const std::string& wrong = sends ? sent : awaited;
  const std::string& right = sends ? awaited : sent;
  switch (details.reason) {
    case kOwnCalls:
      return fmt::format("the earlier calls of rank {} at this place had {}, and not {}", rank,
                         right, wrong);
    case kOtherRanks:
      return fmt::format("the calls of other ranks at this place suggest {}, and not {}", right,
                         wrong);
    case kUnusedTag:
      return fmt::format("other ranks make the other call as this one, and no rank {} {}",
                         sends ? "receives" : "sends", wrong);
    case kPartner:
      return fmt::format("rank {} {} {} in the same call, and {} it", rank,
                         sends ? "receives from" : "sends to", right,
                         sends ? "that rank awaits a message of" : "that rank sends one to");
    case kProbed:
      return fmt::format("rank {} probed for more than this right before, and {} is what it found",
                         rank, sent);
    case kEverywhere:
      return "each of them waits for a message that its peer sent otherwise";
    case kNone:
      break;
  }
  return "the two calls do not match; which of them is wrong is not recorded";
}

// For a message that differs in one respect from the receive that it was meant for.
Finding JudgeStray(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched, true);
  const StrayDetails& details = incident.Of<StrayDetails>();
  const int32_t sender = analysis.RankOf(details.send.process);
  const int32_t receiver = analysis.RankOf(details.receive.process);
  const bool sends = incident.deviating.front() == details.send.process;
  std::string sent;
  std::string awaited;
  if (details.to != details.receive.process) {
    sent = fmt::format("rank {}", analysis.RankOf(details.to));
    awaited = fmt::format("rank {}", receiver);
    finding.title = fmt::format("rank {} sent tag {} to {}, and {} waits for it", sender,
                                details.send.tag, sent, awaited);
  } else if (details.from != details.send.process) {
    sent = fmt::format("rank {}", sender);
    awaited = fmt::format("rank {}", analysis.RankOf(details.from));
    finding.title = fmt::format("rank {} waits for tag {} from {}, and {} sent it", receiver,
                                details.receive.tag, awaited, sent);
  } else {
    const bool tags = details.send.communicator == details.receive.communicator;
    const auto text = [&](const StrayDetails::End& end) {
      return tags ? fmt::format("tag {}", end.tag)
                  : fmt::format("tag {} on {}", end.tag,
                                analysis.CommunicatorName(end.communicator));
    };
    sent = text(details.send);
    awaited = text(details.receive);
    finding.title = fmt::format("rank {} sent {}, and rank {} waits for {} from it", sender, sent,
                                receiver, awaited);
  }
  if (details.reason != StrayDetails::Reason::kNone && incident.deviating.size() > 1) {
    finding.title += fmt::format("; so it is for {}", RanksPhrase(finding.culprits));
  }
  finding.why = StrayReason(analysis, details, sends, sent, awaited);
  finding.fix = "use the same tag and communicator in both calls, and the rank of the other one";
  return finding;
}

// A possible reason why a message that was sent is missing; empty if there is none.
std::string TakenText(const Analysis& analysis, uint32_t waiter, const Event& call) {
  const auto place = [&](const Event& event) {
    const std::string text = PlaceText(analysis.sites.UserFrame(event.call_path));
    return OperationName(analysis.Op(event)) + (text.empty() ? "" : " at " + text);
  };
  if (const auto stolen = FindStolenMessage(analysis, waiter, call)) {
    return fmt::format(
        "possible cause: {} found a message, and another thread received it before this one, in "
        "{}: "
        "use MPI_Mprobe and MPI_Mrecv",
        place(*stolen->probe), place(*stolen->receive));
  }
  if (const Event* greedy = FindGreedyReceive(analysis, waiter, call)) {
    return fmt::format(
        "possible cause: {} receives from any rank, and took a message of the rank that this one "
        "waits for: use a tag of its own",
        place(*greedy));
  }
  return "";
}

// For a job whose ranks have all finalized: a message was sent and never received.
Finding JudgeUnreceived(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched, true);
  finding.title = fmt::format("{} sent {} {} that {} never received",
                              RanksPhrase(analysis.RanksOf(incident.deviating)),
                              RanksPhrase(analysis.RanksOf(incident.agreeing)),
                              incident.Of<MessageDetails>().count == 1
                                  ? "a message"
                                  : fmt::format("{} messages", incident.Of<MessageDetails>().count),
                              incident.Of<MessageDetails>().count == 1 ? "was" : "were");
  finding.why = fmt::format(
      "on {}, more messages were sent than received with the same tag, and no receive is pending",
      analysis.CommunicatorName(incident.communicator));
  finding.fix = "post the missing receive, or remove the send";
  return finding;
}

// For a rank that waits for a partitioned send without having marked its partitions ready.
Finding JudgeUnmarked(const Analysis& analysis, const Incident& incident, Finding finding) {
  finding.title =
      fmt::format("{} waits in {}, and has not marked {} of its partitions ready",
                  RanksPhrase(finding.culprits), CallText(analysis, *incident.deviating_event),
                  incident.Of<MessageDetails>().unmarked);
  finding.why =
      "a partitioned send completes when all of its partitions are marked ready, and no other "
      "thread can mark them";
  finding.fix =
      "call MPI_Pready for every partition after each start of the send and before waiting";
  return finding;
}

// For a receive that a rank waits in: a text about the matching send, if the send lacks partitions.
std::string UnmarkedText(const Analysis& analysis, uint32_t waiter, const Event& call) {
  for (const WaitDependency& dependency : analysis.graph.processes[waiter].dependencies) {
    if (dependency.event != &call || dependency.unmarked == 0) continue;
    return fmt::format("rank {} started the send, and has not marked {} of its partitions ready",
                       analysis.RankOf(dependency.process), dependency.unmarked);
  }
  return "";
}

const char* WindowFix(Operation operation) {
  switch (operation) {
    case Operation::kWin_start:
    case Operation::kWin_complete:
      return "call MPI_Win_post on every rank of the group that MPI_Win_start was given";
    case Operation::kWin_post:
    case Operation::kWin_wait:
      return "call MPI_Win_start and MPI_Win_complete on every rank of the group that MPI_Win_post "
             "was given";
    default:
      return "unlock the window before waiting for other ranks";
  }
}

constexpr size_t kMaxLockNotes = 8;

// Adds notes that name the ranks that locked this window, or a part of it, and have not unlocked
// it.
void AddLocks(const Analysis& analysis, const Incident& incident, Finding* finding) {
  // Grouped, because thousands of ranks may hold one lock each, from the same line.
  std::map<std::tuple<Operation, int32_t, std::string>, std::vector<int32_t>> holders;
  for (const WindowLock& lock : LocksHeld(analysis, incident.communicator)) {
    std::string place = PlaceText(analysis.sites.UserFrame(lock.event->call_path));
    holders[{analysis.Op(*lock.event), lock.target, std::move(place)}].push_back(
        analysis.RankOf(lock.process));
  }
  for (auto& [lock, ranks] : holders) {
    if (finding->notes.size() >= kMaxLockNotes) {
      finding->notes.emplace_back("and more locks");
      return;
    }
    const auto& [operation, target, place] = lock;
    Normalize(&ranks);
    finding->notes.push_back(fmt::format(
        "{} called {} for {}{}{}, and {} not unlocked it", RanksPhrase(ranks),
        OperationName(operation), target < 0 ? "all ranks" : fmt::format("rank {}", target),
        place.empty() ? "" : " at ", place, Verb(ranks, "has", "have")));
  }
}

Finding JudgeWindow(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched);
  const std::string& window = analysis.CommunicatorName(incident.communicator);
  const std::string call = OperationName(finding.operation);
  if (incident.deviating.empty()) {
    finding.title = fmt::format("{} in {} on {}, and every other rank waits as well",
                                RanksPhrase(finding.waiting, "waits", "wait"), call, window);
    finding.why =
        "every other rank is inside MPI as well, so that none can answer it. Which rank should "
        "have answered is not recorded";
    finding.fix = WindowFix(finding.operation);
  } else {
    const int32_t holder = finding.culprits.front();
    const Operation stands = analysis.Op(*incident.deviating_event);
    const bool again = stands == Operation::kWin_lock || stands == Operation::kWin_lock_all;
    finding.title = again ? fmt::format("rank {} waits in {} on {}, which it has locked itself",
                                        holder, OperationName(stands), window)
                          : fmt::format("rank {} keeps a lock on {}, and {} in {}", holder, window,
                                        RanksPhrase(finding.waiting, "waits", "wait"), call);
    finding.why =
        "no other rank holds a lock there, and every rank is inside MPI. Whether the lock excludes "
        "others is not recorded";
    finding.fix = again ? "unlock the window on every path, before it is locked again"
                        : WindowFix(finding.operation);
  }
  AddLocks(analysis, incident, &finding);
  return finding;
}

Finding JudgeJoined(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched);
  finding.title = fmt::format(
      "{} in {} on {}, and no rank of the {} jobs moves",
      RanksPhrase(finding.waiting, "waits", "wait"), CallText(analysis, *incident.agreeing_event),
      analysis.CommunicatorName(incident.communicator), analysis.trace.worlds.size());
  finding.why =
      "the message is one between a job and the job that it spawned, and every rank of both is "
      "inside MPI. Which rank should have answered is not recorded";
  finding.fix =
      "send as many messages as the other job receives, before MPI_Comm_disconnect and other "
      "collectives";
  return finding;
}

Finding JudgeTaken(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched, true);
  const Event& taker = *incident.Of<MessageDetails>().taker;
  const std::string place = PlaceText(analysis.sites.UserFrame(taker.call_path));
  finding.title = fmt::format("{} for {}, whose message another receive has taken",
                              RanksPhrase(finding.culprits, "waits", "wait"),
                              CallText(analysis, *incident.deviating_event));
  finding.why = fmt::format(
      "a message was sent for every receive, and all ranks are inside MPI without having moved for "
      "{}. {}{} was posted earlier, and fits the same message",
      DurationText(analysis.no_progress_ns), CallText(analysis, taker),
      place.empty() ? "" : " at " + place);
  finding.fix = "use a tag of its own for the receive from one rank, or post this receive first";
  return finding;
}

bool FinalizesEither(const Analysis& analysis, const Incident& incident) {
  return analysis.Finalizes(*incident.deviating_event) ||
         analysis.Finalizes(*incident.agreeing_event);
}

// For two ranks of which one exchanges messages more often than the other. The records do not show
// which of them is right.
Finding JudgeUneven(const Analysis& analysis, const Incident& incident) {
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched);
  finding.title = RoundsText(analysis, incident);
  const RoundDetails& rounds = incident.Of<RoundDetails>();
  const Event& next = *(rounds.more ? incident.agreeing_event : incident.deviating_event);
  finding.why = fmt::format("{} continued to {}", RanksPhrase(analysis.RanksOf({rounds.awaited})),
                            OtherCall(analysis, incident, next));
  AddNote(TakenText(analysis, rounds.waiter, *analysis.CurrentEvent(rounds.waiter)), &finding);
  return finding;
}

}  // namespace

std::optional<Finding> JudgeP2pUnmatched(const Analysis& analysis, const Incident& incident,
                                         const Divergence&) {
  if (incident.what == Incident::What::kUnreceived) return JudgeUnreceived(analysis, incident);
  if (incident.what == Incident::What::kStray) return JudgeStray(analysis, incident);
  if (incident.what == Incident::What::kWindow) return JudgeWindow(analysis, incident);
  if (incident.what == Incident::What::kJoined) return JudgeJoined(analysis, incident);
  if (incident.what == Incident::What::kTaken) return JudgeTaken(analysis, incident);
  if (incident.what == Incident::What::kRounds &&
      (incident.tie || incident.Of<RoundDetails>().others != 0 ||
       !FinalizesEither(analysis, incident))) {
    return JudgeUneven(analysis, incident);
  }
  if (incident.what == Incident::What::kNeighborhood) return JudgeNeighborhood(analysis, incident);
  if (incident.what != Incident::What::kMessage || incident.deviating_event == nullptr) {
    return std::nullopt;
  }
  Finding finding = Draft(analysis, incident, VerdictKind::kP2pUnmatched, true);
  if (IsOnDevice(finding.operation)) {
    const Member& member = analysis.trace.members[incident.deviating_event->member];
    finding.title = fmt::format("rank {} waits in {}, and the other end was never posted",
                                analysis.RankOf(member.process),
                                DeviceCallText(analysis, incident, *incident.deviating_event));
    finding.why =
        "each of the two waits for the other: one of them makes one call more or one call fewer "
        "than the other expects. Which one is not recorded";
    return finding;
  }
  if (incident.Of<MessageDetails>().unmarked != 0)
    return JudgeUnmarked(analysis, incident, std::move(finding));
  const uint32_t waiter = incident.deviating.front();
  const std::string call = CallText(analysis, *incident.deviating_event);
  if (incident.Of<MessageDetails>().itself) {
    finding.title = fmt::format("rank {} waits for itself in {}", analysis.RankOf(waiter), call);
    finding.why =
        "no other rank can answer it, and this rank is blocked in a call that waits for it";
    finding.fix =
        "post the other side first, without waiting for it (MPI_Isend, MPI_Irecv), or correct its "
        "peer, tag or communicator";
  } else {
    finding.title = fmt::format("{} in {}, which no rank will answer",
                                RanksPhrase(finding.culprits, "waits", "wait"), call);
    finding.why = "every rank that could answer it has ended or is blocked elsewhere";
  }
  AddNote(UnmarkedText(analysis, waiter, *incident.deviating_event), &finding);
  AddNote(NearMissText(analysis, waiter, *incident.deviating_event), &finding);
  AddNote(TakenText(analysis, waiter, *incident.deviating_event), &finding);
  if (BufferHides(analysis, incident)) {
    finding.notes.emplace_back(
        "smaller messages, which MPI buffers, hide it: the send then returns");
  }
  return finding;
}

}  // namespace rollcall
