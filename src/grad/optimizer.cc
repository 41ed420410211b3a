#include "grad/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

constexpr std::string_view kNext = "next_", kWeightDecay = "weight_decay", kStateType = "state";

const Parameter* FindParameter(const OpOverload& schema, std::string_view name, bool keyword) {
  for (const Parameter& parameter : schema.parameters) {
    if (parameter.name == name && parameter.keyword == keyword) return &parameter;
  }
  return nullptr;
}

// Whatever `grad` gives every such op must have a place.
Status CheckSchema(const OpOverload& schema) {
  for (const std::string_view operand : {"x", "g", "lr", "step"}) {
    if (FindParameter(schema, operand, false) == nullptr) {
      return BadInput(StrCat("--optimizer: op ", Quote(schema.op), " has no operand ", Quote(operand),
                             "; an optimizer takes x, g, lr, step, scale? and its states"));
    }
  }
  if (schema.results.empty() || schema.results[0].name != "next_x") {
    return BadInput(StrCat("--optimizer: the first result of op ", Quote(schema.op), " must be next_x"));
  }
  for (size_t r = 1; r < schema.results.size(); ++r) {
    const std::string_view name = schema.results[r].name;
    const Parameter* state =
        name.starts_with(kNext) ? FindParameter(schema, name.substr(kNext.size()), false) : nullptr;
    if (state == nullptr || !state->optional) {
      return BadInput(StrCat("--optimizer: result ", Quote(name), " of op ", Quote(schema.op),
                             " must be next_S of an optional operand S, its state"));
    }
  }
  return OkStatus();
}

Result<UpdateOp> FindUpdate(std::string_view type, const RuleSet& rules) {
  const OpDefinition* definition = rules.Find(type);
  if (definition == nullptr) {
    return BadInput(StrCat("--optimizer: there is no op ", Quote(type), DidYouMean(type, rules.Names())));
  }
  UpdateOp update{.type = std::string(type), .schema = &definition->overloads.front(), .attributes = {}};
  SBP_RETURN_IF_ERROR(CheckSchema(*update.schema));
  update.decays = FindParameter(*update.schema, kWeightDecay, true) != nullptr;
  return update;
}

Result<AttributeValue> ParseValue(const Parameter& parameter, std::string_view text) {
  const std::optional<int64_t> whole = ParseInt(text);
  const std::optional<double> number = ParseDouble(text);
  const auto expected = [&](std::string_view what) {
    return BadInput(StrCat("--optimizer: ", parameter.name, " takes ", what, ", not ", Quote(text)));
  };
  switch (parameter.kind) {
    case ParameterKind::kFloat:
      if (number) return AttributeValue(*number);
      return expected("a number");
    case ParameterKind::kBool:
      if (text == "true" || text == "false") return AttributeValue(int64_t{text == "true"});
      if (whole && (*whole == 0 || *whole == 1)) return AttributeValue(*whole);
      return expected("true or false");
    case ParameterKind::kInt:
      if (whole && *whole >= 0) return AttributeValue(*whole);
      return expected("a whole number");
    default:
      return expected("nothing that can be given here");
  }
}

// KEY=VALUE for each of the ops that have the key.
// Shares that a moment keeps are below 1, and no number is NaN or infinite.
Status CheckValue(std::string_view key, const AttributeValue& value) {
  const double* number = std::get_if<double>(&value);
  if (number == nullptr) return OkStatus();
  if (!std::isfinite(*number)) return BadInput(StrCat("--optimizer: ", key, ": expected a finite number"));
  const bool is_share = key.starts_with("beta") || key == "mu";
  if (!is_share || (*number >= 0 && *number < 1)) return OkStatus();
  return BadInput(StrCat("--optimizer: ", key, ": expected a number from 0 to below 1, not ", *number));
}

