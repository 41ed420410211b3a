#include "rule/overload.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <variant>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

struct TypeGroup {
  std::string_view name;
  bool (*contains)(DType);
};
constexpr TypeGroup kGroups[] = {
    {"any", [](DType) { return true; }},
    {"float", [](DType t) { return IsFloat(t); }},
    {"int", [](DType t) { return IsInteger(t); }},
    {"numeric", [](DType t) { return IsFloat(t) || IsInteger(t) || IsComplex(t); }},
};

std::string_view ValueWord(const AttributeValue& value) {
  static constexpr std::string_view kWords[] = {"int",        "float",       "string",  "int list",
                                                "float list", "string list", "literal", "graph"};
  return kWords[value.index()];
}

bool IsEmptyList(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (requires {
                        v.empty();
                        v.front();
                      } &&
                      !std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          return v.empty();
        } else {
          return false;
        }
      },
      value);
}

bool Accepts(ParameterKind kind, const AttributeValue& value) {
  const bool is_int = std::holds_alternative<int64_t>(value);
  const bool is_string = std::holds_alternative<std::string>(value);
  const bool is_ints = std::holds_alternative<std::vector<int64_t>>(value);
  switch (kind) {
    case ParameterKind::kTensor:
      return false;
    case ParameterKind::kInt:
      return is_int;
    case ParameterKind::kBool:
      return is_int && (std::get<int64_t>(value) == 0 || std::get<int64_t>(value) == 1);
    case ParameterKind::kScalar:
    case ParameterKind::kFloat:
      return is_int || std::holds_alternative<double>(value);
    case ParameterKind::kString:
      return is_string;
    case ParameterKind::kType:
      return (is_int && std::get<int64_t>(value) > 0 && std::get<int64_t>(value) <= static_cast<int>(DType::kI2)) ||
             (is_string && ParseDType(std::get<std::string>(value)).has_value());
    case ParameterKind::kInts:
      return is_ints || IsEmptyList(value);
    case ParameterKind::kFloats:
      return is_ints || std::holds_alternative<std::vector<double>>(value) || IsEmptyList(value);
    case ParameterKind::kStrings:
      return std::holds_alternative<std::vector<std::string>>(value) || IsEmptyList(value);
    case ParameterKind::kLiteral:
      return std::holds_alternative<LiteralRef>(value);
    case ParameterKind::kGraph:
      return std::holds_alternative<std::shared_ptr<const Graph>>(value);
  }
  return false;
}

// One attempt to bind a query to an overload; the Status' message is the part of the error after "Op(): ".
class Matcher {
 public:
  Matcher(const OpOverload& overload, const OpQuery& query) : overload_(overload), query_(query) {
    binding_.overload = &overload;
    binding_.parameters.resize(overload.parameters.size());
    binding_.results.resize(overload.results.size());
  }

  // Unknown attributes: `ignore_unknown` passes those that resemble none of the schema's.
  Result<Binding> Run(bool ignore_unknown) {
    SBP_RETURN_IF_ERROR(Operands());
    SBP_RETURN_IF_ERROR(GivenAttributes(ignore_unknown));
    SBP_RETURN_IF_ERROR(RequiredAttributes());
    SBP_RETURN_IF_ERROR(Results());
    return std::move(binding_);
  }

 private:
  Status Operands() {
    const int count = static_cast<int>(query_.operands.size());
    int next = 0, allowed = 0;
    for (size_t i = 0; i < overload_.parameters.size(); ++i) {
      const Parameter& p = overload_.parameters[i];
      if (p.keyword) continue;
      ParameterSlot& slot = binding_.parameters[i];
      if (p.kind == ParameterKind::kScalar && query_.attributes->Find(p.name) != nullptr) continue;
      slot.first = next;
      slot.count = p.variadic ? count - next : next < count ? 1 : 0;
      next += slot.count;
      allowed += p.variadic ? count : 1;
      if (slot.count == 1 && !p.variadic && !query_.operands[slot.first].present) slot.count = 0;
      if (slot.count == 0) {
        if (!p.optional && !p.variadic && !p.default_value) return Missing(p);
        slot.first = -1;
      }
      for (int o = slot.first; o < slot.first + slot.count; ++o) {
        if (query_.operands[o].present) SBP_RETURN_IF_ERROR(OperandType(p, slot, o));
      }
    }
    if (next == count) return OkStatus();
    return BadInput(StrCat("takes ", allowed, " tensor argument", allowed == 1 ? "" : "s", ", but ", count,
                           count == 1 ? " was" : " were", " given"));
  }

