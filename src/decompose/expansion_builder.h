// ExpansionBuilder: writes the graph of one expansion, op by op, each typed by its own rule.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"

namespace sbp {

// Errors stick: after the first one every call returns an absent tensor and Finish the error, so that expansions in
// code read as formulas. A TensorId is valid for this builder only; an invalid one is an absent operand.
class ExpansionBuilder {
 public:
  using AttributeList = std::initializer_list<std::pair<std::string_view, AttributeValue>>;

  // What is expanded. `instance` answers `query`; all must outlive the builder.
  ExpansionBuilder(const OpQuery& query, const Binding& binding, const RuleInstance& instance, const RuleSet& rules);

  // The outer op. An attribute that it does not give has its schema's default; nullptr: neither.
  const OpQuery& query() const { return query_; }
  const Binding& binding() const { return binding_; }
  const RuleInstance& instance() const { return instance_; }
  const RuleSet& rules() const { return rules_; }
  const AttributeValue* Attribute(std::string_view name) const;
  int64_t IntAttribute(std::string_view name, int64_t fallback = 0) const;
  double FloatAttribute(std::string_view name, double fallback = 0) const;
  std::string TextAttribute(std::string_view name) const;
  std::vector<int64_t> IntsAttribute(std::string_view name) const;  // empty when absent
  // By position, or by the parameter's name; absent ones are invalid.
  TensorId Operand(size_t index) const;
  TensorId Operand(std::string_view name) const;

  const TensorType& type(TensorId id) const { return tensors_[id.index()].type; }
  const Shape& shape(TensorId id) const { return type(id).shape; }
  const Literal* value(TensorId id) const { return tensors_[id.index()].literal.get(); }  // nullptr: not known

  TensorId Constant(Literal literal);
  TensorId Number(double value, DType type);   // rank 0
  TensorId Ints(std::vector<int64_t> values);  // i64, 1-d

  // The first result of an op. Copies (a Cast to the same type, a Reshape or Expand to the same shape) return their
  // operand; a Cast of a constant is a constant; a 0 in the known shape of a Reshape means 0. `name` is that of the
  // first result, made unique.
  TensorId Call(std::string_view op, std::vector<TensorId> inputs, AttributeList attributes = {});
  // All results, as many as `wanted`; one that is not wanted is invalid.
  std::vector<TensorId> CallMany(std::string_view op, std::vector<TensorId> inputs, Attributes attributes,
                                 const std::vector<bool>& wanted, std::string_view name = "");

  // A further input of the graph that is built, behind the operands: of a vjp, a result or its cotangent.
  TensorId AddInput(std::string_view name, TensorType type);

  void SetResult(size_t index, TensorId id);
  void Fail(Status status);
  const Status& status() const { return status_; }
  // The graph without ops that no result needs. Errors: a result that was not set, or has another type than the rule
  // says.
  Result<Graph> Finish();
  // The same with any tensors as outputs, each named once; invalid ones are left out.
  Result<Graph> FinishWith(const std::vector<TensorId>& outputs);
  const std::string& name(TensorId id) const { return tensors_[id.index()].name; }

 private:
  struct Node {
    std::string type;
    std::string name;
    std::vector<TensorId> inputs, outputs;
    AttributesRef attributes;
  };

  TensorId AddTensor(std::string_view name, TensorType type, TensorRole role);
  TensorId Shortcut(std::string_view op, const std::vector<TensorId>& inputs, const Attributes& attributes);
  std::string Unique(std::string_view name);
  void TypeAttributes(std::string_view op, Attributes& attributes) const;
  Status CheckResults() const;
  std::vector<bool> LiveNodes(const std::vector<TensorId>& outputs) const;

  const OpQuery& query_;
  const Binding& binding_;
  const RuleInstance& instance_;
  const RuleSet& rules_;
  std::vector<Tensor> tensors_;  // producer: index into nodes_
  std::vector<Node> nodes_;
  std::vector<TensorId> operands_, inputs_, constants_, results_;
  std::set<std::string, std::less<>> names_;
  std::unordered_map<std::string, int> numbers_;  // names that were asked for again
  std::unordered_multimap<size_t, TensorId> constants_by_hash_;
  Status status_;
};

}  // namespace sbp
