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
    if (kind == "linear") return Partials(clause, PartialClause::Kind::kLinear);
    if (kind == "monotone") return Partials(clause, PartialClause::Kind::kMonotone);
    if (kind == "antitone") return Partials(clause, PartialClause::Kind::kAntitone);
    if (kind == "addend") Append(map_.addends, Operands(clause.words));
    if (kind == "unused") Append(map_.unused, Operands(clause.words));
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
    return OkStatus();  // size and when are read elsewhere
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

  static bool Fits(Sbp layout, const TensorType& type) { return !layout.is_split() || layout.dim() < type.rank(); }

  InstanceBuilder& builder_;
  FactorMap& map_;
};

}  // namespace

Status ApplyClauses(const RuleLine& line, InstanceBuilder& builder) {
  ClauseApplier applier(builder);
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
