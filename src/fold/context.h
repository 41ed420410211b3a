// What one resolution shares between the main graph and all subgraphs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "fold/provenance.h"
#include "fold/resolve.h"
#include "rule/rule_set.h"

namespace sbp {

// Warnings of one kind, of which a user wants to see a few and the number.
class WarningList {
 public:
  void Add(std::string_view kind, std::string text);
  std::vector<std::string> Take();

 private:
  struct Group {
    std::vector<std::string> texts;
    size_t more = 0;
  };
  std::vector<std::string> order_;
  std::map<std::string, Group, std::less<>> groups_;
};

// Answers of the rules, one per different question: equal ops of repeated layers share one.
class InstanceCache {
 public:
  explicit InstanceCache(const RuleSet& rules) : rules_(rules) {}

  // The question's attributes are kept alive for as long as the cache.
  Result<RuleInstanceRef> Instantiate(const OpQuery& query, const AttributesRef& attributes);

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

struct FoldContext {
  FoldContext(const RuleSet& rule_set, const ResolveOptions& resolve_options)
      : rules(rule_set), options(resolve_options), cache(rule_set) {}

  const RuleSet& rules;
  const ResolveOptions& options;
  InstanceCache cache;
  WarningList warnings;
  Provenance provenance;  // of the values given for inputs
  std::map<std::string, int64_t> bindings;
  // Of these, the symbols given by flag that no input has: only results can have these sizes.
  std::map<std::string, int64_t> bindings_of_results;
  int64_t literal_budget = int64_t{1} << 25;  // elements of folded values that are held in all
  int64_t op_budget = 0;                      // ops looked at, bodies of loops again for each of their passes
  int depth = 0;                              // subgraphs around the graph at hand
};

inline constexpr int kMaxSubgraphDepth = 100;

}  // namespace sbp
