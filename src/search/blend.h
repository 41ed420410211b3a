// Of two choices for a part, one that is cheaper and takes too much memory and one that fits, the best of both: what
// differs falls into pieces that do not touch each other, and each piece is taken from either. Which of them together
// fit is a knapsack over time, answered greedily.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/part_memory.h"

namespace sbp {

class Blend {
 public:
  // Begins a new one.
  void Clear();
  // Another piece: what it costs more (or, below 0, less) where the second choice is taken. Returns its number.
  int32_t AddPiece();
  int32_t pieces() const { return static_cast<int32_t>(pieces_.size()); }
  void AddCost(int32_t piece, double cost) { pieces_[piece].cost += cost; }
  // The part's node number `place` goes from the one candidate to the other with that piece.
  void AddChange(int32_t piece, int32_t place, int32_t from, int32_t to) {
    changes_.push_back({piece, place, from, to});
  }

  // Which pieces to take: the others keep the first choice, whose usage per segment is `used`. Everything fits if the
  // first choice does. Returns what that costs more.
  double Solve(const PartMemory& memory, std::span<const double> used);
  bool takes(int32_t piece) const { return pieces_[piece].taken; }
  int64_t TakeWork();

 private:
  struct Piece {
    double cost = 0;
    int32_t first = 0, last = 0;  // segments that it changes lie in [first, last)
    int64_t begin = 0;            // of its changes in more_
    bool taken = true;
  };
  struct Change {
    int32_t piece, place, from, to;
  };
  double More(const Piece& piece, int32_t segment) const {
    return segment < piece.first || segment >= piece.last ? 0 : more_[piece.begin + segment - piece.first];
  }
  void Spread(const PartMemory& memory);
  void Switch(Piece& piece);
  bool Fits(const Piece& piece, double sign);
  bool DropOne(int32_t segment);

  std::vector<Piece> pieces_;
  std::vector<Change> changes_;
  std::vector<double> more_;  // per piece and segment: usage of the second choice less that of the first
  std::vector<double> left_;  // room less usage, per segment
  std::vector<int32_t> order_;
  int64_t work_ = 0;
};

}  // namespace sbp
