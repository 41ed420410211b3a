#include "grad/trainable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/producers.h"

namespace sbp {
namespace {

constexpr double kMaskedOut = 1e9;

// Ops that hand angles on: a table that is only scaled and arranged before a sine is no weight. A product of matrices
// is one only of positions, not of data.
constexpr std::array<std::string_view, 10> kArranges = {"Cast",    "Concat", "Expand",  "Identity",  "Mul",
                                                        "Reshape", "Slice",  "Squeeze", "Transpose", "Unsqueeze"};
constexpr std::array<std::string_view, 2> kProducts = {"Einsum", "MatMul"};

bool IsMask(const Tensor& tensor) {
  return tensor.literal != nullptr &&
         std::ranges::any_of(tensor.literal->floats, [](double value) { return std::abs(value) >= kMaskedOut; });
}

// Rows (of the last dimension) in equal steps that are not 0. Shorter ones may be weights that somebody wrote by hand.
constexpr size_t kLeastPositions = 8;
bool IsPositions(const Tensor& tensor) {
  if (tensor.literal == nullptr || tensor.type.rank() == 0) return false;
  const std::vector<double>& values = tensor.literal->floats;
  const auto length = static_cast<size_t>(tensor.type.shape.back());
  if (length < kLeastPositions || values.empty() || values.size() % length != 0) return false;
  constexpr double kRounding = 1e-5;  // of f32, over the row's largest
  for (size_t row = 0; row < values.size(); row += length) {
    const double step = values[row + 1] - values[row];
    const double largest = std::max(std::abs(values[row]), std::abs(values[row + length - 1]));
    if (std::abs(step) <= kRounding * largest) return false;
    for (size_t i = row + 2; i < row + length; ++i) {
      if (!(std::abs(values[i] - values[i - 1] - step) <= kRounding * largest)) return false;
    }
  }
  return true;
}

// One that torch's dynamo exporter made of a constant of the program.
bool IsUnnamedNumber(const Tensor& tensor) {
  constexpr std::string_view kUnnamed = "val_";
  const std::string& name = tensor.name;
  return tensor.type.num_elements() == 1 && name.starts_with(kUnnamed) && name.size() > kUnnamed.size() &&
         std::all_of(name.begin() + kUnnamed.size(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Positions and other numbers that are only ever read together, by ops of nothing else: a model would have folded
// weights that meet no data.
std::vector<bool> FindPositions(const Graph& graph) {
  std::vector<bool> number(graph.tensors.size(), false), positions(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    number[t] = tensor.role == TensorRole::kParameter && tensor.literal != nullptr && IsFloat(tensor.type.dtype);
    positions[t] = number[t] && IsPositions(tensor);
  }
  std::vector<bool> together(graph.tensors.size(), false), otherwise(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    const auto is = [](const std::vector<bool>& what) {
      return [&what](TensorId id) { return id.valid() && what[id.index()]; };
    };
    const bool meets = op.captures.empty() && op.inputs.size() > 1 && std::ranges::all_of(op.inputs, is(number)) &&
                       std::ranges::any_of(op.inputs, is(positions));
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId id : *list) {
        if (id.valid()) (meets ? together : otherwise)[id.index()] = true;
      }
    }
  }
  for (const TensorId id : graph.outputs) otherwise[id.index()] = true;
  for (size_t t = 0; t < positions.size(); ++t) positions[t] = number[t] && together[t] && !otherwise[t];
  return positions;
}

template <size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Tensors that are computed from inputs of float type.
std::vector<bool> FindData(const Graph& graph) {
  std::vector<bool> data(graph.tensors.size(), false);
  for (const TensorId id : graph.inputs) data[id.index()] = IsFloat(graph.tensor(id).type.dtype);
  for (const Op& op : graph.ops) {
    const bool reads = std::ranges::any_of(op.inputs, [&](TensorId id) { return id.valid() && data[id.index()]; });
    for (const TensorId id : op.outputs) {
      if (id.valid()) data[id.index()] = reads;
    }
  }
  return data;
}

// Tensors all of whose readers, however far behind, are sines and cosines.
std::vector<bool> FindAngles(const Graph& graph) {
  const std::vector<bool> data = FindData(graph);
  std::vector<bool> read(graph.tensors.size(), false), otherwise(graph.tensors.size(), false);
  for (const TensorId id : graph.outputs) otherwise[id.index()] = true;
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    const std::string& type = graph.type_of(op);
    const bool of_data = std::ranges::any_of(op.inputs, [&](TensorId id) { return id.valid() && data[id.index()]; });
    const bool arranges = IsOneOf(kArranges, type) || (IsOneOf(kProducts, type) && !of_data);
    const bool leads_on = arranges && std::ranges::all_of(op.outputs, [&](TensorId id) {
                            return id.valid() && read[id.index()] && !otherwise[id.index()];
                          });
    const bool angle = type == "Sin" || type == "Cos" || leads_on;
    for (const auto* list : {&op.inputs, &op.captures}) {
      for (const TensorId id : *list) {
        if (!id.valid()) continue;
        read[id.index()] = true;
        if (!angle) otherwise[id.index()] = true;
      }
    }
  }
  for (size_t t = 0; t < read.size(); ++t) read[t] = read[t] && !otherwise[t];
  return read;
}

}  // namespace

std::vector<bool> FindTrainable(const Graph& graph, const RuleSet& rules) {
  const std::vector<bool> angles = FindAngles(graph), positions = FindPositions(graph);
  const std::vector<bool> buffers = FindBuffers(graph);
  std::vector<bool> trainable(graph.tensors.size(), false);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    trainable[t] = !buffers[t] && tensor.role == TensorRole::kParameter && IsFloat(tensor.type.dtype) &&
                   tensor.type.rank() > 0 && !angles[t] && !positions[t] && !IsMask(tensor) && !IsUnnamedNumber(tensor);
  }
  for (const Op& op : graph.ops) {
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const bool is_known = op.inputs[i].valid() && graph.tensor(op.inputs[i]).literal != nullptr;
      if (is_known && rules.ValueDecidesForm(graph.type_of(op), i)) trainable[op.inputs[i].index()] = false;
    }
    if (graph.type_of(op) != "BatchNormalization") continue;
    for (size_t i = 3; i < op.inputs.size() && i < 5; ++i) {  // mean, variance
      if (op.inputs[i].valid()) trainable[op.inputs[i].index()] = false;
    }
  }
  return trainable;
}

}  // namespace sbp
