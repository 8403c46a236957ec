// SPDX-License-Identifier: Apache-2.0
#include "collector/diagnosis/graph/components.h"

#include <algorithm>
#include <utility>

#include "collector/model/trace.h"

namespace rollcall {

// Tarjan's algorithm without recursion: a long pipeline of ranks would need a deep stack.
Components FindComponents(uint32_t vertices, const std::vector<uint32_t>& roots,
                          const std::function<std::vector<uint32_t>(uint32_t)>& next) {
  struct Frame {
    uint32_t vertex;
    std::vector<uint32_t> next;
    size_t at = 0;
  };
  Components components;
  components.of.assign(vertices, kNoIndex);
  uint32_t counter = 0;
  std::vector<uint32_t> index(vertices, 0);  // 0: not reached
  std::vector<uint32_t> low(vertices, 0);
  std::vector<uint32_t> stack;
  std::vector<Frame> frames;
  const auto enter = [&](uint32_t v) {
    index[v] = low[v] = ++counter;
    stack.push_back(v);
    frames.push_back({v, next(v)});
  };
  const auto close = [&](uint32_t v) {
    std::vector<uint32_t> members;
    do {
      members.push_back(stack.back());
      components.of[stack.back()] = static_cast<uint32_t>(components.members.size());
      stack.pop_back();
    } while (members.back() != v);
    std::ranges::sort(members);
    components.members.push_back(std::move(members));
  };
  for (const uint32_t root : roots) {
    if (index[root] == 0) enter(root);
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const uint32_t v = frame.vertex;
      if (frame.at < frame.next.size()) {
        const uint32_t to = frame.next[frame.at++];
        if (index[to] == 0) {
          enter(to);
        } else if (components.of[to] == kNoIndex) {
          low[v] = std::min(low[v], index[to]);
        }
        continue;
      }
      frames.pop_back();
      if (!frames.empty()) low[frames.back().vertex] = std::min(low[frames.back().vertex], low[v]);
      if (low[v] == index[v]) close(v);
    }
  }
  return components;
}

}  // namespace rollcall
