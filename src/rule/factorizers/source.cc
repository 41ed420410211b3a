// Ops that make tensors out of shapes, attributes and scalars: every rank makes its own part.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// A result that no operand carries: each dimension may be split, the kernel is told its part.
Status FillAware(FactorizerContext& context, Shape shape) {
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    Carry(context.map().results[0][d], {NewAwareFactor(context, shape[d])});
  }
  return OkStatus();
}

// A result that is computed whole from the type of an operand, however that is split.
Status FromType(FactorizerContext& context, size_t operand, Shape shape) {
  context.SetResult(0, std::move(shape));
  for (int d = 0; d < context.rank(operand); ++d) {
    const FactorId f = NewAwareFactor(context, context.shape(operand)[d]);
    Carry(context.map().operands[operand][d], {f});
    ReduceNone(context, f, 0);
  }
  return OkStatus();
}

// The element type that an attribute names, by ONNX's number or as text.
DType TypeAttribute(const FactorizerContext& context, std::string_view name, DType fallback) {
  if (!context.HasAttribute(name)) return fallback;
  if (const std::string text = context.String(name); !text.empty()) return ParseDType(text).value_or(fallback);
  const int64_t number = context.Int(name);
  return number > 0 && number <= static_cast<int64_t>(DType::kI2) ? static_cast<DType>(number) : fallback;
}

const Literal* LiteralAttribute(const FactorizerContext& context, std::string_view name) {
  const AttributeValue* value = context.query().attributes->Find(name);
  const LiteralRef* literal = value != nullptr ? std::get_if<LiteralRef>(value) : nullptr;
  return literal != nullptr ? literal->get() : nullptr;
}

}  // namespace

Status FactorizeShape(FactorizerContext& context) {
  const size_t data = context.operand("data");
  const int64_t rank = context.rank(data);
  const auto clamp = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(context.Int("start", 0));
  const int64_t end = context.HasAttribute("end") ? clamp(context.Int("end")) : rank;
  return FromType(context, data, {std::max<int64_t>(0, end - start)});
}

Status FactorizeSize(FactorizerContext& context) { return FromType(context, context.operand("data"), {}); }

Status FactorizeConstant(FactorizerContext& context) {
  for (std::string_view name : {"value", "sparse_value"}) {
    if (const Literal* literal = LiteralAttribute(context, name)) {
      context.SetResult(0, literal->type.dtype, literal->type.shape);
      return OkStatus();
    }
  }
  struct Form {
    std::string_view attribute;
    DType dtype;
    bool list;
  };
  for (const Form& form : {Form{"value_int", DType::kI64, false}, Form{"value_ints", DType::kI64, true},
                           Form{"value_float", DType::kF32, false}, Form{"value_floats", DType::kF32, true},
                           Form{"value_string", DType::kString, false}, Form{"value_strings", DType::kString, true}}) {
    const AttributeValue* value = context.query().attributes->Find(form.attribute);
    if (value == nullptr) continue;
    Shape shape;
    if (const auto* ints = std::get_if<std::vector<int64_t>>(value)) shape = {static_cast<int64_t>(ints->size())};
    if (const auto* floats = std::get_if<std::vector<double>>(value)) shape = {static_cast<int64_t>(floats->size())};
    if (const auto* texts = std::get_if<std::vector<std::string>>(value)) shape = {static_cast<int64_t>(texts->size())};
    if (form.list && shape.empty()) shape = {0};
    context.SetResult(0, form.dtype, std::move(shape));
    return OkStatus();
  }
  if (!context.query().stated.empty() && context.query().stated[0].is_static()) {
    context.SetResult(0, context.query().stated[0].dtype, context.query().stated[0].shape);
    return OkStatus();
  }
  return context.Error("needs a value attribute");
}

