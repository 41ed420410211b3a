// ApplyClauses: the names in clauses become positions in the op and factors of the map.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "rule/expression.h"
#include "rule/factor_map.h"
#include "rule/instance_builder.h"
#include "rule/overload.h"
#include "rule/syntax.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

std::optional<ReduceKind> ParseReduceKind(std::string_view word) {
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd}) {
    if (ReduceKindName(kind) == word) return kind;
  }
  return std::nullopt;
}

class ClauseApplier {
 public:
  explicit ClauseApplier(InstanceBuilder& builder) : builder_(builder), map_(builder.out.map) {}

  Status Apply(const RuleClause& clause) {
    const std::string& kind = clause.kind;
    if (kind == "reduce") return Reduce(clause);
    if (kind == "along") return Along(clause);
    if (kind == "linear") return Partials(clause, PartialClause::Kind::kLinear);
    if (kind == "monotone") return Partials(clause, PartialClause::Kind::kMonotone);
    if (kind == "antitone") return Partials(clause, PartialClause::Kind::kAntitone);
    if (kind == "addend") Append(map_.addends, Operands(clause.words));
    if (kind == "unused") Append(map_.unused, Operands(clause.words));
    if (kind == "picked") Append(map_.picked, Operands(clause.words));
    if (kind == "view") map_.view = true;
    if (kind == "whole") KeepWhole(Operands(clause.words));
    if (kind == "because") map_.notes.push_back(clause.text);
    if (kind == "halo") return Halo(clause);
    if (kind == "sig") return ExplicitLayouts(clause);
    if (kind == "alt") {
      map_.alternatives.push_back(
          StrCat(clause.words[0], "(", Join(std::vector(clause.words.begin() + 1, clause.words.end()), ", "), ")"));
    }
    if (kind == "aware" || kind == "masked") {
      for (FactorId f : Factors(clause.words, 0))
        (kind == "aware" ? map_.factors[f].aware : map_.factors[f].masked) = true;
    }
    return OkStatus();  // size, when and detached are read elsewhere
  }

  // A function of what the line computes: sums and orders of values do not pass it.
  void ForgetSums() {
    const auto combines = [](const ReduceClause& r) { return r.kind == ReduceClause::Kind::kCombine; };
    const auto is_partial = [](Sbp sbp) { return sbp.is_partial(); };
    std::erase_if(map_.reduces, combines);
    std::erase_if(map_.signatures, [&](const ExplicitSignature& signature) {
      return std::ranges::any_of(signature.operands, is_partial) || std::ranges::any_of(signature.results, is_partial);
    });
    map_.partials.clear();
    map_.addends.clear();
  }

