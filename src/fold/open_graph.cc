#include "fold/open_graph.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/text.h"

namespace sbp {
namespace {

std::string UniqueName(const std::string& name, std::unordered_set<std::string>& taken) {
  std::string unique = name;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = StrCat(name, "_", i);
  return unique;
}

uint32_t InternIn(const std::string& name, std::vector<std::string>& names,
                  std::unordered_map<std::string, uint32_t>& ids) {
  if (ids.empty()) {
    for (size_t i = 0; i < names.size(); ++i) ids.emplace(names[i], static_cast<uint32_t>(i));
  }
  const auto [entry, is_new] = ids.emplace(name, static_cast<uint32_t>(names.size()));
  if (is_new) names.push_back(name);
  return entry->second;
}

}  // namespace

bool HasSubgraphs(const Op& op) {
  return std::ranges::any_of(op.attributes->entries(), [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<const Graph>>(entry.second);
  });
}

OpenGraph::OpenGraph(Graph graph) : graph_(std::move(graph)) {
  for (const std::string& type : graph_.op_types) foldable_.push_back(FindFoldableOp(type));
}

std::vector<Op> OpenGraph::TakeOps() {
  std::vector<Op> ops = std::move(graph_.ops);
  graph_.ops.clear();
  const bool rewrites = std::ranges::any_of(
      ops, [](const Op& op) { return HasSubgraphs(op) || op.attributes->Find(kFlattenFrom) != nullptr; });
  if (rewrites) {
    for (const Op& op : ops) op_names_.insert(op.name);
  }
  done_.reserve(ops.size());
  return ops;
}

Graph OpenGraph::Close() {
  graph_.ops = std::move(done_);
  return std::move(graph_);
}

TensorId OpenGraph::AddTensor(Tensor tensor) {
  if (tensor_names_.empty()) {
    for (const Tensor& known : graph_.tensors) tensor_names_.insert(known.name);
  }
  const TensorId id(graph_.tensors.size());
  tensor.name = UniqueName(tensor.name, tensor_names_);
  tensor.producer = OpId();
  tensor.producer_index = 0;
  graph_.tensors.push_back(std::move(tensor));
  return id;
}

std::string OpenGraph::UniqueOpName(const std::string& name) { return UniqueName(name, op_names_); }

uint32_t OpenGraph::TypeIndex(const std::string& type) {
  const uint32_t index = InternIn(type, graph_.op_types, type_ids_);
  if (index >= foldable_.size()) foldable_.push_back(FindFoldableOp(type));
  return index;
}

uint32_t OpenGraph::ScopeIndex(const std::string& scope) { return InternIn(scope, graph_.scopes, scope_ids_); }

void OpenGraph::Put(Op op) {
  const OpId id(done_.size());
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    Tensor& tensor = graph_.tensor(op.outputs[r]);
    tensor.role = TensorRole::kActivation;
    tensor.producer = id;
    tensor.producer_index = static_cast<uint32_t>(r);
    tensor.literal = nullptr;
  }
  done_.push_back(std::move(op));
}

const Op* OpenGraph::ProducerOf(TensorId tensor) const {
  const OpId producer = graph_.tensor(tensor).producer;
  return producer.valid() && producer.index() < done_.size() ? &done_[producer.index()] : nullptr;
}

std::string OpenGraph::Place(const Op& op) const {
  return StrCat("op ", Quote(op.name), " (", graph_.type_of(op), ")");
}

}  // namespace sbp
