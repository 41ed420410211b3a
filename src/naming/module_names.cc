// Steps: who reads each parameter in the end; a name from its own or from that reader; where several have one name, the
// readers' numbers beside it.
#include "naming/module_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "naming/fused_parts.h"
#include "naming/own_name.h"
#include "naming/roles.h"

namespace sbp {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};
constexpr int kMostPassed = 8;       // ops between a parameter and its reader
constexpr size_t kMostReaders = 64;  // looked at for the scope that holds them all

// The longest scope that holds both.
std::string_view SharedScope(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t same = 0;
  while (same < most && a[same] == b[same]) ++same;
  const auto ends = [same](std::string_view text) { return same == text.size() || text[same] == '/'; };
  if (ends(a) && ends(b)) return a.substr(0, same);
  const size_t slash = a.substr(0, same).rfind('/');
  return slash == std::string_view::npos ? std::string_view() : a.substr(0, slash);
}

bool Holds(std::string_view outer, std::string_view inner) {
  return inner.starts_with(outer) && (inner.size() == outer.size() || outer.empty() || inner[outer.size()] == '/');
}

// Spells paths as the graph's scopes do.
class Spelling {
 public:
  explicit Spelling(const Graph& graph) {
    for (const std::string& scope : graph.scopes) {
      for (size_t end = scope.find('/');; end = scope.find('/', end + 1)) {
        const std::string_view prefix = std::string_view(scope).substr(0, end);
        if (!prefix.empty()) known_.try_emplace(DottedPath(prefix), prefix);
        if (end == std::string::npos) break;
      }
    }
  }

  // The longest known module that `path` begins with in its spelling, then the rest as it is.
  std::string Of(const std::string& path) const {
    const std::string dotted = DottedPath(path);
    for (size_t end = dotted.size(); end != std::string::npos && end > 0; end = dotted.rfind('.', end - 1)) {
      const auto found = known_.find(dotted.substr(0, end));
      if (found == known_.end()) continue;
      std::string spelled(found->second);
      if (end < dotted.size()) spelled += StrCat('/', std::string_view(path).substr(end + 1));
      return spelled;
    }
    return path;
  }

 private:
  std::unordered_map<std::string, std::string_view> known_;  // dotted -> as in the graph
};

class Namer {
 public:
  explicit Namer(const Graph& graph) : graph_(graph), uses_(BuildUses(graph)), spelling_(graph) {}

  std::vector<ModuleName> Run() {
    for (uint32_t t = 0; t < graph_.tensors.size(); ++t) {
      if (graph_.tensors[t].role == TensorRole::kParameter) Name(TensorId(t));
    }
    AdoptBiasScopes();
    NameParts();
    NumberEqualNames();
    return std::move(names_);
  }

 private:
  struct Reading {
    OpId op;
    size_t operand = 0;
    std::string_view role;   // of the first op that gives one; "" where none does
    std::string_view scope;  // of the reader, or of an op before it that has one
  };

  // The use that counts: the first by an op that reads values.
  const Use* FirstUse(TensorId id) const {
    const auto [begin, end] = uses_.of(id);
    const Use* found = std::find_if(begin, end, [&](const Use& use) {
      return NamingKindOf(graph_.type_of(graph_.op(use.op))) != NamingKind::kIgnores;
    });
    return found == end ? nullptr : found;
  }

  std::optional<Reading> Follow(TensorId id) const {
    Reading reading;
    for (int passed = 0; passed <= kMostPassed; ++passed) {
      const Use* use = FirstUse(id);
      if (use == nullptr) break;
      const Op& op = graph_.op(use->op);
      const std::string& type = graph_.type_of(op);
      reading.op = use->op;
      reading.operand = use->operand;
      if (const std::string& scope = graph_.scope_of(op); !scope.empty()) reading.scope = scope;
      const bool passes = NamingKindOf(type) == NamingKind::kPasses;
      // The scale of a DequantizeLinear is a scale wherever the tensor goes; the tensor itself is what its reader says.
      if (reading.role.empty() && (!passes || use->operand > 0)) reading.role = OperandRole(type, use->operand);
      if (!passes || op.outputs.empty() || !op.outputs[0].valid()) break;
      id = op.outputs[0];
    }
    if (!reading.op.valid()) return std::nullopt;
    if (reading.role.empty()) reading.role = UnlistedRole(reading);
    return reading;
  }

