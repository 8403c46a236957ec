// SPDX-License-Identifier: Apache-2.0
#include "collector/import/device_work.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace rollcall {
namespace {

// Calls that have to meet: a collective of all members, or one message between two members.
struct Meeting {
  std::vector<uint32_t> calls;  // indices
  size_t wanted = 0;
  size_t lost = 0;            // members whose call is no longer recorded
  size_t ready = 0;           // lost calls, and calls that are done or first in their stream
  bool fits = true;           // all of them are calls of one kind
  bool contradicted = false;  // a host still waits for it
};

class StreamSimulator {
 public:
  StreamSimulator(std::vector<DeviceCall> calls, Trace* trace)
      : calls_(std::move(calls)), trace_(*trace) {
    std::ranges::stable_sort(calls_, [](const DeviceCall& a, const DeviceCall& b) {
      return std::tuple(a.process, a.launch, a.event.start_ns) <
             std::tuple(b.process, b.launch, b.event.start_ns);
    });
  }

  void Simulate(const std::vector<HostWait>& waits) {
    for (const DeviceCall& call : calls_) known_.push_back(call.done);
    MakeMeetings();
    Replay();
    bool contradicted = false;
    for (const HostWait& wait : waits) {
      // The host may be waiting for a graph.
      if (!trace_.processes[wait.process].graphs) contradicted |= Contradicts(wait);
    }
    if (contradicted) Replay();
    CloseInsideLaunches();
    Write();
  }

 private:
  const Arguments& Args(const DeviceCall& call) const {
    return trace_.arguments[call.event.arguments];
  }
  Kind KindOf(const DeviceCall& call) const {
    return FindOperation(static_cast<uint16_t>(Args(call).operation)).kind;
  }
  bool IsMessage(const DeviceCall& call) const { return call.event.sequence == 0; }

  bool Fit(const DeviceCall& a, const DeviceCall& b) const {
    if (!IsMessage(a)) return Args(a).semantic_hash == Args(b).semantic_hash;
    const uint64_t bytes_a = BytesOf(a);
    const uint64_t bytes_b = BytesOf(b);
    return bytes_a == bytes_b || bytes_a == 0 || bytes_b == 0;
  }
  // The size of a message; 0 if unknown.
  uint64_t BytesOf(const DeviceCall& call) const {
    const bool sends = KindOf(call) == Kind::kIsend;
    const uint32_t type = sends ? Args(call).send_datatype : Args(call).recv_datatype;
    if (type == kNoIndex) return 0;
    return trace_.datatypes[type].bytes * (sends ? Args(call).send_count : Args(call).recv_count);
  }

  // The n-th send from one member to another meets the n-th receive there.
  void MakeMeetings() {
    std::map<std::tuple<uint32_t, uint64_t, int32_t, int32_t, uint64_t>, uint32_t> index;
    std::map<std::tuple<uint32_t, int32_t, int32_t, int32_t, bool>, uint64_t> messages;
    meeting_of_.resize(calls_.size());
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      const DeviceCall& call = calls_[i];
      const Member& member = trace_.members[call.event.member];
      std::tuple<uint32_t, uint64_t, int32_t, int32_t, uint64_t> key{
          member.communicator, call.event.sequence, -1, -1, 0};
      size_t wanted = trace_.communicators[member.communicator].members.size();
      if (IsMessage(call)) {
        const int32_t peer = Args(call).root_or_peer;
        const bool sends = KindOf(call) == Kind::kIsend;
        const int32_t from = sends ? member.rank : peer;
        const int32_t to = sends ? peer : member.rank;
        // Of a process group: NCCL's communicator (RingReferences::OnCarrier).
        const int32_t carrier = Args(call).tag2;
        const uint64_t nth = ++messages[{member.communicator, from, to, carrier, sends}];
        key = {member.communicator, uint64_t{static_cast<uint32_t>(carrier)} << 32, from, to, nth};
        wanted = from == to ? 1 : 2;
      }
      const auto [entry, added] = index.emplace(key, static_cast<uint32_t>(meetings_.size()));
      if (added) meetings_.emplace_back();
      Meeting& meeting = meetings_[entry->second];
      meeting.wanted = wanted;
      if (!meeting.calls.empty()) meeting.fits &= Fit(calls_[meeting.calls.front()], call);
      meeting.calls.push_back(i);
      meeting_of_[i] = entry->second;
    }
    for (Meeting& meeting : meetings_) AddLost(&meeting);
  }

