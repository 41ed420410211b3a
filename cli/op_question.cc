#include "cli/op_question.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "rule/factor_map.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct NamedOperand {
  std::string name;
  TensorType type;
  LiteralRef value;
  std::string layout;
};

// "[1, 2]" -> a literal of i64.
Result<LiteralRef> ParseValues(std::string_view text, std::optional<TensorType> type) {
  text = Trim(text);
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') {
    return UsageError(StrCat("expected values such as [72, 24], found ", Quote(text)));
  }
  std::vector<int64_t> values;
  const std::string_view inner = Trim(text.substr(1, text.size() - 2));
  if (!inner.empty()) {
    for (const std::string_view part : Split(inner, ',')) {
      const auto value = ParseInt(Trim(part));
      if (!value) return UsageError(StrCat("expected an integer, found ", Quote(Trim(part))));
      values.push_back(*value);
    }
  }
  Literal literal = Literal::Ints(std::move(values));
  if (type) {
    if (type->num_elements() != static_cast<int64_t>(literal.ints.size())) {
      return UsageError(StrCat(ToString(*type), " does not hold ", literal.ints.size(), " values"));
    }
    literal.type = *type;
    if (IsFloat(type->dtype)) {
      literal.floats.assign(literal.ints.begin(), literal.ints.end());
      literal.ints.clear();
    }
  }
  return std::make_shared<const Literal>(std::move(literal));
}

// After the name: TYPE, TYPE:LAYOUT, TYPE=[VALUES], [VALUES].
Result<NamedOperand> ParseOperand(const std::string& text) {
  NamedOperand operand;
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0)
    return UsageError(StrCat("--input ", Quote(text), ": expected NAME=f32[16,32]"));
  operand.name = std::string(Trim(std::string_view(text).substr(0, at)));
  std::string_view rest = Trim(std::string_view(text).substr(at + 1));
  const std::string context = StrCat("--input ", operand.name);
  if (!rest.empty() && rest.front() == '[') {
    auto value = ParseValues(rest, std::nullopt);
    if (!value.ok()) return value.status().WithContext(context);
    operand.value = *value;
    operand.type = operand.value->type;
    return operand;
  }
  const size_t close = rest.find(']');
  const std::string_view type_text = close == std::string_view::npos ? rest : rest.substr(0, close + 1);
  auto type = ParseTensorType(type_text);
  if (!type.ok()) return UsageError(StrCat(context, ": ", type.status().message()));
  operand.type = *type;
  if (!operand.type.is_static()) return UsageError(StrCat(context, ": every dimension must be a number"));
  rest = Trim(rest.substr(type_text.size()));
  if (rest.empty()) return operand;
  if (rest.front() == ':') {
    operand.layout = std::string(Trim(rest.substr(1)));
  } else if (rest.front() == '=') {
    auto value = ParseValues(rest.substr(1), operand.type);
    if (!value.ok()) return value.status().WithContext(context);
    operand.value = *value;
  } else {
    return UsageError(StrCat(context, ": expected ':LAYOUT' or '=[VALUES]' after the type, found ", Quote(rest)));
  }
  return operand;
}

AttributeValue ParseAttribute(std::string_view text) {
  text = Trim(text);
  if (const auto integer = ParseInt(text)) return *integer;
  if (const auto number = ParseDouble(text)) return *number;
  if (text == "true" || text == "false") return static_cast<int64_t>(text == "true");
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    std::vector<int64_t> ints;
    std::vector<double> floats;
    std::vector<std::string> strings;
    const std::string_view inner = Trim(text.substr(1, text.size() - 2));
    if (!inner.empty()) {
      for (const std::string_view raw : Split(inner, ',')) {
        const std::string_view part = Trim(raw);
        strings.emplace_back(part);
        if (const auto v = ParseInt(part)) ints.push_back(*v);
        if (const auto v = ParseDouble(part)) floats.push_back(*v);
      }
    }
    if (ints.size() == strings.size()) return ints;
    if (floats.size() == strings.size()) return floats;
    return strings;
  }
  return std::string(text);
}