  Status Missing(const Parameter& p) const {
    const AttributeValue* value = query_.attributes->Find(p.name);
    if (value == nullptr)
      return BadInput(StrCat("missing required argument '", p.name, "' (", ParameterKindName(p.kind), ")"));
    return BadInput(StrCat("argument '", p.name, "' must be tensor, not ", ValueWord(*value)));
  }

  Status OperandType(const Parameter& p, const ParameterSlot& slot, int operand) const {
    const TensorType& type = query_.operands[operand].type;
    if (type.kind == ValueKind::kTensor) {
      const ParameterSlot* other = binding_.FindOperand(p.type);
      if (other == nullptr && !TypeMatches(p.type, type.dtype)) return WrongType(p, p.type, "", type.dtype);
      if (other != nullptr) SBP_RETURN_IF_ERROR(SameType(p, StrCat("'", p.type, "'"), *other, type.dtype));
      if (p.variadic && !p.type.empty()) SBP_RETURN_IF_ERROR(SameType(p, "the first of them", slot, type.dtype));
    }
    if (p.kind == ParameterKind::kScalar && type.rank() != 0) {
      return BadInput(StrCat("argument '", p.name, "' must be scalar, not tensor ", ToString(type)));
    }
    return OkStatus();
  }

  // An operand of type `dtype` for p, which takes the type of the first operand of `other`.
  Status SameType(const Parameter& p, std::string_view who, const ParameterSlot& other, DType dtype) const {
    if (other.count == 0 || !query_.operands[other.first].present) return OkStatus();
    const DType expected = query_.operands[other.first].type.dtype;
    if (expected == dtype || expected == DType::kUndefined || dtype == DType::kUndefined) return OkStatus();
    return WrongType(p, DTypeName(expected), StrCat(" as ", who, " is"), dtype);
  }

  static Status WrongType(const Parameter& p, std::string_view expected, std::string_view why, DType found) {
    return BadInput(
        StrCat("argument '", p.name, "' must be ", expected, " tensor", why, ", not ", DTypeName(found), " tensor"));
  }

  const Parameter* FindAttribute(std::string_view name) const {
    for (const Parameter& p : overload_.parameters) {
      if ((p.keyword || p.kind == ParameterKind::kScalar) && p.name == name) return &p;
    }
    return nullptr;
  }

  Status GivenAttributes(bool ignore_unknown) {
    for (const auto& [name, value] : query_.attributes->entries()) {
      const Parameter* p = FindAttribute(name);
      if (p == nullptr) {
        SBP_RETURN_IF_ERROR(UnknownAttribute(name, ignore_unknown));
      } else if (!Accepts(p->kind, value)) {
        return BadInput(StrCat("argument '", name, "' must be ", ParameterKindName(p->kind),
                               p->kind == ParameterKind::kBool ? " (0 or 1)" : "", ", not ", ValueWord(value), " ",
                               ToString(value)));
      }
    }
    return OkStatus();
  }

  Status UnknownAttribute(const std::string& name, bool ignore_unknown) {
    if (overload_.open_attributes || name.starts_with('_')) return OkStatus();
    std::vector<std::string> absent;
    for (const Parameter& p : overload_.parameters) {
      if (p.name == name) return BadInput(StrCat("'", name, "' is an operand, not an attribute"));
      if (p.keyword && query_.attributes->Find(p.name) == nullptr) absent.push_back(p.name);
    }
    std::string hint = DidYouMean(name, absent);
    // Of names of a few letters any two look alike.
    const bool is_slip = !hint.empty() && name.size() >= 4;
    if (!ignore_unknown || is_slip) return BadInput(StrCat("unknown attribute '", name, "'", hint));
    binding_.ignored_attributes.push_back(name);
    return OkStatus();
  }

  Status RequiredAttributes() {
    for (const Parameter& p : overload_.parameters) {
      if (!p.keyword || p.optional || p.default_value || query_.attributes->Find(p.name) != nullptr) continue;
      return BadInput(StrCat("missing required attribute '", p.name, "' (", ParameterKindName(p.kind), ")"));
    }
    return OkStatus();
  }

  Status Results() {
    const int count = static_cast<int>(query_.wanted.size());
    int next = 0;
    for (size_t i = 0; i < overload_.results.size(); ++i) {
      ParameterSlot& slot = binding_.results[i];
      slot.first = next;
      slot.count = overload_.results[i].variadic ? count - next : next < count ? 1 : 0;
      next += slot.count;
    }
    if (next == count) return OkStatus();
    return BadInput(StrCat("has ", overload_.results.size(), " result", overload_.results.size() == 1 ? "" : "s",
                           ", but ", count, count == 1 ? " is" : " are", " used"));
  }

