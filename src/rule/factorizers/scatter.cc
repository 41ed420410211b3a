// Scatter and its relatives. The dimension that is written into may be split: each rank applies the updates that fall
// into its part. Where updates are combined (add, max, ...), the updates may be split too.
#include <algorithm>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int kData = 0, kIndices = 1, kUpdates = 2;

struct Reduction {
  std::optional<ReduceKind> kind;  // none: the update replaces the value
};

Result<Reduction> ReadReduction(const FactorizerContext& context) {
  const std::string name = context.String("reduction", "none");
  if (name == "none") return Reduction{};
  if (name == "add") return Reduction{ReduceKind::kSum};
  if (name == "mul") return Reduction{ReduceKind::kProd};
  if (name == "max") return Reduction{ReduceKind::kMax};
  if (name == "min") return Reduction{ReduceKind::kMin};
  return context.Error(StrCat("reduction must be none, add, mul, max or min, but is ", Quote(name)));
}

// A factor of data and result that indices point into: each rank writes what is its own.
void CarryWritten(FactorizerContext& context, int dim) {
  const FactorId f = ShareDim(context, kData, dim, 0, dim);
  if (f != kNoFactor) context.map().factors[f].masked = true;
}

// A factor over the updates themselves: ranks write different updates into full copies that are then combined. The
// data must enter that combination once: as P of the same kind (for a sum: `addend`), or whole where repeating it is
// harmless (max, min).
void CarryUpdates(FactorizerContext& context, const Reduction& reduction, int index_dim) {
  const FactorId f = NewFactor(context, context.shape(kIndices)[index_dim]);
  if (f == kNoFactor) return;
  FactorMap& map = context.map();
  Carry(map.operands[kIndices][index_dim], {f});
  Carry(map.operands[kUpdates][index_dim], {f});
  if (!reduction.kind) return;  // the later of two writes to one place wins: no order between ranks
  const ReduceKind kind = *reduction.kind;
  const bool summable = IsSummable(context.type(kData).dtype);
  if (kind == ReduceKind::kSum && summable) {
    ReduceFactor(context, kind, f);
  } else if (kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
    ReduceFactor(context, kind, f);
  }
  if (kind != ReduceKind::kSum) {
    ExplicitSignature signature;
    signature.operands.assign(context.num_operands(), Sbp::Broadcast());
    signature.operands[kData] = Sbp::Partial(kind);
    signature.operands[kIndices] = signature.operands[kUpdates] = Sbp::Split(index_dim);
    signature.results = {Sbp::Partial(kind)};
    map.signatures.push_back(std::move(signature));
  }
}

void AddScatterPartials(FactorizerContext& context, const Reduction& reduction) {
  if (!reduction.kind) {
    AddLinear(context, {kData, kUpdates});
    AddMonotone(context, {kData, kUpdates});
    AddMonotone(context, {kData});
    AddMonotone(context, {kUpdates});
    return;
  }
  switch (*reduction.kind) {
    case ReduceKind::kSum:
      context.map().addends.push_back(kData);
      AddLinear(context, {kData, kUpdates});
      AddMonotone(context, {kData});
      break;
    case ReduceKind::kProd:
      AddLinear(context, {kData});
      AddPartialSignature(context, ReduceKind::kProd, {kData, kUpdates});
      break;
    default:
      AddMonotone(context, {kData});
      AddPartialSignature(context, *reduction.kind, {kData, kUpdates});
      AddPartialSignature(context, *reduction.kind, {kUpdates});
  }
}

}  // namespace

