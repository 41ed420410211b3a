// RuleSet::Instantiate: overload, result types, the rule line that applies, its factors and clauses, flops.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/assumed_dims.h"
#include "rule/expression.h"
#include "rule/factor_map.h"
#include "rule/factor_use.h"
#include "rule/factorizer.h"
#include "rule/instance_builder.h"
#include "rule/overload.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {

const AttributeValue* InstanceBuilder::Attribute(std::string_view name) const {
  if (const AttributeValue* value = query.attributes->Find(name)) return value;
  for (const Parameter& p : overload().parameters) {
    if (p.name == name && p.default_value) return &*p.default_value;
  }
  return nullptr;
}

void InstanceBuilder::SetResultShape(size_t result, Shape shape) {
  out.map.results[result].assign(shape.size(), {});
  out.results[result].shape = std::move(shape);
  out.results[result].has_rank = true;
}

namespace {

void CopyOperands(const OpQuery& query, RuleInstance& out) {
  const size_t count = query.operands.size();
  out.op = query.type;
  out.operands.resize(count);
  out.present.resize(count);
  out.operand_names.resize(count);
  out.map.operands.resize(count);
  for (size_t i = 0; i < count; ++i) {
    out.present[i] = query.operands[i].present;
    if (!out.present[i]) continue;
    out.operands[i] = query.operands[i].type;
    out.map.operands[i].resize(out.operands[i].shape.size());
  }
  out.results.resize(query.wanted.size());
  out.result_names.resize(query.wanted.size());
  out.map.results.resize(query.wanted.size());
}

void NameSlots(const std::vector<Parameter>& parameters, const std::vector<ParameterSlot>& slots,
               std::vector<std::string>& names) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    for (int k = 0; k < slots[i].count; ++k) {
      names[slots[i].first + k] = parameters[i].variadic ? StrCat(parameters[i].name, "[", k, "]") : parameters[i].name;
    }
  }
}

// The types that the file states; where it states none, a type without rank, which the caller must complain about.
void TakeStatedTypes(const OpQuery& query, RuleInstance& out) {
  for (size_t r = 0; r < query.wanted.size(); ++r) {
    if (!query.wanted[r]) continue;
    if (r < query.stated.size()) {
      out.results[r] = query.stated[r];
    } else {
      out.results[r].has_rank = false;
    }
    out.map.results[r].assign(out.results[r].shape.size(), {});
  }
}

RuleInstance ReplicatedInstance(const OpQuery& query, std::string reason) {
  RuleInstance out;
  CopyOperands(query, out);
  for (size_t i = 0; i < out.operands.size(); ++i) out.operand_names[i] = StrCat("input", i);
  for (size_t r = 0; r < out.results.size(); ++r) out.result_names[r] = StrCat("output", r);
  TakeStatedTypes(query, out);
  out.reason = std::move(reason);
  return out;
}

std::optional<DType> TypeFromAttribute(const AttributeValue* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* i = std::get_if<int64_t>(value)) return static_cast<DType>(*i);  // in range: the overload checked it
  if (const auto* s = std::get_if<std::string>(value)) return ParseDType(*s);
  return std::nullopt;
}

DType FirstOperandType(const OpQuery& query) {
  for (const OperandInfo& operand : query.operands) {
    if (operand.present) return operand.type.dtype;
  }
  return DType::kUndefined;
}

// The element type of a declared result: of the operand or attribute that it names, fixed, or of the first operand.
DType DeclaredType(const InstanceBuilder& builder, const Parameter& result, int position) {
  DType type = DType::kUndefined;
  if (!result.type.empty()) {
    const ParameterSlot* slot = builder.binding.FindOperand(result.type);
    if (slot != nullptr && slot->count > 0) return builder.query.operands[slot->first].type.dtype;
    if (auto dtype = TypeFromAttribute(builder.Attribute(result.type))) return *dtype;
    if (slot == nullptr) type = ParseDType(result.type).value_or(DType::kUndefined);
  }
  if (type == DType::kUndefined) type = FirstOperandType(builder.query);
  const auto& stated = builder.query.stated;
  if (type == DType::kUndefined && static_cast<size_t>(position) < stated.size()) type = stated[position].dtype;
  return type == DType::kUndefined ? DType::kF32 : type;
}

