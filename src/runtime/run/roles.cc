#include "runtime/run/roles.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

enum class Reading : uint8_t {
  kIndex,        // positions in dimension `axis` (an attribute, else the first) of operand `other`
  kIndexAny,     // positions in any of the dimensions of operand `other`
  kLength,       // a number of elements up to dimension 2 of operand `other`, less one
  kScale,        // multiplies what was normalised
  kShift,        // is added
  kVariance,     // must be positive
  kLinear,       // a weight: operand 0 contracts its last dimension, others their next to last one
  kLinearByRow,  // a weight (n, k) that contracts k
  kConvolution,  // a weight (out, in, ...)
  kTable,        // is gathered from
};

struct ReaderRow {
  std::string_view op;
  int operand;
  Reading reading;
  int other = 0;
};

constexpr ReaderRow kReaders[] = {
    {"Gather", 1, Reading::kIndex},
    {"Gather", 0, Reading::kTable},
    {"GatherElements", 1, Reading::kIndex},
    {"GatherND", 1, Reading::kIndexAny},
    {"ScatterElements", 1, Reading::kIndex},
    {"ScatterND", 1, Reading::kIndexAny},
    {"SoftmaxCrossEntropyLoss", 1, Reading::kIndex},
    {"NegativeLogLikelihoodLoss", 1, Reading::kIndex},
    {"RotaryEmbedding", 3, Reading::kIndexAny, 1},
    {"com.microsoft::RotaryEmbedding", 1, Reading::kIndexAny, 2},
    {"com.microsoft::EmbedLayerNormalization", 0, Reading::kIndexAny, 2},
    {"com.microsoft::EmbedLayerNormalization", 1, Reading::kIndexAny, 4},
    {"com.microsoft::EmbedLayerNormalization", 5, Reading::kScale},
    {"com.microsoft::EmbedLayerNormalization", 6, Reading::kShift},
    {"com.microsoft::Attention", 1, Reading::kLinear},
    {"com.microsoft::Attention", 2, Reading::kShift},
    {"com.microsoft::GroupQueryAttention", 5, Reading::kLength, 3},
    {"LayerNormalization", 1, Reading::kScale},
    {"LayerNormalization", 2, Reading::kShift},
    {"RMSNormalization", 1, Reading::kScale},
    {"SimplifiedLayerNormalization", 1, Reading::kScale},
    {"GroupNormalization", 1, Reading::kScale},
    {"GroupNormalization", 2, Reading::kShift},
    {"InstanceNormalization", 1, Reading::kScale},
    {"InstanceNormalization", 2, Reading::kShift},
    {"BatchNormalization", 1, Reading::kScale},
    {"BatchNormalization", 2, Reading::kShift},
    {"BatchNormalization", 3, Reading::kShift},
    {"BatchNormalization", 4, Reading::kVariance},
    {"com.microsoft::SkipLayerNormalization", 2, Reading::kScale},
    {"com.microsoft::SkipLayerNormalization", 3, Reading::kShift},
    {"com.microsoft::SkipLayerNormalization", 4, Reading::kShift},
    {"com.microsoft::SkipSimplifiedLayerNormalization", 2, Reading::kScale},
    {"com.microsoft::BiasGelu", 1, Reading::kShift},
    {"Sqrt", 0, Reading::kVariance},
    {"Pow", 0, Reading::kVariance},
    {"Log", 0, Reading::kVariance},
    {"QuantizeLinear", 1, Reading::kVariance},
    {"DequantizeLinear", 1, Reading::kVariance},
    {"com.microsoft::MatMulNBits", 2, Reading::kVariance},
    {"MatMul", -1, Reading::kLinear},
    {"com.microsoft::FusedMatMul", -1, Reading::kLinear},
    {"sbp::ExpertsMatMul", -1, Reading::kLinear},
    {"sbp::GroupedMatMul", 0, Reading::kLinear},
    {"sbp::GroupedMatMul", 2, Reading::kIndex, 1},
    {"Gemm", 0, Reading::kLinear},
    {"Gemm", 1, Reading::kLinear},
    {"Gemm", 2, Reading::kShift},
    {"LSTM", 1, Reading::kLinearByRow},
    {"LSTM", 2, Reading::kLinearByRow},
    {"LSTM", 3, Reading::kShift},
    {"GRU", 1, Reading::kLinearByRow},
    {"GRU", 2, Reading::kLinearByRow},
    {"GRU", 3, Reading::kShift},
    {"RNN", 1, Reading::kLinearByRow},
    {"RNN", 2, Reading::kLinearByRow},
    {"RNN", 3, Reading::kShift},
    {"Conv", 1, Reading::kConvolution},
    {"Conv", 2, Reading::kShift},
    {"ConvTranspose", 1, Reading::kConvolution},
    {"ConvTranspose", 2, Reading::kShift},
};