Status FactorizeScatterElements(FactorizerContext& context) {
  const Shape &data = context.shape(kData), &indices = context.shape(kIndices);
  SBP_RETURN_IF_ERROR(ExpectRank(context, kIndices, "indices", context.rank(kData)));
  if (context.shape(kUpdates) != indices) {
    return context.Error(StrCat("updates ", ToString(context.type(kUpdates)), " must have the shape of indices ",
                                ToString(context.type(kIndices))));
  }
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(kData)));
  SBP_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  context.SetResult(0, data);
  FactorMap& map = context.map();
  for (int d = 0; d < context.rank(kData); ++d) {
    if (d == axis) {
      CarryWritten(context, d);
      CarryUpdates(context, reduction, d);
    } else if (indices[d] == data[d]) {
      ShareDim(context, kData, d, 0, d);
      CopyDim(map.operands[kData][d], map.operands[kIndices][d]);
      CopyDim(map.operands[kData][d], map.operands[kUpdates][d]);
    } else if (indices[d] > data[d]) {
      return context.Error(StrCat("dimension ", d, " of indices ", ToString(context.type(kIndices)),
                                  " is larger than that of data ", ToString(context.type(kData))));
    } else {
      AddNote(context, StrCat("dimension ", d, " of indices is shorter than that of data: parts would not line up"));
    }
  }
  AddScatterPartials(context, reduction);
  return OkStatus();
}

Status FactorizeScatterND(FactorizerContext& context) {
  const Shape &data = context.shape(kData), &indices = context.shape(kIndices), &updates = context.shape(kUpdates);
  if (indices.empty() || indices.back() < 1 || indices.back() > context.rank(kData)) {
    return context.Error(StrCat("the last dimension of indices ", ToString(context.type(kIndices)), " must be 1 to ",
                                context.rank(kData), ": the dimensions of data that are indexed"));
  }
  const int depth = static_cast<int>(indices.back());
  const int positions = context.rank(kIndices) - 1;
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  if (updates != expected) {
    return context.Error(StrCat("updates ", ToString(context.type(kUpdates)), " must be [", Join(expected, ","),
                                "] for these data and indices"));
  }
  SBP_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  context.SetResult(0, data);
  for (int d = 0; d < context.rank(kData); ++d) {
    if (d < depth) {
      CarryWritten(context, d);
    } else {
      ShareDim(context, kData, d, 0, d);
      CopyDim(context.map().operands[kData][d], context.map().operands[kUpdates][positions + d - depth]);
    }
  }
  for (int d = 0; d < positions; ++d) CarryUpdates(context, reduction, d);
  AddScatterPartials(context, reduction);
  return OkStatus();
}

Status FactorizeTensorScatter(FactorizerContext& context) {
  constexpr int kCache = 0, kUpdate = 1, kWriteIndices = 2;
  const Shape &cache = context.shape(kCache), &update = context.shape(kUpdate);
  SBP_RETURN_IF_ERROR(ExpectRank(context, kUpdate, "update", context.rank(kCache)));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -2), context.rank(kCache)));
  if (axis == 0) return context.Error("axis must not be the batch dimension");
  context.SetResult(0, cache);
  FactorMap& map = context.map();
  for (int d = 0; d < context.rank(kCache); ++d) {
    if (d == axis) {
      CarryWritten(context, d);
      continue;
    }
    if (cache[d] != update[d]) {
      return context.Error(StrCat("past_cache ", ToString(context.type(kCache)), " and update ",
                                  ToString(context.type(kUpdate)), " differ in another dimension than ", axis));
    }
    ShareDim(context, kCache, d, 0, d);
    CopyDim(map.operands[kCache][d], map.operands[kUpdate][d]);
  }
  if (context.num_operands() > kWriteIndices && context.has(kWriteIndices)) {
    if (context.shape(kWriteIndices) != Shape{cache[0]}) {
      return context.Error(StrCat("write_indices must be [", cache[0], "], one for each batch entry"));
    }
    CopyDim(map.operands[kCache][0], map.operands[kWriteIndices][0]);
  }
  AddLinear(context, {kCache, kUpdate});
  AddMonotone(context, {kCache, kUpdate});
  AddMonotone(context, {kCache});
  AddMonotone(context, {kUpdate});
  return OkStatus();
}

}  // namespace sbp
