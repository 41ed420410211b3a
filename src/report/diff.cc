// Two plans compared by meaning: ops and tensors are matched by name, so that the order of a file, shared records and
// wording do not matter. Flags, versions, paths and reasons are no meaning.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "graph/graph.h"
#include "naming/module_names.h"
#include "plan/ends.h"
#include "plan/plan.h"
#include "report/diff_physical.h"
#include "report/facts.h"
#include "report/report.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

// What FormatDifferences groups by.
constexpr char kTotal[] = "total", kMemory[] = "memory", kSignature[] = "signature",
               kComputeSeconds[] = "compute seconds";

class PlanDiff {
 public:
  PlanDiff(const Plan& a, const Plan& b, const DiffOptions& options)
      : a_(a), b_(b), options_(options), names_a_(a.graph), names_b_(b.graph) {}

  std::vector<PlanDifference> Run() {
    Text("plan", "mesh", ToString(a_.mesh), ToString(b_.mesh));
    Text("plan", "cluster", a_.cluster.name, b_.cluster.name);
    DiffOps();
    DiffSources();
    DiffTransitions();
    DiffOutputs();
    scope_.clear();
    label_.clear();
    DiffOrder();
    Number(kTotal, kComputeSeconds, a_.total.compute_seconds, b_.total.compute_seconds, FormatSeconds);
    Number(kTotal, "collective seconds", a_.total.collective_seconds, b_.total.collective_seconds, FormatSeconds);
    Number(kTotal, "bytes moved", a_.total.bytes_moved, b_.total.bytes_moved, FormatBytes);
    Memory("peak bytes", a_.memory.peak_bytes, b_.memory.peak_bytes);
    Memory("parameter bytes at the peak", a_.memory.parameter_bytes, b_.memory.parameter_bytes);
    Memory("activation bytes at the peak", a_.memory.activation_bytes, b_.memory.activation_bytes);
    Memory("boxing bytes at the peak", a_.memory.boxing_bytes, b_.memory.boxing_bytes);
    Memory("workspace bytes", a_.memory.workspace_bytes, b_.memory.workspace_bytes);
    DiffPhysical(a_, b_, options_, out_);
    return std::move(out_);
  }

 private:
  void Add(std::string where, std::string what, std::string expected, std::string found) {
    out_.push_back({std::move(where), std::move(what), std::move(expected), std::move(found), scope_, label_});
  }
  void Text(const std::string& where, const std::string& what, const std::string& x, const std::string& y) {
    if (x != y) Add(where, what, x, y);
  }
  // Human units and the exact value: two values may look alike in three digits.
  void Number(const std::string& where, const std::string& what, double x, double y, std::string (*format)(double)) {
    const bool close = std::abs(x - y) <= options_.tolerance * std::max(std::abs(x), std::abs(y));  // false for NaN
    if (x == y || close) return;
    Add(where, what, StrCat(format(x), " (", FormatDouble(x), ")"), StrCat(format(y), " (", FormatDouble(y), ")"));
  }
  void Memory(const std::string& what, int64_t x, int64_t y) {
    Number(kMemory, what, static_cast<double>(x), static_cast<double>(y), FormatBytes);
  }

  static const DecisionRecord* Decision(const Plan& plan, OpId op) {
    if (op.index() >= plan.op_records.size() || plan.op_records[op.index()] >= plan.records.size()) return nullptr;
    return &plan.decision(op);
  }

  static int RankOf(const Plan& plan, TensorId id) {
    return id.index() < plan.graph.tensors.size() ? plan.graph.tensor(id).type.rank() : 0;
  }
  std::string Spell(const Plan& plan, TensorId id, const NdSbp& layout) const {
    return FormatLayout(layout, RankOf(plan, id), options_.notation);
  }
  std::string Spell(const Plan& plan, const Op& op, const Signature& signature) const {
    const auto ranks = [&](const std::vector<TensorId>& tensors) {
      std::vector<int> list;
      for (const TensorId id : tensors) list.push_back(id.valid() ? RankOf(plan, id) : 0);
      return list;
    };
    return FormatSignature(signature, ranks(plan.graph.OperandsOf(op)), ranks(op.outputs), options_.notation);
  }

