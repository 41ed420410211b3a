#include "fold/guess.h"

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "graph/tensor_type.h"

namespace sbp {

int Guesses::GuessAt(TensorId tensor, size_t dim) const {
  const auto at = at_.find(tensor);
  if (at == at_.end()) return -1;
  for (const auto& [d, guess] : at->second) {
    if (d == dim && !guesses_[static_cast<size_t>(guess)].fixed) return guess;
  }
  return -1;
}

void Guesses::AddPlace(int guess, TensorId tensor, size_t dim) {
  guesses_[static_cast<size_t>(guess)].places.emplace_back(tensor, dim);
  at_[tensor].emplace_back(dim, guess);
}

Status Guesses::Fix(Guess& guess) {
  guess.fixed = true;
  return guess.open ? guess.failure : OkStatus();
}

// Adds the results' dimensions that have the same factor. False: the size matters to the op in another way.
bool Guesses::Follow(const std::vector<TensorId>& operands, const std::vector<TensorId>& results,
                     const RuleInstance& instance, const Place& from, int guess) {
  const FactorMap& map = instance.map;
  const auto operand = static_cast<size_t>(std::ranges::find(operands, from.first) - operands.begin());
  const DimFactors& own = map.operands[operand][from.second];
  if (own.size() != 1) return false;
  const int64_t size = map.factors[static_cast<size_t>(own[0])].size;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t d = 0; operands[i].valid() && d < map.operands[i].size(); ++d) {
      const bool shares = std::ranges::count(map.operands[i][d], own[0]) > 0;
      if (shares && (map.operands[i][d].size() != 1 || GuessAt(operands[i], d) != guess)) return false;
      if (!shares && GuessAt(operands[i], d) == guess) return false;
    }
  }
  std::vector<Place> follow;
  for (size_t r = 0; r < results.size(); ++r) {
    for (size_t d = 0; results[r].valid() && d < map.results[r].size(); ++d) {
      const DimFactors& factors = map.results[r][d];
      const bool same_size = instance.results[r].shape[d] == size;
      if (factors.empty() && same_size) return false;
      if (std::ranges::count(factors, own[0]) == 0) continue;
      if (factors.size() != 1 || !same_size) return false;
      follow.emplace_back(results[r], d);
    }
  }
  for (const auto& [tensor, dim] : follow) AddPlace(guess, tensor, dim);
  return true;
}

Status Guesses::Take(const std::vector<TensorId>& operands, const std::vector<TensorId>& results,
                     const RuleInstance& instance, const Status& failure) {
  if (!at_.empty()) {
    std::vector<int> seen;
    for (const TensorId id : operands) {
      const auto at = id.valid() ? at_.find(id) : at_.end();
      if (at == at_.end()) continue;
      const std::vector<std::pair<size_t, int>> dims = at->second;
      for (const auto& [dim, guess] : dims) {
        if (guesses_[static_cast<size_t>(guess)].fixed || std::ranges::count(seen, guess) > 0) continue;
        seen.push_back(guess);
        if (!Follow(operands, results, instance, {id, dim}, guess))
          SBP_RETURN_IF_ERROR(Fix(guesses_[static_cast<size_t>(guess)]));
      }
    }
  }
  for (const ComputedSize& computed : instance.computed_sizes) {
    const auto guess = static_cast<int>(guesses_.size());
    guesses_.push_back({{}, false, computed.open, computed.open ? failure : OkStatus()});
    for (const auto& [result, dim] : computed.dims) {
      const TensorId id =
          static_cast<size_t>(result) < results.size() ? results[static_cast<size_t>(result)] : TensorId();
      if (id.valid()) AddPlace(guess, id, static_cast<size_t>(dim));
    }
  }
  return OkStatus();
}

Status Guesses::Fix(const std::vector<TensorId>& tensors) {
  if (at_.empty()) return OkStatus();
  for (const TensorId id : tensors) {
    const auto at = id.valid() ? at_.find(id) : at_.end();
    if (at == at_.end()) continue;
    for (const auto& [dim, guess] : at->second) {
      Guess& found = guesses_[static_cast<size_t>(guess)];
      if (!found.fixed) SBP_RETURN_IF_ERROR(Fix(found));
    }
  }
  return OkStatus();
}

void Guesses::Decide(TensorId tensor, const TensorType& stated) {
  const auto at = at_.find(tensor);
  if (at == at_.end() || !stated.has_rank || stated.rank() != graph_.tensor(tensor).type.rank()) return;
  for (const auto& [dim, number] : at->second) {
    Guess& guess = guesses_[static_cast<size_t>(number)];
    const int64_t size = stated.shape[dim];
    if (guess.fixed || size == kUnknownDim) continue;
    if (!guess.open && size > graph_.tensor(tensor).type.shape[dim]) continue;
    for (const auto& [place, d] : guess.places) graph_.tensor(place).type.shape[d] = size;
    guess.fixed = true;
    guess.open = false;
  }
}

Status Guesses::Undecided() const {
  for (const Guess& guess : guesses_) {
    if (guess.open) return guess.failure;
  }
  return OkStatus();
}

}  // namespace sbp
