// SPDX-License-Identifier: Apache-2.0
#include "collector/matching/data_matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "collector/matching/pair_patterns.h"
#include "collector/model/rank_set.h"
#include "proto/datatypes.h"
#include "proto/signature.h"

namespace rollcall {
namespace {

// One member's description of one piece of data.
struct BufferDescription {
  uint32_t call = 0;
  uint32_t datatype = kNoIndex;
  uint64_t count = 0;
  uint64_t signature = 0;
};

// Patterns of more pairs than this take too much memory.
constexpr size_t kMaxPatternPairs = 1 << 20;

class DataMatcher {
 public:
  DataMatcher(const Trace& trace, const std::vector<MemberCall>& calls, bool intercommunicator,
              MatchBudget* budget, std::vector<std::string>* notes)
      : trace_(trace),
        calls_(calls),
        intercommunicator_(intercommunicator),
        budget_(budget),
        notes_(notes) {}

  // Calls the function that proto/matching_rules.def names.
  Mismatch Match(Rule rule) {
    switch (rule) {
#define RULE(name, record, match, ...) \
  case Rule::k##name:                  \
    return Match##match();
#include "proto/matching_rules.def"
#undef RULE
    }
    return {};
  }

  // The first call sends one message, which the second call receives.
  Mismatch MatchMessage() const {
    const std::optional<BufferDescription> sent = Send(0);
    const std::optional<BufferDescription> received = Recv(1);
    if (!sent || !received || sent->signature == kEmptySignature) return {};
    const DatatypeInfo& ts = trace_.datatypes[sent->datatype];
    const DatatypeInfo& tr = trace_.datatypes[received->datatype];
    const uint64_t bytes = ts.bytes * sent->count;
    const uint64_t room = tr.bytes * received->count;
    if (bytes == 0) return {};
    Mismatch mismatch;
    mismatch.cut_off = bytes > room;
    if (IsPacked(ts) != IsPacked(tr)) return {};  // only MPI knows the packed size
    const bool one_type = KindOf(*sent, *received) == MismatchKind::kCount ||
                          (ts.signature == tr.signature && ts.basics == tr.basics);
    if (one_type || IsUntyped(ts) || IsUntyped(tr)) {
      if (!mismatch.cut_off) return {};
      mismatch.kind = MismatchKind::kCount;
    } else if (IsUniform(ts) && IsUniform(tr)) {
      mismatch.kind = MismatchKind::kDatatype;
    } else if (mismatch.cut_off) {
      mismatch.kind = MismatchKind::kCount;
    } else if (bytes == room && sent->signature != received->signature) {
      mismatch.kind = MismatchKind::kDatatype;
    } else {
      return {};  // whether one type is a prefix of the other is not recorded
    }
    mismatch.pair = true;
    mismatch.deviating_value = Text(*sent);
    mismatch.agreeing_value = Text(*received);
    return mismatch;
  }

 private:
  const Arguments& Args(uint32_t call) const { return *calls_[call].arguments; }

  static TypeClass ClassOf(const DatatypeInfo& type) {
    return FindBasicType(type.basic).type_class;
  }
  static bool IsUniform(const DatatypeInfo& type) { return ClassOf(type) != TypeClass::kUnknown; }
  static bool IsPacked(const DatatypeInfo& type) { return ClassOf(type) == TypeClass::kPacked; }
  static bool IsUntyped(const DatatypeInfo& type) {
    return ClassOf(type) == TypeClass::kByte || IsPacked(type);
  }

  // The signature of a whole buffer, as in rings (proto/signature.h); 0 if the type is unknown.
  uint64_t SignatureOf(uint32_t datatype, uint64_t count) const {
    const DatatypeInfo& type = trace_.datatypes[datatype];
    if (count == 0 || type.basics == 0) return kEmptySignature;
    const TypeClass type_class = FindBasicType(type.basic).type_class;
    if (type_class != TypeClass::kUnknown) {
      return UniformSignature(static_cast<uint32_t>(type_class), type.basics * count);
    }
    if (type.signature == 0) return 0;
    const Signature element = {type.signature, Repeat(BasicSignature(0), type.basics).power};
    return MixedSignature(element, count);
  }

  std::optional<BufferDescription> Of(uint32_t call, uint32_t datatype, uint64_t count,
                                      uint64_t signature) const {
    if (datatype == kNoIndex) return std::nullopt;
    if (signature == 0) signature = SignatureOf(datatype, count);
    if (signature == 0) return std::nullopt;
    return BufferDescription{call, datatype, count, signature};
  }