  void DiffOps() {
    const NameIndex in_a(a_.graph), in_b(b_.graph);
    for (uint32_t o = 0; o < a_.graph.ops.size(); ++o) {
      const Op& op = a_.graph.ops[o];
      const std::string where = StrCat("op ", Quote(op.name));
      scope_ = RepeatedScope(a_.graph.scope_of(op));
      label_ = where + ScopeBeside(a_.graph, OpId(o));
      const OpId other = in_b.op(op.name);
      if (!other.valid()) {
        Add(where, "only in the first plan", a_.graph.type_of(op), "absent");
        continue;
      }
      Text(where, "type", a_.graph.type_of(op), b_.graph.type_of(b_.graph.op(other)));
      const DecisionRecord *x = Decision(a_, OpId(o)), *y = Decision(b_, other);
      if (x == nullptr || y == nullptr) {
        Text(where, "decision", x == nullptr ? "none" : "present", y == nullptr ? "none" : "present");
        continue;
      }
      if (!(x->signature == y->signature)) {
        Add(where, kSignature, Spell(a_, op, x->signature), Spell(b_, b_.graph.op(other), y->signature));
      }
      Number(where, kComputeSeconds, x->compute_seconds, y->compute_seconds, FormatSeconds);
    }
    for (uint32_t o = 0; o < b_.graph.ops.size(); ++o) {
      const Op& op = b_.graph.ops[o];
      if (!in_a.op(op.name).valid()) {
        scope_ = RepeatedScope(b_.graph.scope_of(op));
        label_ = StrCat("op ", Quote(op.name), ScopeBeside(b_.graph, OpId(o)));
        Add(StrCat("op ", Quote(op.name)), "only in the second plan", "absent", b_.graph.type_of(op));
      }
    }
  }

  // Of the ops that both have, the first that one plan has put elsewhere. Orders that exporters chose say nothing.
  void DiffOrder() {
    if (!a_.options.reorders && !b_.options.reorders) return;
    const NameIndex in_a(a_.graph), in_b(b_.graph);
    auto x = a_.graph.ops.begin(), y = b_.graph.ops.begin();
    while (true) {
      x = std::find_if(x, a_.graph.ops.end(), [&](const Op& op) { return in_b.op(op.name).valid(); });
      y = std::find_if(y, b_.graph.ops.end(), [&](const Op& op) { return in_a.op(op.name).valid(); });
      if (x == a_.graph.ops.end() || y == b_.graph.ops.end()) return;
      if (x->name != y->name) break;
      ++x, ++y;
    }
    const std::string first = Quote(x->name), second = Quote(y->name);
    Add("plan", "order of ops", StrCat(first, " before ", second), StrCat(second, " before ", first));
  }

  // The scope of the first op that reads each tensor, of inputs and parameters; others have their producer's.
  void NoteReaders(const Plan& plan) {
    first_reader_.assign(plan.graph.tensors.size(), OpId());
    for (uint32_t o = 0; o < plan.graph.ops.size(); ++o) {
      for (const TensorId id : plan.graph.OperandsOf(plan.graph.ops[o])) {
        if (id.valid() && !first_reader_[id.index()].valid()) first_reader_[id.index()] = OpId(o);
      }
    }
  }
  std::string ScopeOf(const Plan& plan, TensorId id) const {
    const OpId producer = plan.graph.tensor(id).producer;
    const OpId op = producer.valid() ? producer : first_reader_[id.index()];
    return op.valid() ? RepeatedScope(plan.graph.scope_of(plan.graph.op(op))) : "";
  }
  static std::string ScopeOf(const Plan& plan, const Transition& transition) {
    if (transition.consumers.empty() || transition.consumers.front().op.index() >= plan.graph.ops.size()) return "";
    return RepeatedScope(plan.graph.scope_of(plan.graph.op(transition.consumers.front().op)));
  }

