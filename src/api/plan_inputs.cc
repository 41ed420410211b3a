#include "api/plan_inputs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "api/tensors.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "runtime/data/value.h"
#include "runtime/run/tensor_store.h"

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
