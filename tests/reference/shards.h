// Cutting whole arrays into the parts that a layout asks for, and putting parts together again.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reference/array.h"
#include "sbp/mesh.h"

namespace sbp::reference {

// Elements of neighbours that a part also holds, per dimension: none, or (before, after).
using HaloWidths = std::vector<std::pair<int64_t, int64_t>>;

// Where the part of the device at `position` lies; with a halo, as far as the whole reaches.
Piece PieceOf(const Shape& shape, const NdSbp& sbp, const Mesh& mesh, int64_t position, const HaloWidths& halo = {});

// Where an op is defined: random data, and the parts of a maximum or minimum, stay within.
struct Domain {
  double low = -2, high = 2;
};

// One part per device (by position). Partial axes get parts that combine to the whole and differ between ranks: random
// ones that add up, or, for max and min, a random owner per element and worse values of the domain elsewhere.
std::vector<Array> Shard(const Array& whole, const NdSbp& sbp, const Mesh& mesh, std::mt19937_64& random, Domain domain,
                         const HaloWidths& halo = {});

// Puts the parts together in every way that the layout promises (each replica on its own) and compares each with
// `whole`.
// "" when all agree within `tolerance` (relative to the largest magnitude); else what differs.
std::string CompareParts(const std::vector<Array>& parts, const Array& whole, const NdSbp& sbp, const Mesh& mesh,
                         double tolerance);

}  // namespace sbp::reference
