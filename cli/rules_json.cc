#include "cli/rules_json.h"

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "rule/overload.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

Json NumberJson(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json DefaultJson(const Parameter& parameter) {
  return std::visit(
      [&](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, int64_t>) {
          if (parameter.kind == ParameterKind::kBool) return value != 0;
          return value;
        } else if constexpr (std::is_same_v<Value, double>) {
          return NumberJson(value);
        } else if constexpr (std::is_same_v<Value, std::vector<double>>) {
          Json list = Json::array();
          for (const double number : value) list.push_back(NumberJson(number));
          return list;
        } else if constexpr (std::is_same_v<Value, std::string> || std::is_same_v<Value, std::vector<int64_t>> ||
                             std::is_same_v<Value, std::vector<std::string>>) {
          return value;
        } else {
          return nullptr;  // the language has no literal of this kind
        }
      },
      *parameter.default_value);
}

Json ParameterJson(const Parameter& parameter) {
  Json json = {{"name", parameter.name}, {"kind", ParameterKindName(parameter.kind)}};
  if (!parameter.type.empty()) json["type"] = parameter.type;
  if (parameter.optional) json["optional"] = true;
  if (parameter.variadic) json["variadic"] = true;
  if (parameter.keyword) json["attribute"] = true;
  if (parameter.default_value) json["default"] = DefaultJson(parameter);
  return json;
}

Json SignatureJson(const RuleSet& rules, const OpOverload& overload) {
  Json parameters = Json::array(), results = Json::array();
  size_t operand = 0;
  for (const Parameter& parameter : overload.parameters) {
    Json json = ParameterJson(parameter);
    if (!parameter.keyword && rules.ReadsValue(overload.op, operand++)) json["reads_value"] = true;
    parameters.push_back(std::move(json));
  }
  for (const Parameter& result : overload.results) {
    Json json = ParameterJson(result);
    json.erase("kind");
    results.push_back(std::move(json));
  }
  Json json = {{"text", FormatSignature(overload)}, {"doc", overload.doc}, {"parameters", parameters}};
  if (overload.open_attributes) json["open"] = true;
  json["results"] = results;
  return json;
}

}  // namespace

std::string RulesJson(const RuleSet& rules) {
  Json ops = Json::array();
  for (const auto& [name, op] : rules.ops()) {
    Json signatures = Json::array();
    for (const OpOverload& overload : op.overloads) signatures.push_back(SignatureJson(rules, overload));
    ops.push_back({{"op", name},
                   {"family", op.family},
                   {"builtin", op.builtin},
                   {"overloads", op.overloads.size()},
                   {"doc", op.overloads.front().doc},
                   {"signatures", std::move(signatures)}});
  }
  return Json({{"ops", std::move(ops)}}).dump(2);
}

}  // namespace sbp
