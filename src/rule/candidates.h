// Candidates: the legal signatures of one op on one mesh.
//
// On one mesh axis of size n, for every factor f that is the major-most factor (the first one whose local size is above
// 1) of each dimension it appears in, whose smallest part gets at least one unit, and whose units n divides where f
// shares a dimension with another factor of local size above 1 or has a granularity: each dimension that carries f is
// split, every other tensor is B, each result that lacks f is P by its reduce clause. Then the partial alternatives,
// the explicit signatures, and all-B. N-d: axis by axis, outermost first, on the local sizes that the outer axes leave;
// last axis fastest. This order breaks ties: it is what "registration order" means.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rule/factor_map.h"
#include "sbp/layout_rows.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

struct CandidateOptions {
  bool even_only = false;  // forbid parts of different sizes
  // A longer list is cut: each mesh axis keeps all-B and the same number of alternatives, so many that the product
  // stays within this; of every four three splits of factors, the largest factors first, then one linear alternative or
  // explicit signature, and what is left of both before all others. The list says so (truncated); signatures that were
  // cut off are found by a filter. Ops of very many operands have shorter lists (axis_options.h, LengthBounds).
  size_t max_candidates = 20000;
  friend bool operator==(const CandidateOptions&, const CandidateOptions&) = default;
};

// What one mesh axis does in a candidate.
struct AxisChoice {
  enum class Kind : uint8_t { kReplicate, kFactor, kPartial, kExplicit, kUnused };
  Kind kind = Kind::kReplicate;
  int index = -1;                        // factor; index into partials; index into signatures; operand
  ReduceKind reduce = ReduceKind::kSum;  // kPartial, kUnused: the operands' kind
};

struct Candidate {
  CandidateSignature signature;
  std::vector<AxisChoice> axes;  // one per mesh axis
  // Part of the unsharded work that the busiest rank does: product over split factors of largest part / size.
  double work_share = 1;
  // Operands of which a split needs neighbours' elements (halo), in bytes per rank to exchange; 0 almost always.
  double halo_bytes = 0;
};

struct CandidateList {
  RuleInstanceRef instance;
  std::vector<Candidate> candidates;  // without a filter never empty; the last one is all-B
  bool truncated = false;
};
using CandidateListRef = std::shared_ptr<const CandidateList>;

// Layouts that a candidate must have; nothing: any. Shorter lists leave the other slots free.
struct LayoutFilter {
  std::vector<std::optional<NdSbp>> inputs, outputs;
};
LayoutFilter FilterFor(const Signature& signature);

// `mesh` sizes only; its ranks do not matter. With `only`, what agrees with it: found by construction, so that it does
// not depend on how long the whole list is; may be none. Deterministic. Time and memory are linear in the number of
// operands and results.
CandidateList MakeCandidates(const RuleInstanceRef& instance, const Mesh& mesh, const CandidateOptions& options = {},
                             const LayoutFilter* only = nullptr);
// The candidate of exactly this signature, whether a list would hold it or not; nothing: it is not legal.
std::optional<Candidate> FindCandidate(const RuleInstanceRef& instance, const Signature& signature, const Mesh& mesh,
                                       const CandidateOptions& options = {});

// "splits factor k (reduced: sum) over model" and the like, for explain.
std::string DescribeChoice(const RuleInstance& instance, const AxisChoice& choice);
std::string DescribeCandidate(const CandidateList& list, size_t index, const Mesh& mesh);

// The dimension of each result that follows `batch` (per operand: the batch dimension, or -1) through the factors: the
// first operand with a batch axis whose dimension's major-most factor leads a result dimension. -1 = none.
std::vector<int> PropagateBatchAxis(const RuleInstance& instance, const std::vector<int>& operand_batch);

}  // namespace sbp
