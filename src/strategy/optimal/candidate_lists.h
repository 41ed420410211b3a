// Which candidates of each op the search looks at. Equal ops share a list.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "problem/problem.h"

namespace sbp {

class CandidateLists {
 public:
  using List = std::vector<uint32_t>;  // indices into the op's whole list, ascending

  // Those that pins allow and that are worth a look whatever the costs. Error (kNoPlan): pins leave an op without any.
  static Result<CandidateLists> All(const Problem& problem);

  explicit CandidateLists(const Problem& problem) : problem_(&problem) {}
  // Ops in order.
  void Add(OpId op, List list);

  size_t num_ops() const { return number_.size(); }
  const List& of(OpId op) const { return *lists_[number_[op.index()]]; }
  // Equal where class and candidates are equal.
  uint32_t number(OpId op) const { return number_[op.index()]; }

 private:
  struct Hash {
    size_t operator()(const List& key) const { return HashRange(key.size(), key); }
  };
  const Problem* problem_;
  std::vector<uint32_t> number_;                    // per op
  std::vector<std::shared_ptr<const List>> lists_;  // per number
  std::unordered_map<List, uint32_t, Hash> known_;  // by candidates and class
};

}  // namespace sbp
