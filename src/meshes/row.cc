#include "meshes/row.h"

#include <limits>
#include <tuple>

namespace sbp {

bool IsOfMesh(const Status& status) { return status.code() == Code::kNoPlan || status.code() == Code::kBadInput; }

bool IsPressed(const MeshRow& row, const std::optional<int64_t>& memory_limit) {
  return memory_limit && row.look && row.look->known && !row.look->fits;
}

double PriceOf(const MeshRow& row, StepMeasure measure) {
  if (row.trial.outcome == MeshOutcome::kPlanned) return row.trial.StepSeconds(measure);
  const bool is_none = row.is_planned || !row.look || !row.look->known || !row.look->fits;
  return is_none ? std::numeric_limits<double>::infinity() : row.look->KnownStep(measure);
}

const MeshRow* FastestOfBounds(std::span<const MeshRow> rows, StepMeasure measure) {
  const MeshRow* fastest = nullptr;
  for (const MeshRow& row : rows) {
    if (!row.look || row.is_planned || row.look->proved_too_large) continue;
    if (fastest == nullptr || row.look->Bound(measure) < fastest->look->Bound(measure)) fastest = &row;
  }
  return fastest;
}

std::optional<size_t> NearestRow(std::span<const MeshRow> rows) {
  std::optional<size_t> nearest;
  std::tuple<bool, int64_t> least;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Look>& look = rows[i].look;
    if (!look) continue;
    const int64_t peak = look->proved_too_large ? look->least_peak_bytes : look->peak_bytes;
    const std::tuple distance(peak == 0, peak);
    if (nearest && least <= distance) continue;
    nearest = i;
    least = distance;
  }
  return nearest;
}

}  // namespace sbp
