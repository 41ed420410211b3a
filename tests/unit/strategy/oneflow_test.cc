// Recorded graphs of OneFlow 0.9.0 (shared/data/oracles/oneflow_graphs.json): greedy + copy-cost over the recorded
// signatures ends in the recorded layouts.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "strategy/evaluate.h"
#include "strategy/strategy.h"
#include "support/listed_problem.h"

namespace sbp {
namespace {

using Json = nlohmann::json;

NdSbp Layout(const Json& axes) {
  NdSbp layout;
  for (const Json& sbp : axes) layout.push_back(*ParseSbp(sbp.get<std::string>()));
  return layout;
}

// Outputs of the graph follow their producers and take part in no choice.
bool IsBoundary(const std::string& type) { return type == "input" || type == "variable" || type == "output"; }

ListedGraph ListedFrom(const Json& recorded) {
  ListedGraph listed;
  for (const auto& [name, facts] : recorded["tensors"].items()) listed.shapes[name] = facts[0].get<Shape>();
  for (const Json& op : recorded["ops"]) {
    const std::string type = op["type"];
    if (type == "output") continue;
    if (type == "input" || type == "variable") {
      const std::string tensor = op["out"][0][1];
      (type == "input" ? listed.inputs : listed.parameters).push_back(tensor);
      listed.pins[tensor] = Layout(op["given"]);
      continue;
    }
    ListedOp& made = listed.ops.emplace_back();
    made.name = op["name"];
    for (const Json& in : op["in"]) made.inputs.push_back(in[1]);
    for (const Json& out : op["out"]) made.outputs.push_back(out[1]);
    made.signatures = op["signatures"].get<std::vector<std::string>>();
  }
  return listed;
}

// A cast that the user wrote offers exactly the layout that it pins.
void OfferOnlyPins(const Json& recorded, ListedProblem& made) {
  for (const Json& op : recorded["ops"]) {
    if (op["type"] != "hierarchical_parallel_cast") continue;
    const OpId id = made.op(op["name"]);
    OpClass op_class = made.problem.class_at(id);
    CandidateList list;
    list.instance = op_class.list->instance;
    Candidate pinned;
    pinned.axes.resize(made.problem.mesh.num_axes());
    const std::vector<NdSbp> layout = {Layout(op["attrs"]["nd_sbp"])};
    pinned.signature = Signature{layout, layout};
    list.candidates = {pinned};
    op_class.first = id;
    op_class.list = std::make_shared<const CandidateList>(std::move(list));
    IndexLayouts(op_class);
    made.problem.class_of[id.index()] = static_cast<uint32_t>(made.problem.classes.size());
    made.problem.classes.push_back(std::move(op_class));
  }
}

Mesh MeshFrom(const Json& sizes) {
  Mesh mesh;
  for (const Json& size : sizes) mesh.axes.push_back({StrCat("x", mesh.axes.size()), size.get<int64_t>()});
  return mesh;
}

Signature Recorded(const Json& op) {
  Signature signature;
  for (const Json& in : op["in"]) signature.inputs.push_back(Layout(op["result"][in[0].get<std::string>()]));
  for (const Json& out : op["out"]) signature.outputs.push_back(Layout(op["result"][out[0].get<std::string>()]));
  return signature;
}

Json ReadCases() {
  std::ifstream file(std::string(SBP_SHARED_DIR) + "/data/oracles/oneflow_graphs.json");
  return file ? Json::parse(file) : Json();
}

TEST(OneFlowGraphs, OneAxisLayoutByLayout) {
  const Json cases = ReadCases();
  if (cases.is_null()) GTEST_SKIP() << "no recorded cases";
  size_t graphs = 0, ops = 0;
  for (const Json& recorded : cases) {
    if (!recorded.contains("ops") || recorded["mesh"].size() != 1 || recorded["training"]) continue;
    SCOPED_TRACE(recorded["case"].get<std::string>());
    ++graphs;
    ListedProblem made = MakeListedProblem(ListedFrom(recorded), MeshFrom(recorded["mesh"]));
    OfferOnlyPins(recorded, made);
    StrategyOptions options;
    options.criterion = "copy-cost";
    const Result<Assignment> assignment = (*FindStrategy("greedy"))->solve(made.problem, options);
    ASSERT_TRUE(assignment.ok()) << assignment.status().message();
    for (const Json& op : recorded["ops"]) {
      if (IsBoundary(op["type"])) continue;
      ++ops;
      const OpId id = made.op(op["name"]);
      const CandidateSignature& chosen =
          made.problem.candidates(id).candidates[assignment->ops[id.index()].candidate].signature;
      EXPECT_EQ(ToString(chosen), ToString(Recorded(op))) << op["name"];
    }
  }
  EXPECT_GT(graphs, 100u);
  EXPECT_GT(ops, 1000u);
}

// On two axes each op is asked with the recorded layouts of its producers. What differs are ties and OneFlow's own
// price of transitions on two axes (94 % agree).
TEST(OneFlowGraphs, TwoAxesOpByOp) {
  const Json cases = ReadCases();
  if (cases.is_null()) GTEST_SKIP() << "no recorded cases";
  const CriterionRow* criterion = *FindCriterion("copy-cost");
  size_t ops = 0, agree = 0;
  for (const Json& recorded : cases) {
    if (!recorded.contains("ops") || recorded["mesh"].size() != 2 || recorded["training"]) continue;
    ListedProblem made = MakeListedProblem(ListedFrom(recorded), MeshFrom(recorded["mesh"]));
    std::map<std::string, NdSbp> written;
    for (const Json& op : recorded["ops"]) {
      for (const Json& out : op["out"]) written[out[1]] = Layout(op["result"][out[0].get<std::string>()]);
    }
    std::vector<uint32_t> allowed;
    for (const Json& op : recorded["ops"]) {
      if (IsBoundary(op["type"]) || op["type"] == "hierarchical_parallel_cast") continue;
      const OpId id = made.op(op["name"]);
      const CandidateList& list = made.problem.candidates(id);
      std::vector<NdSbp> produced;
      for (const Json& in : op["in"]) produced.push_back(written[in[1]]);
      allowed.resize(list.candidates.size());
      for (uint32_t c = 0; c < allowed.size(); ++c) allowed[c] = c;
      const CriterionAnswer answer = criterion->choose({&made.problem, id, &list, produced, allowed});
      ++ops;
      agree += list.candidates[answer.candidate].signature == Recorded(op) ? 1 : 0;
    }
  }
  EXPECT_GT(ops, 300u);
  EXPECT_GT(static_cast<double>(agree), 0.92 * static_cast<double>(ops)) << agree << " of " << ops;
}

}  // namespace
}  // namespace sbp
