// Two graphs compared by names: what a plan was made for against the model as it is now.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "check/check.h"
#include "check/findings.h"
#include "check/violation.h"
#include "graph/graph.h"

namespace sbp {
namespace {

constexpr int kMostDepth = 100;

class GraphComparison {
 public:
  GraphComparison(const Graph& plan, const Graph& model, int depth)
      : plan_(plan), model_(model), in_model_(model), in_plan_(plan), depth_(depth) {}

  std::vector<Violation> Run() {
    for (size_t t = 0; t < plan_.tensors.size(); ++t) CompareTensor(TensorId(t));
    for (size_t o = 0; o < plan_.ops.size(); ++o) CompareOp(OpId(o));
    for (size_t o = 0; o < model_.ops.size(); ++o) {
      if (!in_plan_.op(model_.ops[o].name).valid())
        Add(PlaceOf(model_, OpId(o)), "is missing in the plan", "present", "absent");
    }
    Text("graph", "inputs", Names(model_, model_.inputs), Names(plan_, plan_.inputs));
    Text("graph", "assumptions", Assumptions(model_), Assumptions(plan_));
    Text("graph", "outputs", Names(model_, model_.outputs), Names(plan_, plan_.outputs));
    return findings_.Take();
  }

 private:
  void Add(std::string where, std::string what, std::string expected, std::string found) {
    findings_.Add(std::move(where), std::move(what), std::move(expected), std::move(found));
  }
  void Text(const std::string& where, std::string_view what, const std::string& expected, const std::string& found) {
    if (expected != found) Add(where, std::string(what), expected, found);
  }

  static std::string Names(const Graph& graph, const std::vector<TensorId>& ids) {
    std::vector<std::string> names;
    for (TensorId id : ids) {
      const bool known = id.valid() && id.index() < graph.tensors.size();
      names.push_back(known ? Quote(graph.tensor(id).name) : "-");
    }
    return Join(names, ", ");
  }

  static std::string Assumptions(const Graph& graph) {
    std::vector<std::string> texts;
    for (const Assumption& assumption : graph.assumptions)
      texts.push_back(StrCat(Quote(assumption.input), " is ", ToString(assumption)));
    return texts.empty() ? "none" : Join(texts, ", ");
  }

  void CompareTensor(TensorId id) {
    const Tensor& tensor = plan_.tensor(id);
    const TensorId other = in_model_.tensor(tensor.name);
    const std::string where = PlaceOf(plan_, id);
    if (!other.valid()) {
      Add(where, "is not in the model", "absent", "present");
      return;
    }
    const Tensor& expected = model_.tensor(other);
    Text(where, "type", ToString(expected.type), ToString(tensor.type));
    if (expected.role != tensor.role) Add(where, "role", RoleName(expected.role), RoleName(tensor.role));
    const bool same_value =
        tensor.literal == expected.literal ||
        (tensor.literal != nullptr && expected.literal != nullptr && *tensor.literal == *expected.literal);
    if (!same_value) Add(where, "value", Value(expected), Value(tensor));
  }

  static std::string RoleName(TensorRole role) {
    return role == TensorRole::kInput ? "input" : role == TensorRole::kParameter ? "parameter" : "activation";
  }
  static std::string Value(const Tensor& tensor) {
    return tensor.literal == nullptr ? "not stored" : ToString(*tensor.literal);
  }

  void CompareOp(OpId id) {
    const Op& op = plan_.op(id);
    const OpId other = in_model_.op(op.name);
    const std::string where = PlaceOf(plan_, id);
    if (!other.valid()) {
      Add(where, "is not in the model", "absent", "present");
      return;
    }
    const Op& expected = model_.op(other);
    Text(where, "type", model_.type_of(expected), plan_.type_of(op));
    Text(where, "inputs", Names(model_, expected.inputs), Names(plan_, op.inputs));
    Text(where, "outputs", Names(model_, expected.outputs), Names(plan_, op.outputs));
    Text(where, "captures", Names(model_, expected.captures), Names(plan_, op.captures));
    CompareAttributes(where, *expected.attributes, *op.attributes);
  }

  void CompareAttributes(const std::string& where, const Attributes& expected, const Attributes& found) {
    for (const auto& [name, value] : expected.entries()) {
      const AttributeValue* other = found.Find(name);
      if (other != nullptr && Equal(value, *other)) continue;
      const auto* subgraph = std::get_if<std::shared_ptr<const Graph>>(&value);
      const auto* own = other == nullptr ? nullptr : std::get_if<std::shared_ptr<const Graph>>(other);
      if (subgraph != nullptr && own != nullptr && *subgraph != nullptr && *own != nullptr) {
        CompareSubgraphs(StrCat(where, ", ", name), **subgraph, **own);
        continue;
      }
      Add(where, StrCat("attribute ", name), ToString(value), other == nullptr ? "absent" : ToString(*other));
    }
    for (const auto& [name, value] : found.entries()) {
      if (expected.Find(name) == nullptr) Add(where, StrCat("attribute ", name), "absent", ToString(value));
    }
  }

  // By what they hold: files list the tensors of a subgraph in orders of their own.
  void CompareSubgraphs(const std::string& where, const Graph& expected, const Graph& found) {
    if (depth_ >= kMostDepth) return Add(where, "subgraphs nest too deeply", "", "");
    for (Violation& violation : GraphComparison(found, expected, depth_ + 1).Run()) {
      Add(StrCat(where, ", ", violation.where), std::move(violation.what), std::move(violation.expected),
          std::move(violation.found));
    }
  }

  const Graph& plan_;
  const Graph& model_;
  const NameIndex in_model_, in_plan_;
  const int depth_;  // subgraphs around the graphs at hand
  Findings findings_;
};

}  // namespace

std::vector<Violation> CompareGraphs(const Graph& plan_graph, const Graph& model) {
  return GraphComparison(plan_graph, model, 0).Run();
}

}  // namespace sbp