Status SetValue(std::string_view given, std::vector<UpdateOp*> updates) {
  const size_t equals = given.find('=');
  if (equals == std::string_view::npos) {
    return BadInput(StrCat("--optimizer: expected KEY=VALUE, found ", Quote(given)));
  }
  const std::string_view key = given.substr(0, equals);
  bool known = false;
  std::vector<std::string> keys;
  for (UpdateOp* update : updates) {
    for (const Parameter& parameter : update->schema->parameters) {
      if (!parameter.keyword || parameter.name == kStateType) continue;
      keys.push_back(parameter.name);
      if (parameter.name != key) continue;
      SBP_ASSIGN_OR_RETURN(AttributeValue value, ParseValue(parameter, given.substr(equals + 1)));
      SBP_RETURN_IF_ERROR(CheckValue(parameter.name, value));
      update->attributes.Set(parameter.name, std::move(value));
      known = true;
    }
  }
  if (known) return OkStatus();
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::string hint = DidYouMean(key, keys);
  if (key == "lr") hint = "; the learning rate is an input: `run --lr X`";
  if (hint.empty()) hint = StrCat("; its keys: ", Join(keys, ", "));
  return BadInput(StrCat("--optimizer: ", updates[0]->type, " has no ", Quote(key), hint));
}

Result<OptimizerRow> FindRow(std::string_view name) {
  if (name.find("::") != std::string_view::npos) return OptimizerRow{name, name, name};
  std::vector<std::string> names = {"none"};
  for (const OptimizerRow& row : AllOptimizers()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  std::string hint = DidYouMean(name, names);
  if (hint.empty()) hint = StrCat("; known: ", OptimizerNames(), "; DOMAIN::OP takes an op of --rules");
  return BadInput(StrCat("--optimizer: there is no optimizer ", Quote(name), hint));
}

}  // namespace

std::string OptimizerNames() {
  std::string names = "none";
  for (const OptimizerRow& row : AllOptimizers()) names += StrCat(", ", row.name);
  return names;
}

std::vector<std::string> StatesOf(const OpOverload& schema) {
  std::vector<std::string> states;
  for (size_t r = 1; r < schema.results.size(); ++r) states.push_back(schema.results[r].name.substr(kNext.size()));
  return states;
}

Result<Optimizer> ParseOptimizer(const OptimizerRequest& request, const RuleSet& rules) {
  // A domain's colons are no separator: "acme::Mine:beta=0.9".
  const std::string_view text = request.optimizer;
  const size_t domain = text.find("::");
  const size_t colon = text.find(':', domain == std::string_view::npos ? 0 : domain + 2);
  SBP_ASSIGN_OR_RETURN(const OptimizerRow row, FindRow(text.substr(0, colon)));
  Optimizer optimizer{.tables_apart = row.tables_apart};
  SBP_ASSIGN_OR_RETURN(optimizer.matrices, FindUpdate(row.matrices, rules));
  SBP_ASSIGN_OR_RETURN(optimizer.others, FindUpdate(row.others, rules));
  const std::vector<UpdateOp*> both = {&optimizer.matrices, &optimizer.others};
  if (colon != std::string_view::npos) {
    for (const std::string_view given : Split(text.substr(colon + 1), ',')) {
      SBP_RETURN_IF_ERROR(SetValue(given, both));
    }
  }
  const std::string& type_name = request.state_type.empty() ? "f32" : request.state_type;
  const std::optional<DType> type = ParseDType(type_name);
  if (!type || !IsFloat(*type) || IsStorageOnly(*type)) {
    return BadInput(
        StrCat("--state-dtype: ", Quote(type_name), " is no type to compute with; expected f32, bf16, f16"));
  }
  if (request.weight_decay && !(*request.weight_decay >= 0 && std::isfinite(*request.weight_decay))) {
    return BadInput(
        StrCat("--weight-decay: expected a finite number of at least 0, not ", FormatGeneral(*request.weight_decay)));
  }
  for (UpdateOp* update : both) {
    if (FindParameter(*update->schema, kStateType, true) != nullptr) {
      update->attributes.Set(std::string(kStateType), static_cast<int64_t>(*type));
    }
    if (request.weight_decay && update->decays) {
      update->attributes.Set(std::string(kWeightDecay), *request.weight_decay);
    }
  }
  if (request.weight_decay && !optimizer.matrices.decays && !optimizer.others.decays) {
    return BadInput(StrCat("--weight-decay: ", optimizer.matrices.type, " has no weight_decay"));
  }
  return optimizer;
}

}  // namespace sbp
