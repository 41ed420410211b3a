#include "decompose/decompose.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/text.h"
#include "decompose/primitives.h"
#include "graph/tensor_type.h"
#include "rule/op_query.h"

namespace sbp {
namespace {

// Expansions inside expansions, and subgraphs inside subgraphs: deeper is a cycle.
constexpr int kMaxDepth = 40;
// Ops that expansions of users' rules add to one graph, all together.
constexpr int64_t kUserExpansions = int64_t{1} << 20;

class Decomposer {
 public:
  Decomposer(const RuleSet& rules, const DecomposeOptions& options) : rules_(rules), options_(options) {}

  Result<Graph> Run(const Graph& graph, int depth) {
    out_ = graph;
    out_.ops.clear();
    depth_ = depth;
    for (const Tensor& tensor : graph.tensors) names_.insert(tensor.name);
    for (const Op& op : graph.ops) op_names_.insert(op.name);
    for (const TensorId id : graph.outputs) named_.insert(id);
    for (const Tie& tie : graph.ties) named_.insert(tie.output);
    unread_before_ = Unread();
    for (const Op& op : graph.ops) NoteReads(op);
    for (const Op& op : graph.ops) SBP_RETURN_IF_ERROR(Emit(op, 0));
    DropTensors();
    SBP_RETURN_IF_ERROR(Verify(out_, "the decomposed graph"));
    return std::move(out_);
  }

 private:
  bool Chosen(const std::string& type, const Op& op, int depth) const {
    if (!options_.expansion && !HasExpansion(type, rules_)) return false;
    if (options_.chosen) return options_.chosen(out_, op, depth);
    if (options_.only.empty()) return FindPrimitive(type) == nullptr;
    return std::find(options_.only.begin(), options_.only.end(), type) != options_.only.end();
  }

  std::vector<bool> Unread() const { return std::vector<bool>(out_.tensors.size(), true); }

  void NoteReads(const Op& op) {
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId id : *list) {
        if (id.valid()) unread_before_[id.index()] = false;
      }
    }
  }

  TensorId Resolved(TensorId id) const {
    const auto it = alias_.find(id);
    return it == alias_.end() ? id : it->second;
  }

  Status Emit(Op op, int depth) {
    for (std::vector<TensorId>* list : {&op.inputs, &op.captures}) {
      for (TensorId& id : *list) id = id.valid() ? Resolved(id) : id;
    }
    const std::string type = out_.type_of(op);
    if (depth == 0) {
      left_ = budget_ = ExpansionBudgetOf(type, rules_);
      outer_ = type;
      outer_name_ = op.name;
    }
    if (Chosen(type, op, depth)) {
      if (depth > kMaxDepth) {
        return ExpansionTooLarge(type, rules_, StrCat("does not end: more than ", kMaxDepth, " within each other"))
            .WithContext(StrCat("op ", Quote(outer_name_)));
      }
      Result<Graph> inner = ExpansionOf(op);
      if (inner.ok()) {
        SBP_RETURN_IF_ERROR(
            Spend(static_cast<int64_t>(inner->ops.size()) + 1).WithContext(StrCat("op ", Quote(outer_name_))));
        return Splice(op, *inner, depth);
      }
      // Axes or sizes that only running decides: the op stays.
      const bool is_open = !options_.expansion && inner.status().message().find(kMustBeKnown) != std::string::npos;
      if (!is_open) return inner.status().WithContext(StrCat("op ", Quote(op.name)));
    }
    SBP_RETURN_IF_ERROR(Subgraphs(op).WithContext(StrCat("op ", Quote(op.name))));
    Append(std::move(op));
    return OkStatus();
  }

  Status Spend(int64_t ops) {
    left_ -= ops;
    if (budget_ == kUserExpansion) of_users_ += ops;
    if (left_ < 0) return ExpansionTooLarge(outer_, rules_, StrCat("is more than ", budget_, " ops"));
    if (of_users_ <= kUserExpansions) return OkStatus();
    return ExpansionTooLarge(outer_, rules_,
                             StrCat("and the like add more than ", kUserExpansions, " ops to the graph"));
  }

