// Rows of numbers, each distinct one stored once and named by an id: the cost vectors, usage vectors and transition
// matrices of a problem, most of which repeat from layer to layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace sbp {

template <typename Number>
class NumberRows {
 public:
  // The id of `row`: that of an equal row added before, or the next one.
  int32_t Add(std::span<const Number> row) {
    std::vector<int32_t>& same_hash = by_hash_[Hash(row)];
    for (const int32_t id : same_hash) {
      if (std::equal(row.begin(), row.end(), rows_[id].begin(), rows_[id].end())) return id;
    }
    same_hash.push_back(size());
    return AddDistinct(row);
  }
  // A new id, whether or not an equal row is there.
  int32_t AddDistinct(std::span<const Number> row) {
    rows_.emplace_back(row.begin(), row.end());
    return size() - 1;
  }
  std::span<const Number> operator[](int32_t id) const { return rows_[id]; }
  int32_t size() const { return static_cast<int32_t>(rows_.size()); }

 private:
  static uint64_t Hash(std::span<const Number> row) {
    uint64_t hash = row.size();
    for (const Number number : row) {
      hash = (hash ^ Bits(number)) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }

  // std::hash of a double is a call; zeros are equal, whatever their sign.
  static uint64_t Bits(Number number) {
    static_assert(sizeof(Number) <= sizeof(uint64_t));
    uint64_t bits = 0;
    if (number != 0) std::memcpy(&bits, &number, sizeof(Number));
    return bits;
  }

  std::deque<std::vector<Number>> rows_;
  std::unordered_map<uint64_t, std::vector<int32_t>> by_hash_;
};

}  // namespace sbp
