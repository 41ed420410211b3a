#include "support/listed_problem.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace sbp {
namespace {

struct OneAxis {
  std::vector<Sbp> inputs, outputs;
};

OneAxis ParseOneAxis(const std::string& text) {
  const size_t arrow = text.find("->");
  return {ParseSbps(text.substr(0, arrow)), ParseSbps(text.substr(arrow + 2))};
}

bool CutsTooFine(const Signature& signature, const std::vector<TensorType>& types, const Mesh& mesh) {
  for (size_t i = 0; i < types.size(); ++i) {
    Shape left = types[i].shape;
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      const Sbp sbp = signature.inputs[i][axis];
      if (!sbp.is_split()) continue;
      if (left[sbp.dim()] < mesh.size(axis)) return true;
      left[sbp.dim()] /= mesh.size(axis);
    }
  }
  return false;
}

// The product over mesh axes, last axis fastest.
std::vector<Candidate> Product(const std::vector<OneAxis>& one_axis, const std::vector<TensorType>& types,
                               const Mesh& mesh) {
  size_t count = 1;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) count *= one_axis.size();
  std::vector<Candidate> candidates;
  for (size_t number = 0; number < count; ++number) {
    Candidate candidate;
    candidate.axes.resize(mesh.num_axes());
    Signature signature;
    signature.inputs.assign(one_axis[0].inputs.size(), NdSbp(mesh.num_axes()));
    signature.outputs.assign(one_axis[0].outputs.size(), NdSbp(mesh.num_axes()));
    size_t rest = number;
    for (int axis = mesh.num_axes() - 1; axis >= 0; --axis) {
      const OneAxis& chosen = one_axis[rest % one_axis.size()];
      rest /= one_axis.size();
      for (size_t i = 0; i < chosen.inputs.size(); ++i) signature.inputs[i][axis] = chosen.inputs[i];
      for (size_t r = 0; r < chosen.outputs.size(); ++r) signature.outputs[r][axis] = chosen.outputs[r];
    }
    candidate.signature = std::move(signature);
    if (mesh.num_axes() == 1 || !CutsTooFine(candidate.signature, types, mesh)) candidates.push_back(candidate);
  }
  return candidates;
}

OpClass MakeClass(const Graph& graph, OpId op, const ListedOp& listed, const Mesh& mesh) {
  auto instance = std::make_shared<RuleInstance>();
  instance->op = graph.type_of(graph.op(op));
  for (TensorId id : graph.op(op).inputs) {
    instance->operands.push_back(graph.tensor(id).type);
    instance->operand_names.push_back("in" + std::to_string(instance->present.size()));
    instance->present.push_back(true);
    instance->map.operands.emplace_back(graph.tensor(id).type.rank());  // no factors: einsum knows no way to split
  }
  for (TensorId id : graph.op(op).outputs) {
    instance->results.push_back(graph.tensor(id).type);
    instance->map.results.emplace_back(graph.tensor(id).type.rank());
    instance->result_names.push_back("out" + std::to_string(instance->result_names.size()));
  }
  std::vector<OneAxis> one_axis;
  for (const std::string& text : listed.signatures) one_axis.push_back(ParseOneAxis(text));
  CandidateList list;
  list.candidates = Product(one_axis, instance->operands, mesh);
  list.instance = std::move(instance);
  OpClass op_class;
  op_class.first = op;
  op_class.list = std::make_shared<const CandidateList>(std::move(list));
  IndexLayouts(op_class);
  return op_class;
}

Graph MakeGraph(const ListedGraph& listed) {
  const auto type = [&](const std::string& name) { return TensorType{DType::kF32, listed.shapes.at(name)}; };
  GraphBuilder builder("listed");
  for (const std::string& name : listed.inputs) builder.AddInput(name, type(name));
  for (const std::string& name : listed.parameters) builder.AddParameter(name, type(name));
  for (const ListedOp& op : listed.ops) {
    builder.AddOp("Listed", op.name, op.inputs, op.outputs);
    for (const std::string& output : op.outputs) builder.DescribeTensor(output, type(output));
  }
  for (const std::string& output : listed.outputs) builder.AddOutput(output);
  Result<Graph> graph = builder.Build("listed");
  if (!graph.ok()) {
    std::cerr << graph.status().message() << "\n";
    std::abort();
  }
  return std::move(graph).value();
}

}  // namespace

std::vector<std::string> SomeOf(std::vector<std::string> all, std::mt19937& random) {
  std::shuffle(all.begin(), all.end(), random);
  all.resize(2 + random() % 2);
  return all;
}

std::vector<Sbp> ParseSbps(const std::string& text) {
  std::vector<Sbp> sbps;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const Result<Sbp> sbp = ParseSbp(word);
    if (!sbp.ok()) std::abort();
    sbps.push_back(*sbp);
  }
  return sbps;
}

ListedProblem MakeListedProblem(const ListedGraph& listed, const Mesh& mesh) {
  ListedProblem made;
  made.graph = std::make_unique<Graph>(MakeGraph(listed));
  Problem& problem = made.problem;
  problem.graph = made.graph.get();
  problem.mesh = mesh;
  problem.uses = BuildUses(*made.graph);
  problem.boxing = std::make_shared<BoxingTable>(mesh, *FindPreset("8xH100"));
  problem.batch_axis.assign(made.graph->tensors.size(), -1);
  std::map<std::string, const ListedOp*> by_name;
  for (const ListedOp& op : listed.ops) by_name[op.name] = &op;
  std::map<std::string, uint32_t> class_by_key;  // ops of equal types and signatures are of one class
  for (size_t o = 0; o < made.graph->ops.size(); ++o) {
    const ListedOp& listed_op = *by_name.at(made.graph->ops[o].name);
    std::string key;
    for (TensorId id : made.graph->ops[o].inputs) key += ToString(made.graph->tensor(id).type) + ",";
    for (TensorId id : made.graph->ops[o].outputs) key += ToString(made.graph->tensor(id).type) + ";";
    for (const std::string& text : listed_op.signatures) key += text + "|";
    const auto [entry, is_new] = class_by_key.emplace(key, static_cast<uint32_t>(problem.classes.size()));
    if (is_new) problem.classes.push_back(MakeClass(*made.graph, OpId(o), listed_op, mesh));
    problem.class_of.push_back(entry->second);
  }
  const NameIndex index(*made.graph);
  for (const auto& [name, layout] : listed.pins) problem.pins.tensors[index.tensor(name)] = {layout, name};
  for (const auto& [name, layout] : listed.lies) problem.pins.lies[index.tensor(name)] = {layout, name};
  problem.is_output.assign(made.graph->tensors.size(), false);
  for (const TensorId output : made.graph->outputs) problem.is_output[output.index()] = true;
  Result<Demands> demands = Demands::Of(*made.graph, mesh, problem.pins, listed.policy);
  if (!demands.ok()) std::abort();
  problem.demands = *std::move(demands);
  for (const auto& [name, axis] : listed.batch) problem.batch_axis[index.tensor(name).index()] = axis;
  return made;
}

}  // namespace sbp