  std::optional<BufferDescription> Send(uint32_t i) const {
    const Arguments& a = Args(i);
    if ((a.flags & ring::kSendInPlace) != 0) return std::nullopt;
    return Of(i, a.send_datatype, a.send_count, a.send_signature);
  }
  std::optional<BufferDescription> Recv(uint32_t i) const {
    const Arguments& a = Args(i);
    if ((a.flags & ring::kRecvInPlace) != 0) return std::nullopt;
    return Of(i, a.recv_datatype, a.recv_count, a.recv_signature);
  }
  std::optional<BufferDescription> Element(uint32_t call, uint32_t datatype, uint32_t counts,
                                           size_t index) const {
    if (counts == kNoIndex || index >= trace_.count_arrays[counts].size()) return std::nullopt;
    if (by_signature_) {
      const uint64_t signature = trace_.count_arrays[counts][index];
      if (signature == 0) return std::nullopt;
      return BufferDescription{call, kNoIndex, 0, signature};
    }
    return Of(call, datatype, trace_.count_arrays[counts][index], 0);
  }
  // In place, an Alltoallv sends to each member as much as it receives from that member (MPI 4.0,
  // 6.8). An Allgatherv in place sends its own receive block.
  std::optional<BufferDescription> SendTo(uint32_t i, size_t peer) const {
    if ((Args(i).flags & ring::kSendInPlace) != 0) {
      return Element(i, Args(i).recv_datatype, Args(i).recv_counts, peer);
    }
    return Element(i, Args(i).send_datatype, Args(i).send_counts, peer);
  }
  std::optional<BufferDescription> RecvFrom(uint32_t i, size_t peer) const {
    if ((Args(i).flags & ring::kRecvInPlace) != 0) return std::nullopt;
    return Element(i, Args(i).recv_datatype, Args(i).recv_counts, peer);
  }

  void AddBuffer(uint32_t i) {
    // There is one buffer (Bcast), or there are two with the same description (Reduce). The
    // description is recorded as the send side or as the receive side.
    const Arguments& a = Args(i);
    if (intercommunicator_ && a.root_or_peer == ring::kRootNone) return;
    const bool send = a.send_datatype != kNoIndex;
    const auto voice = send ? Of(i, a.send_datatype, a.send_count, a.send_signature)
                            : Of(i, a.recv_datatype, a.recv_count, a.recv_signature);
    if (voice) buffers_.push_back(*voice);
  }
  void AddSend(uint32_t i) {
    if (const auto voice = Send(i)) buffers_.push_back(*voice);
  }
  void AddRecv(uint32_t i) {
    if (const auto voice = Recv(i)) buffers_.push_back(*voice);
  }

  bool IsRoot(uint32_t i) const {
    const int32_t root = Args(i).root_or_peer;
    return intercommunicator_ ? root == ring::kRootSelf : root == calls_[i].rank;
  }
  bool IsIdle(uint32_t i) const { return Args(i).root_or_peer == ring::kRootNone; }

  bool Fits(const BufferDescription& a, const BufferDescription& b) const {
    if (a.signature == b.signature) return true;
    if (a.datatype == kNoIndex || b.datatype == kNoIndex) return false;
    const DatatypeInfo& ta = trace_.datatypes[a.datatype];
    const DatatypeInfo& tb = trace_.datatypes[b.datatype];
    if ((IsUntyped(ta) || IsUntyped(tb)) && ta.bytes * a.count == tb.bytes * b.count) {
      if (notes_ != nullptr) {
        notes_->push_back(fmt::format(
            "{} matches {} in {}: the sizes are equal, and it works, but MPI requires equal types",
            DataText(trace_, a.datatype, a.count), DataText(trace_, b.datatype, b.count),
            OperationName(Args(a.call).operation)));
      }
      return true;
    }
    return false;
  }

  MismatchKind KindOf(const BufferDescription& a, const BufferDescription& b) const {
    // One side has no data, so its type does not matter.
    if (a.signature == kEmptySignature || b.signature == kEmptySignature) {
      return MismatchKind::kCount;
    }
    if (a.datatype == kNoIndex || b.datatype == kNoIndex) return MismatchKind::kDatatype;
    const DatatypeInfo& ta = trace_.datatypes[a.datatype];
    const DatatypeInfo& tb = trace_.datatypes[b.datatype];
    const TypeClass ca = FindBasicType(ta.basic).type_class;
    const TypeClass cb = FindBasicType(tb.basic).type_class;
    if (a.datatype == b.datatype || (ca == cb && ca != TypeClass::kUnknown)) {
      return MismatchKind::kCount;
    }
    return MismatchKind::kDatatype;
  }

