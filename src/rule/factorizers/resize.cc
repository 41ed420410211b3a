// Resize and Upsample: dimensions that keep their size are shared; an upscaled one splits where every element is
// repeated (nearest), or with a halo where neighbours are mixed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/literal.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "rule/rule_set.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// One resized dimension.
struct ScaledDim {
  int64_t in = 0, out = 0;
  double scale = 1;
  bool resized = false;  // false: copied
};

Result<int64_t> ScaledSize(const FactorizerContext& context, int64_t size, double scale) {
  const double scaled = std::floor(static_cast<double>(size) * scale);
  if (!(scaled >= 0 && scaled < 9e18))
    return context.Error(StrCat("scale ", FormatGeneral(scale), " gives no valid size"));
  return static_cast<int64_t>(scaled);
}

bool GivenAndFilled(const FactorizerContext& context, size_t operand) {
  return context.has(operand) && context.type(operand).num_elements() > 0;
}

Result<std::vector<double>> KnownNumbers(const FactorizerContext& context, size_t operand, size_t count) {
  const Literal* literal = context.value(operand);
  if (literal == nullptr)
    return context.Error(StrCat("the value of operand ", operand, " (scales) ", kMustBeKnown, ", but it is computed"));
  std::vector<double> values = literal->floats;
  if (values.empty()) values.assign(literal->ints.begin(), literal->ints.end());
  if (values.size() != count)
    return context.Error(StrCat("scales must have ", count, " entries, but has ", values.size()));
  return values;
}

