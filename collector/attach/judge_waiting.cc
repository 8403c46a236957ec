#include "collector/attach/judge_waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/matching/user_code.h"
#include "collector/model/rank_set.h"
#include "proto/operations.h"

namespace rollcall::attach {
namespace {

bool ReducesGradients(const Group& group) { return group.call().starts_with("c10d::Reducer::"); }

std::string NameOf(const LibraryCall& call) {
  return call.communicator.find(' ') == std::string::npos ? call.communicator
                                                          : '"' + call.communicator + '"';
}

class WaitingGroups {
 public:
  WaitingGroups(const Judgement& judgement, Report* report)
      : judgement_(judgement), ranks_(judgement.ranks), report_(report) {}

  void Judge() {
    if (!ranks_.missing.empty()) {
      Finding finding = judgement_.Draft(VerdictKind::kInconclusive, Certainty::kInconclusive);
      finding.hangs = false;
      finding.title = fmt::format("{}; what {} {} was not observed", judgement_.WaitingText(),
                                  RanksPhrase(ranks_.missing), Verb(ranks_.missing, "does", "do"));
      finding.fix = judgement_.rank_states.cores
                        ? "collect the core files of those ranks as well"
                        : "attach on the machines of those ranks as well: --hosts, or --slurm";
      judgement_.AddWaiting(&finding);
      report_->findings.push_back(std::move(finding));
      return;
    }
    if (std::all_of(ranks_.waiting.begin(), ranks_.waiting.end(), IsOfMessages)) return Messages();
    if (ranks_.waiting.size() == 1) return JudgeOneGroup();
    Diverged();
  }