// Ops whose first result holds the elements of their operands, moved or cast.
bool HandsOn(std::string_view op, size_t operand) {
  static constexpr std::string_view kFirst[] = {"Cast",   "CastLike", "Reshape",         "Unsqueeze", "Squeeze",
                                                "Expand", "Identity", "Slice",           "Flatten",   "Transpose",
                                                "Tile",   "Split",    "DequantizeLinear"};
  if (op == "Concat") return true;
  return operand == 0 && std::find(std::begin(kFirst), std::end(kFirst), op) != std::end(kFirst);
}

const ReaderRow* FindReader(std::string_view op, size_t operand) {
  for (const ReaderRow& row : kReaders) {
    if (row.op == op && (row.operand < 0 || row.operand == static_cast<int>(operand))) return &row;
  }
  return nullptr;
}

// One thing that happens to a tensor, seen from the operand it arrives at.
struct Fact {
  const ReaderRow* row = nullptr;
  const Op* op = nullptr;
  TensorId as;  // the tensor as the op reads it
};

class FactWalk {
 public:
  FactWalk(const Graph& graph, const UseTable& uses) : graph_(graph), uses_(uses) {}

  std::vector<Fact> Run(TensorId start) {
    std::vector<TensorId> open{start};
    std::set<uint32_t> seen{start.value};
    constexpr size_t kMaxSeen = 64;
    while (!open.empty() && seen.size() < kMaxSeen) {
      const TensorId at = open.back();
      open.pop_back();
      const auto [begin, end] = uses_.of(at);
      for (const Use* use = begin; use != end; ++use) Visit(at, *use, open, seen);
    }
    return std::move(facts_);
  }

 private:
  void Visit(TensorId at, const Use& use, std::vector<TensorId>& open, std::set<uint32_t>& seen) {
    const Op& op = graph_.op(use.op);
    const std::string& type = graph_.type_of(op);
    if (const ReaderRow* row = FindReader(type, use.operand)) facts_.push_back({row, &op, at});
    if (!HandsOn(type, use.operand)) return;
    for (const TensorId result : op.outputs) {
      if (result.valid() && seen.insert(result.value).second) open.push_back(result);
    }
  }

  const Graph& graph_;
  const UseTable& uses_;
  std::vector<Fact> facts_;
};

int64_t DimOf(const Shape& shape, int64_t axis) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? shape[axis] : 1;
}

Distribution Normal(double mean, double deviation) {
  Distribution d;
  d.kind = Distribution::Kind::kNormal;
  d.mean = mean;
  d.deviation = deviation;
  return d;
}
Distribution Uniform(double low, double high) {
  Distribution d;
  d.low = low;
  d.high = high;
  return d;
}

// The largest position that the reader takes; nothing: it does not index.
std::optional<int64_t> LastIndex(const Graph& graph, const Fact& fact) {
  if (fact.op->inputs.size() <= static_cast<size_t>(fact.row->other)) return std::nullopt;
  const TensorId other = fact.op->inputs[fact.row->other];
  if (!other.valid()) return std::nullopt;
  const Shape& shape = graph.tensor(other).type.shape;
  switch (fact.row->reading) {
    case Reading::kIndex: {
      const bool is_loss = fact.row->op.ends_with("Loss");
      return DimOf(shape, is_loss ? 1 : fact.op->attributes->Int("axis", 0)) - 1;
    }
    case Reading::kIndexAny: {
      int64_t least = DimOf(shape, 0);
      const bool nd = fact.row->op.ends_with("ND");
      for (size_t d = 0; nd && d < shape.size(); ++d) least = std::min(least, shape[d]);
      return least - 1;
    }
    case Reading::kLength:
      return DimOf(shape, 2) - 1;
    default:
      return std::nullopt;
  }
}

double FanIn(const Graph& graph, const Fact& fact) {
  const Shape& shape = graph.tensor(fact.as).type.shape;
  if (shape.empty()) return 1;
  if (fact.row->reading == Reading::kConvolution) {
    double product = 1;
    for (size_t d = 1; d < shape.size(); ++d) product *= static_cast<double>(shape[d]);
    return product;
  }
  const std::vector<TensorId>& inputs = fact.op->inputs;
  const bool second = !inputs.empty() && std::find(inputs.begin() + 1, inputs.end(), fact.as) != inputs.end();
  const bool turned = fact.op->attributes->Int(second ? "transB" : "transA", 0) != 0;
  const bool last = fact.row->reading == Reading::kLinearByRow || second == turned;
  return static_cast<double>(DimOf(shape, last || shape.size() == 1 ? -1 : -2));
}

Distribution IntegerRole(const Graph& graph, const Tensor& tensor, const std::vector<Fact>& facts) {
  std::optional<int64_t> last;
  bool length = false;
  for (const Fact& fact : facts) {
    const std::optional<int64_t> index = LastIndex(graph, fact);
    if (!index) continue;
    last = std::min(last.value_or(*index), *index);
    length = length || fact.row->reading == Reading::kLength;
  }
  if (last && length) return Uniform(static_cast<double>(*last), static_cast<double>(*last));
  if (last) return Uniform(0, static_cast<double>(std::max<int64_t>(*last, 0)));
  if (tensor.role == TensorRole::kParameter && DTypeBits(tensor.type.dtype) <= 8) {  // quantised weights
    const int bits = DTypeBits(tensor.type.dtype);
    const double half = std::ldexp(1.0, bits - 1);
    return IsSigned(tensor.type.dtype) ? Uniform(-half, half - 1) : Uniform(0, 2 * half - 1);
  }
  return Uniform(1, 1);  // masks, counts
}