  std::string Text(const BufferDescription& voice) const {
    if (voice.datatype != kNoIndex) return DataText(trace_, voice.datatype, voice.count);
    return voice.signature == kEmptySignature ? "nothing" : "data of another type or count";
  }

  // Compares all descriptions, which must be equal. The majority is counted by member. A member
  // with two different descriptions counts in the smaller class, because one of its arguments is
  // wrong.
  Mismatch Compare() {
    if (buffers_.empty()) return {};
    std::vector<std::pair<BufferDescription, std::vector<uint32_t>>> classes;
    std::unordered_map<uint64_t, size_t> by_signature;
    for (const BufferDescription& voice : buffers_) {
      const auto [entry, added] = by_signature.emplace(voice.signature, classes.size());
      if (added) {
        // MPI_BYTE is counted in the class with the same number of bytes.
        for (size_t c = 0; c < classes.size(); ++c) {
          if (Fits(classes[c].first, voice)) entry->second = c;
        }
        if (entry->second == classes.size()) classes.push_back({voice, {}});
      }
      std::vector<uint32_t>& members = classes[entry->second].second;
      if (members.empty() || members.back() != voice.call) members.push_back(voice.call);
    }
    if (classes.size() < 2) return {};
    std::ranges::stable_sort(
        classes, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    const bool tie = classes[0].second.size() == classes[1].second.size();
    Mismatch mismatch;
    mismatch.kind = KindOf(classes[0].first, classes[1].first);
    mismatch.agreeing_value = Text(classes[0].first);
    mismatch.deviating_value = Text(classes[1].first);
    std::vector<uint32_t>& rest = tie ? mismatch.others : mismatch.deviating;
    for (size_t c = 1; c < classes.size(); ++c) {
      rest.insert(rest.end(), classes[c].second.begin(), classes[c].second.end());
    }
    Normalize(&rest);
    for (const uint32_t call : classes[0].second) {
      if (!std::ranges::binary_search(rest, call)) mismatch.agreeing.push_back(call);
    }
    return mismatch;
  }

  bool IsInFirstGroup(uint32_t i) const {
    const Member* member = calls_[i].topology;
    if (member == nullptr) return true;
    const std::vector<int32_t>& first = trace_.communicators[member->communicator].ranks;
    return std::ranges::find(first, trace_.processes[member->process].rank) != first.end();
  }

  static Mismatch MatchNothing() { return {}; }

  Mismatch MatchBuffers() {
    for (uint32_t i = 0; i < calls_.size(); ++i) AddBuffer(i);
    return Compare();
  }

  Mismatch MatchBlocks() {
    if (intercommunicator_) return MatchGroups();
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      AddSend(i);
      AddRecv(i);
    }
    return Compare();
  }

  Mismatch MatchReduceScatter() {
    return WithinGroups([this](uint32_t i) { AddBlocks(i); });
  }
  Mismatch MatchReduceScatterBlock() {
    return WithinGroups([this](uint32_t i) { AddBuffer(i); });
  }
  Mismatch MatchGather() { return MatchRooted(/*gather=*/true); }
  Mismatch MatchScatter() { return MatchRooted(/*gather=*/false); }
  Mismatch MatchGatherv() { return MatchRootedPairs(/*gather=*/true); }
  Mismatch MatchScatterv() { return MatchRootedPairs(/*gather=*/false); }
  Mismatch MatchAlltoallw() {
    by_signature_ = true;
    return MatchAlltoallv();
  }
  Mismatch MatchNeighbors() { return MatchEdges(/*sends_array=*/false, /*recvs_array=*/false); }
  Mismatch MatchNeighborAllgatherv() {
    return MatchEdges(/*sends_array=*/false, /*recvs_array=*/true);
  }
  Mismatch MatchNeighborAlltoallv() {
    return MatchEdges(/*sends_array=*/true, /*recvs_array=*/true);
  }
  Mismatch MatchNeighborAlltoallw() {
    by_signature_ = true;
    return MatchNeighborAlltoallv();
  }

