#include "search/blend.h"

#include <algorithm>
#include <numeric>

namespace sbp {

void Blend::Clear() {
  pieces_.clear();
  changes_.clear();
}

int32_t Blend::AddPiece() {
  pieces_.emplace_back();
  return pieces() - 1;
}

// Lays out more_.
void Blend::Spread(const PartMemory& memory) {
  for (Piece& piece : pieces_) piece.first = piece.last = -1;
  for (const Change& change : changes_) {
    Piece& piece = pieces_[change.piece];
    for (const PartMemory::Held& held : memory.held(change.place)) {
      piece.first = piece.first < 0 ? held.first : std::min(piece.first, held.first);
      piece.last = std::max(piece.last, held.last);
    }
  }
  int64_t size = 0;
  for (Piece& piece : pieces_) {
    piece.begin = size;
    size += piece.last - piece.first + 1;
  }
  more_.assign(size, 0);
  for (const Change& change : changes_) {
    const Piece& piece = pieces_[change.piece];
    for (const PartMemory::Held& held : memory.held(change.place)) {
      const double more = held.hold->usages[change.to] - held.hold->usages[change.from];
      more_[piece.begin + held.first - piece.first] += more;
      more_[piece.begin + held.last - piece.first] -= more;
    }
  }
  for (const Piece& piece : pieces_) {
    double* more = more_.data() + piece.begin;
    std::partial_sum(more, more + (piece.last - piece.first), more);
  }
  work_ += 2 * size + 4 * static_cast<int64_t>(changes_.size());
}

void Blend::Switch(Piece& piece) {
  const double sign = piece.taken ? 1 : -1;
  piece.taken = !piece.taken;
  for (int32_t i = piece.first; i < piece.last; ++i) left_[i] += sign * More(piece, i);
  work_ += piece.last - piece.first;
}

// Would it fit with `sign` times the piece's changes?
bool Blend::Fits(const Piece& piece, double sign) {
  work_ += piece.last - piece.first;
  for (int32_t i = piece.first; i < piece.last; ++i) {
    if (left_[i] < sign * More(piece, i)) return false;
  }
  return true;
}

// Takes back the piece that saves least for what it takes in the segment.
bool Blend::DropOne(int32_t segment) {
  Piece* least = nullptr;
  double least_ratio = 0;
  for (Piece& piece : pieces_) {
    const double more = piece.taken ? More(piece, segment) : 0;
    if (more <= 0) continue;
    const double ratio = -piece.cost / more;
    if (least != nullptr && ratio >= least_ratio) continue;
    least = &piece;
    least_ratio = ratio;
  }
  work_ += pieces();
  if (least == nullptr) return false;
  Switch(*least);
  return true;
}

double Blend::Solve(const PartMemory& memory, std::span<const double> used) {
  Spread(memory);
  left_.resize(used.size());
  for (size_t i = 0; i < used.size(); ++i) left_[i] = memory.room()[i] - used[i];
  for (Piece& piece : pieces_) {
    piece.taken = false;
    Switch(piece);
  }
  // What does not fit is taken back, from the fullest segment on; a piece goes once, so this ends.
  for (int32_t step = 0; step < pieces(); ++step) {
    const auto worst = std::min_element(left_.begin(), left_.end());
    work_ += static_cast<int64_t>(left_.size());
    if (worst == left_.end() || *worst >= 0) break;
    if (!DropOne(static_cast<int32_t>(worst - left_.begin()))) break;
  }
  // What saves, the most first, and fits after all; and what costs and is not needed for that.
  order_.resize(pieces_.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int32_t a, int32_t b) { return pieces_[a].cost < pieces_[b].cost; });
  for (const int32_t i : order_) {
    if (!pieces_[i].taken && pieces_[i].cost < 0 && Fits(pieces_[i], 1)) Switch(pieces_[i]);
  }
  for (auto i = order_.rbegin(); i != order_.rend(); ++i) {
    if (pieces_[*i].taken && pieces_[*i].cost > 0 && Fits(pieces_[*i], -1)) Switch(pieces_[*i]);
  }
  double cost = 0;
  for (const Piece& piece : pieces_) cost += piece.taken ? piece.cost : 0;
  return cost;
}

int64_t Blend::TakeWork() {
  const int64_t work = work_;
  work_ = 0;
  return work;
}

}  // namespace sbp