void DeclareResults(InstanceBuilder& builder) {
  const OpOverload& overload = builder.overload();
  NameSlots(overload.parameters, builder.binding.parameters, builder.out.operand_names);
  NameSlots(overload.results, builder.binding.results, builder.out.result_names);
  for (size_t i = 0; i < overload.results.size(); ++i) {
    const ParameterSlot& slot = builder.binding.results[i];
    for (int r = slot.first; r < slot.first + slot.count; ++r) {
      if (builder.query.wanted[r]) builder.out.results[r].dtype = DeclaredType(builder, overload.results[i], r);
    }
  }
}

Status RunFactorizer(const RuleLine& line, InstanceBuilder& builder) {
  const FactorizerRow* row = FindFactorizer(line.factorizer);
  if (row == nullptr) return Defect(StrCat("no factorizer @", line.factorizer));  // RuleSet::Add refuses such a file
  if (builder.out.results.empty()) return BadInput(StrCat("@", line.factorizer, " needs a result"));
  if (row->operands == "*" && (builder.query.operands.empty() || !builder.query.operands[0].present)) {
    return BadInput(StrCat("@", line.factorizer, " needs an operand"));
  }
  FactorizerContext context(builder.query, builder.overload(), builder.out);
  InstanceScope scope(builder);
  for (const Expression& argument : line.arguments) {
    int64_t number = 0;
    std::string name;
    const bool is_name = argument.kind == Expression::Kind::kName;
    if (is_name && builder.binding.FindOperand(argument.text) != nullptr) {
      context.int_arguments.push_back(static_cast<int64_t>(context.operand(argument.text)));
      context.name_arguments.push_back(argument.text);
      continue;
    }
    const AttributeValue* value = is_name ? builder.Attribute(argument.text) : nullptr;
    if (is_name && (value == nullptr || value->index() > 2)) {  // a word, or an attribute that is a list or absent
      name = argument.text;
    } else {
      SBP_ASSIGN_OR_RETURN(ExpressionValue result, Evaluate(argument, scope));
      if (const auto* text = std::get_if<std::string>(&result)) name = *text;
      if (const auto* i = std::get_if<int64_t>(&result)) number = *i;
      if (const auto* d = std::get_if<double>(&result)) number = static_cast<int64_t>(*d);
    }
    context.int_arguments.push_back(number);
    context.name_arguments.push_back(std::move(name));
  }
  return row->run(context);
}

bool MentionsSize(const Expression& node) {
  if (node.kind == Expression::Kind::kCall && (node.text == "size" || node.text == "count")) return true;
  return std::any_of(node.arguments.begin(), node.arguments.end(), MentionsSize);
}

// Do the line's conditions hold? Those on sizes of factors are asked after the notation is bound, the others before.
Result<bool> WhenHolds(const RuleLine& line, const InstanceBuilder& builder, bool bound) {
  for (const RuleClause& clause : line.clauses) {
    if (clause.kind != "when" || MentionsSize(clause.expressions[0]) != bound) continue;
    SBP_ASSIGN_OR_RETURN(ExpressionValue value, Evaluate(clause.expressions[0], InstanceScope(builder)));
    if (!IsTrue(value)) return false;
  }
  return true;
}

bool HasSizeCondition(const RuleLine& line) {
  return std::any_of(line.clauses.begin(), line.clauses.end(), [](const RuleClause& clause) {
    return clause.kind == "when" && MentionsSize(clause.expressions[0]);
  });
}

Status BindBody(const RuleLine& line, InstanceBuilder& builder) {
  if (line.whole) {
    TakeStatedTypes(builder.query, builder.out);
    builder.out.replicate_only = true;
    return OkStatus();
  }
  if (line.inherited) return InheritRule(line, builder);
  return line.factorizer.empty() ? BindNotation(line, builder) : RunFactorizer(line, builder);
}