 private:
  // Ranks that wait for each other in a ring, as far as the library's objects show.
  std::vector<int32_t> Cycle() const {
    std::map<int32_t, int32_t> awaited;
    for (const Group& group : ranks_.waiting) {
      for (const RankState* rank : group.members) awaited[rank->rank] = rank->call.awaited;
    }
    // A rank for which no remaining rank waits is in no ring.
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

  void Messages() {
    Finding finding = judgement_.Draft(VerdictKind::kP2pDeadlock, Certainty::kSuspected);
    const bool named = !ClearWindowCulprits(ranks_, &finding);
    finding.title = fmt::format(
        "{} {} in calls for {} that no rank is left to answer", RanksPhrase(finding.waiting),
        Verb(finding.waiting, "waits", "wait"), named ? "messages" : "a window");
    finding.why = "no rank is outside of these calls";
    judgement_.AddWaiting(&finding);
    for (Site& site : finding.sites) site.culprit = named;
    const std::vector<int32_t> circle = Cycle();
    if (named && !circle.empty()) {
      finding.certainty = finding.kind_certainty = Certainty::kLikely;
      finding.why = "they wait for messages from each other, in a cycle";
      finding.culprits = circle;
      finding.waiting = Without(finding.waiting, circle);
      for (Site& site : finding.sites) site.culprit = !Common(site.ranks, circle).empty();
    } else if (named) {
      finding.culprits = std::exchange(finding.waiting, {});
    }
    judgement_.Add(std::move(finding), report_);
  }

  void JudgeOneGroup() {
    const Group& group = ranks_.waiting.front();
    // Starting and ending processes and writing files may take any time.
    if (group.front().meaning.meaning == FrameMeaning::kMpi && group.kind() != Kind::kCollective) {
      report_->notes.push_back(fmt::format("all ranks are in {}", group.call()));
      return;
    }
    Finding finding = judgement_.Draft(VerdictKind::kTransportStalled, Certainty::kSuspected);
    finding.title = fmt::format("all ranks are in {}, called from the same place", group.call());
    judgement_.AddWaiting(&finding);
    if (!ExplainByIteration(&finding)) {
      finding.why = "every rank has arrived, and none continues";
      finding.fix =
          "compare the arguments of the call (root, count, datatype, communicator), which stacks "
          "do not show; if they match, check network, driver and library";
    }
    judgement_.Add(std::move(finding), report_);
  }

  // Explains the hang by a loop in which some ranks are in another iteration; false if there is
  // none.
  bool ExplainByIteration(Finding* finding) const {
    const auto counter = std::find_if(judgement_.variables.begin(), judgement_.variables.end(),
                                      [](const ComparedVariable& variable) {
                                        return variable.counts && variable.values.size() == 2;
                                      });
    if (counter == judgement_.variables.end()) return false;
    const std::vector<int32_t>& most = counter->values[0].ranks;
    const std::vector<int32_t>& others = counter->values[1].ranks;
    finding->kind = VerdictKind::kUnevenIterations;
    finding->why = "they are in different iterations of a loop";
    if (most.size() != others.size()) {
      finding->culprits = others;
      finding->waiting = most;
    }
    return true;
  }

  // Some ranks wait for messages, others for all ranks: stacks do not show which rank should send.
  void SetCulpritsOfMessages(Finding* finding) const {
    finding->certainty = finding->kind_certainty = Certainty::kSuspected;
    finding->culprits.clear();
    finding->waiting = WaitingRanks(ranks_);
    if (ClearWindowCulprits(ranks_, finding)) return;
    for (const Group& group : ranks_.waiting) {
      if (!IsOfMessages(group)) continue;
      finding->culprits.insert(finding->culprits.end(), group.ranks.begin(), group.ranks.end());
    }
    Normalize(&finding->culprits);
    finding->waiting = Without(finding->waiting, finding->culprits);
    // Two ranks that wait for each other.
    if (finding->waiting.size() == 1 && finding->culprits.size() == 1) {
      finding->culprits = WaitingRanks(ranks_);
      finding->waiting.clear();
    }
  }

  // Which of two groups is ahead in the program: < 0 if the second one is, 0 if unknown.
  int Order(const Group& a, const Group& b, const PathDivergence& part) const {
    for (const ComparedVariable& variable : judgement_.variables) {
      if (!variable.counts) continue;
      const auto iteration = [&variable](const Group& group) {
        return std::find_if(variable.values.begin(), variable.values.end(), [&](const auto& value) {
          return std::includes(value.ranks.begin(), value.ranks.end(), group.ranks.begin(),
                               group.ranks.end());
        });
      };
      const auto of_a = iteration(a);
      const auto of_b = iteration(b);
      if (of_a == variable.values.end() || of_b == variable.values.end() || of_a == of_b) continue;
      return of_a->value < of_b->value ? -1 : 1;
    }
    return part.known ? part.order : 0;
  }

  // The ranks of the group ahead that skipped the call that the others wait in. None: unknown.
  static std::optional<std::vector<int32_t>> Skipped(const Group& behind, const Group& ahead) {
    if (!HoldsAll(behind) || !Differ(behind.library(), ahead.library())) return std::nullopt;
    std::vector<int32_t> skipped;
    std::copy_if(ahead.ranks.begin(), ahead.ranks.end(), std::back_inserter(skipped),
                 [&](int32_t rank) { return behind.library().HasMember(rank); });
    return skipped;
  }

  // For a call that ranks may leave before all have arrived: a condition around it shows which
  // ranks made it. False if there is none, or if it does not match the ranks.
  bool SetCulpritsByCondition(const Group& behind, const Group& ahead, const PathDivergence& part,
                              Finding* finding) const {
    const SourceBlock* arm = part.branch ? judgement_.sites.EnclosingArm(part.b, part.a) : nullptr;
    if (arm == nullptr) return false;
    finding->certainty = Certainty::kSuspected;
    finding->culprits = behind.ranks;
    if (arm->subject.empty()) return true;
    int32_t value = -1;
    std::from_chars(arm->value.data(), arm->value.data() + arm->value.size(), value);
    if (arm->equal) return behind.ranks == std::vector<int32_t>{value};
    std::set<int32_t> awaited;
    for (const RankState* rank : behind.members) {
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
    const Group& main = ranks_.waiting.front();
    std::vector<const Group*> others;
    for (size_t i = 1; i < ranks_.waiting.size(); ++i) others.push_back(&ranks_.waiting[i]);
    const Group& other = *others.front();
    const PathDivergence part =
        judgement_.sites.Part(main.front().call_path, other.front().call_path);
    const VerdictKind kind = KindOf(main, other, part);
    Finding finding =
        judgement_.Draft(kind, part.known ? Certainty::kLikely : Certainty::kSuspected);
    finding.kind_certainty = Certainty::kSuspected;
    for (const Group* group : others) {
      finding.culprits.insert(finding.culprits.end(), group->ranks.begin(), group->ranks.end());
    }
    Normalize(&finding.culprits);
    const bool apart = Differ(main.library(), other.library());
    const auto where = [this, apart](const Group& group) {
      const std::string place = PlaceText(judgement_.sites.UserFrame(group.front().call_path));
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
      finding.why = fmt::format("the stacks diverge in {}, at lines {} and {}", part.a.function,
                                part.a.line, part.b.line);
    } else if (kind == VerdictKind::kOrderInversion) {
      finding.why = "the call site is the same, the communicators are not";
    }
    if (kind == VerdictKind::kP2pDeadlock) {
      SetCulpritsOfMessages(&finding);
    } else {
      SetCulprits(main, other, part, &finding);
    }
    if (std::any_of(ranks_.waiting.begin(), ranks_.waiting.end(), ReducesGradients)) {
      finding.notes.push_back(
          "DistributedDataParallel reduces gradients once each rank has used each parameter: set "
          "find_unused_parameters if a step does not use all parameters; use Join if ranks have "
          "different numbers of steps");
    }
    for (const Group& group : ranks_.waiting) {
      std::vector<int32_t> culprits = Common(group.ranks, finding.culprits);
      std::vector<int32_t> others = Without(group.ranks, culprits);
      const auto add = [&](std::vector<int32_t>* ranks, Site::Role role) {
        if (ranks->empty()) return;
        finding.sites.push_back(judgement_.SiteOf(group.front(), std::move(*ranks), role,
                                                  role == Site::Role::kCulprit));
      };
      add(&others, Site::Role::kWaiting);
      add(&culprits, Site::Role::kCulprit);
    }
    judgement_.Add(std::move(finding), report_);
  }

  // Names the smaller group, unless the evidence shows more, or too little.
  void SetCulprits(const Group& main, const Group& other, const PathDivergence& part,
                   Finding* finding) const {
    const int order = Order(main, other, part);
    const bool alone = ranks_.waiting.size() == 2;
    std::optional<std::vector<int32_t>> skipped;
    if (alone && order != 0) {
      skipped = order < 0 ? Skipped(main, other) : Skipped(other, main);
    }
    // A rank behind a call that does not block all members may have made it correctly.
    const auto passes = [&other](int by) { return by > 0 && !HoldsAll(other); };
    const bool passed = passes(order);
    const bool tie = alone && main.members.size() == other.members.size();
    if (skipped && skipped->empty()) {
      finding->culprits.clear();
      finding->certainty = Certainty::kSuspected;
      finding->notes.push_back(
          "the ranks that are ahead are not members of the communicator of the call");
    } else if (skipped) {
      finding->culprits = *skipped;
      const LibraryCall& library = (order < 0 ? main : other).library();
      finding->why += fmt::format("; {} {} to {}", RanksPhrase(*skipped),
                                  Verb(*skipped, "belongs", "belong"), NameOf(library));
    } else if (tie) {
      finding->culprits.clear();
      finding->certainty = Certainty::kSuspected;
      finding->notes.push_back(
          "both places have the same number of ranks: which of them diverged is not known");
    } else if (passed && !(alone && SetCulpritsByCondition(other, main, part, finding))) {
      finding->culprits.clear();
      finding->certainty = Certainty::kSuspected;
      finding->notes.push_back(
          fmt::format("a rank may leave {} before all ranks have arrived: which of the ranks "
                      "behind it skipped it is not known",
                      other.call()));
    }
    // If the iterations decide: a loop may count downwards.
    if (part.known && passed != passes(part.order)) finding->certainty = Certainty::kSuspected;
    finding->waiting =
        finding->culprits.empty() ? main.ranks : Without(WaitingRanks(ranks_), finding->culprits);
  }

  const Judgement& judgement_;
  const Positions& ranks_;
  Report* report_;
};

}  // namespace

void JudgeWaiting(const Judgement& judgement, Report* report) {
  WaitingGroups(judgement, report).Judge();
}

}  // namespace rollcall::attach
