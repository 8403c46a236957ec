// SPDX-License-Identifier: Apache-2.0
#include "collector/import/ring_import.h"

#include <utility>

#include "collector/import/ring_parts.h"

namespace rollcall {

uint32_t RingImporter::Import(const RingSnapshot& snapshot) {
  RingContext context(snapshot, &trace_);
  RingReferences references(&context, &interner_);
  ReadProcess(&context, &references, &host_clocks_);
  RingMembers members(&context, &drafts_);
  RingDevice device(&context, &device_calls_, &host_waits_);
  RingEvents events(&context, &references, &members, &device);
  for (const RingThread& thread : snapshot.threads) events.ReadThread(thread);
  device.Finish();
  ReadOpenRequests(&context, members, &events);
  events.Finish();
  ReadChannels(&context, members);
  ReadPeerCounts(&context, members);
  ReadData(&context, &references, members);
  ReadValues(&context, &references);
  ReadEndWithoutMpi(&context.process);
  context.process.records_unreadable += snapshot.unreadable;
  trace_.problems.insert(trace_.problems.end(), snapshot.problems.begin(), snapshot.problems.end());
  trace_.processes.push_back(std::move(context.process));
  return context.index;
}

}  // namespace rollcall
