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
#include <string>
#include <vector>

#include "rule/factor_map.h"
#include "sbp/mesh.h"
#include "sbp/signature.h"

namespace sbp {

struct CandidateOptions {
  bool even_only = false;  // forbid parts of different sizes
  // A product larger than this is cut axis by axis from the end of each list, all-B kept; the list says so (truncated).
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
  Signature signature;
  std::vector<AxisChoice> axes;  // one per mesh axis
  // Part of the unsharded work that the busiest rank does: product over split factors of largest part / size.
  double work_share = 1;
  // Operands of which a split needs neighbours' elements (halo), in bytes per rank to exchange; 0 almost always.
  double halo_bytes = 0;
};

struct CandidateList {
  RuleInstanceRef instance;
  std::vector<Candidate> candidates;  // never empty; the last one is all-B
  bool truncated = false;
};
using CandidateListRef = std::shared_ptr<const CandidateList>;

// `mesh` sizes only; its ranks do not matter. Deterministic.
CandidateList MakeCandidates(const RuleInstanceRef& instance, const Mesh& mesh, const CandidateOptions& options = {});

// "splits factor k (reduced: sum) over model" and the like, for explain.
std::string DescribeChoice(const RuleInstance& instance, const AxisChoice& choice);
std::string DescribeCandidate(const CandidateList& list, size_t index, const Mesh& mesh);

// The dimension of each result that follows `batch` (per operand: the batch dimension, or -1) through the factors: the
// first operand with a batch axis whose dimension's major-most factor leads a result dimension. -1 = none.
std::vector<int> PropagateBatchAxis(const RuleInstance& instance, const std::vector<int>& operand_batch);

}  // namespace sbp
