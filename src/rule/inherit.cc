// `rule as Op(operands...)`: an op that computes what another does, on quantised operands or with more behind it, takes
// the rule of that op.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/expression.h"
#include "rule/factor_map.h"
#include "rule/instance_builder.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int kAbsentOperand = -1;

// Integers of so few bits stand for real numbers, in the ops of quantised models.
bool IsQuantized(DType type) { return IsInteger(type) && DTypeBits(type) <= 16; }

class Inheritor {
 public:
  Inheritor(const Expression& call, InstanceBuilder& builder) : call_(call), builder_(builder) {}

  // `with_partials`: unless the line itself says what sums and orders pass.
  Status Run(bool with_partials) {
    const OpDefinition* inner = builder_.rules.Find(call_.text);
    if (inner == nullptr) return Defect(StrCat("no op ", call_.text));  // RuleSet::Add refuses such a file
    FindOperands();
    SBP_RETURN_IF_ERROR(FindAttributes(*inner));
    SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, Ask(*inner));
    TakeFactors(*instance);
    if (with_partials && IsSameComputation(*instance)) TakePartials(instance->map);
    return OkStatus();
  }

 private:
  // Where the operands of the call stand in the op.
  void FindOperands() {
    const size_t positional = call_.arguments.size() - call_.keywords.size();
    for (size_t i = 0; i < positional; ++i) {
      const Expression& argument = call_.arguments[i];
      if (argument.kind == Expression::Kind::kAll) continue;
      const ParameterSlot* slot = builder_.binding.FindOperand(argument.text);  // null where the call says "-"
      const bool given = slot != nullptr && slot->count > 0;
      if (!given) places_.push_back(kAbsentOperand);
      for (int k = 0; given && k < slot->count; ++k) places_.push_back(slot->first + k);
    }
    while (!places_.empty() && (places_.back() == kAbsentOperand || !builder_.out.present[places_.back()])) {
      places_.pop_back();
    }
  }

  Status FindAttributes(const OpDefinition& inner) {
    const bool all = !call_.arguments.empty() && call_.arguments[0].kind == Expression::Kind::kAll;
    for (const Parameter& p : inner.overloads.front().parameters) {
      const AttributeValue* value = all && p.keyword ? builder_.Attribute(p.name) : nullptr;
      if (value != nullptr) attributes_.Set(p.name, *value);
    }
    const size_t positional = call_.arguments.size() - call_.keywords.size();
    for (size_t i = 0; i < call_.keywords.size(); ++i) {
      const Expression& argument = call_.arguments[positional + i];
      const bool is_name = argument.kind == Expression::Kind::kName;
      if (const AttributeValue* value = is_name ? builder_.Attribute(argument.text) : nullptr) {
        attributes_.Set(call_.keywords[i], *value);  // a list, too
        continue;
      }
      SBP_ASSIGN_OR_RETURN(const ExpressionValue value, Evaluate(argument, InstanceScope(builder_)));
      std::visit([&](const auto& v) { attributes_.Set(call_.keywords[i], v); }, value);
    }
    return OkStatus();
  }

  // The answer of the first of the op's signatures that takes the operands, quantised ones as the numbers they stand
  // for.
  Result<RuleInstanceRef> Ask(const OpDefinition& inner) const {
    Status first;
    for (const OpOverload& overload : inner.overloads) {
      OpQuery query = {.type = call_.text,
                       .attributes = &attributes_,
                       .wanted = builder_.query.wanted,
                       .stated = builder_.query.stated,
                       .may_be_open = builder_.query.may_be_open,
                       .strict_attributes = true};
      for (int place : places_) query.operands.push_back(Operand(place));
      Dequantise(overload, query.operands);
      Result<RuleInstanceRef> answer = builder_.rules.Instantiate(query);
      if (answer.ok()) return answer;
      if (first.ok()) first = answer.status();
    }
    return first.WithContext("as");
  }

  OperandInfo Operand(int place) const {
    return place == kAbsentOperand ? OperandInfo{} : builder_.query.operands[place];
  }

  static void Dequantise(const OpOverload& overload, std::vector<OperandInfo>& operands) {
    size_t next = 0;
    std::vector<std::pair<std::string, DType>> types;  // of the parameters so far
    for (const Parameter& p : overload.parameters) {
      if (p.keyword || next >= operands.size()) continue;
      DType named = DType::kUndefined;
      for (const auto& [name, type] : types) {
        if (name == p.type) named = type;
      }
      const size_t end = p.variadic ? operands.size() : next + 1;
      types.emplace_back(p.name, DType::kUndefined);
      for (; next < end; ++next) {
        Dequantise(p, named, operands[next]);
        if (operands[next].present) types.back().second = operands[next].type.dtype;
      }
    }
  }

  // `named`: the type of the parameter whose type this one shares.
  static void Dequantise(const Parameter& p, DType named, OperandInfo& operand) {
    if (!operand.present || operand.type.kind != ValueKind::kTensor) return;
    DType& type = operand.type.dtype;
    const bool shares = named != DType::kUndefined;
    const bool takes_it = shares ? named == type : TypeMatches(p.type, type);
    const DType real = named == DType::kF64 ? DType::kF64 : DType::kF32;
    const bool takes_real = shares ? named == real : TypeMatches(p.type, DType::kF32);
    if (takes_real && IsInteger(type) && (IsQuantized(type) || !takes_it)) {
      type = real;
      operand.value = nullptr;
    }
  }

  void TakeFactors(const RuleInstance& from) {
    RuleInstance& out = builder_.out;
    FactorMap& map = out.map;
    map.factors = from.map.factors;
    for (Factor& factor : map.factors) {
      if (factor.halo && factor.halo->operand >= 0) factor.halo->operand = places_[factor.halo->operand];
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] != kAbsentOperand) map.operands[places_[i]] = from.map.operands[i];
    }
    for (size_t r = 0; r < out.results.size(); ++r) {
      if (!builder_.query.wanted[r]) continue;
      builder_.SetResultShape(r, from.results[r].shape);
      map.results[r] = from.map.results[r];
    }
    map.reduces = from.map.reduces;
    map.convolution = from.map.convolution;
    map.notes = from.map.notes;
    map.alternatives = from.map.alternatives;
    map.unused = Places(from.map.unused);
    map.picked = Places(from.map.picked);
    out.flops = from.flops;
    out.attention = from.attention;
    out.extra_bytes = from.extra_bytes;
    out.bounded = from.bounded;
    out.stated_bound = from.stated_bound;
    out.computed_sizes = from.computed_sizes;
    out.replicate_only = from.replicate_only;
    out.reason = from.reason;
  }

  // Is every operand one of the call's, of the type that it has there, and every result, too?
  bool IsSameComputation(const RuleInstance& from) const {
    const RuleInstance& out = builder_.out;
    for (size_t i = 0; i < out.operands.size(); ++i) {
      if (!out.present[i]) continue;
      const auto at = std::ranges::find(places_, static_cast<int>(i));
      if (at == places_.end() || from.operands[at - places_.begin()].dtype != out.operands[i].dtype) return false;
    }
    for (size_t r = 0; r < out.results.size(); ++r) {
      if (builder_.query.wanted[r] && from.results[r].dtype != out.results[r].dtype) return false;
    }
    return true;
  }

  void TakePartials(const FactorMap& from) {
    FactorMap& map = builder_.out.map;
    map.addends = Places(from.addends);
    for (PartialClause partial : from.partials) {
      partial.operands = Places(partial.operands);
      map.partials.push_back(std::move(partial));
    }
    for (const ExplicitSignature& signature : from.signatures) {
      ExplicitSignature moved{.operands = std::vector<Sbp>(map.operands.size()), .results = signature.results};
      for (size_t i = 0; i < places_.size(); ++i) {
        if (places_[i] != kAbsentOperand) moved.operands[places_[i]] = signature.operands[i];
      }
      map.signatures.push_back(std::move(moved));
    }
  }

  std::vector<int> Places(const std::vector<int>& operands) const {
    std::vector<int> places;
    for (int operand : operands) places.push_back(places_[operand]);
    return places;
  }

  const Expression& call_;
  InstanceBuilder& builder_;
  std::vector<int> places_;  // of the call's operands in the op; kAbsentOperand
  Attributes attributes_;
};

}  // namespace

Status InheritRule(const RuleLine& line, InstanceBuilder& builder) {
  const bool says_own = std::ranges::any_of(
      line.clauses, [](const RuleClause& clause) { return !clause.alternatives.empty() || clause.kind == "addend"; });
  return Inheritor(*line.inherited, builder).Run(!says_own);
}

}  // namespace sbp
