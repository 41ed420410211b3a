// A walk over the inner ops in order. Nearly always the first candidate of each op is right, because an expansion
// carries a split dimension through as it is. An op without a candidate left sends the walk back to the nearest op that
// it depends on, past all that have nothing to do with it (conflict-directed backjumping, Prosser 1993).
#include "runtime/execute/local_layouts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "base/ids.h"
#include "base/text.h"
#include "cluster/collective_kind.h"
#include "cost/collective.h"
#include "rule/candidates.h"
#include "rule/factor_map.h"
#include "rule/op_query.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

constexpr int kMaxTries = 20000;
constexpr int kNoWay = -1;
// Slices that making a summand of what is none counts for: more than an op has operands, nearly always. Few ops take
// summands further, and the walk would find that out late.
constexpr int kPartialChange = 8;

class LayoutSearch {
 public:
  LayoutSearch(const Graph& graph, const RuleSet& rules, const Mesh& mesh, const ExpansionInputs& inputs,
               const std::vector<NdSbp>& outputs)
      : graph_(graph), rules_(rules), mesh_(mesh), outputs_(outputs) {
    layouts_.assign(graph.tensors.size(), NdSbp(mesh.num_axes()));
    halos_.resize(graph.tensors.size());
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      layouts_[graph.inputs[i].index()] = inputs.layouts[i];
      if (i >= inputs.halos.size() || inputs.halos[i].empty()) continue;
      halos_[graph.inputs[i].index()] = inputs.halos[i];
      has_halos_ = true;
    }
  }

  Result<std::vector<Signature>> Run() {
    SBP_RETURN_IF_ERROR(MakeLists());
    if (mesh_.num_axes() > 1 && !has_halos_ && TakeAxisByAxis()) return Take();
    const size_t n = graph_.ops.size();
    std::vector<std::vector<size_t>> options(n);   // candidates left, best last
    std::vector<std::set<size_t>> reasons(n + 1);  // ops whose choices left an op without candidates
    size_t at = 0;
    bool forward = true;
    for (int tries = 0; tries < kMaxTries; ++tries) {
      if (forward) reasons[at].clear();
      if (at == n) {
        const std::optional<TensorId> misfit = MisfitOutput();
        if (!misfit) return Take();
        AddProducer(*misfit, reasons[at]);
      } else {
        if (forward) options[at] = Ranked(at);
        if (!options[at].empty()) {
          chosen_[at] = options[at].back();
          options[at].pop_back();
          Write(at);
          ++at;
          forward = true;
          continue;
        }
        furthest_ = std::max(furthest_, at);
        for (const TensorId id : graph_.OperandsOf(graph_.ops[at])) AddProducer(id, reasons[at]);
      }
      if (reasons[at].empty()) break;
      const size_t back = *reasons[at].rbegin();
      reasons[at].erase(back);
      reasons[back].insert(reasons[at].begin(), reasons[at].end());
      at = back;
      forward = false;
    }
    const std::string where = n == 0 ? "" : StrCat(" beyond ", graph_.type_of(graph_.ops[furthest_]));
    return Defect(StrCat("its expansion cannot be laid out without moving data", where));
  }

 private:
  Status MakeLists() {
    for (const Op& op : graph_.ops) {
      Result<RuleInstanceRef> instance = rules_.Instantiate(QueryFor(graph_, rules_, op));
      if (!instance.ok()) return instance.status().WithContext(StrCat("inner op ", Quote(op.name)));
      lists_.push_back(MakeCandidates(*instance, mesh_));
    }
    chosen_.assign(lists_.size(), 0);
    return OkStatus();
  }

  // The axes one at a time, each as a mesh of its own: nearly always what is right for each is right for all together,
  // and there is far less to try.
  bool TakeAxisByAxis() {
    std::vector<Signature> together(graph_.ops.size());
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      Mesh alone;
      alone.axes = {mesh_.axes[axis]};
      std::vector<NdSbp> inputs, outputs;
      for (const TensorId id : graph_.inputs) inputs.push_back(NdSbp({layouts_[id.index()][axis]}));
      for (const NdSbp& layout : outputs_) outputs.push_back(NdSbp({layout[axis]}));
      const auto found = LayOutExpansion(graph_, rules_, alone, {inputs, {}}, outputs);
      if (!found.ok()) return false;
      for (size_t op = 0; op < together.size(); ++op) Append((*found)[op], together[op]);
    }
    for (size_t op = 0; op < together.size(); ++op) {
      const std::vector<Candidate>& candidates = lists_[op].candidates;
      const auto same = std::find_if(candidates.begin(), candidates.end(),
                                     [&](const Candidate& c) { return c.signature == together[op]; });
      if (same == candidates.end() || Changes(op, *same) == kNoWay) return false;
      chosen_[op] = static_cast<size_t>(same - candidates.begin());
      Write(op);
    }
    return !MisfitOutput().has_value();
  }
  static void Append(const Signature& axis, Signature& to) {
    to.inputs.resize(axis.inputs.size());
    to.outputs.resize(axis.outputs.size());
    for (size_t i = 0; i < to.inputs.size(); ++i) to.inputs[i].push_back(axis.inputs[i][0]);
    for (size_t r = 0; r < to.outputs.size(); ++r) to.outputs[r].push_back(axis.outputs[r][0]);
  }

  static bool MakesPartial(const NdSbp& from, const NdSbp& to) {
    for (int axis = 0; axis < to.size(); ++axis) {
      if (to[axis].is_partial() && !from[axis].is_partial()) return true;
    }
    return false;
  }

  const CandidateSignature& SignatureOf(size_t op) const { return lists_[op].candidates[chosen_[op]].signature; }

  // Local changes that the candidate's operands need, by weight; kNoWay: one would have to move.
  int Changes(size_t op, const Candidate& candidate) const {
    const CandidateSignature& signature = candidate.signature;
    int changes = 0;
    const std::vector<TensorId> operands = graph_.OperandsOf(graph_.ops[op]);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].valid()) continue;
      const NdSbp& from = layouts_[operands[i].index()];
      const HaloWidths& held = halos_[operands[i].index()];
      if (candidate.halo_bytes > 0 || !held.empty()) {
        if (held != HaloOf(lists_[op].instance->map, candidate, i)) return kNoWay;
        if (!held.empty() && from != signature.inputs[i]) return kNoWay;
      }
      if (from == signature.inputs[i]) continue;
      if (!IsLocalChange(from, signature.inputs[i])) return kNoWay;
      changes += MakesPartial(from, signature.inputs[i]) ? kPartialChange : 1;
    }
    return changes;
  }

  // Candidates that need no moving, the best last: fewest changes of operands; of what comes from copies alone, copies,
  // since each reader can slice those as it likes.
  std::vector<size_t> Ranked(size_t op) const {
    struct Rank {
      int changes, made;
      size_t candidate;
      auto operator<=>(const Rank&) const = default;
    };
    std::vector<Rank> ranked;
    const std::vector<Candidate>& candidates = lists_[op].candidates;
    for (size_t c = 0; c < candidates.size(); ++c) {
      const CandidateSignature& signature = candidates[c].signature;
      const int changes = Changes(op, candidates[c]);
      if (changes == kNoWay) continue;
      const auto is_copy = [](const NdSbp& layout) { return layout.is_broadcast(); };
      const bool of_copies = std::all_of(signature.inputs.begin(), signature.inputs.end(), is_copy);
      const bool makes_copies = std::all_of(signature.outputs.begin(), signature.outputs.end(), is_copy);
      ranked.push_back({changes, of_copies && !makes_copies ? 1 : 0, c});
    }
    std::sort(ranked.rbegin(), ranked.rend());
    std::vector<size_t> order;
    for (const Rank& rank : ranked) order.push_back(rank.candidate);
    return order;
  }

  void Write(size_t op) {
    const std::vector<TensorId>& results = graph_.ops[op].outputs;
    for (size_t r = 0; r < results.size(); ++r) {
      if (results[r].valid()) layouts_[results[r].index()] = SignatureOf(op).outputs[r];
    }
  }

  // An output whose layout needs other devices' data.
  std::optional<TensorId> MisfitOutput() const {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (!IsLocalChange(layouts_[graph_.outputs[i].index()], outputs_[i])) return graph_.outputs[i];
    }
    return std::nullopt;
  }
  void AddProducer(TensorId id, std::set<size_t>& ops) const {
    if (id.valid() && graph_.tensor(id).producer.valid()) ops.insert(graph_.tensor(id).producer.index());
  }

  std::vector<Signature> Take() const {
    std::vector<Signature> signatures;
    for (size_t op = 0; op < lists_.size(); ++op) signatures.push_back(SignatureOf(op));
    return signatures;
  }

  const Graph& graph_;
  const RuleSet& rules_;
  const Mesh& mesh_;
  const std::vector<NdSbp>& outputs_;
  std::vector<NdSbp> layouts_;     // per tensor
  std::vector<HaloWidths> halos_;  // per tensor: what its parts hold of their neighbours
  bool has_halos_ = false;
  std::vector<CandidateList> lists_;
  std::vector<size_t> chosen_;
  size_t furthest_ = 0;
};

}  // namespace

bool IsLocalChange(const NdSbp& from, const NdSbp& to) {
  NdSbp now = from;
  // Splits are undone from the inside and made from the outside.
  for (int axis = to.size(); axis-- > 0;) {
    if (!now[axis].is_split() || !to[axis].is_partial()) continue;
    NdSbp next = now;
    next[axis] = to[axis];
    if (!RowOf(CollectiveKind::kPad).legal(now, next, axis)) return false;
    now = next;
  }
  for (int axis = 0; axis < to.size(); ++axis) {
    if (now[axis] == to[axis]) continue;
    NdSbp next = now;
    next[axis] = to[axis];
    const auto legal = [&](CollectiveKind kind) { return RowOf(kind).legal(now, next, axis); };
    if (!legal(CollectiveKind::kSlice) && !legal(CollectiveKind::kFill)) return false;
    now = next;
  }
  return true;
}

Result<std::vector<Signature>> LayOutExpansion(const Graph& graph, const RuleSet& rules, const Mesh& mesh,
                                               const ExpansionInputs& inputs, const std::vector<NdSbp>& outputs) {
  return LayoutSearch(graph, rules, mesh, inputs, outputs).Run();
}

}  // namespace sbp
