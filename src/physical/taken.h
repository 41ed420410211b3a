// Which addresses of an arena are taken when, and where there is room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sbp {

// A binary tree over positions. Each node knows the addresses that are taken at some of its positions, and those that
// are taken at all of them: what is taken at some position of an interval is found in few nodes, neighbours as one.
class TakenAddresses {
 public:
  explicit TakenAddresses(size_t positions);

  // Addresses from `begin` to `end` are taken from position `first` to `last`.
  void Take(uint32_t first, uint32_t last, int64_t begin, int64_t end);

  // The lowest address at or above `floor`, below which nothing is taken, where `bytes` are free all the time.
  int64_t LowestGap(uint32_t first, uint32_t last, int64_t floor, int64_t bytes);

 private:
  struct Stretch {
    int64_t begin = 0, end = 0;
  };
  using Stretches = std::vector<Stretch>;  // ascending, apart from each other
  struct Node {
    Stretches some, all;  // of its positions
  };
  static void Add(Stretch range, Stretches& to);

  size_t leaves_;
  std::vector<Node> nodes_;  // the children of i are 2 i and 2 i + 1; the root is 1
  struct Reading {
    const Stretch *next, *end;
  };
  std::vector<Reading> readings_;  // of the question being answered
};

}  // namespace sbp