Status FactorizeConstantOfShape(FactorizerContext& context) {
  const size_t input = context.operand("input");
  const Literal* value = LiteralAttribute(context, "value");
  const DType dtype = value != nullptr ? value->type.dtype : DType::kF32;
  std::optional<Shape> shape = KnownInts(context, input);
  if (!shape) shape = StatedShape(context, 0);
  if (!shape) return context.ints(input).status();
  SBP_RETURN_IF_ERROR(FillAware(context, *shape));
  context.out().results[0].dtype = dtype;
  return OkStatus();
}

Status FactorizeRange(FactorizerContext& context) {
  const size_t at_start = context.operand("start"), at_limit = context.operand("limit");
  const size_t at_delta = context.operand("delta");
  const Literal* first = context.value(at_start);
  const bool known = first != nullptr && context.value(at_limit) != nullptr && context.value(at_delta) != nullptr;
  if (!known) {
    if (std::optional<Shape> stated = StatedShape(context, 0)) return FillAware(context, *stated);
    if (context.query().may_be_open) {
      context.out().computed_sizes.push_back({{{0, 0}}, true});
      SetBounded(context, "how many elements the range has is computed");
      return FillAware(context, {kOpenSize});
    }
  }
  if (known && first->is_integral()) {
    SBP_ASSIGN_OR_RETURN(const int64_t start, KnownInt(context, at_start));
    SBP_ASSIGN_OR_RETURN(const int64_t limit, KnownInt(context, at_limit));
    SBP_ASSIGN_OR_RETURN(const int64_t delta, KnownInt(context, at_delta));
    if (delta == 0) return context.Error("delta is 0");
    if ((limit > start) != (delta > 0) || limit == start) return FillAware(context, {0});
    const __int128 span = static_cast<__int128>(limit) - start, step = delta;
    const __int128 count = (span + step - (step > 0 ? 1 : -1)) / step;
    if (count > kInt64Max) return context.Error("the range has more elements than 64 bits can count");
    return FillAware(context, {static_cast<int64_t>(count)});
  }
  SBP_ASSIGN_OR_RETURN(const double start, KnownNumber(context, at_start));
  SBP_ASSIGN_OR_RETURN(const double limit, KnownNumber(context, at_limit));
  SBP_ASSIGN_OR_RETURN(const double delta, KnownNumber(context, at_delta));
  const double count = std::ceil((limit - start) / delta);
  if (!std::isfinite(count) || count > 9e18) return context.Error("start, limit and delta give no finite range");
  return FillAware(context, {count > 0 ? static_cast<int64_t>(count) : 0});
}

// RandomNormal, RandomUniform: shape and dtype are attributes.
Status FactorizeRandom(FactorizerContext& context) {
  const DType dtype = TypeAttribute(context, "dtype", DType::kF32);
  SBP_RETURN_IF_ERROR(FillAware(context, context.Ints("shape")));
  context.out().results[0].dtype = dtype;
  return OkStatus();
}

// The shape of the first operand, the type that `dtype` names (default: the operand's): *Like, Bernoulli, EyeLike.
Status FactorizeLike(FactorizerContext& context) {
  context.SetResult(0, TypeAttribute(context, "dtype", context.type(kFirstOperand).dtype),
                    context.shape(kFirstOperand));
  ShareAllDims(context, kFirstOperand, 0);
  for (Factor& factor : context.map().factors) factor.aware = true;
  return OkStatus();
}

Status FactorizeMultinomial(FactorizerContext& context) {
  const size_t input = context.operand("input");
  SBP_RETURN_IF_ERROR(ExpectRank(context, input, "input", 2));
  const int64_t samples = context.Int("sample_size", 1);
  if (samples < 0) return context.Error("sample_size is negative");
  context.SetResult(0, TypeAttribute(context, "dtype", DType::kI32), {context.shape(input)[0], samples});
  const FactorId batch = ShareDim(context, input, 0, 0, 0);
  if (batch != kNoFactor) context.map().factors[batch].aware = true;
  Carry(context.map().results[0][1], {NewAwareFactor(context, samples)});
  AddNote(context, "dimension 1 holds the probabilities of one draw");
  return OkStatus();
}

