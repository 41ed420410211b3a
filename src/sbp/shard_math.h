// Who owns which slice: balanced splits, local shapes, and conversion to the other spelling (dims_mapping).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

using Shape = std::vector<int64_t>;

// A half-open range of indices along one dimension.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

// Part `part` of `parts` of [begin, end): the first (size mod parts) parts hold one more.
Range BalancedPart(Range whole, int64_t parts, int64_t part);

// The slice of a tensor that the device at `coordinates` holds (per dimension). Partial and broadcast axes leave the
// range whole; nested splits apply outermost first.
std::vector<Range> LocalSlice(const Shape& shape, const NdSbp& sbp, const Mesh& mesh,
                              const std::vector<int64_t>& coordinates);
// The largest local shape of any rank (that of the first one: balanced parts are largest first).
Shape LocalShape(const Shape& shape, const NdSbp& sbp, const Mesh& mesh);

// Is the layout possible: split dims within the rank, no two partial kinds, every part of at least one element (size-0
// dimensions cannot be split), and, when `even_only`, equal parts? Error says which axis and why.
Status ValidateLayout(const Shape& shape, const NdSbp& sbp, const Mesh& mesh, bool even_only = false);

// The other spelling: per tensor dimension the mesh axes that split it (outermost first), and the partial axes.
struct DimsMapping {
  std::vector<std::vector<int>> dims;               // empty = not split
  std::vector<std::pair<int, ReduceKind>> partial;  // mesh axis, kind; ascending
  friend bool operator==(const DimsMapping&, const DimsMapping&) = default;
};
DimsMapping ToDimsMapping(const NdSbp& sbp, int rank);
// Error: an axis out of range, or used twice.
Result<NdSbp> FromDimsMapping(const DimsMapping& mapping, int mesh_axes);
// "[0,-1] partial=[1:sum]"; several axes on one dim: "[[0,1],-1]".
std::string ToString(const DimsMapping& mapping);
Result<DimsMapping> ParseDimsMapping(std::string_view text);

// Which spelling to print layouts in.
enum class Notation { kSbp, kDimsMapping };
std::string FormatLayout(const NdSbp& sbp, int rank, Notation notation);
// "(S(0), B), (B, B) -> (S(0), B)", or the same as dims mappings of tensors of these ranks.
std::string FormatSignature(const Signature& signature, const std::vector<int>& operand_ranks,
                            const std::vector<int>& result_ranks, Notation notation);
// Accepts both spellings: text that starts with '[' is a dims_mapping. Checks the number of mesh axes.
Result<NdSbp> ParseLayout(std::string_view text, int mesh_axes);

}  // namespace sbp