  // A member that entered the operation and whose record is gone counts as lost. It is past the
  // operation.
  void AddLost(Meeting* meeting) const {
    const DeviceCall& first = calls_[meeting->calls.front()];
    if (IsMessage(first)) return;
    const uint32_t comm = trace_.members[first.event.member].communicator;
    size_t entered = 0;
    for (const uint32_t m : trace_.communicators[comm].members) {
      if (trace_.members[m].entered >= first.event.sequence) ++entered;
    }
    meeting->lost = entered > meeting->calls.size() ? entered - meeting->calls.size() : 0;
  }

  // Calls are sorted by launch: each stream gets its calls in that order.
  void MakeStreams() {
    std::map<std::pair<uint32_t, uint64_t>, uint32_t> index;
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      const DeviceCall& call = calls_[i];
      if (call.done) {
        ++meetings_[meeting_of_[i]].ready;
        continue;
      }
      if (call.held || call.stopped) continue;
      const auto [entry, added] = index.emplace(std::pair(call.process, call.stream),
                                                static_cast<uint32_t>(streams_.size()));
      if (added) streams_.emplace_back();
      streams_[entry->second].calls.push_back(i);
    }
    stream_of_.assign(calls_.size(), kNoIndex);
    for (uint32_t s = 0; s < streams_.size(); ++s) {
      for (const uint32_t i : streams_[s].calls) stream_of_[i] = s;
    }
  }

  struct Stream {
    std::vector<uint32_t> calls;
    size_t first = 0;    // of the launch at its head
    size_t end = 0;      // after that launch
    size_t pending = 0;  // calls of that launch that are not done
  };

  // Restarts from the calls that are known to be complete, and runs the streams as far as possible.
  void Replay() {
    for (size_t i = 0; i < calls_.size(); ++i) calls_[i].done = known_[i];
    for (Meeting& meeting : meetings_) meeting.ready = meeting.lost;
    streams_.clear();
    MakeStreams();
    Run();
  }

  void Run() {
    for (uint32_t s = 0; s < streams_.size(); ++s) Advance(s);
    while (!complete_.empty()) {
      const Meeting& meeting = meetings_[complete_.back()];
      complete_.pop_back();
      for (const uint32_t i : meeting.calls) {
        DeviceCall& call = calls_[i];
        if (call.done || call.exact || stream_of_[i] == kNoIndex) continue;
        call.done = true;
        if (--streams_[stream_of_[i]].pending == 0) Advance(stream_of_[i]);
      }
    }
  }

  // Brings the next launch to the head: the calls of one group run at the same time.
  void Advance(uint32_t s) {
    Stream& stream = streams_[s];
    stream.first = stream.end;
    if (stream.first == stream.calls.size()) return;
    const uint64_t launch = calls_[stream.calls[stream.first]].launch;
    while (stream.end < stream.calls.size() && calls_[stream.calls[stream.end]].launch == launch) {
      ++stream.end;
    }
    stream.pending = stream.end - stream.first;
    for (size_t at = stream.first; at < stream.end; ++at) {
      const uint32_t m = meeting_of_[stream.calls[at]];
      Meeting& meeting = meetings_[m];
      ++meeting.ready;
      if (HasMet(meeting)) complete_.push_back(m);
    }
  }

  static bool HasMet(const Meeting& meeting) {
    return meeting.ready >= meeting.wanted && meeting.fits && !meeting.contradicted;
  }
  const Meeting& MeetingOf(uint32_t call) const { return meetings_[meeting_of_[call]]; }

  // A device that reports completion reports whole launches, so single operations of an open launch
  // may be complete.
  //
  // First step: an operation that has not met (it lacks a member, say) keeps its launch open. An
  // operation that has met counts as complete if each process on which it is open has it in such a
  // launch.
  //
  // Second step: an operation that is complete on no process keeps its launch open. The other
  // operations of that launch count as complete if they are complete on some process.
  void CloseInsideLaunches() {
    std::vector<bool> excused = KeptBy([this](uint32_t i) { return !HasMet(MeetingOf(i)); });
    for (const Meeting& meeting : meetings_) {
      const bool all_excused = std::ranges::all_of(
          meeting.calls, [&](uint32_t i) { return calls_[i].done || excused[i]; });
      if (!all_excused || !HasMet(meeting)) continue;
      for (const uint32_t i : meeting.calls) calls_[i].done = true;
    }
    std::vector<bool> somewhere;
    for (const Meeting& meeting : meetings_) {
      somewhere.push_back(
          std::ranges::any_of(meeting.calls, [&](uint32_t i) { return calls_[i].done; }));
    }
    excused = KeptBy([&](uint32_t i) { return !somewhere[meeting_of_[i]]; });
    for (uint32_t i = 0; i < calls_.size(); ++i) {
      if (excused[i] && somewhere[meeting_of_[i]]) calls_[i].done = true;
    }
  }

  // Marks the calls of each launch at the head of a stream that has a call for which `keeps` is
  // true.
  template <typename Keeps>
  std::vector<bool> KeptBy(Keeps keeps) const {
    std::vector<bool> kept(calls_.size(), false);
    for (const Stream& stream : streams_) {
      const auto begin = stream.calls.begin() + static_cast<ptrdiff_t>(stream.first);
      const auto end = stream.calls.begin() + static_cast<ptrdiff_t>(stream.end);
      const bool keeper = std::any_of(begin, end, keeps);
      for (auto at = begin; at != end; ++at) kept[*at] = keeper;
    }
    return kept;
  }

  // A host that waits shows that its stream is not done. If all operations that it waits for are
  // done in the simulation, the last of them is open after all: it counts as complete only on
  // processes where its completion is known. If the host waits for several streams, the last
  // operation of one of them is chosen, preferably an operation that no process is known to have
  // completed. None is chosen if an operation is open already, such as an operation that another
  // host's wait has shown to be open: that operation explains both waits.
  bool Contradicts(const HostWait& wait) {
    std::map<uint64_t, uint32_t> last;  // by stream
    auto at = std::ranges::lower_bound(calls_, wait.process, {}, &DeviceCall::process);
    for (; at != calls_.end() && at->process == wait.process && at->launch <= wait.launch; ++at) {
      if (at->held || at->stopped || (!wait.any_stream && at->stream != wait.stream)) continue;
      if (!at->done || IsShownOpen(static_cast<uint32_t>(at - calls_.begin()))) return false;
      last[at->stream] = static_cast<uint32_t>(at - calls_.begin());
    }
    uint32_t best = kNoIndex;
    for (const auto& [stream, call] : last) {
      if (known_[call]) continue;
      if (best == kNoIndex || Rank(call) > Rank(best)) best = call;
    }
    if (best == kNoIndex) return false;
    meetings_[meeting_of_[best]].contradicted = true;
    return true;
  }
  bool IsShownOpen(uint32_t call) const { return !known_[call] && MeetingOf(call).contradicted; }
  std::pair<bool, uint32_t> Rank(uint32_t call) const {
    const std::vector<uint32_t>& calls = MeetingOf(call).calls;
    return {std::ranges::none_of(calls, [this](uint32_t i) { return known_[i]; }), call};
  }

  // Streams do not wait for each other. The launches at the heads of a process's streams therefore
  // have no order, although one of them was called first. If the launch that was called first lacks
  // no member, the same complete launch is put first on all processes. If processes put different
  // launches first, the launches would look like an order inversion.
  struct Head {
    bool complete = true;  // no member is missing, and the calls fit
    uint32_t meeting = kNoIndex;
    uint64_t launch = 0;
  };
  Head HeadOf(const Stream& stream) const {
    Head head;
    for (size_t at = stream.first; at < stream.end; ++at) {
      const uint32_t i = stream.calls[at];
      if (calls_[i].done) continue;
      head.launch = calls_[i].launch;
      head.complete &= MeetingOf(i).ready >= MeetingOf(i).wanted && MeetingOf(i).fits;
      head.meeting = std::min(head.meeting, meeting_of_[i]);
    }
    return head;
  }
  std::unordered_map<uint32_t, uint64_t> LaunchesInFront() const {
    std::unordered_map<uint32_t, Head> first, of_complete;  // by process
    for (const Stream& stream : streams_) {
      const Head head = HeadOf(stream);
      if (head.meeting == kNoIndex) continue;
      const uint32_t process = calls_[stream.calls[stream.first]].process;
      Head& before = first.emplace(process, head).first->second;
      if (head.launch < before.launch) before = head;
      if (!head.complete) continue;
      Head& best = of_complete.emplace(process, head).first->second;
      if (head.meeting < best.meeting) best = head;
    }
    std::unordered_map<uint32_t, uint64_t> launches;
    for (const auto& [process, head] : first) {
      launches.emplace(process, head.complete ? of_complete.at(process).launch : head.launch);
    }
    return launches;
  }

  void Write() {
    std::unordered_map<uint32_t, uint64_t> first_open;  // by member
    for (DeviceCall& call : calls_) {
      Event* event = Find(call);
      if (event != nullptr)
        event->end_ns = call.done ? std::max(event->end_ns, event->start_ns) : kNoTime;
      if (call.done || IsMessage(call)) continue;
      const auto [entry, added] = first_open.emplace(call.event.member, call.event.sequence);
      if (!added) entry->second = std::min(entry->second, call.event.sequence);
    }
    const std::unordered_map<uint32_t, uint64_t> in_front = LaunchesInFront();
    for (const bool front : {true, false}) {
      for (const DeviceCall& call : calls_) {
        const auto found = in_front.find(call.process);
        const bool is_front = found != in_front.end() && found->second == call.launch;
        if (!call.done && !call.stopped && is_front == front) AddOpen(call);
      }
    }
    for (uint32_t m = 0; m < trace_.members.size(); ++m) {
      Member& member = trace_.members[m];
      if ((trace_.communicators[member.communicator].flags & ring::kIsNccl) == 0) continue;
      const auto open = first_open.find(m);
      member.completed = open == first_open.end() ? member.entered : open->second - 1;
    }
  }

  void AddOpen(const DeviceCall& call) {
    OpenRequest request;
    request.uid = call.event.request;
    request.starts = 1;
    request.held = call.held;
    request.launch = call.launch;
    request.event = call.event;
    request.event.end_ns = kNoTime;
    trace_.processes[call.process].open_requests.push_back(request);
  }

  Event* Find(const DeviceCall& call) {
    const auto same = [&](const Event& event) { return event.request == call.event.request; };
    if (IsMessage(call)) {
      std::vector<Event>& events = trace_.processes[call.process].p2p;
      const auto from = std::ranges::lower_bound(events, call.event.start_ns, {}, &Event::start_ns);
      const auto found = std::find_if(from, events.end(), same);
      return found == events.end() ? nullptr : &*found;
    }
    std::vector<Event>& events = trace_.members[call.event.member].events;
    const auto found = std::ranges::lower_bound(events, call.event.sequence, {}, &Event::sequence);
    return found == events.end() || found->sequence != call.event.sequence ? nullptr : &*found;
  }

  std::vector<DeviceCall> calls_;
  Trace& trace_;
  std::vector<Meeting> meetings_;
  std::vector<bool> known_;           // by call: known to be complete, without simulation
  std::vector<uint32_t> meeting_of_;  // by call
  std::vector<Stream> streams_;
  std::vector<uint32_t> stream_of_;  // by call
  std::vector<uint32_t> complete_;   // meetings that have met and are not yet processed
};

}  // namespace

void SimulateStreams(std::vector<DeviceCall> calls, const std::vector<HostWait>& waits,
                     Trace* trace) {
  if (!calls.empty()) StreamSimulator(std::move(calls), trace).Simulate(waits);
}

}  // namespace rollcall