Distribution FloatRole(const Graph& graph, const Tensor& tensor, const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    switch (fact.row->reading) {
      case Reading::kScale:
        return Normal(1, 0.1);
      case Reading::kShift:
        return Normal(0, 0.1);
      case Reading::kVariance:
        return Uniform(0.5, 1.5);
      case Reading::kLinear:
      case Reading::kLinearByRow:
      case Reading::kConvolution:
        if (tensor.role == TensorRole::kParameter) {
          return Normal(0, 1 / std::sqrt(std::max(1.0, FanIn(graph, fact))));
        }
        break;
      case Reading::kTable:
        // A stack of matrices is picked from: weights as any.
        if (tensor.role == TensorRole::kParameter && tensor.type.rank() <= 2) return Normal(0, 0.5);
        break;
      default:
        break;
    }
  }
  if (tensor.name.find("mask") != std::string::npos) return Uniform(1, 1);
  if (tensor.role == TensorRole::kInput) return Normal(0, 1);
  const Shape& shape = tensor.part != nullptr ? tensor.part->type.shape : tensor.type.shape;  // parts as the whole
  if (shape.size() <= 1) return Normal(0, 0.1);
  return Normal(0, 1 / std::sqrt(std::max<double>(1.0, static_cast<double>(DimOf(shape, -1)))));
}

// A number that depends on all bits of both (the finaliser of splitmix64, Vigna 2015).
uint64_t Mix(uint64_t seed, uint64_t position) {
  uint64_t z = seed + (position + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}
double UnitOf(uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// Nearly normal, of mean 0 and deviation 1, within 3.47: the sum of four uniform numbers of 16 bits (Irwin and Hall).
// Exact in doubles, so that no library of mathematics decides a bit, and far cheaper than logarithms and cosines.
double NormalOf(uint64_t bits) {
  const uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return (static_cast<double>(sum) - 2 * 65535.0) * (std::numbers::sqrt3 / 65536.0);
}

double Draw(const Distribution& d, bool integral, uint64_t seed, uint64_t position) {
  const uint64_t bits = Mix(seed, position);
  if (integral) return d.low + std::floor(UnitOf(bits) * (d.high - d.low + 1));
  if (d.kind == Distribution::Kind::kUniform) return d.low + UnitOf(bits) * (d.high - d.low);
  return d.mean + d.deviation * NormalOf(bits);
}

}  // namespace

RoleFinder::RoleFinder(const Graph& graph) : graph_(graph), uses_(BuildUses(graph)) {}

Distribution RoleFinder::RoleOf(TensorId id) const {
  const Tensor& tensor = graph_.tensor(id);
  const std::vector<Fact> facts = FactWalk(graph_, uses_).Run(id);
  if (tensor.type.dtype == DType::kBool) return Uniform(1, 1);
  return IsInteger(tensor.type.dtype) ? IntegerRole(graph_, tensor, facts) : FloatRole(graph_, tensor, facts);
}

Status FillRandom(const Distribution& distribution, uint64_t seed, TensorView& view,
                  const std::function<bool()>& cancelled) {
  const bool integral = IsInteger(view.dtype) || view.dtype == DType::kBool;
  // Complex numbers: both parts, as reals of half the width.
  TensorView real = view;
  if (IsComplex(view.dtype)) {
    real.dtype = view.dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    real.shape.push_back(2);
  }
  const KernelRow* cast = FindKernel("Cast", DType::kF64);
  if (cast == nullptr || DTypeBits(view.dtype) == 0) {
    return RunFailed(StrCat("no random values of type ", DTypeName(view.dtype)));
  }
  Attributes attributes;
  attributes.Set("to", static_cast<int64_t>(real.dtype));
  constexpr int64_t kChunk = 1 << 14;  // a multiple of what shares a byte
  std::vector<double> values;
  Scratch scratch;
  const int64_t count = real.elements();
  for (int64_t at = 0; at < count; at += kChunk) {
    SBP_RETURN_IF_ERROR(RefuseCancelled(cancelled));
    const int64_t n = std::min(kChunk, count - at);
    values.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) values[i] = Draw(distribution, integral, seed, static_cast<uint64_t>(at + i));
    KernelCall call;
    call.op_type = "Cast";
    call.attributes = &attributes;
    call.inputs = {WholeView(DType::kF64, {n}, reinterpret_cast<std::byte*>(values.data()))};
    call.outputs = {WholeView(real.dtype, {n}, real.data + TensorView::StorageBytes(real.dtype, at))};
    call.scratch = &scratch;
    scratch.Reset();
    SBP_RETURN_IF_ERROR(cast->run(call));
  }
  return OkStatus();
}

}  // namespace sbp
