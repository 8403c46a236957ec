// SPDX-License-Identifier: Apache-2.0
// Looks up keys in maps.
#ifndef ROLLCALL_COLLECTOR_BASE_FIND_H_
#define ROLLCALL_COLLECTOR_BASE_FIND_H_

namespace rollcall {

// The value of the key, owned by the map; null if the map does not have the key.
template <typename Map, typename Key = typename Map::key_type>
auto* FindOrNull(Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// The value of the key; `otherwise` if the map does not have the key.
template <typename Map, typename Key = typename Map::key_type>
typename Map::mapped_type FindOr(const Map& map, const Key& key,
                                 typename Map::mapped_type otherwise) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

}  // namespace rollcall

#endif  // ROLLCALL_COLLECTOR_BASE_FIND_H_