  void Append(Op op) {
    const OpId id(out_.ops.size());
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (!op.outputs[r].valid()) continue;
      out_.tensor(op.outputs[r]).producer = id;
      out_.tensor(op.outputs[r]).producer_index = static_cast<uint32_t>(r);
    }
    out_.ops.push_back(std::move(op));
  }

  Status Subgraphs(Op& op) const {
    Attributes attributes = *op.attributes;
    bool changed = false;
    for (auto& [name, value] : attributes.mutable_entries()) {
      const auto* body = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (body == nullptr || *body == nullptr) continue;
      if (depth_ > kMaxDepth) return BadInput("subgraphs are nested too deeply");
      SBP_ASSIGN_OR_RETURN(Graph inner, Decomposer(rules_, options_).Run(**body, depth_ + 1));
      value = std::make_shared<const Graph>(std::move(inner));
      changed = true;
    }
    if (changed) op.attributes = std::make_shared<const Attributes>(std::move(attributes));
    return OkStatus();
  }

  Result<Graph> ExpansionOf(const Op& op) const {
    const OpQuery query = QueryWithValues(out_, op, op.inputs);
    return options_.expansion ? options_.expansion(query, op) : ExpandOp(query, rules_);
  }

  TensorId NewTensor(const Op& outer, const Tensor& inner) {
    const TensorId id(out_.tensors.size());
    Tensor tensor = inner;
    tensor.name = Unique(StrCat(outer.name, "/", inner.name), names_);
    tensor.producer = OpId();
    out_.tensors.push_back(std::move(tensor));
    return id;
  }

  std::string Unique(const std::string& name, std::set<std::string, std::less<>>& names) {
    std::string unique = name;
    if (names.insert(unique).second) return unique;
    int& number = numbers_.try_emplace(unique, 1).first->second;  // no number is tried twice for a name
    do unique = StrCat(name, "_", ++number);
    while (!names.insert(unique).second);
    return unique;
  }

  uint32_t TypeIndex(const std::string& type) {
    const auto it = std::find(out_.op_types.begin(), out_.op_types.end(), type);
    if (it != out_.op_types.end()) return static_cast<uint32_t>(it - out_.op_types.begin());
    out_.op_types.push_back(type);
    return static_cast<uint32_t>(out_.op_types.size() - 1);
  }

  Status Splice(const Op& op, const Graph& inner, int depth) {
    std::vector<TensorId> map(inner.tensors.size());
    size_t input = 0;
    for (const TensorId id : op.inputs) {
      if (id.valid()) map[inner.inputs[input++].index()] = id;
    }
    // Results take the place of the outer op's, where an op of their own computes them.
    std::vector<std::pair<TensorId, TensorId>> copies;
    size_t output = 0;
    for (const TensorId id : op.outputs) {
      if (!id.valid()) continue;
      const TensorId result = inner.outputs[output++];
      if (inner.tensor(result).producer.valid() && !map[result.index()].valid()) {
        map[result.index()] = id;
      } else {
        copies.emplace_back(id, result);
      }
    }
    for (size_t t = 0; t < inner.tensors.size(); ++t) {
      if (!map[t].valid()) map[t] = NewTensor(op, inner.tensors[t]);
    }
    for (const Op& part : inner.ops) {
      Op copy = part;
      // One op that a caller puts in the place of another is that op.
      const bool is_one = options_.expansion && depth == 0 && inner.ops.size() == 1;
      copy.name = is_one ? op.name : Unique(StrCat(op.name, "/", part.name), op_names_);
      if (options_.expansion) copy.metadata = op.metadata;
      copy.type = TypeIndex(inner.type_of(part));
      copy.scope = op.scope;
      for (std::vector<TensorId>* list : {&copy.inputs, &copy.outputs}) {
        for (TensorId& id : *list) id = id.valid() ? map[id.index()] : id;
      }
      SBP_RETURN_IF_ERROR(Emit(std::move(copy), depth + 1));
    }
    for (const auto& [to, result] : copies) Copy(op, to, Resolved(map[result.index()]));
    return OkStatus();
  }

  // A result that is another tensor: its readers read that one. Where its name must stay, an op copies it.
  void Copy(const Op& outer, TensorId to, TensorId from) {
    if (!named_.contains(to)) {
      alias_[to] = from;
      return;
    }
    Op copy;
    copy.name = Unique(StrCat(outer.name, "/copy"), op_names_);
    copy.type = TypeIndex("Transpose");
    copy.scope = outer.scope;
    std::vector<int64_t> order;
    for (int d = 0; d < out_.tensor(to).type.rank(); ++d) order.push_back(d);
    Attributes attributes;
    attributes.Set("perm", std::move(order));
    copy.attributes = std::make_shared<const Attributes>(std::move(attributes));
    copy.inputs = {from};
    copy.outputs = {to};
    Append(std::move(copy));
  }

  // Results that nothing computes any more, and parameters that only expanded ops have read.
  void DropTensors() {
    std::vector<bool> kept(out_.tensors.size(), false);
    auto keep = [&](TensorId id) {
      if (id.valid()) kept[id.index()] = true;
    };
    for (const Op& op : out_.ops) {
      for (const auto* list : {&op.inputs, &op.outputs, &op.captures}) std::for_each(list->begin(), list->end(), keep);
    }
    for (const auto* list : {&out_.inputs, &out_.outputs}) std::for_each(list->begin(), list->end(), keep);
    for (const Tie& tie : out_.ties) {
      keep(tie.output);
      keep(tie.input);
    }
    std::vector<TensorId> renumbered(out_.tensors.size());
    std::vector<Tensor> tensors;
    for (size_t t = 0; t < out_.tensors.size(); ++t) {
      const bool was_unread = t < unread_before_.size() && unread_before_[t];
      const bool is_parameter = out_.tensors[t].role == TensorRole::kParameter;
      if (!kept[t] && !(is_parameter && was_unread)) continue;
      renumbered[t] = TensorId(tensors.size());
      tensors.push_back(std::move(out_.tensors[t]));
    }
    out_.tensors = std::move(tensors);
    auto renumber = [&](TensorId& id) { id = id.valid() ? renumbered[id.index()] : id; };
    for (Op& op : out_.ops) {
      for (auto* list : {&op.inputs, &op.outputs, &op.captures}) std::for_each(list->begin(), list->end(), renumber);
    }
    for (auto* list : {&out_.inputs, &out_.outputs}) std::for_each(list->begin(), list->end(), renumber);
    for (Tie& tie : out_.ties) {
      renumber(tie.output);
      renumber(tie.input);
    }
  }

  const RuleSet& rules_;
  const DecomposeOptions& options_;
  Graph out_;
  int depth_ = 0;
  std::string outer_, outer_name_;  // type and name of the op of the graph that is being expanded
  int64_t left_ = 0, budget_ = 0;   // ops that it may still become, and in all
  int64_t of_users_ = 0;            // ops that users' expansions made
  std::unordered_map<std::string, int> numbers_;
  std::set<std::string, std::less<>> names_, op_names_;
  std::set<TensorId> named_;                      // tensors whose names must stay
  std::unordered_map<TensorId, TensorId> alias_;  // a result -> the tensor that it is
  std::vector<bool> unread_before_;               // per tensor of the given graph
};

}  // namespace

Result<Graph> Decompose(const Graph& graph, const RuleSet& rules, const DecomposeOptions& options) {
  for (const std::string& type : options.only) {
    if (rules.Find(type) == nullptr) {
      return BadInput(StrCat("no op ", Quote(type), " is known", DidYouMean(type, rules.Names())));
    }
    if (!HasExpansion(type, rules)) {
      return BadInput(StrCat("op ", type, FindPrimitive(type) != nullptr ? " is a primitive" : " has no expansion"));
    }
  }
  return Decomposer(rules, options).Run(graph, 0);
}

}  // namespace sbp
