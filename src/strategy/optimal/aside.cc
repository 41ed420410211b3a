#include "strategy/optimal/aside.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "problem/problem.h"

namespace sbp {
namespace {

constexpr double kShareOfOne = 0.25;  // of what all ops set aside may take
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

class AsideFinder {
 public:
  AsideFinder(const Problem& problem, const StreamSeconds& seconds, const AsideOptions& options)
      : problem_(problem),
        num_ops_(static_cast<uint32_t>(problem.num_ops())),
        seconds_(seconds),
        near_(options.near),
        places_(num_ops_, OpPlace::kBranch) {
    left_ = small_ = std::numeric_limits<double>::infinity();
    if (options.share >= 1) return;
    left_ = options.share * std::accumulate(seconds.ops.begin(), seconds.ops.end(), 0.0);
    small_ = kShareOfOne * left_;
  }

  std::vector<OpPlace> Run() {
    MarkLongestChain();
    SetAsideFarBefore();
    SetAsideFarBehind();
    return std::move(places_);
  }

 private:
  uint32_t ProducerOf(TensorId operand) const {
    const OpId producer = operand.valid() ? problem_.graph->tensor(operand).producer : OpId();
    return producer.valid() ? producer.value : kNone;
  }

  void MarkLongestChain() {
    std::vector<double> ends(num_ops_, 0);
    std::vector<uint32_t> waits_for(num_ops_, kNone);
    uint32_t last = kNone;
    for (uint32_t o = 0; o < num_ops_; ++o) {
      for (const TensorId operand : problem_.operands(OpId(o))) {
        if (!operand.valid()) continue;
        const uint32_t producer = ProducerOf(operand);
        const double there = (producer == kNone ? 0 : ends[producer]) + seconds_.tensors[operand.index()];
        if (producer != kNone && waits_for[o] == kNone) waits_for[o] = producer;
        if (there <= ends[o]) continue;
        ends[o] = there;
        waits_for[o] = producer;
      }
      ends[o] += seconds_.ops[o];
      if (last == kNone || ends[o] >= ends[last]) last = o;
    }
    for (; last != kNone; last = waits_for[last]) places_[last] = OpPlace::kChain;
  }

  bool IsAside(uint32_t op) const { return places_[op] == OpPlace::kAside; }
  void SetAside(uint32_t op) {
    if (places_[op] == OpPlace::kChain || seconds_.ops[op] > small_ || seconds_.ops[op] > left_) return;
    left_ -= seconds_.ops[op];
    places_[op] = OpPlace::kAside;
  }

  // Far before what reads it, of what is not set aside.
  void SetAsideFarBefore() {
    std::vector<uint32_t> first_reader(num_ops_, kNone);
    for (uint32_t o = num_ops_; o-- > 0;) {
      if (first_reader[o] == kNone || first_reader[o] - o > near_) SetAside(o);
      if (IsAside(o)) continue;
      for (const TensorId operand : problem_.operands(OpId(o))) {
        if (const uint32_t producer = ProducerOf(operand); producer != kNone) first_reader[producer] = o;
      }
    }
  }

  // Far behind what it reads, likewise.
  void SetAsideFarBehind() {
    bool begun = false;
    for (uint32_t o = 0; o < num_ops_; ++o) {
      if (IsAside(o)) continue;
      uint32_t last = kNone;
      for (const TensorId operand : problem_.operands(OpId(o))) {
        const uint32_t producer = ProducerOf(operand);
        if (producer != kNone && !IsAside(producer) && (last == kNone || producer > last)) last = producer;
      }
      if (begun && (last == kNone || o - last > near_)) SetAside(o);
      begun = begun || !IsAside(o);
    }
  }

  const Problem& problem_;
  const uint32_t num_ops_;
  const StreamSeconds& seconds_;
  const size_t near_;
  double small_ = 0, left_ = 0;  // what an op may take, and what all that are still set aside may
  std::vector<OpPlace> places_;
};

}  // namespace

std::vector<OpPlace> PlacesOfOps(const Problem& problem, const StreamSeconds& seconds, const AsideOptions& options) {
  return AsideFinder(problem, seconds, options).Run();
}

}  // namespace sbp