// Tries one line. False: its condition does not hold, or its notation does not fit where a condition on sizes lets a
// later line try.
Result<bool> ApplyLine(const RuleLine& line, InstanceBuilder& builder) {
  SBP_ASSIGN_OR_RETURN(bool holds, WhenHolds(line, builder, false));
  if (!holds) return false;
  Status bound = BindBody(line, builder);
  const bool conditional = HasSizeCondition(line);
  if (!bound.ok() && conditional) return false;
  SBP_RETURN_IF_ERROR(bound);
  if (conditional) {
    SBP_ASSIGN_OR_RETURN(holds, WhenHolds(line, builder, true));
    if (!holds) return false;
  }
  SBP_RETURN_IF_ERROR(ApplyClauses(line, builder));
  return true;
}

bool HasNoSum(DType type) { return type == DType::kBool || type == DType::kString; }

// P(sum) means nothing on bool and string tensors: an alternative that would put it there does not exist.
void DropMeaninglessPartials(RuleInstance& out) {
  std::erase_if(out.map.partials, [&](const PartialClause& partial) {
    auto meaningless = [&](DType type) {
      return partial.kind == PartialClause::Kind::kLinear ? HasNoSum(type) : type == DType::kString || IsComplex(type);
    };
    auto bad = [&](const std::vector<TensorType>& types, int i) { return meaningless(types[i].dtype); };
    if (std::any_of(partial.operands.begin(), partial.operands.end(), [&](int i) { return bad(out.operands, i); })) {
      return true;
    }
    if (!partial.results.empty()) {
      return std::any_of(partial.results.begin(), partial.results.end(), [&](int r) { return bad(out.results, r); });
    }
    return std::any_of(out.results.begin(), out.results.end(), [&](const TensorType& type) {
      return type.dtype != DType::kUndefined && meaningless(type.dtype);
    });
  });
}

bool IsContraction(const FactorMap& map) {
  auto sums = [](const ReduceClause& r) {
    return r.kind == ReduceClause::Kind::kCombine && r.reduce == ReduceKind::kSum;
  };
  auto linear = [](const PartialClause& p) { return p.kind == PartialClause::Kind::kLinear; };
  return std::any_of(map.reduces.begin(), map.reduces.end(), sums) &&
         std::count_if(map.partials.begin(), map.partials.end(), linear) >= 2;
}

Status SetFlops(InstanceBuilder& builder) {
  RuleInstance& out = builder.out;
  if (builder.overload().flops) {
    SBP_ASSIGN_OR_RETURN(out.flops, EvaluateDouble(*builder.overload().flops, InstanceScope(builder)));
    out.flops = std::max(out.flops, 0.0);
  } else if (out.flops == 0 && out.contraction) {
    out.flops = 2;
    for (const Factor& factor : out.map.factors) out.flops *= static_cast<double>(factor.size);
  } else if (out.flops == 0) {
    for (const auto* types : {&out.operands, &out.results}) {
      for (const TensorType& type : *types) {
        if (type.dtype != DType::kUndefined) out.flops = std::max(out.flops, static_cast<double>(type.num_elements()));
      }
    }
  }
  return OkStatus();
}

Status SetAttention(InstanceBuilder& builder) {
  if (!builder.overload().attention) return OkStatus();
  const AttentionLine& line = *builder.overload().attention;
  RuleInstance& out = builder.out;
  AttentionKernel& kernel = out.attention.emplace();
  SBP_ASSIGN_OR_RETURN(kernel.head, EvaluateDouble(line.head, InstanceScope(builder)));
  kernel.backward = line.backward;
  for (size_t i = 0; i < out.operands.size(); ++i)
    kernel.mask = kernel.mask || (out.present[i] && out.operand_names[i] == line.mask);
  return OkStatus();
}

Status Finish(InstanceBuilder& builder) {
  RuleInstance& out = builder.out;
  out.contraction = IsContraction(out.map);
  SBP_RETURN_IF_ERROR(SetFlops(builder));
  SBP_RETURN_IF_ERROR(SetAttention(builder));
  for (size_t r = 0; r < out.results.size(); ++r) {
    if (builder.query.wanted[r]) continue;
    out.results[r] = {};
    out.map.results[r].clear();
  }
  DropMeaninglessPartials(out);
  if (const std::vector<int64_t>* assumed = builder.query.attributes->Ints(kAssumedDims))
    KeepAssumedWhole(*assumed, out.map);
  const bool nothing_to_split =
      out.map.partials.empty() && out.map.signatures.empty() && SplittableFactors(out).empty();
  if (nothing_to_split && !out.map.notes.empty()) out.replicate_only = true;
  if (out.replicate_only && out.reason.empty()) {
    out.reason = out.map.notes.empty() ? StrCat(out.op, " is computed whole on every rank") : out.map.notes.front();
  }
  return OkStatus();
}

