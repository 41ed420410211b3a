#include "fold/instance_cache.h"

#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"

namespace sbp {

uint32_t InstanceCache::TypeNumber(const TensorType& type) {
  return types_.try_emplace(type, static_cast<uint32_t>(types_.size())).first->second;
}

uint32_t InstanceCache::LiteralNumber(const Literal& literal) {
  auto& same_hash = literals_[HashLiteral(literal)];
  for (const auto& [known, number] : same_hash) {
    if (known == literal) return number;
  }
  return same_hash.emplace_back(literal, num_literals_++).second;
}

bool InstanceCache::ReadsValue(std::string_view type, Reads& reads, size_t operand) {
  while (reads.operands.size() <= operand) reads.operands.push_back(rules_.ReadsValue(type, reads.operands.size()));
  return reads.operands[operand];
}

Result<RuleInstanceRef> InstanceCache::Instantiate(const OpQuery& query, const AttributesRef& attributes) {
  if (query.has_subgraphs) return rules_.Instantiate(query);
  auto op = ops_.find(query.type);
  if (op == ops_.end()) op = ops_.emplace(std::string(query.type), std::pair(ops_.size(), Reads{})).first;
  key_.assign({op->second.first * 2 + (query.may_be_open ? 1 : 0), reinterpret_cast<uint64_t>(attributes.get()),
               query.operands.size(), query.wanted.size()});
  for (size_t i = 0; i < query.operands.size(); ++i) {
    const OperandInfo& operand = query.operands[i];
    if (!operand.present) {
      key_.push_back(0);
      continue;
    }
    const bool valued = operand.value != nullptr && ReadsValue(query.type, op->second.second, i);
    const uint64_t value = valued ? uint64_t{LiteralNumber(*operand.value)} + 1 : 0;
    key_.push_back((uint64_t{TypeNumber(operand.type)} + 1) << 32 | value);
  }
  for (size_t r = 0; r < query.wanted.size(); ++r) {
    const bool stated = r < query.stated.size();
    key_.push_back(!query.wanted[r] ? 0 : 1 + (stated ? uint64_t{TypeNumber(query.stated[r])} + 1 : 0));
  }
  if (const auto known = instances_.find(key_); known != instances_.end()) return known->second;
  const std::vector<uint64_t> key = key_;
  SBP_ASSIGN_OR_RETURN(RuleInstanceRef instance, rules_.Instantiate(query));
  kept_.emplace(attributes.get(), attributes);
  instances_.emplace(key, instance);
  return instance;
}

}  // namespace sbp
