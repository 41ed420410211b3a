// What walks over a problem share: layouts of tensors as they are written, candidates that pins leave, shared reasons,
// and a memory of questions already answered.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "problem/problem.h"
#include "sbp/sbp.h"
#include "strategy/strategy.h"

namespace sbp {

// Numbers distinct texts: Assignment::reasons.
class ReasonTable {
 public:
  explicit ReasonTable(std::vector<std::string>& reasons) : reasons_(reasons) {}
  uint32_t Add(const std::string& text);

 private:
  std::vector<std::string>& reasons_;
  std::unordered_map<std::string, uint32_t> known_;
};

// Visits the ops in topological order. `decide` sees the layouts that the producers wrote (of tensors pinned by
// TENSOR=LAYOUT: the pinned ones) and returns the choice; the results of the op then lie as the chosen candidate says.
// How outputs of the graph end is not looked at: the evaluator takes the cheapest legal way, once the walk is done.
//
// Decisions are remembered by (class, allowed candidates, produced layouts, batch axes, extra key): of 10^6 ops in
// equal layers only the first layer's are decided. An op with pins is decided by itself.
class Walk {
 public:
  struct Decision {
    CriterionAnswer answer;
    std::string reason;
  };
  using Decide = std::function<Decision(const CriterionQuery& query)>;
  // More layouts that a decision depends on (those that einsum inferred for the op's slots). May be empty.
  using ExtraKey = std::function<void(OpId op, std::vector<NdSbp>& key)>;

  Walk(const Problem& problem, const StrategyOptions& options) : problem_(problem), options_(options) {}
  Result<Assignment> Run(std::vector<NdSbp> sources, const Decide& decide, const ExtraKey& extra_key = {});

 private:
  struct Known {
    uint32_t op_class;
    std::vector<NdSbp> layouts;
    std::vector<int> batch;
    OpChoice choice;
  };
  void MakeKey(OpId op, const ExtraKey& extra_key);
  const OpChoice* Remembered(uint32_t op_class, size_t hash) const;
  OpChoice DecideOne(OpId op, std::span<const uint32_t> allowed, const Decide& decide, ReasonTable& reasons);
  std::span<const uint32_t> AllCandidates(size_t count);

  const Problem& problem_;
  const StrategyOptions& options_;
  std::vector<NdSbp> layouts_;   // per tensor: as readers find it
  std::vector<NdSbp> produced_;  // of the op being visited
  std::vector<NdSbp> key_;       // produced, then extra
  std::vector<int> batch_;       // of the op's operands, then results
  std::vector<uint32_t> iota_;
  std::vector<Known> known_;
  std::unordered_multimap<size_t, uint32_t> known_by_hash_;
};

// On one device there is nothing to choose: the documented signature, which stands first, unless a pin excludes it.
Walk::Decision DecideOnOneDevice(const CriterionQuery& query);

}  // namespace sbp