Result<Attributes> ParseAttributes(const std::vector<std::string>& texts) {
  Attributes attributes;
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == std::string::npos || at == 0) return UsageError(StrCat("--attr ", Quote(text), ": expected NAME=VALUE"));
    std::string name(Trim(std::string_view(text).substr(0, at)));
    if (attributes.Find(name) != nullptr) return BadInput(StrCat("attribute ", Quote(name), " is given twice"));
    attributes.Set(std::move(name), ParseAttribute(text.substr(at + 1)));
  }
  return attributes;
}

// Position of operand `name` among the overload's tensors; a variadic parameter takes every repetition and NAME[i].
// Case does not count: schemas and model files differ in it (a of MatMul, A in ONNX).
std::optional<size_t> PositionOf(const OpOverload& overload, std::string_view name,
                                 std::vector<size_t>& variadic_count) {
  size_t position = 0;
  for (size_t i = 0; i < overload.parameters.size(); ++i) {
    const Parameter& parameter = overload.parameters[i];
    if (parameter.kind != ParameterKind::kTensor && parameter.kind != ParameterKind::kScalar) continue;
    const std::string_view base = name.substr(0, name.find('['));
    if (EqualIgnoringCase(parameter.name, base)) return position + (parameter.variadic ? variadic_count[i]++ : 0);
    if (!parameter.variadic) ++position;
  }
  return std::nullopt;
}

// Operands in the schema's order. The overload with all the given names is the one meant; the rules have the last word.
Result<std::vector<NamedOperand>> OrderOperands(const OpDefinition& op, const std::vector<NamedOperand>& given) {
  std::vector<std::string> known;
  for (const OpOverload& overload : op.overloads) {
    std::vector<size_t> variadic_count(overload.parameters.size(), 0);
    std::vector<NamedOperand> ordered;
    bool fits = true;
    const NamedOperand* twice = nullptr;
    for (const NamedOperand& operand : given) {
      const auto position = PositionOf(overload, operand.name, variadic_count);
      if (!position) {
        fits = false;
        break;
      }
      if (ordered.size() <= *position) ordered.resize(*position + 1);
      if (!ordered[*position].name.empty()) twice = &operand;
      ordered[*position] = operand;
    }
    if (fits && twice != nullptr) {
      return BadInput(StrCat(op.name, ": operand ", Quote(twice->name), " is given twice, and takes one tensor"));
    }
    if (fits) return ordered;
    for (const Parameter& parameter : overload.parameters) {
      const bool is_new = std::ranges::find(known, parameter.name) == known.end();
      if (!parameter.keyword && is_new) known.push_back(parameter.name);
    }
  }
  for (const NamedOperand& operand : given) {
    const std::string base = operand.name.substr(0, operand.name.find('['));
    if (std::ranges::none_of(known, [&](const std::string& k) { return EqualIgnoringCase(k, base); })) {
      return BadInput(StrCat(op.name, " has no operand ", Quote(operand.name), DidYouMean(base, known),
                             "; its operands are ", Join(known, ", ")));
    }
  }
  return BadInput(StrCat(op.name, ": no overload has all of these operands"));
}