// The axes that scales, sizes and roi speak of.
Result<std::vector<int>> ResizedAxes(const FactorizerContext& context) {
  const int rank = context.rank(context.operand("X"));
  std::vector<int> axes;
  for (int64_t axis : context.Ints("axes")) {
    SBP_ASSIGN_OR_RETURN(const int d, NormalizeAxis(context, axis, rank));
    axes.push_back(d);
  }
  if (context.HasAttribute("axes")) return axes;
  axes.resize(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Status SizesFromScales(const FactorizerContext& context, const std::vector<int>& axes, std::vector<ScaledDim>& dims) {
  SBP_ASSIGN_OR_RETURN(const std::vector<double> scales, KnownNumbers(context, context.operand("scales"), axes.size()));
  const bool crops = context.String("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  std::vector<double> roi;
  if (crops) {
    SBP_ASSIGN_OR_RETURN(roi, KnownNumbers(context, context.operand("roi"), 2 * axes.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ScaledDim& dim = dims[axes[i]];
    dim.scale = scales[i];
    const double part = crops ? roi[i + axes.size()] - roi[i] : 1;
    SBP_ASSIGN_OR_RETURN(dim.out, ScaledSize(context, dim.in, part * scales[i]));
    dim.resized = crops || dim.scale != 1;
  }
  return OkStatus();
}

Status SizesFromSizes(const FactorizerContext& context, const std::vector<int>& axes, std::vector<ScaledDim>& dims) {
  std::vector<int64_t> sizes;
  const size_t given = context.operand("sizes");
  if (const auto known = KnownInts(context, given)) {
    sizes = *known;
  } else if (const auto stated = StatedShape(context, 0); stated && stated->size() == dims.size()) {
    for (int axis : axes) sizes.push_back((*stated)[axis]);
  } else {
    return context.ints(given).status();
  }
  if (sizes.size() != axes.size())
    return context.Error(StrCat("sizes must have ", axes.size(), " entries, but has ", sizes.size()));
  const std::string policy = context.String("keep_aspect_ratio_policy", "stretch");
  const bool crops = context.String("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
  double common = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double scale = static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(1, dims[axes[i]].in));
    const bool take = i == 0 || (policy == "not_larger" ? scale < common : scale > common);
    if (take) common = scale;
    dims[axes[i]].scale = scale;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    ScaledDim& dim = dims[axes[i]];
    dim.out = sizes[i];
    if (policy != "stretch") {
      dim.scale = common;
      SBP_ASSIGN_OR_RETURN(dim.out, ScaledSize(context, 1, common * static_cast<double>(dim.in) + 0.5));
    }
    dim.resized = crops || dim.out != dim.in;
  }
  return OkStatus();
}

// Where an output element lies in the input, and which element is nearest to that.
struct Sampling {
  std::string where, nearest;
};

// How many input elements before and after its own block an output element depends on; none: no bound that a split
// could use. Requires an integer scale of at least 2.
struct Neighbours {
  int64_t before = 0, after = 0;
};
std::optional<Neighbours> FindNeighbours(const FactorizerContext& context, const Sampling& sampling, int64_t scale) {
  const std::string mode = context.String("mode", "nearest");
  const auto& [where, nearest] = sampling;
  const bool half = where == "half_pixel" || where == "pytorch_half_pixel" || where == "half_pixel_symmetric";
  const bool asymmetric = where == "asymmetric";
  if (!half && !asymmetric) return std::nullopt;
  // Asymmetric positions lie within their block or at its end, those of half pixels at either side of its middle.
  if (mode == "linear") return Neighbours{half ? 1 : 0, 1};
  if (mode == "cubic") return Neighbours{half ? 2 : 1, 2};
  const bool rounds = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  if ((half && rounds) || (asymmetric && nearest == "floor")) {
    // An even scale puts no output element half way between two input elements; an odd one neither.
    return scale >= 2 ? std::optional<Neighbours>(Neighbours{}) : std::nullopt;
  }
  return half && nearest == "floor" ? Neighbours{1, 0} : Neighbours{0, 1};
}

void CarryScaled(FactorizerContext& context, const Sampling& sampling, const ScaledDim& dim, int d) {
  const size_t x = context.operand("X");
  FactorMap& map = context.map();
  if (!dim.resized) {
    ShareDim(context, x, d, 0, d);
    return;
  }
  const int64_t scale = dim.in > 0 ? dim.out / dim.in : 0;
  const bool repeats =
      scale >= 2 && dim.out == scale * dim.in && std::abs(dim.scale - static_cast<double>(scale)) < 1e-6;
  const std::optional<Neighbours> neighbours = repeats ? FindNeighbours(context, sampling, scale) : std::nullopt;
  if (!neighbours) {
    AddNote(context,
            StrCat("dimension ", d, " is resized from ", dim.in, " to ", dim.out, ": its parts would not line up"));
    return;
  }
  const FactorId f = ShareDim(context, x, d, 0, d);
  const FactorId copies = NewFactor(context, scale);
  Carry(map.results[0][d], {copies});
  if (copies != kNoFactor) map.factors[copies].whole = true;
  if (f != kNoFactor && neighbours->before + neighbours->after > 0)
    map.factors[f].halo = Factor::Halo{neighbours->before, neighbours->after, 1};
}

Status Finish(FactorizerContext& context, const Sampling& sampling, const std::vector<ScaledDim>& dims) {
  Shape shape;
  for (const ScaledDim& dim : dims) shape.push_back(dim.out);
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, std::move(shape));
  for (size_t d = 0; d < dims.size(); ++d) CarryScaled(context, sampling, dims[d], static_cast<int>(d));
  const bool nearest = context.String("mode", "nearest") == "nearest";
  const bool extrapolates = sampling.where == "tf_crop_and_resize" && context.Float("extrapolation_value") != 0;
  const size_t x = context.operand("X");
  if (!extrapolates && (IsFloat(context.type(x).dtype) || nearest)) AddLinear(context, {x});
  if (nearest) AddMonotone(context, {x});
  return OkStatus();
}

std::vector<ScaledDim> CopiedDims(const FactorizerContext& context) {
  std::vector<ScaledDim> dims;
  for (int64_t size : context.shape(context.operand("X"))) dims.push_back({size, size, 1, false});
  return dims;
}

}  // namespace

Status FactorizeResize(FactorizerContext& context) {
  std::vector<ScaledDim> dims = CopiedDims(context);
  SBP_ASSIGN_OR_RETURN(const std::vector<int> axes, ResizedAxes(context));
  if (GivenAndFilled(context, context.operand("scales"))) {
    SBP_RETURN_IF_ERROR(SizesFromScales(context, axes, dims));
  } else if (GivenAndFilled(context, context.operand("sizes"))) {
    SBP_RETURN_IF_ERROR(SizesFromSizes(context, axes, dims));
  } else {
    return context.Error("needs scales or sizes");
  }
  const Sampling sampling{context.String("coordinate_transformation_mode", "half_pixel"),
                          context.String("nearest_mode", "round_prefer_floor")};
  return Finish(context, sampling, dims);
}

Status FactorizeUpsample(FactorizerContext& context) {
  std::vector<ScaledDim> dims = CopiedDims(context);
  SBP_ASSIGN_OR_RETURN(const std::vector<double> scales, KnownNumbers(context, context.operand("scales"), dims.size()));
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d].scale = scales[d];
    SBP_ASSIGN_OR_RETURN(dims[d].out, ScaledSize(context, dims[d].in, scales[d]));
    dims[d].resized = scales[d] != 1;
  }
  return Finish(context, {"asymmetric", "floor"}, dims);
}

}  // namespace sbp
