// Adds ops, inputs and constants behind those of a resolved graph.
//
// Names: those that begin with kBackward or kCotangentOf are the caller's to keep apart, as long as the graph came with
// none of the kind (a million of them would be looked up for nothing); all others are made unique here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/name_table.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/rule_set.h"

namespace sbp {

inline constexpr std::string_view kBackward = "backward/";
inline constexpr std::string_view kCotangentOf = "d/";

class Appender {
 public:
  using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;

  // Both must outlive it. The graph's tensors have concrete types.
  Appender(Graph& graph, const RuleSet& rules);

  Graph& graph() { return graph_; }
  const RuleSet& rules() const { return rules_; }
  const TensorType& type(TensorId id) const { return graph_.tensor(id).type; }

  // Error (kBadInput): the graph has a tensor of that name.
  Result<TensorId> AddInput(const std::string& name, TensorType type);
  TensorId Constant(Literal literal);  // one of equal value that was asked for before is returned again
  TensorId Number(double value, DType type);
  TensorId Ints(std::vector<int64_t> values);

  // The first result of an op, of the type that its rule infers. `name`, made unique, is that of op and result.
  Result<TensorId> Call(std::string_view type, std::vector<TensorId> inputs, AttributeList attributes,
                        const std::string& name, uint32_t scope = 0);
  // What the rules say of such an op.
  Result<RuleInstanceRef> Ask(std::string_view type, std::span<const TensorId> inputs, const Attributes& attributes,
                              size_t results = 1);
  // All results of an op, named `results` ("": not wanted), of the types that the rules said of it.
  std::vector<TensorId> CallAll(const RuleInstance& asked, std::vector<TensorId> inputs, AttributesRef attributes,
                                const std::string& name, std::span<const std::string> results, uint32_t scope);
  // The same where the type is known.
  TensorId CallTyped(std::string_view op, std::vector<TensorId> inputs, AttributesRef attributes, TensorType type,
                     const std::string& name, uint32_t scope);
  // The results of an op of these types, which may have captures. Its operands, attributes and scope are set; its
  // results and name are given here.
  std::vector<TensorId> CallMany(Op op, std::string_view type, const std::vector<TensorType>& results,
                                 const std::string& name);
  // A graph (an expansion) that is spliced in once or often, with what is the same each time. The graph must outlive
  // it.
  class Part {
   public:
    explicit Part(const Graph& graph) : graph_(graph), constants_(graph.tensors.size()) {}

   private:
    friend class Appender;
    const Graph& graph_;
    std::vector<uint32_t> types_;            // per op, here; empty until it is spliced for the first time
    std::vector<AttributesRef> attributes_;  // per op, shared here
    std::vector<TensorId> constants_;        // per tensor, here; invalid for others
  };
  // All of `part` but its inputs, which are `given`, in their order. Names of its ops and tensors begin with `prefix`.
  // Returns what each of its tensors is here; constants of equal value are shared, ops that nothing needs are left out.
  std::vector<TensorId> Splice(Part& part, std::span<const TensorId> given, const std::string& prefix, uint32_t scope);

  // Asks an op for a result that it did not give so far.
  TensorId AddResult(OpId op, size_t result, TensorType type);

  uint32_t ScopeIndex(const std::string& scope);
  AttributesRef Shared(Attributes attributes);
  // Gives a tensor that an op of ours writes another name.
  void Rename(TensorId id, const std::string& name);

 private:
  TensorId AddTensor(std::string name, TensorType type, TensorRole role);
  void AddOp(Op op, uint32_t type, std::string name);
  uint32_t TypeIndex(std::string_view type);
  // The name that item `number`, which has none yet, gets.
  template <typename Item>
  std::string Unique(NameTable& taken, const std::vector<Item>& items, size_t number, std::string name);

  Graph& graph_;
  const RuleSet& rules_;
  NameTable tensor_names_, op_names_;  // a tensor that has been renamed is found by either name, and has the new one
  bool owns_prefixes_ = true;          // no name that came with the graph begins as ours do
  int constants_made_ = 0;
  std::unordered_map<std::string, int> numbers_;
  std::unordered_map<std::string, uint32_t> types_, scopes_;
  std::unordered_multimap<size_t, TensorId> constants_;
  std::unordered_multimap<size_t, AttributesRef> attributes_;
};

}  // namespace sbp
