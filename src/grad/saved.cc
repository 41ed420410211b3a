#include "grad/saved.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/name_table.h"
#include "base/status.h"
#include "base/text.h"
#include "decompose/decompose.h"
#include "grad/appender.h"
#include "grad/between.h"
#include "grad/differentiate.h"
#include "grad/drop.h"
#include "grad/share.h"
#include "graph/graph.h"
#include "graph/kept.h"
#include "graph/literal.h"
#include "graph/phases.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

constexpr std::string_view kGradient = "grad/";

// What an op's backward pass reads of its forward pass.
struct Needs {
  std::vector<bool> operands, results;
  int64_t inner_bytes = 0;
};
struct VjpForm {
  Needs custom, expanded;
  std::string why_not;
};
// What is asked of an op: cotangents of which operands, from those of which results.
struct Asked {
  std::vector<bool> wanted, reached;
};

std::string OperandName(size_t i) { return StrCat("operand/", i); }
std::string ResultName(size_t r) { return StrCat("result/", r); }

// The op alone. Operands are inputs, but for constants.
Graph AloneGraph(const Graph& graph, const Op& op, const Asked& asked) {
  Graph alone;
  alone.scopes = {""};
  alone.op_types = {graph.type_of(op)};
  alone.opsets = graph.opsets;
  Op only;
  only.name = "op";
  only.attributes = op.attributes;
  std::unordered_map<TensorId, TensorId> places;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].valid()) {
      only.inputs.emplace_back();
      continue;
    }
    const auto [place, is_new] = places.try_emplace(op.inputs[i], alone.tensors.size());
    only.inputs.push_back(place->second);
    if (!is_new) continue;
    Tensor tensor = graph.tensor(op.inputs[i]);
    tensor.name = OperandName(i);
    tensor.producer = OpId();
    tensor.role = tensor.literal != nullptr && !asked.wanted[i] ? TensorRole::kParameter : TensorRole::kInput;
    if (tensor.role == TensorRole::kInput) alone.inputs.push_back(place->second);
    alone.tensors.push_back(std::move(tensor));
  }
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    only.outputs.push_back(op.outputs[r].valid() ? TensorId(alone.tensors.size()) : TensorId());
    if (!op.outputs[r].valid()) continue;
    Tensor tensor{.name = ResultName(r), .type = graph.tensor(op.outputs[r]).type};
    tensor.producer = OpId(0);
    tensor.producer_index = static_cast<uint32_t>(r);
    if (asked.reached[r]) alone.outputs.emplace_back(alone.tensors.size());
    alone.tensors.push_back(std::move(tensor));
  }
  alone.ops.push_back(std::move(only));
  return alone;
}

// `expanded`: as ExpandForVjp takes it.
Result<Needs> NeedsOf(Graph alone, const Asked& asked, std::span<const std::string> expanded, const RuleSet& rules) {
  std::vector<std::string> names;  // of what is asked for, each once
  for (const TensorId id : std::set<TensorId>(alone.ops[0].inputs.begin(), alone.ops[0].inputs.end())) {
    if (!id.valid()) continue;
    for (size_t i = 0; i < asked.wanted.size(); ++i) {
      if (asked.wanted[i] && alone.tensor(id).name == OperandName(i)) names.push_back(OperandName(i));
    }
  }
  const auto find = [&](const Graph& graph, std::span<const std::string> wanted) {
    const NameIndex index(graph);
    std::vector<TensorId> ids;
    for (const std::string& name : wanted) {
      if (index.tensor(name).valid()) ids.push_back(index.tensor(name));
    }
    return ids;
  };
  std::vector<std::string> results;
  for (const TensorId id : alone.outputs) results.push_back(alone.tensor(id).name);
  // Before the graph is moved: arguments are evaluated in any order.
  const std::vector<TensorId> targets = find(alone, names), ends = alone.outputs;
  SBP_ASSIGN_OR_RETURN(alone, ExpandForVjp(std::move(alone), targets, ends, expanded, rules));
  Appender appender(alone, rules);
  std::vector<Seed> seeds;
  for (const TensorId id : find(alone, results)) {
    SBP_ASSIGN_OR_RETURN(const TensorId given,
                         appender.AddInput(StrCat("cotangent/", alone.tensor(id).name), TensorType(appender.type(id))));
    seeds.push_back({id, given});
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<TensorId> gradients, Differentiate(appender, seeds, find(alone, names)));
  alone.outputs.clear();
  for (const TensorId id : gradients) {
    if (id.valid()) alone.outputs.push_back(id);
  }
  ShareEqualOps(alone, rules);
  DropUnneeded(alone);
  Needs needs;
  needs.operands.assign(asked.wanted.size(), false);
  needs.results.assign(asked.reached.size(), false);
  const auto mark = [](std::string_view name, const auto& name_of, std::vector<bool>& marks) {
    for (size_t i = 0; i < marks.size(); ++i) {
      if (name != name_of(i)) continue;
      marks[i] = true;
      return true;
    }
    return false;
  };
  for (const KeptTensor& kept : FindKept(alone)) {
    const Tensor& tensor = alone.tensor(kept.tensor);
    if (mark(tensor.name, ResultName, needs.results)) continue;
    needs.inner_bytes = SaturatingAdd(needs.inner_bytes, tensor.type.num_bytes());
  }
  for (const Op& op : alone.ops) {
    if (PhaseOf(alone, op) != Phase::kBackward) continue;
    for (const TensorId id : op.inputs) {
      if (id.valid() && alone.tensor(id).role == TensorRole::kInput) {
        mark(alone.tensor(id).name, OperandName, needs.operands);
      }
    }
  }
  return needs;
}