 private:
  static void Append(std::vector<int>& to, const std::vector<int>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  // Positions of the present operands of these names; variadic ones: all of them.
  std::vector<int> Operands(const std::vector<std::string>& names) const {
    std::vector<int> positions;
    for (const std::string& name : names) {
      const ParameterSlot* slot = builder_.binding.FindOperand(name);
      if (slot == nullptr) continue;
      for (int i = slot->first; i < slot->first + slot->count; ++i) {
        if (builder_.out.present[i]) positions.push_back(i);
      }
    }
    return positions;
  }

  void KeepWhole(const std::vector<int>& operands) {
    for (int i : operands) {
      for (const DimFactors& dim : map_.operands[i]) {
        for (FactorId f : dim) map_.factors[f].whole = true;
      }
    }
  }

  std::vector<int> Results(const std::vector<std::string>& names) const {
    std::vector<int> positions;
    for (const std::string& name : names) {
      const ParameterSlot* slot = builder_.binding.FindResult(name);
      if (slot == nullptr) continue;
      for (int i = slot->first; i < slot->first + slot->count; ++i) {
        if (builder_.query.wanted[i]) positions.push_back(i);
      }
    }
    return positions;
  }

  std::vector<FactorId> Factors(const std::vector<std::string>& letters, size_t from) const {
    std::vector<FactorId> factors;
    for (size_t i = from; i < letters.size(); ++i) {
      for (size_t f = 0; f < map_.factors.size(); ++f) {
        bool named = letters[i] == "..." ? map_.factors[f].from_ellipsis : map_.factors[f].name == letters[i];
        if (named) factors.push_back(static_cast<FactorId>(f));
      }
    }
    return factors;
  }

  Status Reduce(const RuleClause& clause) {
    ReduceClause reduce;
    std::optional<ReduceKind> kind = ParseReduceKind(clause.words[0]);
    reduce.kind = kind ? ReduceClause::Kind::kCombine : ReduceClause::Kind::kNone;
    reduce.reduce = kind.value_or(ReduceKind::kSum);
    reduce.results = Results(clause.results);
    if (reduce.results.empty() && !clause.results.empty()) return OkStatus();  // nobody uses them
    for (FactorId f : Factors(clause.words, 1)) {
      reduce.factor = f;
      map_.reduces.push_back(reduce);
    }
    return OkStatus();
  }

  Status Partials(const RuleClause& clause, PartialClause::Kind kind) {
    for (const std::vector<std::string>& set : clause.alternatives) {
      PartialClause partial{.kind = kind, .operands = Operands(set), .results = Results(clause.results)};
      if (partial.operands.empty() || (partial.results.empty() && !clause.results.empty())) continue;
      map_.partials.push_back(std::move(partial));
    }
    return OkStatus();
  }

  Status Halo(const RuleClause& clause) {
    int64_t values[3] = {0, 0, 1};
    for (size_t i = 0; i < clause.expressions.size(); ++i) {
      SBP_ASSIGN_OR_RETURN(values[i], EvaluateInt(clause.expressions[i], InstanceScope(builder_)));
    }
    if (values[0] < 0 || values[1] < 0 || values[2] < 1) {
      return BadInput(
          StrCat(ToString(clause.at), ": a halo of ", values[0], ", ", values[1], " with stride ", values[2]));
    }
    for (FactorId f : Factors(clause.words, 0)) map_.factors[f].halo = Factor::Halo{values[0], values[1], values[2]};
    return OkStatus();
  }

  // The clause has one layout per declared tensor; the op has one position per actual one.
  Status ExplicitLayouts(const RuleClause& clause) {
    ExplicitSignature signature;
    signature.operands.resize(builder_.out.operands.size());
    signature.results.resize(builder_.out.results.size());
    size_t declared = 0;
    const OpOverload& overload = builder_.overload();
    for (size_t i = 0; i < overload.parameters.size(); ++i) {
      if (overload.parameters[i].kind != ParameterKind::kTensor) continue;
      const Sbp layout = clause.operands[declared++];
      const ParameterSlot& slot = builder_.binding.parameters[i];
      for (int o = slot.first; o < slot.first + slot.count; ++o) {
        if (!builder_.out.present[o]) continue;
        if (!Fits(layout, builder_.out.operands[o])) return OkStatus();  // legal for other ranks only
        signature.operands[o] = layout;
      }
    }
    for (size_t i = 0; i < overload.results.size(); ++i) {
      const ParameterSlot& slot = builder_.binding.results[i];
      for (int r = slot.first; r < slot.first + slot.count; ++r) {
        if (!builder_.query.wanted[r]) continue;
        if (!Fits(clause.sbp_results[i], builder_.out.results[r])) return OkStatus();
        signature.results[r] = clause.sbp_results[i];
      }
    }
    map_.signatures.push_back(std::move(signature));
    return OkStatus();
  }

  // What scales, zero points and addends lie along: an operand or a result.
  struct Target {
    const TensorType* type;
    const TensorFactors* factors;
  };

  std::optional<Target> FindTarget(const std::string& name) const {
    const RuleInstance& out = builder_.out;
    if (const std::vector<int> operands = Operands({name}); !operands.empty()) {
      return Target{&out.operands[operands[0]], &map_.operands[operands[0]]};
    }
    const std::vector<int> results = Results({name});
    if (results.empty()) return std::nullopt;
    return Target{&out.results[results[0]], &map_.results[results[0]]};
  }

  Status Along(const RuleClause& clause) {
    const std::optional<Target> target = FindTarget(clause.text);
    if (!target) return OkStatus();
    for (int operand : Operands(clause.words)) {
      const TensorType& type = builder_.out.operands[operand];
      const std::string& name = builder_.out.operand_names[operand];
      if (clause.expressions.empty()) {
        if (type.shape != target->type->shape) {
          return BadInput(StrCat("'", name, "' must be shaped like ", clause.text, " [", Join(target->type->shape, ","),
                                 "], but is ", ToString(type)));
        }
        for (int d = 0; d < type.rank(); ++d) Carry(operand, d, (*target->factors)[d]);
        continue;
      }
      SBP_ASSIGN_OR_RETURN(int64_t dim, EvaluateInt(clause.expressions[0], InstanceScope(builder_)));
      if (dim < 0) dim += target->type->rank();
      if (type.num_elements() == 1) continue;
      if (!LieAlong(operand, *target, dim)) {
        return BadInput(StrCat("'", name, "' must have one entry, or one along dimension ", dim, " of ", clause.text,
                               " ", ToString(*target->type), ", but is ", ToString(type)));
      }
    }
    return OkStatus();
  }

  // One entry for each of the target's dimension `dim`: a list, or a tensor that broadcasts to the target.
  bool LieAlong(int operand, const Target& target, int64_t dim) {
    const Shape& shape = builder_.out.operands[operand].shape;
    const Shape& of = target.type->shape;
    const int64_t rank = static_cast<int64_t>(shape.size()), skipped = static_cast<int64_t>(of.size()) - rank;
    if (dim < 0 || dim >= static_cast<int64_t>(of.size())) return false;
    if (rank == 1) {
      if (shape[0] != of[dim]) return false;
      Carry(operand, 0, (*target.factors)[dim]);
      return true;
    }
    if (dim < skipped || shape[dim - skipped] != of[dim]) return false;
    for (int64_t d = 0; d < rank; ++d) {
      if (shape[d] == 1) continue;
      if (d + skipped < 0 || shape[d] != of[d + skipped]) return false;
      Carry(operand, d, (*target.factors)[d + skipped]);
    }
    return true;
  }

  void Carry(int operand, int64_t dim, const DimFactors& factors) {
    for (FactorId f : factors) KeepHalo(f);
    map_.operands[operand][dim] = factors;
  }

  // Neighbours are read of the operands that carry the factor so far, not of those laid along it.
  void KeepHalo(FactorId f) {
    Factor& factor = map_.factors[f];
    if (!factor.halo || factor.halo->operand >= 0) return;
    for (size_t i = 0; i < map_.operands.size(); ++i) {
      for (const DimFactors& dim : map_.operands[i]) {
        if (std::ranges::find(dim, f) != dim.end()) factor.halo->operand = static_cast<int>(i);
      }
    }
  }

  static bool Fits(Sbp layout, const TensorType& type) { return !layout.is_split() || layout.dim() < type.rank(); }

  InstanceBuilder& builder_;
  FactorMap& map_;
};

}  // namespace

Status ApplyClauses(const RuleLine& line, InstanceBuilder& builder) {
  ClauseApplier applier(builder);
  for (const RuleClause& clause : line.clauses) {
    if (clause.kind == "nonlinear") applier.ForgetSums();  // of the body; what the line itself says, holds
  }
  for (const RuleClause& clause : line.clauses) SBP_RETURN_IF_ERROR(applier.Apply(clause));
  return OkStatus();
}

FactorId FindFactor(const FactorMap& map, std::string_view name) {
  for (size_t f = 0; f < map.factors.size(); ++f) {
    if (map.factors[f].name == name) return static_cast<FactorId>(f);
  }
  return -1;
}

FactorId FactorMap::AddFactor(std::string name, int64_t size) {
  factors.push_back({.name = std::move(name), .size = size});
  return static_cast<FactorId>(factors.size() - 1);
}

}  // namespace sbp
