// Finds the number of an equal item among items that lie elsewhere: in a graph's tensors, in its ops. Open addressing
// over 8-byte slots: no copy of an item, no memory per entry. With a million names this is what reading a graph spends
// its time on.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace sbp {

// By a hash of the item, of which the lower half counts, and `is_equal(number)`: is the item of that number, which was
// inserted, equal to the one that is looked for?
class IndexTable {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // Room for `items` in all.
  void Reserve(size_t items) {
    const size_t wanted = std::bit_ceil(items * 2 + 16);
    if (wanted > slots_.size()) Rehash(wanted);
  }

  template <typename IsEqual>
  uint32_t Find(size_t hash, const IsEqual& is_equal) const {
    return slots_.empty() ? kNone : slots_[SlotOf(static_cast<uint32_t>(hash), is_equal)].number;
  }

  // The number of an equal item that is there already; else `number` (below kNone), which stands for the item from now
  // on.
  template <typename IsEqual>
  uint32_t Insert(size_t hash, uint32_t number, const IsEqual& is_equal) {
    if ((count_ + 1) * 2 > slots_.size()) Rehash(std::bit_ceil(count_ * 4 + 16));
    const auto bits = static_cast<uint32_t>(hash);
    Slot& slot = slots_[SlotOf(bits, is_equal)];
    if (slot.number != kNone) return slot.number;
    slot = {bits, number};
    ++count_;
    return number;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = kNone;
  };

  // The slot that holds the item, or the free one where it belongs.
  template <typename IsEqual>
  size_t SlotOf(uint32_t hash, const IsEqual& is_equal) const {
    const size_t mask = slots_.size() - 1;
    size_t at = hash & mask;
    while (slots_[at].number != kNone && (slots_[at].hash != hash || !is_equal(slots_[at].number))) {
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

// By name. `name_of(number)` gives the name of a number that was inserted.
class NameTable {
 public:
  static constexpr uint32_t kNone = IndexTable::kNone;

  void Reserve(size_t names) { table_.Reserve(names); }

  template <typename NameOf>
  uint32_t Find(std::string_view name, const NameOf& name_of) const {
    return table_.Find(HashOf(name), [&](uint32_t number) { return name_of(number) == name; });
  }

  // As IndexTable's.
  template <typename NameOf>
  uint32_t Insert(std::string_view name, uint32_t number, const NameOf& name_of) {
    return table_.Insert(HashOf(name), number, [&](uint32_t at) { return name_of(at) == name; });
  }

 private:
  IndexTable table_;
};

// The name_of of records with a name; for as long as they lie in `items`.
template <typename Item>
auto NameIn(const std::vector<Item>& items) {
  return [&items](uint32_t number) -> std::string_view { return items[number].name; };
}

}  // namespace sbp
