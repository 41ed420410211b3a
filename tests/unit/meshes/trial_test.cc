#include "meshes/trial.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "schedule/measure.h"

namespace sbp {
namespace {

MeshTrial TrialOf(MeshOutcome outcome, double seconds, std::optional<double> bound) {
  MeshTrial trial;
  trial.outcome = outcome;
  trial.overlapped_seconds = seconds;
  trial.schedule_bound_seconds = bound;
  return trial;
}

// What was only not found may exist, and be faster than all that was: its bound counts. What is proved not to be does
// not.
TEST(LeastBound, CountsMeshesOnWhichNoPlanWasFound) {
  const MeshTrial best = TrialOf(MeshOutcome::kPlanned, 5, 4);
  const auto of = [&](const MeshTrial& other) { return LeastBound({best, other}, StepMeasure::kSchedule); };
  EXPECT_EQ(of(TrialOf(MeshOutcome::kPruned, 0, 6)), 4);
  EXPECT_EQ(of(TrialOf(MeshOutcome::kNotFound, 0, 3)), 3);
  EXPECT_EQ(of(TrialOf(MeshOutcome::kNotFound, 0, std::nullopt)), std::nullopt);
  EXPECT_EQ(of(TrialOf(MeshOutcome::kTooLarge, 0, 3)), 4);
  EXPECT_EQ(of(TrialOf(MeshOutcome::kNoPlan, 0, std::nullopt)), 4);
}

}  // namespace
}  // namespace sbp