  // Layouts in which inputs and parameters start, and types of all tensors that both have.
  void DiffSources() {
    const NameIndex in_b(b_.graph);
    NoteReaders(a_);
    for (uint32_t t = 0; t < a_.graph.tensors.size(); ++t) {
      const Tensor& tensor = a_.graph.tensors[t];
      const TensorId other = in_b.tensor(tensor.name);
      scope_ = ScopeOf(a_, TensorId(t));
      const bool source = tensor.role != TensorRole::kActivation;
      const std::string where = StrCat("tensor ", Quote(tensor.name));
      label_ = "tensor " + names_a_.QuotedLabel(a_.graph, TensorId(t));
      if (!other.valid()) {
        if (source) Add(where, "only in the first plan", ToString(tensor.type), "absent");
        continue;
      }
      Text(where, "type", ToString(tensor.type), ToString(b_.graph.tensor(other).type));
      if (!source || t >= a_.source_layouts.size() || other.index() >= b_.source_layouts.size()) continue;
      const NdSbp &x = a_.source_layouts[t], &y = b_.source_layouts[other.index()];
      if (!(x == y)) Add(where, "starting layout", Spell(a_, TensorId(t), x), Spell(b_, other, y));
    }
  }

  // How outputs that both have end.
  void DiffOutputs() {
    const std::vector<NdSbp> in_a = OutputLayoutsOf(a_), in_b = OutputLayoutsOf(b_);
    std::map<std::string, size_t> by_name;
    for (size_t i = 0; i < in_b.size(); ++i) by_name.emplace(TensorName(b_, b_.graph.outputs[i]), i);
    for (size_t i = 0; i < in_a.size(); ++i) {
      const std::string name = TensorName(a_, a_.graph.outputs[i]);
      const auto other = by_name.find(name);
      if (other == by_name.end() || in_a[i] == in_b[other->second]) continue;
      label_ = "tensor " + names_a_.QuotedLabel(a_.graph, a_.graph.outputs[i]);
      Add(StrCat("tensor ", Quote(name)), "layout as an output", Spell(a_, a_.graph.outputs[i], in_a[i]),
          Spell(b_, b_.graph.outputs[other->second], in_b[other->second]));
    }
  }

  // tensor, from, to -> index; a sorted map, so that the second plan's extras come in a stable order.
  using Key = std::tuple<std::string, std::string, std::string>;
  std::map<Key, const Transition*> Keyed(const Plan& plan) const {
    std::map<Key, const Transition*> keyed;
    for (const Transition& t : plan.transitions) {
      keyed[{TensorName(plan, t.tensor), Spell(plan, t.tensor, t.from), Spell(plan, t.tensor, t.to)}] = &t;
    }
    return keyed;
  }
  static std::string Where(const Key& key) { return Where(key, Quote(std::get<0>(key))); }
  static std::string Where(const Key& key, const std::string& tensor) {
    return StrCat("boxing of ", tensor, " ", std::get<1>(key), " -> ", std::get<2>(key));
  }
  static std::string Consumers(const Plan& plan, const Transition& transition) {
    std::vector<std::string> names;
    for (const Use& use : transition.consumers) {
      names.push_back(use.op.index() < plan.graph.ops.size() ? StrCat(plan.graph.op(use.op).name, "[", use.operand, "]")
                                                             : "?");
    }
    std::sort(names.begin(), names.end());
    return Join(names, ", ");
  }

  void DiffTransitions() {
    const auto in_a = Keyed(a_), in_b = Keyed(b_);
    for (const auto& [key, x] : in_a) {
      scope_ = ScopeOf(a_, *x);
      label_ = Where(key, names_a_.QuotedLabel(a_.graph, x->tensor));
      const auto found = in_b.find(key);
      if (found == in_b.end()) {
        Add(Where(key), "only in the first plan", DescribeSteps(a_, *x), "absent");
        continue;
      }
      const Transition* y = found->second;
      Text(Where(key), "steps", DescribeSteps(a_, *x), DescribeSteps(b_, *y));
      Text(Where(key), "readers", Consumers(a_, *x), Consumers(b_, *y));
      Number(Where(key), "seconds", x->seconds, y->seconds, FormatSeconds);
      Number(Where(key), "bytes moved", x->wire_bytes, y->wire_bytes, FormatBytes);
    }
    for (const auto& [key, y] : in_b) {
      scope_ = ScopeOf(b_, *y);
      label_ = Where(key, names_b_.QuotedLabel(b_.graph, y->tensor));
      if (!in_a.contains(key)) Add(Where(key), "only in the second plan", "absent", DescribeSteps(b_, *y));
    }
  }

