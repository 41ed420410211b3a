// NameTable: finds the number of a name among names that lie elsewhere (in a graph's tensors, in its ops). Open
// addressing over 8-byte slots: no copy of a name, no memory per entry. With a million names this is what reading a
// graph spends its time on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace sbp {

class NameTable {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Room for `names` in all. `name_of(number)` gives the name of a number that was inserted, here and below.
  void Reserve(size_t names) {
    const size_t wanted = std::bit_ceil(names * 2 + 16);
    if (wanted > slots_.size()) Rehash(wanted);
  }

  template <typename NameOf>
  uint32_t Find(std::string_view name, const NameOf& name_of) const {
    return slots_.empty() ? kNone : slots_[SlotOf(name, HashBits(name), name_of)].number;
  }

  // The number of an equal name that is there already; else `number` (below kNone), which stands for `name` from now
  // on.
  template <typename NameOf>
  uint32_t Insert(std::string_view name, uint32_t number, const NameOf& name_of) {
    if ((count_ + 1) * 2 > slots_.size()) Rehash(std::bit_ceil(count_ * 4 + 16));
    const uint32_t hash = HashBits(name);
    Slot& slot = slots_[SlotOf(name, hash, name_of)];
    if (slot.number != kNone) return slot.number;
    slot = {hash, number};
    ++count_;
    return number;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = kNone;
  };

  static uint32_t HashBits(std::string_view name) { return static_cast<uint32_t>(HashOf(name)); }

  // The slot that holds the name, or the free one where it belongs.
  template <typename NameOf>
  size_t SlotOf(std::string_view name, uint32_t hash, const NameOf& name_of) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].number != kNone && (slots_[at].hash != hash || name_of(slots_[at].number) != name)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void Rehash(size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == kNone) continue;
      size_t at = slot.hash & (size - 1);
      while (slots_[at].number != kNone) at = (at + 1) & (size - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t count_ = 0;
};

// The name_of of records with a name; for as long as they lie in `items`.
template <typename Item>
auto NameIn(const std::vector<Item>& items) {
  return [&items](uint32_t number) -> std::string_view { return items[number].name; };
}

}  // namespace sbp
