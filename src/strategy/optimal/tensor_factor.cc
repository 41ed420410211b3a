#include "strategy/optimal/tensor_factor.h"

#include <algorithm>
#include <limits>
#include <span>

namespace sbp {
namespace {

using LayoutCosts = std::vector<double>;  // per layout of a graph

constexpr double kUnreached = std::numeric_limits<double>::infinity();
constexpr int64_t kMaxPairs = 400'000;  // of (written, hub, reader)

double LeastOf(const LayoutCosts& costs) {
  return costs.empty() ? kUnreached : *std::min_element(costs.begin(), costs.end());
}

// The sum of all but one (none: -1) of `parts`, and `first`.
LayoutCosts SumWithout(const LayoutCosts& first, const std::vector<LayoutCosts>& parts, size_t without) {
  LayoutCosts sum = first;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == without) continue;
    for (size_t l = 0; l < sum.size(); ++l) sum[l] += parts[i][l];
  }
  return sum;
}

void AddTo(LayoutCosts& costs, const LayoutCosts& more) {
  for (size_t l = 0; l < costs.size(); ++l) costs[l] += more[l];
}

}  // namespace

TensorFactor::Marginals TensorFactor::Solve(const LayoutCosts& written, const std::vector<LayoutCosts>& readers,
                                            bool want_readers, bool want_written) const {
  Marginals result;
  const auto num_written = static_cast<int64_t>(
      std::count_if(written.begin(), written.end(), [](double cost) { return cost < kUnreached; }));
  const auto num_readers = static_cast<int64_t>(readers.size());
  if (num_readers <= 2) {
    SolveFew(written, readers, want_readers, want_written, result);
  } else if (num_written * static_cast<int64_t>(size()) * num_readers <= kMaxPairs) {
    SolveWithHubs(written, readers, want_readers, result);
  } else {
    SolveShared(written, readers, 1.0 / static_cast<double>(num_readers), want_readers, result);
  }
  return result;
}

void TensorFactor::SolveFew(const LayoutCosts& written, const std::vector<LayoutCosts>& readers, bool want_readers,
                            bool want_written, Marginals& result) const {
  std::vector<LayoutCosts> back = readers;
  for (LayoutCosts& costs : back) result.work += graph_->SpreadBack(costs, 1);
  LayoutCosts all = SumWithout(LayoutCosts(size(), 0), back, readers.size());
  if (want_readers) {
    LayoutCosts onward = written;
    result.work += graph_->SpreadOnward(onward, 1);
    for (size_t i = 0; i < readers.size(); ++i) {
      result.readers.push_back(SumWithout(onward, back, i));
      if (readers.size() > 1) result.work += graph_->SpreadOnward(result.readers[i], 1);
      AddTo(result.readers[i], readers[i]);
    }
    if (!readers.empty()) result.least = LeastOf(result.readers[0]);
  }
  if (!want_written && !readers.empty()) return;
  if (readers.size() > 1) result.work += graph_->SpreadBack(all, 1);
  AddTo(all, written);
  result.written = std::move(all);
  result.least = LeastOf(result.written);
}

// Each reader pays `share` of its own path.
void TensorFactor::SolveShared(const LayoutCosts& written, const std::vector<LayoutCosts>& readers, double share,
                               bool want_readers, Marginals& result) const {
  std::vector<LayoutCosts> back = readers;
  for (LayoutCosts& costs : back) result.work += graph_->SpreadBack(costs, share);
  result.written = SumWithout(written, back, readers.size());
  result.least = LeastOf(result.written);
  for (size_t i = 0; want_readers && i < readers.size(); ++i) {
    result.readers.push_back(SumWithout(written, back, i));
    result.work += graph_->SpreadOnward(result.readers[i], share);
    AddTo(result.readers[i], readers[i]);
  }
}

void TensorFactor::SolveWithHubs(const LayoutCosts& written, const std::vector<LayoutCosts>& readers, bool want_readers,
                                 Marginals& result) const {
  SolveShared(written, readers, 1, want_readers, result);  // no hub
  const double share = 1.0 / static_cast<double>(readers.size() - 1);
  std::vector<LayoutCosts> back = readers;
  for (LayoutCosts& costs : back) result.work += graph_->SpreadBack(costs, share);
  // Per reader and layout that it may be reached from: the least of all the rest.
  std::vector<LayoutCosts> rest(want_readers ? readers.size() : 0, LayoutCosts(size(), kUnreached));
  LayoutCosts total(size());
  for (uint32_t w = 0; w < size(); ++w) {
    if (written[w] == kUnreached) continue;
    const std::span<const float> seconds = graph_->SecondsFrom(w);
    for (size_t h = 0; h < size(); ++h) total[h] = written[w] + static_cast<double>(seconds[h]);
    for (const LayoutCosts& costs : back) {
      for (size_t h = 0; h < size(); ++h) total[h] += std::min(costs[w], costs[h]);
    }
    result.written[w] = std::min(result.written[w], LeastOf(total));
    for (size_t i = 0; i < rest.size(); ++i) {
      const LayoutCosts& costs = back[i];
      double from_written = kUnreached;
      for (size_t h = 0; h < size(); ++h) {
        const double others = total[h] < kUnreached ? total[h] - std::min(costs[w], costs[h]) : kUnreached;
        rest[i][h] = std::min(rest[i][h], others);
        from_written = std::min(from_written, others);
      }
      rest[i][w] = std::min(rest[i][w], from_written);
    }
  }
  result.work += static_cast<int64_t>(size() * readers.size()) *
                 std::count_if(written.begin(), written.end(), [](double cost) { return cost < kUnreached; });
  result.least = LeastOf(result.written);
  for (size_t i = 0; i < rest.size(); ++i) {
    result.work += graph_->SpreadOnward(rest[i], share);
    for (size_t l = 0; l < size(); ++l)
      result.readers[i][l] = std::min(result.readers[i][l], rest[i][l] + readers[i][l]);
  }
}

}  // namespace sbp
