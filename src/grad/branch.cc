#include "grad/branch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "grad/drop.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// Inputs of a body, by position, that stand for one tensor outside.
using Positions = std::vector<size_t>;

std::string FreeName(const Graph& graph, const std::string& name) {
  std::unordered_set<std::string> taken;
  for (const Tensor& tensor : graph.tensors) taken.insert(tensor.name);
  std::string free = name;
  for (int number = 2; taken.contains(free); ++number) free = StrCat(name, "_", number);
  return free;
}

// Captures of known value as constants of the branch: sizes and axes are read from them. `outside`: per input.
std::vector<bool> TakeConstants(Graph& body, const Graph& outer, std::span<const TensorId> outside) {
  std::vector<bool> stays;
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    const Tensor& given = outer.tensor(outside[i]);
    const bool is_constant =
        given.role == TensorRole::kParameter && given.literal != nullptr && !IsFloat(given.type.dtype);
    stays.push_back(!is_constant);
    if (!is_constant) {
      inputs.push_back(body.inputs[i]);
      continue;
    }
    Tensor& tensor = body.tensor(body.inputs[i]);
    tensor.role = TensorRole::kParameter;
    tensor.literal = given.literal;
  }
  body.inputs = std::move(inputs);
  return stays;
}

// A branch with further inputs, the cotangents of the results that are `reached`; its results are the cotangents of
// `targets`: zeros where a branch does not depend on one.
Result<Graph> BackwardBranch(Graph body, const std::vector<bool>& reached, const std::vector<Positions>& targets,
                             const std::vector<TensorType>& types, const BodyDerivative& how, const RuleSet& rules) {
  std::vector<TensorId> seeds, wanted;
  for (size_t r = 0; r < reached.size(); ++r) {
    if (reached[r]) seeds.push_back(body.outputs[r]);
  }
  body.outputs = seeds;
  for (const Positions& positions : targets) {
    for (const size_t p : positions) wanted.push_back(body.inputs[p]);
  }
  SBP_ASSIGN_OR_RETURN(body, how.prepare(std::move(body), wanted, seeds, rules));
  std::vector<TensorId> by;
  for (const Positions& positions : targets) {
    for (const size_t p : positions) by.push_back(body.inputs[p]);
  }
  std::vector<Seed> given;
  std::vector<TensorId> results;
  {
    const std::vector<TensorId> outputs = body.outputs;
    std::vector<std::string> names;
    for (size_t i = 0; i < outputs.size(); ++i) names.push_back(FreeName(body, StrCat("cotangent/", i)));
    Appender appender(body, rules);
    for (size_t i = 0; i < outputs.size(); ++i) {
      SBP_ASSIGN_OR_RETURN(const TensorId cotangent, appender.AddInput(names[i], appender.type(outputs[i])));
      given.push_back({outputs[i], cotangent});
    }
    SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> gradients, how.differentiate(appender, given, by));
    size_t next = 0;
    for (size_t t = 0; t < targets.size(); ++t) {
      TensorId sum;
      for (size_t i = 0; i < targets[t].size(); ++i) {
        const TensorId one = gradients[next++];
        if (!one.valid()) continue;
        if (!sum.valid()) {
          sum = one;
          continue;
        }
        SBP_ASSIGN_OR_RETURN(sum, appender.Call("Add", {sum, one}, {}, StrCat("backward/sum/", next)));
      }
      if (!sum.valid()) {
        const TensorId zero = appender.Number(0, types[t].dtype);
        SBP_ASSIGN_OR_RETURN(
            sum, appender.Call("Expand", {zero, appender.Ints(types[t].shape)}, {}, StrCat("backward/zeros/", t)));
      }
      results.push_back(sum);
    }
  }
  body.outputs = results;
  DropUnneeded(body);
  SBP_RETURN_IF_ERROR(Verify(body, "the backward branch"));
  return body;
}

}  // namespace

Result<std::vector<Reached>> DifferentiateIf(Appender& appender, const Op& op, std::span<const TensorId> cotangents,
                                             const std::function<bool(TensorId)>& wanted, const BodyDerivative& how,
                                             uint32_t scope) {
  std::vector<TensorId> targets;
  for (const TensorId id : op.captures) {
    if (wanted(id) && std::ranges::find(targets, id) == targets.end()) targets.push_back(id);
  }
  std::vector<TensorType> types;
  for (const TensorId id : targets) types.push_back(appender.type(id));
  Op backward;
  backward.inputs = {op.inputs[0]};
  backward.scope = scope;
  Attributes attributes;
  size_t first = 0;
  for (const auto& [name, value] : op.attributes->entries()) {
    const auto* branch = std::get_if<std::shared_ptr<const Graph>>(&value);
    if (branch == nullptr) {
      attributes.Set(name, value);
      continue;
    }
    const size_t captured = (*branch)->inputs.size();
    if (first + captured > op.captures.size()) return BadInput("its branches do not fit its captures");
    Graph inner = **branch;
    const std::span<const TensorId> outside = std::span(op.captures).subspan(first, captured);
    const std::vector<bool> stays = TakeConstants(inner, appender.graph(), outside);
    std::vector<Positions> positions(targets.size());
    size_t place = 0;
    for (size_t i = 0; i < captured; ++i) {
      if (!stays[i]) continue;
      const TensorId id = outside[i];
      const auto at = std::ranges::find(targets, id);
      if (at != targets.end()) positions[static_cast<size_t>(at - targets.begin())].push_back(place);
      backward.captures.push_back(id);
      ++place;
    }
    first += captured;
    std::vector<bool> reached((*branch)->outputs.size(), false);
    for (size_t r = 0; r < std::min(reached.size(), cotangents.size()); ++r) {
      reached[r] = cotangents[r].valid();
      if (reached[r]) backward.captures.push_back(cotangents[r]);
    }
    Result<Graph> body = BackwardBranch(std::move(inner), reached, positions, types, how, appender.rules());
    if (!body.ok()) return body.status().WithContext(name);
    attributes.Set(name, std::make_shared<const Graph>(std::move(*body)));
  }
  backward.attributes = std::make_shared<const Attributes>(std::move(attributes));
  const std::vector<TensorId> made = appender.CallMany(std::move(backward), "If", types, StrCat(kBackward, op.name));
  std::vector<Reached> reached;
  for (size_t t = 0; t < targets.size(); ++t) reached.emplace_back(targets[t], made[t]);
  return reached;
}

}  // namespace sbp