// Rules compute with sizes: an operand without a concrete shape comes from a graph that is not resolved.
Status RequireShapes(const RuleInstance& instance) {
  for (size_t i = 0; i < instance.operands.size(); ++i) {
    const TensorType& type = instance.operands[i];
    if (!instance.present[i] || type.kind != ValueKind::kTensor || type.is_static()) continue;
    return BadInput(StrCat(instance.op, "(): the shape of argument '", instance.operand_names[i], "' is not known (",
                           ToString(type), ")"));
  }
  return OkStatus();
}

// The first operand whose value the op reads and nobody knows before it runs.
std::optional<size_t> UnknownValue(const RuleSet& rules, const OpQuery& query) {
  for (size_t i = 0; i < query.operands.size(); ++i) {
    if (query.operands[i].present && query.operands[i].known() == nullptr && rules.ReadsValue(query.type, i)) return i;
  }
  return std::nullopt;
}

bool StatesEveryResult(const OpQuery& query) {
  for (size_t r = 0; r < query.wanted.size(); ++r) {
    if (!query.wanted[r]) continue;
    if (r >= query.stated.size() || !query.stated[r].is_static() || query.stated[r].dtype == DType::kUndefined) {
      return false;
    }
  }
  return true;
}

Status Instantiate(const RuleSet& rules, const OpDefinition& definition, const OpQuery& query, RuleInstance& out) {
  SBP_ASSIGN_OR_RETURN(Binding binding, ResolveOverload(definition, query));
  RuleInstance blank;
  CopyOperands(query, blank);
  blank.ignored_attributes = binding.ignored_attributes;
  InstanceBuilder declare{query, binding, rules, blank};
  DeclareResults(declare);
  SBP_RETURN_IF_ERROR(RequireShapes(blank));
  for (const RuleLine& line : binding.overload->rules) {
    out = blank;
    InstanceBuilder builder{query, binding, rules, out};
    Result<bool> applied = ApplyLine(line, builder);
    if (!applied.ok()) return applied.status().WithContext(StrCat(query.type, "()"));
    if (*applied) return Finish(builder).WithContext(StrCat(query.type, "()"));
  }
  out = std::move(blank);
  TakeStatedTypes(query, out);
  out.replicate_only = true;
  out.reason = StrCat("no rule line of ", query.type, " applies to these arguments");
  return OkStatus();
}

}  // namespace

Result<RuleInstanceRef> RuleSet::Instantiate(const OpQuery& query) const {
  const OpDefinition* definition = Find(query.type);
  auto out = std::make_shared<RuleInstance>();
  if (query.has_subgraphs) {
    *out = ReplicatedInstance(query, StrCat(query.type, " has subgraphs, which are kept whole"));
    out->replicate_only = true;
    out->flops = query.attributes->Float(kBodyFlops, 0);
    out->extra_bytes = query.attributes->Float(kBodyBytes, 0);
  } else if (definition == nullptr) {
    *out = ReplicatedInstance(query, StrCat("no rule for ", query.type));
    out->missing_rule = true;
  } else {
    const Status status = sbp::Instantiate(*this, *definition, query, *out);
    if (!status.ok()) {
      // An axis or a size that only running decides: where the model states the results, the op is kept whole.
      const std::optional<size_t> unknown = UnknownValue(*this, query);
      if (!unknown || !StatesEveryResult(query)) return status;
      *out = ReplicatedInstance(
          query, StrCat("the value of operand ", *unknown, " of ", query.type, " is not known before it runs"));
      out->replicate_only = true;
    }
  }
  return RuleInstanceRef(std::move(out));
}

}  // namespace sbp
