// order-value: three small conditions that add up over operands, results and mesh axes; the least sum wins, the first
// registered one on ties. Origin: OneFlow's first cost model.
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "sbp/layout_rows.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "strategy/all_criteria.h"
#include "strategy/prices.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

constexpr int kKeepsHint = -3;     // the operand is used as it was produced
constexpr int kWholeNoBatch = -2;  // no batch axis, and neither produced nor used split
constexpr int kSplitsBatch = -1;   // split along the batch axis

int BatchAxis(const CriterionQuery& query, TensorId tensor) { return query.problem->batch_axis[tensor.index()]; }

bool SplitsBatch(int batch, Sbp wanted) { return batch >= 0 && wanted.is_split(batch); }
bool WholeNoBatch(int batch, Sbp hint, Sbp wanted) { return batch < 0 && !hint.is_split() && !wanted.is_split(); }

double OperandValue(const CriterionQuery& query, size_t operand, const NdSbp& wanted) {
  const int batch = BatchAxis(query, query.problem->operands(query.op)[operand]);
  const NdSbp& hint = query.produced[operand];
  int value = 0;
  for (int axis = 0; axis < wanted.size(); ++axis) {
    if (SplitsBatch(batch, wanted[axis])) value += kSplitsBatch;
    if (WholeNoBatch(batch, hint[axis], wanted[axis])) value += kWholeNoBatch;
    if (wanted[axis] == hint[axis]) value += kKeepsHint;
  }
  return value;
}

double ResultValue(const CriterionQuery& query, size_t result, const NdSbp& layout) {
  const int batch = BatchAxis(query, query.problem->graph->op(query.op).outputs[result]);
  int value = 0;
  for (Sbp sbp : layout) value += SplitsBatch(batch, sbp) ? kSplitsBatch : 0;
  return value;
}

}  // namespace

CriterionAnswer ChooseByOrderValue(const CriterionQuery& query) {
  const SlotPrices prices(
      query, [&](size_t i, const NdSbp& wanted) { return OperandValue(query, i, wanted); },
      [&](size_t r, const NdSbp& layout) { return ResultValue(query, r, layout); });
  return ChooseLeast(query.allowed, Ties::kFirst, [&](uint32_t c) { return prices.Of(c); });
}

std::vector<PriceTerm> OrderValueTerms(const CriterionQuery& query, uint32_t candidate) {
  const CandidateSignature& signature = query.list->candidates[candidate].signature;
  const Mesh& mesh = query.problem->mesh;
  std::vector<PriceTerm> terms;
  auto add = [&](bool holds, const std::string& slot, const char* why, int axis, int value) {
    if (holds) terms.push_back({slot + ": " + why + " (" + mesh.axes[axis].name + ")", static_cast<double>(value)});
  };
  const auto operands = query.problem->operands(query.op);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].valid()) continue;
    const int batch = BatchAxis(query, operands[i]);
    const std::string slot = OperandLabel(query, i);
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      const Sbp wanted = signature.inputs[i][axis], hint = query.produced[i][axis];
      add(SplitsBatch(batch, wanted), slot, "splits the batch axis", axis, kSplitsBatch);
      add(WholeNoBatch(batch, hint, wanted), slot, "no batch axis and not split", axis, kWholeNoBatch);
      add(wanted == hint, slot, "as produced", axis, kKeepsHint);
    }
  }
  const auto& outputs = query.problem->graph->op(query.op).outputs;
  for (size_t r = 0; r < outputs.size(); ++r) {
    if (!outputs[r].valid()) continue;
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      add(SplitsBatch(BatchAxis(query, outputs[r]), signature.outputs[r][axis]), ResultLabel(query, r),
          "splits the batch axis", axis, kSplitsBatch);
    }
  }
  return terms;
}

}  // namespace sbp
