// RuleSet: the ops that are known, from the built-in files and the user's; asks them about one op.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/syntax.h"

namespace sbp {

// One operand as a rule sees it.
struct OperandInfo {
  bool present = false;
  TensorType type;
  const Literal* value = nullptr;  // when it is known
  // That, or the empty list that an operand without elements is; nullptr: not known.
  const Literal* known() const;
};

// A question: what does this op compute on these operands?
struct OpQuery {
  std::string_view type;                   // "MatMul", "com.microsoft::Attention"
  std::vector<OperandInfo> operands;       // inputs, then captures
  const Attributes* attributes = nullptr;  // never null
  std::vector<bool> wanted;                // per result: does somebody use it? Its length is the number of results
  // What the model file itself states of each result (value_info), used only where a rule cannot know. May be empty.
  std::vector<TensorType> stated;
  bool has_subgraphs = false;
  // A result whose size nothing bounds may be given kOpenSize (see ComputedSize), for the caller to replace.
  bool may_be_open = false;
  // An attribute that the schema lacks is an error (one op asked by hand), instead of noted in the instance's
  // ignored_attributes (model files; there too it is one where it resembles an attribute that the op does not give).
  bool strict_attributes = false;
};

// Errors about a value that a rule needs and that is not known contain this.
inline constexpr std::string_view kMustBeKnown = "must be known";

// Copies share their ops: one costs as much as a pointer.
class RuleSet {
 public:
  using Ops = std::map<std::string, OpDefinition, std::less<>>;

  // The rules compiled into the program from rules/*.rules. A syntax error there is a defect of ours.
  static Result<RuleSet> Builtin();

  // Adds a user's file. An op that is already known needs `override op`. Errors say file:line:col.
  Status Add(std::string_view text, std::string_view file);

  const OpDefinition* Find(std::string_view type) const;  // nullptr when unknown
  const Ops& ops() const { return *ops_; }
  std::vector<std::string> Names() const;
  // The text of every user file added, in order: recorded in plans.
  const std::vector<std::pair<std::string, std::string>>& user_files() const { return user_files_; }

  // Chooses the overload, infers the results and instantiates the rule. Errors (kBadInput): no overload takes these
  // arguments (seed 002: with one signature, which argument must be what and was what; with several, the numbered
  // list), shapes that do not fit. An op that is not known, or has subgraphs, yields a replicated instance with
  // missing_rule or replicate_only set; result types come from `stated` then.
  Result<RuleInstanceRef> Instantiate(const OpQuery& query) const;

  // Does the op of this type read the *value* of operand `index` to infer its results, to shard or to expand (axes,
  // shapes, pads)?
  // Part of the key under which equal ops share one instance.
  bool ReadsValue(std::string_view type, size_t index) const;
  // Of those: do sizes of its results or its expansion follow from it, and not layouts alone?
  bool ValueDecidesForm(std::string_view type, size_t index) const;

 private:
  std::shared_ptr<const Ops> ops_ = std::make_shared<const Ops>();  // never null
  std::vector<std::pair<std::string, std::string>> user_files_;
};

// "Tensor (Tensor input, Scalar exponent, *, bool inplace=0)": the form in which signatures are listed in errors.
std::string FormatSignature(const OpOverload& overload);

}  // namespace sbp