  // On an intercommunicator, each direction between the groups has its own size: one group receives
  // the data that the other group sends (MPI 4.0, 6.7.2, 6.8.2).
  Mismatch MatchGroups() {
    for (const bool from_first : {true, false}) {
      buffers_.clear();
      for (uint32_t i = 0; i < calls_.size(); ++i) {
        IsInFirstGroup(i) == from_first ? AddSend(i) : AddRecv(i);
      }
      if (Mismatch mismatch = Compare()) return mismatch;
    }
    return {};
  }

  // Gather: the root receives the data that each member sends. Scatter: the reverse.
  Mismatch MatchRooted(bool gather) {
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (IsIdle(i)) continue;
      const bool root = IsRoot(i);
      // The root of an intercommunicator's gather only receives.
      if (!root || !intercommunicator_) gather ? AddSend(i) : AddRecv(i);
      if (root) gather ? AddRecv(i) : AddSend(i);
    }
    return Compare();
  }

  // The data that one member sends to another, and the data that the other expects.
  struct DataPair {
    uint32_t sender = 0;
    std::span<const uint32_t> receivers;  // several if they passed the same array
    std::optional<BufferDescription> sent;
    std::optional<BufferDescription> expected;
    int32_t send_entry = -1;  // as in DisagreeingPair
    int32_t recv_entry = -1;
  };

  // `pairs` calls its argument for each pair. `root`: the root that all pairs have in common.
  template <typename Pairs>
  Mismatch ComparePairs(const Pairs& pairs, std::optional<uint32_t> root = std::nullopt) {
    size_t agreeing = 0;
    size_t wrong = 0;
    const auto visit = [&](bool of_wrong, const auto& take) {
      pairs([&](const DataPair& pair) {
        if (pair.sent && pair.expected && Fits(*pair.sent, *pair.expected) != of_wrong) take(pair);
      });
    };
    visit(true, [&](const DataPair&) { ++wrong; });
    if (wrong == 0) return {};
    PairPatterns patterns;
    visit(false, [&](const DataPair& pair) {
      if (++agreeing > kMaxPatternPairs || calls_.size() < 3) return;
      // A pair of a rank with itself is no evidence against another rank.
      if (!root && pair.receivers.size() == 1 && pair.receivers[0] == pair.sender) return;
      patterns.Add(pair.sender, pair.receivers[0], pair.sent->signature);
    });
    const auto odd_of = [&](const DataPair& pair) {
      auto odd = patterns.FindOdd(pair.sender, pair.receivers[0], pair.sent->signature,
                                  pair.expected->signature);
      // A rank may differ from the others, and the root's array has to agree with it: a pattern can
      // only show that the root is wrong.
      if (root && odd && (odd->sender ? pair.sender : pair.receivers[0]) != *root) odd.reset();
      return odd;
    };
    // By member: the number of members that it disagrees with, without pairs in which a pattern
    // shows that the other member is wrong.
    std::map<uint32_t, uint32_t> complaints;
    visit(true, [&](const DataPair& pair) {
      const auto odd = odd_of(pair);
      for (const uint32_t receiver : pair.receivers) {
        const bool itself = receiver == pair.sender;
        if (itself || !odd || odd->sender) ++complaints[pair.sender];
        if (!itself && (!odd || !odd->sender)) ++complaints[receiver];
      }
    });
    // The root takes part in all pairs. Several wrong pairs do not show that the root is wrong, but
    // a majority of wrong pairs does.
    const auto of_root = root ? complaints.find(*root) : complaints.end();
    if (of_root != complaints.end() && wrong <= agreeing) of_root->second = 1;
    Mismatch mismatch;
    SetCulprits(complaints, &mismatch);
    visit(true, [&](const DataPair& pair) {
      const auto is_odd = [&](uint32_t i) {
        return std::ranges::binary_search(mismatch.deviating, i);
      };
      const auto receiver = std::ranges::find_if(pair.receivers, is_odd);
      if (mismatch || (receiver == pair.receivers.end() && !is_odd(pair.sender))) return;
      mismatch.kind = KindOf(*pair.sent, *pair.expected);
      mismatch.deviating_value = Text(*pair.sent);
      mismatch.agreeing_value = Text(*pair.expected);
      const auto odd = odd_of(pair);
      mismatch.between = {
          .sender = pair.sender,
          .receiver = receiver == pair.receivers.end() ? pair.receivers[0] : *receiver,
          .send_entry = pair.send_entry,
          .recv_entry = pair.recv_entry,
          .others = wrong - 1,
          .pattern = odd ? odd->pattern : ""};
    });
    return mismatch;
  }

