// Answers of the rules, one per different question: equal ops of repeated layers share one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"

namespace sbp {

class InstanceCache {
 public:
  explicit InstanceCache(const RuleSet& rules) : rules_(rules) {}

  // The question's attributes are kept alive for as long as the cache.
  Result<RuleInstanceRef> Instantiate(const OpQuery& query, const AttributesRef& attributes);
  const RuleSet& rules() const { return rules_; }

 private:
  struct Reads {
    std::vector<bool> operands;  // ReadsValue, as far as asked
  };
  uint32_t TypeNumber(const TensorType& type);
  uint32_t LiteralNumber(const Literal& literal);
  bool ReadsValue(std::string_view type, Reads& reads, size_t operand);

  struct KeyHash {
    size_t operator()(const std::vector<uint64_t>& key) const { return HashRange(key.size(), key); }
  };
  const RuleSet& rules_;
  std::map<std::string, std::pair<uint64_t, Reads>, std::less<>> ops_;
  std::unordered_map<TensorType, uint32_t> types_;
  std::unordered_map<size_t, std::vector<std::pair<Literal, uint32_t>>> literals_;
  uint32_t num_literals_ = 0;
  std::vector<uint64_t> key_;
  std::unordered_map<std::vector<uint64_t>, RuleInstanceRef, KeyHash> instances_;
  std::unordered_map<const Attributes*, AttributesRef> kept_;
};

}  // namespace sbp
