#include "api/plan_inputs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/tensors.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "runtime/data/value.h"
#include "runtime/run/tensor_store.h"
#include "sbp/shard_math.h"

namespace sbp {

Status CheckAgainstAssumptions(const Graph& graph, const std::vector<TensorData>& given) {
  for (const Assumption& assumption : graph.assumptions) {
    const auto data = std::ranges::find(given, assumption.input, &TensorData::name);
    if (data == given.end()) continue;
    const LiteralRef value = SmallValue(*data);
    if (value != nullptr && Agrees(assumption, *value)) continue;
    const TensorType& wanted = assumption.value->type;
    const bool same_type = value != nullptr && value->type == wanted;
    const std::string found =
        same_type ? ToString(Assumption{assumption.input, value, assumption.elements}) : ToString(data->type);
    return BadInput(StrCat("--inputs: input ", Quote(assumption.input), " is ", found, "; the plan was made for ",
                           same_type ? "" : ToString(wanted) + " ", ToString(assumption),
                           ", which decided sizes or branches of its graph: plan again with these --inputs"));
  }
  return OkStatus();
}

namespace {

// The input that a tensor is, but for its shape; invalid: it is computed.
TensorId InputBehind(const Graph& graph, TensorId id) {
  constexpr std::string_view kKeeps[] = {"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  while (id.valid() && graph.tensor(id).producer.valid()) {
    const Op& op = graph.op(graph.tensor(id).producer);
    if (std::ranges::find(kKeeps, graph.type_of(op)) == std::end(kKeeps)) return {};
    id = op.inputs[0];
  }
  return id;
}

template <typename T>
Status CheckLabelsAs(const TensorData& data, int64_t classes, std::optional<int64_t> ignored) {
  const size_t count = data.bytes.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) {
    T label;
    std::memcpy(&label, data.bytes.data() + i * sizeof(T), sizeof(T));
    const auto value = static_cast<int64_t>(label);
    if ((value >= 0 && value < classes) || value == ignored) continue;
    return BadInput(
        StrCat("--inputs: ", Quote(data.name), ": label ", value, " of element ", i, " is no class; there are 0 to ",
               classes - 1,
               ignored ? StrCat(", and ", *ignored, " is ignored")
                       : StrCat(" (grad --loss cross-entropy:LOGITS,ignore=", value, " leaves such labels out)")));
  }
  return OkStatus();
}

}  // namespace

Status CheckLabels(const Graph& graph, const std::vector<TensorData>& given) {
  for (const Op& op : graph.ops) {
    const std::string& type = graph.type_of(op);
    if (type != "SoftmaxCrossEntropyLoss" && type != "NegativeLogLikelihoodLoss") continue;
    const TensorId labels = InputBehind(graph, op.inputs[1]);
    const Shape& scores = graph.tensor(op.inputs[0]).type.shape;
    if (!labels.valid() || scores.size() < 2) continue;
    const auto data = std::ranges::find(given, graph.tensor(labels).name, &TensorData::name);
    if (data == given.end()) continue;
    std::optional<int64_t> ignored;
    if (op.attributes->Find("ignore_index") != nullptr) ignored = op.attributes->Int("ignore_index", 0);
    Status status;
    if (data->type.dtype == DType::kI64) status = CheckLabelsAs<int64_t>(*data, scores[1], ignored);
    if (data->type.dtype == DType::kI32) status = CheckLabelsAs<int32_t>(*data, scores[1], ignored);
    SBP_RETURN_IF_ERROR(status);
  }
  return OkStatus();
}

Status CheckTypes(const Graph& graph, const std::vector<TensorData>& given) {
  TensorStore store(graph, graph, 0, nullptr);
  return store.Give(given).WithContext("--inputs");
}

Result<std::vector<TensorData>> AssumedInputs(const Graph& graph, const std::vector<TensorData>& given) {
  std::vector<TensorData> assumed;
  for (const Assumption& assumption : graph.assumptions) {
    if (std::ranges::find(given, assumption.input, &TensorData::name) != given.end()) continue;
    SBP_ASSIGN_OR_RETURN(const Value value, MakeTensor(*assumption.value));
    assumed.push_back(DataFromValue(assumption.input, value));
  }
  return assumed;
}

namespace {

template <typename T>
std::string BytesOfNumber(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

TensorData Zeros(const Tensor& tensor) {
  return {tensor.name, tensor.type, std::string(static_cast<size_t>(tensor.type.num_bytes()), '\0')};
}

}  // namespace

bool IsGiven(const std::vector<TensorData>& given, std::string_view name) {
  return std::ranges::any_of(given, [&](const TensorData& data) { return data.name == name; });
}

TensorData NumberFor(const Tensor& tensor, double value) {
  const TensorType i64 = {DType::kI64, {}}, i32 = {DType::kI32, {}}, f64 = {DType::kF64, {}};
  if (tensor.type.dtype == DType::kI64) return {tensor.name, i64, BytesOfNumber(static_cast<int64_t>(value))};
  if (tensor.type.dtype == DType::kI32) return {tensor.name, i32, BytesOfNumber(static_cast<int32_t>(value))};
  return {tensor.name, f64, BytesOfNumber(value)};
}

const Tensor* FindNumber(const Graph& graph, std::string_view name) {
  for (const TensorId id : graph.inputs) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.name == name && tensor.type.rank() == 0) return &tensor;
  }
  return nullptr;
}

std::vector<TensorData> FirstStates(const Graph& graph, const std::vector<TensorData>& given) {
  std::vector<TensorData> states;
  for (const Tie& tie : graph.ties) {
    const Tensor& input = graph.tensor(tie.input);
    if (input.role != TensorRole::kInput || input.type.kind != ValueKind::kTensor) continue;
    if (!IsGiven(given, input.name)) states.push_back(Zeros(input));
  }
  if (states.empty() && graph.ties.empty()) return states;
  for (const auto& [name, value] : {std::pair("step", 1.0), std::pair("lr", kDefaultRate)}) {
    const Tensor* input = FindNumber(graph, name);
    if (input != nullptr && !IsGiven(given, input->name)) states.push_back(NumberFor(*input, value));
  }
  return states;
}

}  // namespace sbp
