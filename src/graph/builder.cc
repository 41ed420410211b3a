#include "graph/builder.h"

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/large_pages.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

constexpr size_t kMaxProblems = 8;  // so that an error fits one screen

uint32_t InternName(std::string_view name, std::vector<std::string>& names, NameTable& ids) {
  const auto size = static_cast<uint32_t>(names.size());
  const uint32_t id = ids.Insert(name, size, [&](uint32_t i) -> std::string_view { return names[i]; });
  if (id == size) names.emplace_back(name);
  return id;
}

// Calls visit(id) with a mutable id for every reference to a tensor.
template <typename Visit>
void EachReference(Graph& graph, Visit visit) {
  for (Op& op : graph.ops) {
    for (std::vector<TensorId>* list : {&op.inputs, &op.captures, &op.outputs})
      std::for_each(list->begin(), list->end(), visit);
  }
  for (std::vector<TensorId>* list : {&graph.inputs, &graph.outputs}) std::for_each(list->begin(), list->end(), visit);
  for (Tie& tie : graph.ties) {
    visit(tie.output);
    visit(tie.input);
  }
}

// Drops the tensors that nothing refers to and nothing defines (descriptions of tensors that no longer exist).
void DropUnused(Graph& graph, const std::vector<bool>& defined) {
  std::vector<bool> used = defined;
  EachReference(graph, [&](TensorId& id) {
    if (id.valid()) used[id.index()] = true;
  });
  if (std::all_of(used.begin(), used.end(), [](bool is_used) { return is_used; })) return;
  std::vector<TensorId> renumbered(graph.tensors.size());
  size_t kept = 0;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (!used[i]) continue;
    renumbered[i] = TensorId(kept);
    if (kept != i) graph.tensors[kept] = std::move(graph.tensors[i]);
    ++kept;
  }
  graph.tensors.resize(kept);
  EachReference(graph, [&](TensorId& id) {
    if (id.valid()) id = renumbered[id.index()];
  });
}

std::string ReaderOf(const Graph& graph, TensorId id) {
  for (const Op& op : graph.ops) {
    for (const std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      if (std::find(list->begin(), list->end(), id) != list->end()) return StrCat("op ", Quote(op.name), " reads ");
    }
  }
  const bool is_output = std::find(graph.outputs.begin(), graph.outputs.end(), id) != graph.outputs.end();
  return is_output ? "the outputs list " : "a tie names ";
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name) {
  graph_.name = std::move(name);
  ScopeIndex("");
}

void GraphBuilder::Reserve(size_t tensors, size_t ops) {
  graph_.tensors.reserve(graph_.tensors.size() + tensors);
  tensor_ids_.Reserve(graph_.tensors.size() + tensors);
  graph_.ops.reserve(graph_.ops.size() + ops);
  UseLargePages(graph_.tensors);
  UseLargePages(graph_.ops);
  op_ids_.Reserve(graph_.ops.size() + ops);
}

TensorId GraphBuilder::Tensor(std::string_view name) {
  const auto size = static_cast<uint32_t>(graph_.tensors.size());
  const TensorId id(tensor_ids_.Insert(name, size, NameIn(graph_.tensors)));
  if (id.index() < size) return id;
  sbp::Tensor& tensor = graph_.tensors.emplace_back();
  tensor.name = std::string(name);
  tensor.type.has_rank = false;  // until somebody says what it is
  defined_.push_back(false);
  return id;
}

bool GraphBuilder::HasOp(std::string_view name) const {
  return op_ids_.Find(name, NameIn(graph_.ops)) != NameTable::kNone;
}

// Whether no other op has the name.
bool GraphBuilder::ClaimName(std::string_view name, OpId id) {
  const auto number = static_cast<uint32_t>(id.index());
  return op_ids_.Insert(name, number, NameIn(graph_.ops)) == number;
}

uint32_t GraphBuilder::TypeIndex(std::string_view type) { return InternName(type, graph_.op_types, type_ids_); }
uint32_t GraphBuilder::ScopeIndex(std::string_view scope) { return InternName(scope, graph_.scopes, scope_ids_); }

AttributesRef GraphBuilder::Intern(Attributes attributes) {
  std::vector<AttributesRef>& sets = attribute_sets_[HashAttributes(attributes)];
  for (const AttributesRef& set : sets) {
    if (Equal(*set, attributes)) return set;
  }
  return sets.emplace_back(std::make_shared<const Attributes>(std::move(attributes)));
}

TensorId GraphBuilder::Define(std::string_view name, std::string_view what) {
  const TensorId id = Tensor(name);
  if (defined_[id.index()]) ReportTwice(name, what);
  defined_[id.index()] = true;
  return id;
}

void GraphBuilder::ReportTwice(std::string_view name, std::string_view what) {
  problems_.push_back(StrCat("tensor ", Quote(name), " is defined twice (again by ", what, ")"));
}

