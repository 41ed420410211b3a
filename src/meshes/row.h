// A mesh among which one is chosen, while that goes on: what was seen of it, and whether it was planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "meshes/look.h"
#include "meshes/trial.h"
#include "schedule/measure.h"

namespace sbp {

struct MeshRow {
  MeshTrial trial;
  std::optional<Look> look;   // absent: there is an error
  bool is_planned = false;    // or was tried to
  bool is_explained = false;  // and it was found out how small plans get
  Status failure;
};

// An error that only says that this mesh is none to plan on.
bool IsOfMesh(const Status& status);

// Is what is known of it over the memory limit? Then searching takes many times as long.
bool IsPressed(const MeshRow& row, const std::optional<int64_t>& memory_limit);

// Of a step of its plan, or of what was found at a glance and fits; infinite: there is neither.
double PriceOf(const MeshRow& row, StepMeasure measure);

// Of meshes that were left out for their bounds alone, the one of the least bound; null: there is none.
const MeshRow* FastestOfBounds(std::span<const MeshRow> rows, StepMeasure measure);

// The number of the mesh on which a plan needs the least memory, as far as the looks tell.
std::optional<size_t> NearestRow(std::span<const MeshRow> rows);

}  // namespace sbp