class SavingsFinder {
 public:
  SavingsFinder(const Graph& graph, std::span<const KeptTensor> kept, const RuleSet& rules)
      : graph_(graph), kept_(kept), rules_(rules) {
    for (const std::string& scope : graph.scopes) is_forward_.push_back(PhaseOfScope(scope) == Phase::kForward);
  }

  VjpSavings Run() {
    FindTypes();
    if (std::ranges::none_of(is_custom_, [](bool custom) { return custom; })) return {};
    read_.assign(graph_.tensors.size(), false);
    for (const Op& op : graph_.ops) {
      if (!is_forward_[op.scope]) continue;
      for (const TensorId id : op.inputs) {
        if (id.valid()) read_[id.index()] = true;
      }
    }
    for (const TensorId id : graph_.outputs) read_[id.index()] = true;
    depends_ = DependsOn(graph_, Targets());
    for (const Op& op : graph_.ops) {
      if (is_custom_[op.type] && is_forward_[op.scope]) Add(op);
    }
    for (auto& [type, sums] : sums_) Finish(type, sums);
    std::ranges::stable_sort(out_.rows, std::ranges::greater(), &SavedByVjp::saved_bytes);
    return std::move(out_);
  }

 private:
  struct Sums {
    SavedByVjp row;
    std::vector<TensorId> custom, expanded;      // in the end each once, ascending
    std::unordered_set<std::string_view> names;  // of its ops
  };

  void FindTypes() {
    for (const std::string& type : graph_.op_types) {
      const OpDefinition* definition = rules_.Find(type);
      const bool has_vjp = definition != nullptr && std::ranges::any_of(definition->overloads, [](const OpOverload& o) {
                             return !o.vjps.empty();
                           });
      is_custom_.push_back(has_vjp && HasExpansion(type, rules_));
    }
  }