  // Ops of other domains that the table does not have: a matrix is most likely a weight.
  std::string_view UnlistedRole(const Reading& reading) const {
    const Op& op = graph_.op(reading.op);
    if (graph_.type_of(op).find("::") == std::string::npos || reading.operand >= op.inputs.size()) return "";
    return graph_.tensor(op.inputs[reading.operand]).type.rank() >= 2 ? "weight" : "";
  }

  // Several modules that share a parameter: the scope that holds them.
  std::string_view SharedByReaders(TensorId id, std::string_view first) const {
    const auto [begin, end] = uses_.of(id);
    std::string_view shared = first;
    for (const Use* use = begin; use != end && static_cast<size_t>(use - begin) < kMostReaders; ++use) {
      const std::string& scope = graph_.scope_of(graph_.op(use->op));
      if (scope.empty() || Holds(first, scope)) continue;
      shared = SharedScope(shared, scope);
    }
    return shared.empty() ? first : shared;
  }

  // An op without a scope stands in the module that reads its result, unless that one holds the op before it, too
  // (a residual addition): then it belongs to the module where its operand was made.
  std::string_view ScopeAround(OpId id) const {
    const Op& op = graph_.op(id);
    std::string_view before, after;
    for (const TensorId input : op.inputs) {
      if (!input.valid() || !graph_.tensor(input).producer.valid()) continue;
      before = graph_.scope_of(graph_.op(graph_.tensor(input).producer));
      if (!before.empty()) break;
    }
    TensorId result = op.outputs.empty() ? TensorId() : op.outputs[0];
    for (int passed = 0; result.valid() && after.empty() && passed < kMostPassed; ++passed) {
      const Use* use = FirstUse(result);
      if (use == nullptr) break;
      const Op& reader = graph_.op(use->op);
      after = graph_.scope_of(reader);
      result = reader.outputs.empty() ? TensorId() : reader.outputs[0];
    }
    if (after.empty() || before.empty()) return after.empty() ? before : after;
    return Holds(after, before) ? before : after;
  }

  std::string ScopeOf(TensorId id, const Reading& reading) const {
    std::string_view scope = reading.scope;
    if (scope.empty()) scope = ScopeAround(reading.op);
    if (!scope.empty()) return std::string(SharedByReaders(id, scope));
    return graph_.op(reading.op).name;
  }

  // Tables of integers, masks and single numbers are nobody's weights.
  bool IsNameless(const Tensor& tensor) const {
    const DType type = tensor.type.dtype;
    const bool counts = type == DType::kI64 || type == DType::kI32 || type == DType::kBool || type == DType::kString;
    return counts || std::ranges::all_of(tensor.type.shape, [](int64_t size) { return size == 0 || size == 1; });
  }

  void Name(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    const std::string_view stem = tensor.name;
    const std::optional<CutName> cut = ReadCutName(stem);
    const OwnName own = ReadOwnName(cut ? cut->whole : stem);
    const std::optional<Reading> reading = Follow(id);
    ModuleName name;
    name.parameter = id;
    name.anonymous = own.anonymous;
    if (reading) name.reader = reading->op;
    name.role = !own.role.empty() ? own.role : reading ? std::string(reading->role) : "";
    if (!own.anonymous && !own.scope.empty()) {
      name.scope = spelling_.Of(own.scope);
      if (name.role.empty()) name.role = "weight";
    } else if (reading && !name.role.empty() && !IsNameless(tensor)) {
      name.scope = ScopeOf(id, *reading);
    }
    if (name.scope.empty()) return;
    by_tensor_[id.value] = static_cast<uint32_t>(names_.size());
    if (cut) parts_[std::string(cut->whole)].emplace(cut->begin, static_cast<uint32_t>(names_.size()));
    names_.push_back(std::move(name));
  }

  // A product's weight belongs to the module that its bias names, where that lies within the weight's scope: exporters
  // keep the bias's name and fold the weight.
  void AdoptBiasScopes() {
    for (ModuleName& name : names_) {
      if (!name.anonymous || !name.reader.valid()) continue;
      const Op& op = graph_.op(name.reader);
      if (const ModuleName* bias = BiasAmong(op); bias != nullptr) Adopt(*bias, name);
      const Use* use = op.outputs.empty() || !op.outputs[0].valid() ? nullptr : FirstUse(op.outputs[0]);
      if (use == nullptr) continue;
      if (const ModuleName* bias = BiasAmong(graph_.op(use->op)); bias != nullptr) Adopt(*bias, name);
    }
  }
  const ModuleName* BiasAmong(const Op& op) const {
    for (const TensorId id : op.inputs) {
      if (!id.valid()) continue;
      const auto found = by_tensor_.find(id.value);
      if (found == by_tensor_.end()) continue;
      const ModuleName& name = names_[found->second];
      if (!name.anonymous && name.role == "bias") return &name;
    }
    return nullptr;
  }
  static void Adopt(const ModuleName& bias, ModuleName& weight) {
    if (weight.role == "bias" || !Holds(weight.scope, bias.scope)) return;
    weight.scope = bias.scope;
  }

