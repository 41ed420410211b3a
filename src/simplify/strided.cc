#include "simplify/strided.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int kDeepest = 8;  // ops above one another

using Strides = std::optional<StridedInts>;

int64_t Sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t Product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
StridedInts Times(StridedInts ints, int64_t factor) {
  ints.offset = Product(ints.offset, factor);
  for (int64_t& stride : ints.strides) stride = Product(stride, factor);
  return ints;
}

class StridesReader {
 public:
  explicit StridesReader(const Graph& graph) : graph_(graph) {}

  Strides Of(TensorId id, int depth) const {
    if (!id.valid() || depth > kDeepest) return std::nullopt;
    const Tensor& tensor = graph_.tensor(id);
    const TensorType& type = tensor.type;
    const bool counts = type.dtype == DType::kI64 || type.dtype == DType::kI32;
    if (!counts || type.kind != ValueKind::kTensor || !type.is_static() || type.num_elements() == 0)
      return std::nullopt;
    if (tensor.role == TensorRole::kParameter) {  // what is written has a literal as an assumption at times
      if (tensor.literal != nullptr) return FindStrides(type.shape, tensor.literal->ints);
      return tensor.strided != nullptr ? Strides(*tensor.strided) : std::nullopt;
    }
    if (!tensor.producer.valid()) return std::nullopt;
    const Op& op = graph_.op(tensor.producer);
    const auto row = std::ranges::find(kRows, std::string_view(graph_.type_of(op)), &Row::op);
    return row == std::end(kRows) ? std::nullopt : (this->*row->read)(op, depth + 1);
  }

 private:
  struct Row {
    std::string_view op;
    Strides (StridesReader::*read)(const Op&, int) const;
  };
  static const Row kRows[9];

  const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).type.shape; }
  const Shape& Out(const Op& op) const { return ShapeOf(op.outputs[0]); }

  // As ONNX broadcasts: a dimension of size 1 repeats.
  Strides Broadcast(const Op& op, size_t operand, int depth) const {
    Strides ints = operand < op.inputs.size() ? Of(op.inputs[operand], depth) : std::nullopt;
    if (!ints || ints->strides.size() > Out(op).size()) return std::nullopt;
    ints->strides.insert(ints->strides.begin(), Out(op).size() - ints->strides.size(), 0);
    return ints;
  }

  template <int sign>
  Strides Added(const Op& op, int depth) const {
    Strides a = Broadcast(op, 0, depth);
    const Strides b = Broadcast(op, 1, depth);
    if (!a || !b) return std::nullopt;
    a->offset = Sum(a->offset, Product(sign, b->offset));
    for (size_t d = 0; d < a->strides.size(); ++d) a->strides[d] = Sum(a->strides[d], Product(sign, b->strides[d]));
    return a;
  }

  Strides Multiplied(const Op& op, int depth) const {
    const Strides a = Broadcast(op, 0, depth), b = Broadcast(op, 1, depth);
    if (!a || !b) return std::nullopt;
    const auto is_number = [](const StridedInts& ints) {
      return std::ranges::all_of(ints.strides, [](int64_t stride) { return stride == 0; });
    };
    if (is_number(*b)) return Times(*a, b->offset);
    if (is_number(*a)) return Times(*b, a->offset);
    return std::nullopt;
  }

  // Dimensions of size 1 come and go; the others stay.
  Strides Reshaped(const Op& op, int depth) const {
    const Strides ints = op.inputs.empty() ? std::nullopt : Of(op.inputs[0], depth);
    if (!ints) return std::nullopt;
    const Shape &in = ShapeOf(op.inputs[0]), &out = Out(op);
    StridedInts result{ints->offset, std::vector<int64_t>(out.size(), 0)};
    size_t next = 0;
    for (size_t d = 0; d < out.size(); ++d) {
      if (out[d] == 1) continue;
      while (next < in.size() && in[next] == 1) ++next;
      if (next == in.size() || in[next] != out[d]) return std::nullopt;
      result.strides[d] = ints->strides[next++];
    }
    return result;
  }

  Strides Expanded(const Op& op, int depth) const { return Broadcast(op, 0, depth); }

  Strides Counted(const Op& op, int depth) const {
    const Strides start = op.inputs.size() == 3 ? Of(op.inputs[0], depth) : std::nullopt;
    const Strides step = op.inputs.size() == 3 ? Of(op.inputs[2], depth) : std::nullopt;
    if (!start || !step || Out(op).size() != 1) return std::nullopt;
    return StridedInts{start->offset, {Out(op)[0] > 1 ? step->offset : 0}};
  }

  const Graph& graph_;
};

const StridesReader::Row StridesReader::kRows[9] = {
    {"Add", &StridesReader::Added<1>},       {"Expand", &StridesReader::Expanded},
    {"Identity", &StridesReader::Reshaped},  {"Mul", &StridesReader::Multiplied},
    {"Range", &StridesReader::Counted},      {"Reshape", &StridesReader::Reshaped},
    {"Squeeze", &StridesReader::Reshaped},   {"Sub", &StridesReader::Added<-1>},
    {"Unsqueeze", &StridesReader::Reshaped},
};

}  // namespace

std::optional<StridedInts> StridesOf(const Graph& graph, TensorId tensor) { return StridesReader(graph).Of(tensor, 0); }

}  // namespace sbp
