// Equal attributes by one pointer, for keys of tables.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "graph/graph.h"

namespace sbp {

// One pointer for attributes of equal value. What it was asked for must outlive it.
class AttributesTable {
 public:
  const Attributes* Find(const AttributesRef& attributes) {
    const auto [known, is_new] = canonical_.try_emplace(attributes.get(), nullptr);
    if (!is_new) return known->second;
    const size_t hash = HashAttributes(*attributes);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (Equal(*it->second, *attributes)) return known->second = it->second.get();
    }
    by_hash_.emplace(hash, attributes);
    return known->second = attributes.get();
  }

 private:
  std::unordered_map<const Attributes*, const Attributes*> canonical_;
  std::unordered_multimap<size_t, AttributesRef> by_hash_;
};

}  // namespace sbp