  const OpOverload& overload_;
  const OpQuery& query_;
  Binding binding_;
};

// "(f32[2,3], absent, i64[], axis=1)".
std::string DescribeArguments(const OpQuery& query) {
  std::vector<std::string> parts;
  for (const OperandInfo& operand : query.operands)
    parts.push_back(operand.present ? ToString(operand.type) : "absent");
  for (const auto& [name, value] : query.attributes->entries()) parts.push_back(StrCat(name, "=", ToString(value)));
  return StrCat("(", Join(parts, ", "), ")");
}

const ParameterSlot* FindSlot(const std::vector<Parameter>& parameters, const std::vector<ParameterSlot>& slots,
                              std::string_view name) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name && !parameters[i].keyword) return &slots[i];
  }
  return nullptr;
}

}  // namespace

const ParameterSlot* Binding::FindOperand(std::string_view name) const {
  return FindSlot(overload->parameters, parameters, name);
}

const ParameterSlot* Binding::FindResult(std::string_view name) const {
  return FindSlot(overload->results, results, name);
}

std::string_view ParameterKindName(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kTensor:
      return "Tensor";
    case ParameterKind::kScalar:
      return "Scalar";
    case ParameterKind::kInt:
      return "int";
    case ParameterKind::kFloat:
      return "float";
    case ParameterKind::kBool:
      return "bool";
    case ParameterKind::kString:
      return "string";
    case ParameterKind::kInts:
      return "int[]";
    case ParameterKind::kFloats:
      return "float[]";
    case ParameterKind::kStrings:
      return "string[]";
    case ParameterKind::kType:
      return "type";
    case ParameterKind::kLiteral:
      return "literal";
    case ParameterKind::kGraph:
      return "graph";
  }
  return "";
}

bool TypeMatches(std::string_view type, DType dtype) {
  if (type.empty()) return true;
  for (const TypeGroup& group : kGroups) {
    if (group.name == type) return group.contains(dtype);
  }
  return ParseDType(type) == dtype;
}

bool IsTypeName(std::string_view type) {
  for (const TypeGroup& group : kGroups) {
    if (group.name == type) return true;
  }
  return ParseDType(type).has_value();
}

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  for (const TypeGroup& group : kGroups) names.emplace_back(group.name);
  for (std::string& name : DTypeNames()) names.push_back(std::move(name));
  return names;
}

Result<Binding> ResolveOverload(const OpDefinition& definition, const OpQuery& query) {
  Status only;
  for (bool ignore_unknown : {false, true}) {
    if (ignore_unknown && query.strict_attributes) break;
    for (const OpOverload& overload : definition.overloads) {
      Result<Binding> binding = Matcher(overload, query).Run(ignore_unknown);
      if (binding.ok()) return binding;
      only = binding.status();
    }
  }
  if (definition.overloads.size() == 1) return BadInput(StrCat(definition.name, "(): ", only.message()));
  std::string message =
      StrCat(definition.name, "(): received an invalid combination of arguments. The valid signatures are:");
  for (size_t i = 0; i < definition.overloads.size(); ++i) {
    message += StrCat("\n  *", i, ": ", FormatSignature(definition.overloads[i]));
  }
  return BadInput(StrCat(message, "\n  received: ", DescribeArguments(query)));
}

std::string FormatSignature(const OpOverload& overload) {
  std::vector<std::string> results;
  const bool single = overload.results.size() == 1;
  for (const Parameter& r : overload.results) {
    results.push_back(StrCat("Tensor", r.variadic ? "[]" : "", single ? "" : " " + r.name, r.optional ? "?" : ""));
  }
  std::vector<std::string> parameters;
  bool keyword = false;
  for (const Parameter& p : overload.parameters) {
    if (p.keyword && !keyword) parameters.push_back("*");
    keyword |= p.keyword;
    std::string text = StrCat(ParameterKindName(p.kind), p.type.empty() ? "" : StrCat("<", p.type, ">"),
                              p.variadic ? "[]" : "", " ", p.name, p.optional ? "?" : "");
    if (p.default_value) text += StrCat("=", ToString(*p.default_value));
    parameters.push_back(std::move(text));
  }
  if (overload.open_attributes) parameters.push_back("...");
  std::string list = Join(results, ", ");
  return StrCat(single ? list : StrCat("(", list, ")"), " (", Join(parameters, ", "), ")");
}

}  // namespace sbp
