// FactorMap: the instance of a rule for one op on concrete shapes. Candidates, forward and backward propagation, batch
// axes and flops all read this; no algorithm asks which op it is.
//
// Definition: ../rules/README.md (text form) and the candidate definition in candidates.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"

namespace sbp {

using FactorId = int;  // index into FactorMap::factors

// How a result that lacks a factor relates to the ranks of an axis that splits it.
struct ReduceClause {
  enum class Kind : uint8_t {
    kNone,     // `reduce none f -> y`: y is computed whole on every rank (it is B there)
    kCombine,  // P(kind)
  };
  Kind kind = Kind::kCombine;
  ReduceKind reduce = ReduceKind::kSum;
  FactorId factor = -1;
  std::vector<int> results;  // empty: every result that lacks the factor
};

// The class of a factor for einsum propagation: in both operands and the result, in one of them and the result, or
// summed over.
enum class FactorClass : uint8_t { kBatch, kFree, kReduced };

// A dimension of the computation.
struct Factor {
  std::string name;
  int64_t size = 1;            // elements
  int64_t granularity = 1;     // split points are multiples of this many elements
  bool whole = false;          // `a!`: never split
  bool aware = false;          // the local kernel is told its offset and the global size
  bool masked = false;         // indices of other ranks contribute the neutral element
  bool from_ellipsis = false;  // a letter of `...`
  // Neighbours needed at each side when this factor is split (`halo f:lo,hi,stride`); a priced alternative.
  struct Halo {
    int64_t low = 0, high = 0, stride = 1;
    int operand = -1;  // the only one that needs them; -1: all that carry the factor
    bool AppliesTo(int of) const { return operand < 0 || operand == of; }
  };
  std::optional<Halo> halo;
};

// One dimension of an operand or a result: the factors it is made of, major first. Empty: a dimension that stays whole
// (size 1, or computed by code).
using DimFactors = std::vector<FactorId>;
using TensorFactors = std::vector<DimFactors>;  // one entry per dimension

// One alternative of linear / monotone / antitone: partial in, partial out, B in every other tensor.
struct PartialClause {
  enum class Kind : uint8_t { kLinear, kMonotone, kAntitone };
  Kind kind = Kind::kLinear;
  std::vector<int> operands;
  std::vector<int> results;  // empty: all
};

// `sig (S(0), B) -> S(0)`: on one mesh axis; positions as in the op, absent operands B.
struct ExplicitSignature {
  std::vector<Sbp> operands;
  std::vector<Sbp> results;
};

struct FactorMap {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands;  // one per operand position of the op (absent: empty)
  std::vector<TensorFactors> results;
  std::vector<ReduceClause> reduces;
  std::vector<PartialClause> partials;  // as written
  std::vector<int> addends;             // operands added after the reduction
  std::vector<int> unused;              // operands of which only shape and type are read
  std::vector<int> picked;              // operands of which no more is read than results hold: what lies at some places
  bool convolution = false;             // a contraction in which a window slides over the first operand
  bool view = false;                    // the result is the first operand, in its memory: no kernel runs
  std::vector<ExplicitSignature> signatures;
  // Why factors that one might expect to split are whole; shown by explain and in the plan's list of replicated
  // tensors.
  std::vector<std::string> notes;
  // Alternatives by name (`alt ring(t)`): listed and priced, not yet executed differently.
  std::vector<std::string> alternatives;

  FactorId AddFactor(std::string name, int64_t size);
};

// Dimensions of results (result, dimension) that have one size, which only running decides.
struct ComputedSize {
  std::vector<std::pair<int, int>> dims;
  bool open = false;  // without a bound: the size given stands for any (kOpenSize)
};
inline constexpr int64_t kOpenSize = 1073741789;  // a prime, so that it fits nothing else

// An op that is one kernel of attention, of queries' heads of so many elements; `mask`: it reads one.
struct AttentionKernel {
  double head = 0;
  bool backward = false, mask = false;
};

// The answer of the rules about one op on concrete operand types.
struct RuleInstance {
  std::string op;                          // the op's type
  std::vector<TensorType> operands;        // as asked; absent ones have dtype kUndefined
  std::vector<bool> present;               // per operand
  std::vector<std::string> operand_names;  // the schema's; variadic ones numbered: "inputs[0]"
  std::vector<TensorType> results;         // inferred
  std::vector<std::string> result_names;
  FactorMap map;
  double flops = 0;  // of the whole op, unsharded
  std::optional<AttentionKernel> attention;
  // Bytes that the op reads or writes other than its operands and results once each (0 almost always).
  double extra_bytes = 0;
  bool bounded = false;                         // some result size is an upper bound (data-dependent shapes)
  bool stated_bound = false;                    // ... which the model states, below what follows from the operands
  std::vector<ComputedSize> computed_sizes;     // sizes at their bound, or open
  bool missing_rule = false;                    // no rule is known; the op is planned replicated
  bool replicate_only = false;                  // the op has a rule, which says that it cannot be split
  bool contraction = false;                     // reduces by sum and is linear in two alternatives (sees FactorClass)
  std::vector<std::string> ignored_attributes;  // that the op's schema lacks
  std::string reason;                           // for replicate_only, missing_rule and bounded: why
};
using RuleInstanceRef = std::shared_ptr<const RuleInstance>;

// The canonical text: factors, notation with letters, clauses. Stable; used by `rules show` and tests.
std::string Dump(const RuleInstance& instance);

}  // namespace sbp
