#include "strategy/optimal/bottlenecks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "graph/graph.h"
#include "problem/problem.h"

namespace sbp {
namespace {

constexpr double kShareOfOne = 0.25;  // of what all ops set aside may take
constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

class Finder {
 public:
  Finder(const Problem& problem, const std::vector<double>& seconds, const AsideOptions& options)
      : problem_(problem),
        num_ops_(problem.num_ops()),
        seconds_(seconds),
        near_(options.near),
        producers_(num_ops_),
        readers_(num_ops_) {
    const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    left_ = options.share * all;
    small_ = kShareOfOne * left_;
    for (uint32_t o = 0; o < num_ops_; ++o) {
      for (const TensorId operand : problem.operands(OpId(o))) {
        const OpId producer = operand.valid() ? problem.graph->tensor(operand).producer : OpId();
        if (!producer.valid()) continue;
        producers_[o].push_back(producer.value);
        readers_[producer.index()].push_back(o);
      }
    }
  }

  Bottlenecks Run() {
    found_.tensors.assign(problem_.graph->tensors.size(), false);
    found_.aside.assign(num_ops_, false);
    SetAside();
    const std::vector<bool> passed = AllPassThrough();
    std::unordered_set<uint32_t> tied;
    for (const Tie& tie : problem_.graph->ties) {
      tied.insert(tie.output.value);
      tied.insert(tie.input.value);
    }
    uint32_t before = kNone;  // the op before, none of those set aside
    for (uint32_t o = 0; o < num_ops_; ++o) {
      if (found_.aside[o]) continue;
      // Between the two nothing is left: what stands there in the order comes after the one and before the other.
      if (before != kNone && passed[before] && passed[o]) {
        for (const TensorId written : problem_.graph->ops[before].outputs) {
          if (written.valid() && !tied.contains(written.value) && IsReadBy(written, OpId(o)))
            found_.tensors[written.index()] = true;
        }
      }
      before = o;
    }
    return std::move(found_);
  }

 private:
  void SetAside(uint32_t op) {
    if (seconds_[op] > small_ || seconds_[op] > left_) return;
    left_ -= seconds_[op];
    found_.aside[op] = true;
  }

  // Small ops far before what reads them or far behind what they read, and what is left without either then.
  void SetAside() {
    for (uint32_t o = static_cast<uint32_t>(num_ops_) - 1; num_ops_ > 0 && o-- > 0;) {  // all but the last one
      uint32_t first = kNone;
      for (const uint32_t reader : readers_[o]) {
        if (!found_.aside[reader]) first = std::min(first, reader);
      }
      if (first == kNone || first - o > near_) SetAside(o);
    }
    bool begun = false;
    for (uint32_t o = 0; o < num_ops_; ++o) {
      if (found_.aside[o]) continue;
      uint32_t last = kNone;
      for (const uint32_t producer : producers_[o]) {
        if (!found_.aside[producer] && (last == kNone || producer > last)) last = producer;
      }
      if (begun && (last == kNone || o - last > near_)) SetAside(o);
      begun = begun || !found_.aside[o];
    }
  }

  // Per op: do all ops of smaller number lead to it, and does it lead to all of greater number? All but one of the ops
  // up to it lead on to others of them exactly if it is the only one that none of them reads; likewise behind it.
  std::vector<bool> AllPassThrough() const {
    std::vector<bool> passed(num_ops_, true), is_open(num_ops_, false);
    size_t open = 0;  // ops so far that none so far reads, or that read none
    const auto pass = [&](uint32_t o, const std::vector<uint32_t>& nearer) {
      for (const uint32_t one : nearer) {
        if (is_open[one]) --open;
        is_open[one] = false;
      }
      is_open[o] = true;
      ++open;
      passed[o] = passed[o] && open == 1;
    };
    for (uint32_t o = 0; o < num_ops_; ++o) {
      if (found_.aside[o]) {
        passed[o] = false;
      } else {
        pass(o, producers_[o]);
      }
    }
    open = 0;
    is_open.assign(num_ops_, false);
    for (uint32_t o = static_cast<uint32_t>(num_ops_); o-- > 0;) {
      if (!found_.aside[o]) pass(o, readers_[o]);
    }
    return passed;
  }

  bool IsReadBy(TensorId tensor, OpId reader) const {
    const auto [begin, end] = problem_.uses.of(tensor);
    return begin != end && std::all_of(begin, end, [&](const Use& use) { return use.op == reader; }) &&
           !problem_.is_output[tensor.index()] && problem_.demands.standing(tensor) == nullptr;
  }

  const Problem& problem_;
  const size_t num_ops_;
  const std::vector<double>& seconds_;  // per op
  const size_t near_;
  double small_ = 0, left_ = 0;  // what an op may take, and what all that are still set aside may
  std::vector<std::vector<uint32_t>> producers_, readers_;
  Bottlenecks found_;
};

}  // namespace

Bottlenecks FindBottlenecks(const Problem& problem, const std::vector<double>& seconds, const AsideOptions& options) {
  return Finder(problem, seconds, options).Run();
}

}  // namespace sbp