  const Plan& a_;
  const Plan& b_;
  const DiffOptions& options_;
  const ModuleNames names_a_, names_b_;
  std::vector<OpId> first_reader_;
  std::string scope_, label_;  // of what is compared now
  std::vector<PlanDifference> out_;
};

}  // namespace

std::vector<PlanDifference> DiffPlans(const Plan& a, const Plan& b, const DiffOptions& options) {
  return PlanDiff(a, b, options).Run();
}

namespace {

using Members = std::vector<const PlanDifference*>;

std::string Line(const PlanDifference& d) {
  return StrCat(d.label.empty() ? d.where : d.label, ": ", d.expected, "  =>  ", d.found);
}

// One line a scope, those with most differences first.
std::string FormatScopes(const Members& members, size_t limit) {
  std::vector<std::pair<std::string, Members>> scopes;
  for (const PlanDifference* d : members) {
    auto scope = std::ranges::find(scopes, d->scope, &std::pair<std::string, Members>::first);
    if (scope == scopes.end()) scope = scopes.insert(scopes.end(), {d->scope, {}});
    scope->second.push_back(d);
  }
  std::stable_sort(scopes.begin(), scopes.end(),
                   [](const auto& x, const auto& y) { return x.second.size() > y.second.size(); });
  std::vector<std::vector<std::string>> rows;
  size_t left = 0;
  for (const auto& [scope, differences] : scopes) {
    if (rows.size() >= limit) {
      left += differences.size();
      continue;
    }
    rows.push_back({scope.empty() ? "(no scope)" : scope, StrCat(differences.size()),
                    StrCat(differences.size() > 1 ? "such as " : "", Line(*differences.front()))});
  }
  std::string text = AlignColumns(rows, {false, true, false}, 2);
  if (left > 0) text += StrCat("  and ", left, " more in ", scopes.size() - rows.size(), " scopes\n");
  return text;
}

bool IsTotal(const PlanDifference& d) {
  return d.where == kTotal || (d.where == kMemory && d.what.find("arena") == std::string::npos);
}

}  // namespace

std::string FormatDifferences(const std::vector<PlanDifference>& differences, size_t limit) {
  if (differences.empty()) return "no differences\n";
  std::set<std::string_view> other_signature;
  for (const PlanDifference& d : differences) {
    if (d.what == kSignature) other_signature.insert(d.where);
  }
  // One group for each kind of difference, as met.
  std::vector<std::pair<std::string, Members>> groups;
  for (const PlanDifference& d : differences) {
    if (IsTotal(d)) continue;
    if (d.what == kComputeSeconds && other_signature.contains(d.where)) continue;  // follows from the signature
    const bool of_boxing = d.what.starts_with("only in") && d.where.starts_with("boxing");
    const std::string title = of_boxing ? "layout changes " + d.what : d.what;
    auto group = std::ranges::find(groups, title, &std::pair<std::string, Members>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {title, {}});
    group->second.push_back(&d);
  }
  std::string out;
  bool shortened = false;
  for (const auto& [title, members] : groups) {
    out += StrCat(title, members.size() > 1 ? StrCat(" (", members.size(), ")") : "", "\n");
    if (members.size() > limit) {
      out += FormatScopes(members, limit);
      shortened = true;
    } else {
      for (const PlanDifference* d : members) out += StrCat("  ", Line(*d), "\n");
    }
  }
  return out + StrCat(differences.size(), differences.size() == 1 ? " difference" : " differences",
                      shortened ? " (--all lists them one by one)\n" : "\n");
}

}  // namespace sbp