  // Parts of one parameter, in their order, are called as parts of its module.
  void NameParts() {
    for (const auto& [stem, parts] : parts_) {
      if (parts.size() < 2) continue;
      const std::string whole = names_[parts.begin()->second].scope;
      const std::vector<std::string> scopes = PartScopes(whole, parts.size());
      size_t next = 0;
      for (const auto& [begin, index] : parts) {
        names_[index].whole = whole;
        names_[index].scope = scopes[next++];
        names_[index].anonymous = true;
      }
    }
  }

  // Several parameters of one scope and role: each gets its reader's number among the scope's readers of that type.
  void NumberEqualNames() {
    std::map<std::pair<std::string_view, std::string_view>, int> counts;
    for (const ModuleName& name : names_) ++counts[{name.scope, name.role}];
    std::map<std::pair<std::string, std::string_view>, std::set<uint32_t>> readers;
    std::set<std::string_view> crowded;
    for (const ModuleName& name : names_) {
      if (name.reader.valid()) readers[{name.scope, TypeOf(name.reader)}].insert(name.reader.value);
      if (counts[{name.scope, name.role}] > 1) crowded.insert(name.scope);
    }
    std::map<std::pair<std::string, std::string_view>, std::unordered_map<uint32_t, size_t>> numbers;
    for (const auto& [key, ops] : readers) {
      if (!crowded.contains(key.first)) continue;
      for (const uint32_t op : ops) numbers[key].emplace(op, numbers[key].size());
    }
    for (ModuleName& name : names_) {
      if (!name.reader.valid() || counts[{name.scope, name.role}] < 2) continue;
      const std::string_view type = TypeOf(name.reader);
      name.place = StrCat(type, ".", numbers[{name.scope, type}][name.reader.value]);
    }
  }
  std::string_view TypeOf(OpId op) const { return Unqualified(graph_.type_of(graph_.op(op))); }

  const Graph& graph_;
  const UseTable uses_;
  const Spelling spelling_;
  std::vector<ModuleName> names_;
  std::unordered_map<uint32_t, uint32_t> by_tensor_;
  std::map<std::string, std::map<int64_t, uint32_t>> parts_;  // whole's name -> begin -> index into names_
};

bool IsPath(std::string_view name) { return name.find_first_of("/.") != std::string_view::npos; }

}  // namespace

std::string ModuleName::Text() const {
  return place.empty() ? StrCat(scope, ":", role) : StrCat(scope, "/", place, ":", role);
}

ModuleNames::ModuleNames(const Graph& graph) : names_(Namer(graph).Run()) {
  of_tensor_.assign(graph.tensors.size(), kNone);
  for (uint32_t i = 0; i < names_.size(); ++i) of_tensor_[names_[i].parameter.index()] = i;
}

const ModuleName* ModuleNames::Find(TensorId id) const {
  if (!id.valid() || id.index() >= of_tensor_.size() || of_tensor_[id.index()] == kNone) return nullptr;
  return &names_[of_tensor_[id.index()]];
}

std::string ModuleNames::Label(const Graph& graph, TensorId id) const {
  if (!id.valid() || id.index() >= graph.tensors.size()) return "?";
  const Tensor& tensor = graph.tensor(id);
  const ModuleName* name = Find(id);
  if (name != nullptr && name->anonymous) return StrCat(tensor.name, " (", name->Text(), ")");
  return StrCat(tensor.name,
                tensor.producer.valid() && !IsPath(tensor.name) ? ScopeBeside(graph, tensor.producer) : "");
}

std::string ModuleNames::QuotedLabel(const Graph& graph, TensorId id) const {
  if (!id.valid() || id.index() >= graph.tensors.size()) return "\"?\"";
  const std::string& name = graph.tensor(id).name;
  return StrCat(Quote(name), std::string_view(Label(graph, id)).substr(name.size()));
}

std::string ScopeBeside(const Graph& graph, OpId id) {
  const Op& op = graph.op(id);
  const std::string& scope = graph.scope_of(op);
  return scope.empty() || IsPath(op.name) ? "" : StrCat(" (", scope, ")");
}

}  // namespace sbp
