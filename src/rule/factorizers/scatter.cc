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

// Where the operands are.
struct Scattered {
  size_t data, indices, updates;

  explicit Scattered(const FactorizerContext& context)
      : data(context.operand("data")), indices(context.operand("indices")), updates(context.operand("updates")) {}
};

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
void CarryWritten(FactorizerContext& context, size_t data, int dim) {
  const FactorId f = ShareDim(context, data, dim, 0, dim);
  if (f != kNoFactor) context.map().factors[f].masked = true;
}

// A factor over the updates themselves: ranks write different updates into full copies that are then combined. The
// data must enter that combination once: as P of the same kind (for a sum: `addend`), or whole where repeating it is
// harmless (max, min).
void CarryUpdates(FactorizerContext& context, const Scattered& at, const Reduction& reduction, int index_dim) {
  const FactorId f = NewFactor(context, context.shape(at.indices)[index_dim]);
  if (f == kNoFactor) return;
  FactorMap& map = context.map();
  Carry(map.operands[at.indices][index_dim], {f});
  Carry(map.operands[at.updates][index_dim], {f});
  if (!reduction.kind) return;  // the later of two writes to one place wins: no order between ranks
  const ReduceKind kind = *reduction.kind;
  const bool summable = IsSummable(context.type(at.data).dtype);
  if (kind == ReduceKind::kSum && summable) {
    ReduceFactor(context, kind, f);
  } else if (kind == ReduceKind::kMax || kind == ReduceKind::kMin) {
    ReduceFactor(context, kind, f);
  }
  if (kind != ReduceKind::kSum) {
    ExplicitSignature signature;
    signature.operands.assign(context.num_operands(), Sbp::Broadcast());
    signature.operands[at.data] = Sbp::Partial(kind);
    signature.operands[at.indices] = signature.operands[at.updates] = Sbp::Split(index_dim);
    signature.results = {Sbp::Partial(kind)};
    map.signatures.push_back(std::move(signature));
  }
}

// Some elements of the data are replaced by updates.
void AddReplacedPartials(FactorizerContext& context, size_t data, size_t updates) {
  AddLinear(context, {data, updates});
  AddMonotone(context, {data, updates});
  AddMonotone(context, {data});
  AddMonotone(context, {updates});
}

void AddScatterPartials(FactorizerContext& context, const Scattered& at, const Reduction& reduction) {
  const size_t data = at.data, updates = at.updates;
  if (!reduction.kind) {
    AddReplacedPartials(context, data, updates);
    return;
  }
  switch (*reduction.kind) {
    case ReduceKind::kSum:
      context.map().addends.push_back(static_cast<int>(data));
      AddLinear(context, {data, updates});
      AddMonotone(context, {data});
      break;
    case ReduceKind::kProd:
      AddLinear(context, {data});
      AddPartialSignature(context, ReduceKind::kProd, {data, updates});
      break;
    default:
      AddMonotone(context, {data});
      AddPartialSignature(context, *reduction.kind, {data, updates});
      AddPartialSignature(context, *reduction.kind, {updates});
  }
}

}  // namespace

Status FactorizeScatterElements(FactorizerContext& context) {
  const Scattered at(context);
  const Shape &data = context.shape(at.data), &indices = context.shape(at.indices);
  SBP_RETURN_IF_ERROR(ExpectRank(context, at.indices, "indices", context.rank(at.data)));
  if (context.shape(at.updates) != indices) {
    return context.Error(StrCat("updates ", ToString(context.type(at.updates)), " must have the shape of indices ",
                                ToString(context.type(at.indices))));
  }
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis"), context.rank(at.data)));
  SBP_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  context.SetResult(0, data);
  FactorMap& map = context.map();
  for (int d = 0; d < context.rank(at.data); ++d) {
    if (d == axis) {
      CarryWritten(context, at.data, d);
      CarryUpdates(context, at, reduction, d);
    } else if (indices[d] == data[d]) {
      ShareDim(context, at.data, d, 0, d);
      CopyDim(map.operands[at.data][d], map.operands[at.indices][d]);
      CopyDim(map.operands[at.data][d], map.operands[at.updates][d]);
    } else if (indices[d] > data[d]) {
      return context.Error(StrCat("dimension ", d, " of indices ", ToString(context.type(at.indices)),
                                  " is larger than that of data ", ToString(context.type(at.data))));
    } else {
      AddNote(context, StrCat("dimension ", d, " of indices is shorter than that of data: parts would not line up"));
    }
  }
  AddScatterPartials(context, at, reduction);
  return OkStatus();
}

Status FactorizeScatterND(FactorizerContext& context) {
  const Scattered at(context);
  const Shape &data = context.shape(at.data), &indices = context.shape(at.indices);
  if (indices.empty() || indices.back() < 1 || indices.back() > context.rank(at.data)) {
    return context.Error(StrCat("the last dimension of indices ", ToString(context.type(at.indices)), " must be 1 to ",
                                context.rank(at.data), ": the dimensions of data that are indexed"));
  }
  const int depth = static_cast<int>(indices.back());
  const int positions = context.rank(at.indices) - 1;
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + depth, data.end());
  if (context.shape(at.updates) != expected) {
    return context.Error(StrCat("updates ", ToString(context.type(at.updates)), " must be [", Join(expected, ","),
                                "] for these data and indices"));
  }
  SBP_ASSIGN_OR_RETURN(const Reduction reduction, ReadReduction(context));
  context.SetResult(0, data);
  for (int d = 0; d < context.rank(at.data); ++d) {
    if (d < depth) {
      CarryWritten(context, at.data, d);
    } else {
      ShareDim(context, at.data, d, 0, d);
      CopyDim(context.map().operands[at.data][d], context.map().operands[at.updates][positions + d - depth]);
    }
  }
  for (int d = 0; d < positions; ++d) CarryUpdates(context, at, reduction, d);
  AddScatterPartials(context, at, reduction);
  return OkStatus();
}

Status FactorizeTensorScatter(FactorizerContext& context) {
  const size_t past_cache = context.operand("past_cache"), update = context.operand("update");
  const size_t write_indices = context.operand("write_indices");
  const Shape& cache = context.shape(past_cache);
  SBP_RETURN_IF_ERROR(ExpectRank(context, update, "update", context.rank(past_cache)));
  SBP_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(context, context.Int("axis", -2), context.rank(past_cache)));
  if (axis == 0) return context.Error("axis must not be the batch dimension");
  context.SetResult(0, cache);
  FactorMap& map = context.map();
  for (int d = 0; d < context.rank(past_cache); ++d) {
    if (d == axis) {
      CarryWritten(context, past_cache, d);
      continue;
    }
    if (cache[d] != context.shape(update)[d]) {
      return context.Error(StrCat("past_cache ", ToString(context.type(past_cache)), " and update ",
                                  ToString(context.type(update)), " differ in another dimension than ", axis));
    }
    ShareDim(context, past_cache, d, 0, d);
    CopyDim(map.operands[past_cache][d], map.operands[update][d]);
  }
  if (context.has(write_indices)) {
    if (context.shape(write_indices) != Shape{cache[0]}) {
      return context.Error(StrCat("write_indices must be [", cache[0], "], one for each batch entry"));
    }
    CopyDim(map.operands[past_cache][0], map.operands[write_indices][0]);
  }
  AddReplacedPartials(context, past_cache, update);
  return OkStatus();
}

}  // namespace sbp