Status FactorizeWindowFunction(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const int64_t size, KnownInt(context, context.operand("size")));
  SBP_RETURN_IF_ERROR(FillAware(context, {size}));
  context.out().results[0].dtype = TypeAttribute(context, "output_datatype", DType::kF32);
  return OkStatus();
}

Status FactorizeMelWeightMatrix(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(const int64_t bins, KnownInt(context, context.operand("num_mel_bins")));
  SBP_ASSIGN_OR_RETURN(const int64_t dft_length, KnownInt(context, context.operand("dft_length")));
  if (dft_length < 0) return context.Error("dft_length is negative");
  SBP_RETURN_IF_ERROR(FillAware(context, {dft_length / 2 + 1, bins}));
  context.out().results[0].dtype = TypeAttribute(context, "output_datatype", DType::kF32);
  return OkStatus();
}

// theta [batch, 2, 3] and size (batch, channels, height, width) give a grid [batch, height, width, 2]; 3-d likewise.
Status FactorizeAffineGrid(FactorizerContext& context) {
  const size_t theta = context.operand("theta");
  SBP_RETURN_IF_ERROR(ExpectRank(context, theta, "theta", 3));
  SBP_ASSIGN_OR_RETURN(const std::vector<int64_t> size, context.ints(context.operand("size")));
  const int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  const Shape& matrices = context.shape(theta);
  if ((spatial != 2 && spatial != 3) || matrices[1] != spatial || matrices[2] != spatial + 1 ||
      matrices[0] != size[0]) {
    return context.Error(StrCat("size [", Join(size, ","), "] does not fit theta ", ToString(context.type(theta))));
  }
  Shape shape = {matrices[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(spatial);
  SBP_RETURN_IF_ERROR(CountElements(context, shape).status());
  context.SetResult(0, shape);
  ShareDim(context, theta, 0, 0, 0);
  for (int d = 1; d <= spatial; ++d) Carry(context.map().results[0][d], {NewAwareFactor(context, shape[d])});
  return OkStatus();
}

// Cast and CastLike: a change of type element by element. Sums pass between numbers of one kind and into real ones of
// 16 bits or more (integers wrap, which adding does too); an order passes unless integers are cut to fewer bits.
Status FactorizeCast(FactorizerContext& context) {
  const size_t input = context.operand("input");
  context.SetResult(0, context.shape(input));
  ShareAllDims(context, input, 0);
  const DType from = context.type(input).dtype, to = context.out().results[0].dtype;
  const bool to_real = IsSummable(from) && IsFloat(to) && DTypeBits(to) >= 16 && !IsComplex(from);
  const bool integers = IsInteger(from) && IsInteger(to);
  if (from == to || integers || to_real || (IsSummable(from) && IsComplex(to))) AddLinear(context, {input});
  const auto ordered = [](DType type) { return IsFloat(type) || IsInteger(type) || type == DType::kBool; };
  const bool keeps_sign = IsSigned(to) || !IsSigned(from);
  const bool widens =
      integers && keeps_sign && DTypeBits(to) >= DTypeBits(from) + (IsSigned(to) != IsSigned(from) ? 1 : 0);
  const bool keeps_order =
      from == to || from == DType::kBool || widens || IsFloat(to) || (IsFloat(from) && IsSigned(to));
  if (ordered(from) && ordered(to) && to != DType::kBool && keeps_order) AddMonotone(context, {input});
  return OkStatus();
}

// Every element is kept or dropped by a draw of its own.
Status FactorizeDropout(FactorizerContext& context) {
  const size_t data = context.operand("data");
  for (size_t r = 0; r < context.num_results(); ++r) context.SetResult(r, context.shape(data));
  ShareAllDims(context, data, 0);
  for (size_t r = 1; r < context.num_results(); ++r) context.map().results[r] = context.map().results[0];
  for (Factor& factor : context.map().factors) factor.aware = true;
  return OkStatus();
}

}  // namespace sbp
