// Values that many entries share, written once: a list, and an index into it per entry.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sbp {

// Numbers texts in the order in which they are first met.
class Interned {
 public:
  uint32_t Find(std::string text) {
    const auto [entry, is_new] = index_.try_emplace(std::move(text), static_cast<uint32_t>(all_.size()));
    if (is_new) all_.push_back(entry->first);
    return entry->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, uint32_t> index_;
  std::vector<std::string> all_;
};

}  // namespace sbp