  // Compares pairs (member, root) in which the root specifies the data for each member.
  Mismatch MatchRootedPairs(bool gather) {
    std::optional<uint32_t> root;
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (IsRoot(i)) root = i;
    }
    if (!root) return {};
    const auto pairs = [&](const auto& take) {
      for (uint32_t i = 0; i < calls_.size(); ++i) {
        if (IsIdle(i) || (intercommunicator_ && i == *root)) continue;
        const int32_t entry = calls_[i].rank;
        const auto at = static_cast<size_t>(entry);
        if (gather) {
          take(DataPair{i, {&*root, 1}, Send(i), RecvFrom(*root, at), -1, entry});
        } else {
          take(DataPair{*root, {&i, 1}, SendTo(*root, at), Recv(i), entry, -1});
        }
      }
    };
    return ComparePairs(pairs, root);
  }

  // Every member specifies the contribution of every member. Real programs have few different
  // arrays, so each different array is compared once.
  Mismatch MatchAllgatherv() {
    if (intercommunicator_) return {};
    std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> arrays;
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      arrays[{Args(i).recv_counts, Args(i).recv_datatype}].push_back(i);
    }
    if (!Spend(arrays.size() * calls_.size())) return {};
    return ComparePairs([&](const auto& take) {
      for (const auto& [key, owners] : arrays) {
        for (uint32_t i = 0; i < calls_.size(); ++i) {
          const int32_t entry = calls_[i].rank;
          const auto at = static_cast<size_t>(entry);
          const bool in_place = (Args(i).flags & ring::kSendInPlace) != 0;
          take(DataPair{i, owners, in_place ? SendTo(i, at) : Send(i), RecvFrom(owners[0], at),
                        in_place ? entry : -1, entry});
        }
      }
    });
  }

  // A Flight Recorder dump lacks the counts of each pair. Then the sum of the data that all members
  // send must equal the sum of the data that all members receive. Sums do not show which member is
  // wrong.
  Mismatch MatchTotals() {
    const Member* first = calls_[0].topology;
    if (first == nullptr) return {};
    const Communicator& comm = trace_.communicators[first->communicator];
    if (calls_.size() != comm.ranks.size()) return {};
    const uint32_t datatype = Args(0).send_datatype;
    uint64_t sent = 0;
    uint64_t received = 0;
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      const Arguments& a = Args(i);
      if (datatype == kNoIndex || a.send_datatype != datatype || a.recv_datatype != datatype) {
        return {};
      }
      sent += a.send_count;
      received += a.recv_count;
    }
    if (sent == received) return {};
    Mismatch mismatch;
    mismatch.kind = MismatchKind::kCount;
    for (uint32_t i = 0; i < calls_.size(); ++i) mismatch.others.push_back(i);
    mismatch.deviating_value = "together " + DataText(trace_, datatype, sent);
    mismatch.agreeing_value = "together " + DataText(trace_, datatype, received);
    return mismatch;
  }

  Mismatch MatchAlltoallv() {
    if (intercommunicator_) return {};
    if (std::ranges::all_of(
            calls_, [](const MemberCall& call) { return IsTorch(call.arguments->operation); })) {
      return MatchTotals();
    }
    if (!Spend(calls_.size() * calls_.size())) return {};
    return ComparePairs([&](const auto& take) {
      for (uint32_t i = 0; i < calls_.size(); ++i) {
        for (uint32_t j = 0; j < calls_.size(); ++j) {
          const int32_t to = calls_[j].rank;
          const int32_t from = calls_[i].rank;
          take(DataPair{i,
                        {&j, 1},
                        SendTo(i, static_cast<size_t>(to)),
                        RecvFrom(j, static_cast<size_t>(from)),
                        to,
                        from});
        }
      }
    });
  }

  // The member with the most disagreements is the culprit. If two members have the same number,
  // either may be the culprit.
  void SetCulprits(const std::map<uint32_t, uint32_t>& complaints, Mismatch* mismatch) const {
    uint32_t most = 0;
    for (const auto& [call, count] : complaints) most = std::max(most, count);
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      const auto found = complaints.find(i);
      const bool odd = found != complaints.end() && found->second == most;
      (odd ? mismatch->deviating : mismatch->agreeing).push_back(i);
    }
    mismatch->pair = mismatch->deviating.size() == 2;
  }

  // Adds all blocks of a Reduce_scatter as one description.
  void AddBlocks(uint32_t i) {
    const Arguments& a = Args(i);
    const uint32_t counts = a.recv_counts != kNoIndex ? a.recv_counts : a.send_counts;
    const uint32_t datatype = a.recv_datatype != kNoIndex ? a.recv_datatype : a.send_datatype;
    if (counts == kNoIndex || datatype == kNoIndex) return;
    uint64_t total = 0;
    uint64_t hash = 0;
    for (const uint64_t count : trace_.count_arrays[counts]) {
      total += count;
      hash = RollHash(hash, SignatureOf(datatype, count));
    }
    buffers_.push_back({i, datatype, total, hash | 1});
  }

  // All members of a group specify the same blocks (MPI 4.0, 6.10). The other group of an
  // intercommunicator has its own blocks with the same total. The totals are not compared.
  template <typename Add>
  Mismatch WithinGroups(Add add) {
    for (const bool first : {true, false}) {
      buffers_.clear();
      for (uint32_t i = 0; i < calls_.size(); ++i) {
        if (!intercommunicator_ || IsInFirstGroup(i) == first) add(i);
      }
      Mismatch mismatch = Compare();
      if (mismatch || !intercommunicator_) return mismatch;
    }
    return {};
  }

  // Compares data along the edges of the topology (MPI 4.0, 8.6). If i lists j several times, the
  // k-th edge from i to j in i's list is the k-th edge from i in j's list. In a Cartesian topology,
  // data that is sent down is received from above. So if both neighbors are one rank (a periodic
  // dimension of size two), the edges are not paired in the order of the lists.
  Mismatch MatchEdges(bool sends_array, bool recvs_array) {
    std::unordered_map<int32_t, uint32_t> by_rank;
    for (uint32_t i = 0; i < calls_.size(); ++i) by_rank[calls_[i].rank] = i;
    return ComparePairs([&](const auto& take) {
      for (uint32_t i = 0; i < calls_.size(); ++i) {
        std::map<int32_t, uint32_t> nth;
        const std::vector<int32_t>& out = calls_[i].topology->neighbors_out;
        const uint32_t comm = calls_[i].topology->communicator;
        const bool cartesian = (trace_.communicators[comm].flags & ring::kIsCartesian) != 0;
        for (size_t k = 0; k < out.size(); ++k) {
          const auto peer = by_rank.find(out[k]);
          if (peer == by_rank.end() || !Spend(1)) continue;
          const uint32_t j = peer->second;
          const std::vector<int32_t>& in = calls_[j].topology->neighbors_in;
          uint32_t left = nth[out[k]]++;
          for (size_t m = 0; m < in.size(); ++m) {
            if (in[m] != calls_[i].rank) continue;
            if (cartesian ? m != (k ^ 1) : left-- != 0) continue;
            take(DataPair{i,
                          {&j, 1},
                          sends_array ? SendTo(i, k) : Send(i),
                          recvs_array ? RecvFrom(j, m) : Recv(j),
                          sends_array ? static_cast<int32_t>(k) : -1,
                          recvs_array ? static_cast<int32_t>(m) : -1});
            break;
          }
        }
      }
    });
  }

  bool Spend(uint64_t pairs) {
    if (budget_->pairs_left < pairs) {
      budget_->exceeded = true;
      return false;
    }
    budget_->pairs_left -= pairs;
    return true;
  }

  const Trace& trace_;
  const std::vector<MemberCall>& calls_;
  const bool intercommunicator_;
  MatchBudget* const budget_;
  std::vector<std::string>* const notes_;
  std::vector<BufferDescription> buffers_;
  bool by_signature_ = false;  // w-collectives: the arrays have signatures, not counts
};

}  // namespace

std::string DataText(const Trace& trace, uint32_t datatype, uint64_t count) {
  const std::string& name = trace.datatypes[datatype].name;
  return fmt::format("{} × {}", static_cast<int64_t>(count),
                     name.empty() ? "a derived type" : name);
}

Mismatch MatchData(const Trace& trace, const std::vector<MemberCall>& calls, Rule rule,
                   bool intercommunicator, MatchBudget* budget, std::vector<std::string>* notes) {
  return DataMatcher(trace, calls, intercommunicator, budget, notes).Match(rule);
}

Mismatch MatchMessage(const Trace& trace, const Arguments& sent, const Arguments& received) {
  const std::vector<MemberCall> calls = {{.arguments = &sent}, {.arguments = &received}};
  return DataMatcher(trace, calls, false, nullptr, nullptr).MatchMessage();
}

}  // namespace rollcall