TensorId GraphBuilder::AddInput(std::string_view name, TensorType type, std::vector<std::string> symbols) {
  const TensorId id = Define(name, "an input");
  sbp::Tensor& tensor = graph_.tensor(id);
  tensor.role = TensorRole::kInput;
  tensor.type = std::move(type);
  tensor.symbols = std::move(symbols);
  graph_.inputs.push_back(id);
  return id;
}

TensorId GraphBuilder::AddParameter(std::string_view name, TensorType type, LiteralRef literal) {
  const TensorId id = Define(name, "a parameter");
  sbp::Tensor& tensor = graph_.tensor(id);
  tensor.role = TensorRole::kParameter;
  tensor.type = std::move(type);
  tensor.literal = std::move(literal);
  return id;
}

OpId GraphBuilder::AddOp(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs, Attributes attributes, std::string_view scope) {
  const OpId id(graph_.ops.size());
  Op op;
  op.name = std::string(name);
  op.type = TypeIndex(type);
  op.scope = ScopeIndex(scope);
  op.attributes = Intern(std::move(attributes));
  // Names that the file gives stay; the others are made once all of those are known.
  if (name.empty() || !ClaimName(name, id)) unnamed_.push_back(id);
  op.inputs.reserve(inputs.size());
  for (const std::string& input : inputs) op.inputs.push_back(input.empty() ? TensorId() : Tensor(input));
  op.outputs.reserve(outputs.size());
  for (const std::string& output : outputs) {
    if (output.empty()) {
      op.outputs.emplace_back();
      continue;
    }
    const TensorId tensor = Tensor(output);
    if (defined_[tensor.index()]) {
      ReportTwice(output, StrCat("op ", Quote(name.empty() ? type : name)));
    } else {
      defined_[tensor.index()] = true;
      graph_.tensor(tensor).producer = id;
      graph_.tensor(tensor).producer_index = static_cast<uint32_t>(op.outputs.size());
    }
    op.outputs.push_back(tensor);
  }
  graph_.ops.push_back(std::move(op));
  return id;
}

void GraphBuilder::AddOutput(std::string_view name) { graph_.outputs.push_back(Tensor(name)); }

void GraphBuilder::AddTie(std::string_view output, std::string_view input, bool restarts) {
  const TensorId written = Tensor(output);
  graph_.ties.push_back({written, Tensor(input), restarts});
}

void GraphBuilder::DescribeTensor(std::string_view name, TensorType type, std::vector<std::string> symbols) {
  sbp::Tensor& tensor = graph_.tensor(Tensor(name));
  if (tensor.role != TensorRole::kActivation) return;  // inputs and parameters say themselves what they are
  tensor.type = std::move(type);
  tensor.symbols = std::move(symbols);
}

void GraphBuilder::NameOps() {
  // The counter of a stem only grows, so that a million equal names take linear time.
  std::unordered_map<std::string, uint32_t> by_type, by_name;
  for (OpId id : unnamed_) {
    Op& op = graph_.op(id);
    const bool is_unnamed = op.name.empty();
    const std::string stem = is_unnamed ? graph_.op_types[op.type] : op.name;
    uint32_t& number = (is_unnamed ? by_type : by_name)[stem];
    do {
      op.name = stem + "_" + std::to_string(number++);
    } while (!ClaimName(op.name, id));
  }
}

void GraphBuilder::FindUndefined() {
  std::vector<bool> read(graph_.tensors.size(), false);
  EachReference(graph_, [&](TensorId& id) {
    if (id.valid()) read[id.index()] = true;
  });
  std::vector<std::string> known;
  for (size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (defined_[i] || !read[i]) continue;
    if (problems_.size() > kMaxProblems) return;
    if (known.empty()) {
      for (size_t j = 0; j < graph_.tensors.size(); ++j) {
        if (defined_[j]) known.push_back(graph_.tensors[j].name);
      }
    }
    const std::string& name = graph_.tensors[i].name;
    problems_.push_back(
        StrCat(ReaderOf(graph_, TensorId(i)), Quote(name), ", which nothing defines", DidYouMean(name, known)));
  }
}

Result<Graph> GraphBuilder::Build(std::string_view where) {
  NameOps();
  FindUndefined();
  const auto fail = [&](const Status& status) { return where.empty() ? status : status.WithContext(where); };
  if (!problems_.empty()) {
    if (problems_.size() > kMaxProblems) {
      problems_.resize(kMaxProblems);
      problems_.emplace_back("... and more");
    }
    return fail(BadInput(Join(problems_, "\n  ")));
  }
  DropUnused(graph_, defined_);
  const Status sorted = SortTopologically(graph_);
  if (!sorted.ok()) return fail(sorted);
  return std::move(graph_);
}

}  // namespace sbp
