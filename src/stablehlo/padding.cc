// pad, and slices at places that may be known.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "stablehlo/dims.h"
#include "stablehlo/forms.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

constexpr int64_t kMaxBorder = int64_t{1} << 40;

ValueRef Bordered(const FormCall& call, const ValueRef& value, const ValueRef& with, const Dims& low,
                  const Dims& high) {
  if (IsAll(low, 0) && IsAll(high, 0)) return value;
  TensorType type = value->type;
  Dims pads = low;
  pads.insert(pads.end(), high.begin(), high.end());
  for (size_t i = 0; i < low.size(); ++i) type.shape[i] += low[i] + high[i];
  Attributes attributes;
  attributes.Set("pads", std::move(pads));
  return call.writer.AddOne("pad", {{"x", call.writer.Full(value)}, {"value", call.writer.Full(with)}},
                            std::move(attributes), type);
}

// Zeros, or what is given, between neighbours: each dimension that has some is split, bordered and joined again, which
// leaves as many behind the last one.
ValueRef Spread(const FormCall& call, const ValueRef& value, const ValueRef& with, const Dims& interior) {
  const Shape shape = value->type.shape;
  Shape split;
  Dims high;
  for (size_t i = 0; i < shape.size(); ++i) {
    split.push_back(shape[i]);
    high.push_back(0);
    if (interior[i] == 0) continue;
    split.push_back(1);
    high.push_back(interior[i]);
  }
  Shape joined;
  for (size_t i = 0; i < shape.size(); ++i) joined.push_back(shape[i] * (interior[i] + 1));
  return call.writer.Reshaped(Bordered(call, call.writer.Reshaped(value, split), with, Dims(high.size(), 0), high),
                              joined);
}

}  // namespace

Result<ValueRef> Padded(const FormCall& call, const ValueRef& value, const ValueRef& with, const Dims& low,
                        const Dims& high, const Dims& interior) {
  const Shape& shape = value->type.shape;
  if (low.size() != shape.size() || high.size() != shape.size() || interior.size() != shape.size()) {
    return BadInput("expected a border for each dimension");
  }
  Dims before, behind, start, limit;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool is_small = std::max({std::abs(std::clamp(low[i], -kMaxBorder, kMaxBorder)),
                                    std::abs(std::clamp(high[i], -kMaxBorder, kMaxBorder)),
                                    std::clamp(interior[i], int64_t{0}, kMaxBorder), shape[i]}) < kMaxBorder;
    if (!is_small || interior[i] < 0 || shape[i] == 0) return BadInput("a border of this size is not read");
    const int64_t spread = SaturatingMul(shape[i] - 1, interior[i] + 1) + 1;
    if (spread >= kMaxBorder || low[i] + spread + high[i] < 0 || std::max(-low[i], -high[i]) > spread) {
      return BadInput("a border of this size is not read");
    }
    const int64_t held = shape[i] * (interior[i] + 1);  // as Spread leaves it
    before.push_back(std::max<int64_t>(low[i], 0));
    behind.push_back(std::max<int64_t>(high[i] - (held - spread), 0));
    start.push_back(std::max<int64_t>(-low[i], 0));
    limit.push_back(start.back() + low[i] + spread + high[i]);
  }
  ValueRef spread = IsAll(interior, 0) ? value : Spread(call, value, with, interior);
  spread = Bordered(call, spread, with, before, behind);
  return call.writer.Sliced(spread, start, limit);
}

Result<std::vector<ValueRef>> WritePad(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const Dims low, call.Ints("edge_padding_low"));
  SBP_ASSIGN_OR_RETURN(const Dims high, call.Ints("edge_padding_high"));
  SBP_ASSIGN_OR_RETURN(const Dims interior, call.Ints("interior_padding"));
  if (call.operands[1]->type.rank() != 0) return BadInput("expected a scalar to pad with");
  const Shape& shape = call.operands[0]->type.shape;
  if (std::ranges::find(shape, 0) != shape.end() && call.results.size() == 1) {
    // Of nothing borders are all that there is: the odd ones of one element, as gradients of associative scans have.
    const Shape& made = call.results[0].shape;
    bool fits = low.size() == shape.size() && high.size() == shape.size() && interior.size() == shape.size() &&
                made.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      const int64_t between = shape[i] == 0 ? 0 : SaturatingMul(shape[i] - 1, SaturatingAdd(interior[i], 1)) + 1;
      fits = SaturatingAdd(SaturatingAdd(low[i], high[i]), between) == made[i];
    }
    if (!fits) return BadInput(StrCat("borders of ", ToString(call.operands[0]->type), " do not make the result"));
    return std::vector{call.writer.Broadcast(call.operands[1], {}, call.results[0])};
  }
  SBP_ASSIGN_OR_RETURN(ValueRef padded, Padded(call, call.operands[0], call.operands[1], low, high, interior));
  return std::vector{std::move(padded)};
}

}  // namespace sbp::stablehlo