Status ApplyOutputs(const OpQuestionFlags& flags, const Mesh& mesh, OpQuestion& question) {
  const RuleInstance& instance = *question.instance;
  std::vector<bool> seen(instance.results.size());
  for (const std::string& text : flags.outputs) {
    const size_t at = text.find('=');
    if (at == std::string::npos) return UsageError(StrCat("--output ", Quote(text), ": expected NAME=LAYOUT"));
    const std::string name(Trim(std::string_view(text).substr(0, at)));
    std::string_view layout = Trim(std::string_view(text).substr(at + 1));
    if (const size_t colon = layout.find("]:"); colon != std::string_view::npos)
      layout = Trim(layout.substr(colon + 2));
    const auto it =
        std::ranges::find_if(instance.result_names, [&](const auto& r) { return EqualIgnoringCase(r, name); });
    if (it == instance.result_names.end()) {
      return BadInput(StrCat(flags.op, " has no result ", Quote(name), DidYouMean(name, instance.result_names)));
    }
    const size_t result = static_cast<size_t>(it - instance.result_names.begin());
    auto parsed = ParseLayoutOf(layout, instance.results[result], mesh);
    if (!parsed.ok()) return parsed.status().WithContext("--output " + name);
    if (seen[result]) return BadInput(StrCat("--output ", name, " is given twice"));
    seen[result] = true;
    question.outputs[result] = *parsed;
  }
  return OkStatus();
}

}  // namespace

// The other spelling, [0,-1], has one entry per dimension of the tensor.
Result<NdSbp> ParseLayoutOf(std::string_view text, const TensorType& type, const Mesh& mesh) {
  if (text.starts_with('[')) {
    const auto parsed = ParseDimsMapping(text);
    if (!parsed.ok()) return UsageError(parsed.status().message());
    const DimsMapping& mapping = *parsed;
    if (static_cast<int>(mapping.dims.size()) != type.rank()) {
      return BadInput(
          StrCat("layout ", Quote(text), " has ", mapping.dims.size(), " dimensions; it is of ", ToString(type)));
    }
  }
  auto layout = ParseLayout(text, mesh.num_axes());
  for (int axes = 1; !layout.ok() && axes <= kMaxMeshAxes; ++axes) {
    if (ParseLayout(text, axes).ok()) return layout;  // right, but for another mesh
  }
  return layout.ok() ? layout : UsageError(layout.status().message());
}

Result<OpQuestion> AskOp(const OpQuestionFlags& flags, const RuleSet& rules, const Mesh& mesh) {
  const OpDefinition* op = rules.Find(flags.op);
  if (op == nullptr) return BadInput(StrCat("no rule for op ", Quote(flags.op), DidYouMean(flags.op, rules.Names())));
  std::vector<NamedOperand> given;
  for (const std::string& text : flags.inputs) {
    SBP_ASSIGN_OR_RETURN(NamedOperand operand, ParseOperand(text));
    given.push_back(std::move(operand));
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<NamedOperand> operands, OrderOperands(*op, given));
  SBP_ASSIGN_OR_RETURN(const Attributes attributes, ParseAttributes(flags.attributes));

  OpQuery query;
  query.type = flags.op;
  query.attributes = &attributes;
  query.strict_attributes = true;
  for (const NamedOperand& operand : operands) {
    query.operands.push_back({!operand.name.empty(), operand.type, operand.value.get()});
  }
  size_t results = 0;
  for (const Parameter& result : op->overloads.front().results) {
    results += result.variadic ? static_cast<size_t>(std::max<int64_t>(1, flags.num_outputs)) : 1;
  }
  query.wanted.assign(results, true);
  OpQuestion question;
  SBP_ASSIGN_OR_RETURN(question.instance, rules.Instantiate(query));
  question.inputs.assign(operands.size(), NdSbp(mesh.num_axes()));
  question.outputs.assign(question.instance->results.size(), NdSbp(mesh.num_axes()));
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].layout.empty()) continue;
    auto layout = ParseLayoutOf(operands[i].layout, operands[i].type, mesh);
    if (!layout.ok()) return layout.status().WithContext("--input " + operands[i].name);
    SBP_RETURN_IF_ERROR(
        ValidateLayout(operands[i].type.shape, *layout, mesh).WithContext("--input " + operands[i].name));
    question.inputs[i] = *layout;
  }
  SBP_RETURN_IF_ERROR(ApplyOutputs(flags, mesh, question));
  return question;
}

}  // namespace sbp