  // What the graph has gradients of.
  std::vector<TensorId> Targets() const {
    NameTable given;
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      if (tensor.role == TensorRole::kActivation) continue;
      given.Insert(tensor.name, static_cast<uint32_t>(t), NameIn(graph_.tensors));
    }
    std::vector<TensorId> targets;
    for (const Tensor& tensor : graph_.tensors) {
      if (!tensor.name.starts_with(kGradient)) continue;
      const std::string_view of = std::string_view(tensor.name).substr(kGradient.size());
      const uint32_t found = given.Find(of, NameIn(graph_.tensors));
      if (found != NameTable::kNone) targets.emplace_back(found);
    }
    return targets;
  }

  static bool IsActivation(const Graph& graph, TensorId id) { return id.valid() && graph.tensor(id).producer.valid(); }

  void Add(const Op& op) {
    Asked asked;
    bool wanted = false, reached = false;
    for (const TensorId id : op.inputs) {
      asked.wanted.push_back(id.valid() && depends_[id.index()] && IsFloat(graph_.tensor(id).type.dtype));
      wanted = wanted || asked.wanted.back();
    }
    for (const TensorId id : op.outputs) {
      asked.reached.push_back(id.valid() && read_[id.index()] && IsFloat(graph_.tensor(id).type.dtype));
      reached = reached || asked.reached.back();
    }
    if (!wanted || !reached) return;
    const VjpForm* form = FormOf(op, asked);
    if (form == nullptr) {
      ++out_.left_out;
      return;
    }
    Sums& sums = sums_[graph_.type_of(op)];
    ++sums.row.ops;
    sums.names.insert(op.name);
    if (!form->why_not.empty()) {
      sums.row.why_not = form->why_not;
      return;
    }
    Collect(op, form->custom, sums.custom, sums.row.kept_bytes);
    Collect(op, form->expanded, sums.expanded, sums.row.expanded_bytes);
  }

  void Collect(const Op& op, const Needs& needs, std::vector<TensorId>& tensors, int64_t& bytes) const {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      if (needs.operands[i] && IsActivation(graph_, op.inputs[i])) tensors.push_back(op.inputs[i]);
    }
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (needs.results[r]) tensors.push_back(op.outputs[r]);
    }
    bytes = SaturatingAdd(bytes, needs.inner_bytes);
  }

  const VjpForm* FormOf(const Op& op, const Asked& asked) {
    std::string key;
    const auto put = [&](const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
    const auto [hash, is_new] = attributes_.try_emplace(op.attributes.get(), 0);
    if (is_new) hash->second = HashAttributes(*op.attributes);
    put(op.type);
    put(hash->second);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId id = op.inputs[i];
      put(id.valid());
      if (!id.valid()) continue;
      const Tensor& tensor = graph_.tensor(id);
      put(tensor.type.dtype);
      put(tensor.type.shape.size());
      for (const int64_t size : tensor.type.shape) put(size);
      put(static_cast<bool>(asked.wanted[i]));
      put(std::ranges::find(op.inputs, id) - op.inputs.begin());  // an op may read one tensor twice
      put(tensor.literal != nullptr);
      if (tensor.literal == nullptr) continue;
      put(HashLiteral(*tensor.literal));
    }
    for (size_t r = 0; r < asked.reached.size(); ++r) {
      put(op.outputs[r].valid());
      put(static_cast<bool>(asked.reached[r]));
    }
    const auto known = forms_.find(key);
    if (known != forms_.end()) return &known->second;
    if (forms_.size() >= kMaxVjpForms) return nullptr;
    VjpForm& form = forms_[key];
    const Graph alone = AloneGraph(graph_, op, asked);
    const std::string expanded[] = {graph_.type_of(op)};
    Result<Needs> custom = NeedsOf(alone, asked, {}, rules_);
    Result<Needs> other = NeedsOf(alone, asked, expanded, rules_);
    if (custom.ok() && other.ok()) {
      form.custom = std::move(*custom);
      form.expanded = std::move(*other);
    } else {
      form.why_not = (custom.ok() ? other : custom).status().message();
    }
    return &form;
  }

  // Is the tensor kept for ops of other types, too? Ops of the backward pass are named "backward/OP/...".
  bool IsKeptByOthers(TensorId id, const Sums& sums) const {
    const auto kept = std::ranges::lower_bound(kept_, id, {}, &KeptTensor::tensor);
    if (kept == kept_.end() || kept->tensor != id) return false;
    return std::ranges::any_of(kept->readers, [&](OpId reader) {
      std::string_view name = graph_.op(reader).name;
      if (!name.starts_with(kBackward)) return true;
      name.remove_prefix(kBackward.size());
      for (size_t slash = name.rfind('/'); slash != std::string_view::npos; slash = name.rfind('/')) {
        name = name.substr(0, slash);
        if (sums.names.contains(name)) return false;
      }
      return true;
    });
  }

  void Finish(const std::string& type, Sums& sums) {
    const auto sort = [](std::vector<TensorId>& ids) {
      std::ranges::sort(ids);
      ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    };
    sort(sums.custom);
    sort(sums.expanded);
    std::vector<TensorId> all;
    std::ranges::set_union(sums.custom, sums.expanded, std::back_inserter(all));
    for (const TensorId id : all) {
      const int64_t bytes = graph_.tensor(id).type.num_bytes();
      const bool others = IsKeptByOthers(id, sums);
      SavedByVjp& row = sums.row;
      const auto holds = [&](const std::vector<TensorId>& ids) { return std::ranges::binary_search(ids, id); };
      if (others || holds(sums.custom)) row.kept_bytes = SaturatingAdd(row.kept_bytes, bytes);
      if (others || holds(sums.expanded)) row.expanded_bytes = SaturatingAdd(row.expanded_bytes, bytes);
    }
    const bool keeps = sums.row.kept_bytes > 0 || sums.row.expanded_bytes > 0 || !sums.row.why_not.empty();
    sums.row.op_type = type;
    if (keeps) out_.rows.push_back(std::move(sums.row));
  }

  const Graph& graph_;
  std::span<const KeptTensor> kept_;  // by tensor
  const RuleSet& rules_;
  std::vector<bool> is_forward_;  // per scope
  std::vector<bool> is_custom_;   // per type
  std::vector<bool> read_;        // per tensor: by the forward pass, or an output
  std::vector<bool> depends_;
  std::unordered_map<const Attributes*, size_t> attributes_;  // their hashes
  std::unordered_map<std::string, VjpForm> forms_;            // addresses stay
  std::map<std::string, Sums> sums_;
  VjpSavings out_;
};

}  // namespace

VjpSavings FindSavedByVjps(const Graph& training, std::span<const KeptTensor> kept, const RuleSet& rules) {
  return SavingsFinder(training, kept, rules).Run();
}

}  // namespace sbp
