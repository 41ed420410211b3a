// What data a tensor gets when none are given: by element type, and by what reads it.
#pragma once

#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "kernel/view.h"

namespace sbp {

// A distribution. Integers: uniform in [low, high].
struct Distribution {
  enum class Kind : uint8_t { kNormal, kUniform };
  Kind kind = Kind::kUniform;
  double mean = 0, deviation = 1;  // kNormal
  double low = 0, high = 0;        // kUniform
  friend bool operator==(const Distribution&, const Distribution&) = default;
};

// Chosen by the readers of the tensor, looked for through ops that only move or cast elements:
// * integers that index (Gather, ScatterND, class labels, ...): within the indexed dimension;
// * other integers (masks, counts), bools, and floats whose name says that they are a mask: ones; 8-bit parameters
//   and narrower ones (quantised weights): anything that the type has;
// * weights of products and convolutions: normal, scaled by 1/sqrt(fan-in); tables that are gathered from: normal;
// * scales of normalisations: around 1; shifts: small; variances and quantisation scales: positive.
class RoleFinder {
 public:
  explicit RoleFinder(const Graph& graph);
  Distribution RoleOf(TensorId id) const;

 private:
  const Graph& graph_;
  UseTable uses_;
};

// Fills a whole tensor: each element follows from seed and position alone. Error: a type that has no numbers;
// `cancelled` said, asked now and then, that the run is to end.
Status FillRandom(const Distribution& distribution, uint64_t seed, TensorView& view,
                  const std::function<bool()>& cancelled = nullptr);

}  // namespace sbp
