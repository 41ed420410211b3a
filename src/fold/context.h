// What one resolution shares between the main graph and all subgraphs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fold/evaluate.h"
#include "fold/instance_cache.h"
#include "fold/provenance.h"
#include "fold/resolve_options.h"
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

class PassState;

struct FoldContext {
  using ResolveGraphFn = Result<Graph> (*)(PassState& pass);

  FoldContext(const RuleSet& rule_set, const ResolveOptions& resolve_options, ResolveGraphFn resolve)
      : rules(rule_set), options(resolve_options), resolve_graph(resolve), cache(rule_set), evaluator(cache) {}

  const RuleSet& rules;
  const ResolveOptions& options;
  const ResolveGraphFn resolve_graph;  // of a body, too: the pass that ops with subgraphs are part of
  InstanceCache cache;
  OpEvaluator evaluator;
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
