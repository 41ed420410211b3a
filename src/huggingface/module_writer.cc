#include "huggingface/module_writer.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "graph/tensor_type.h"

namespace sbp::huggingface {
namespace {

std::string ListText(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += StrCat(text.empty() ? "" : ",", value);
  return text;
}

}  // namespace

std::string ModuleWriter::Parameter(std::string_view name, Shape shape) {
  return Parameter(name, std::move(shape), dtype_);
}

std::string ModuleWriter::Parameter(std::string_view name, Shape shape, DType dtype) {
  std::string full = scope_.empty() ? std::string(name) : StrCat(scope_, "/", name);
  std::ranges::replace(full, '/', '.');
  if (known_.insert(full).second) builder_.AddParameter(full, {dtype, std::move(shape)});
  return full;
}

std::string ModuleWriter::Ints(std::vector<int64_t> values) {
  std::string name = StrCat("constant/[", ListText(values), "]");
  if (!known_.insert(name).second) return name;
  Literal literal = Literal::Ints(std::move(values));
  const TensorType type = literal.type;
  builder_.AddParameter(name, type, std::make_shared<const Literal>(std::move(literal)));
  return name;
}

std::string ModuleWriter::Int(int64_t value) {
  std::string name = StrCat("constant/", value);
  if (!known_.insert(name).second) return name;
  builder_.AddParameter(name, {DType::kI64, {}}, std::make_shared<const Literal>(Literal::Scalar(value)));
  return name;
}

std::string ModuleWriter::Number(double value, DType dtype) {
  std::string name = StrCat("constant/", DTypeName(dtype), "/", FormatDouble(value));
  if (!known_.insert(name).second) return name;
  builder_.AddParameter(name, {dtype, {}}, std::make_shared<const Literal>(Literal::Float(value, dtype)));
  return name;
}

std::string ModuleWriter::Floats(std::string_view name, const std::vector<float>& values) {
  std::string full = StrCat(scope_, "/", name);
  std::ranges::replace(full, '/', '.');
  Literal literal{.type = {DType::kF32, {static_cast<int64_t>(values.size())}}};
  literal.floats.assign(values.begin(), values.end());
  const TensorType type = literal.type;
  builder_.AddParameter(full, type, std::make_shared<const Literal>(std::move(literal)));
  return full;
}

std::string ModuleWriter::Op(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
                             const AttributeList& attributes) {
  return Ops(type, name, inputs, 1, attributes).front();
}

std::vector<std::string> ModuleWriter::Ops(std::string_view type, std::string_view name,
                                           const std::vector<std::string>& inputs, size_t results,
                                           const AttributeList& attributes) {
  const std::string full = StrCat(scope_, "/", name);
  std::vector<std::string> outputs;
  for (size_t i = 0; i < results; ++i) outputs.push_back(i == 0 ? full + "_out" : StrCat(full, "_out_", i));
  Attributes set;
  for (const auto& [key, value] : attributes) set.Set(key, value);
  builder_.AddOp(type, full, inputs, outputs, std::move(set), scope_);
  return outputs;
}

void ModuleWriter::Output(std::string_view type, std::string_view name, const std::vector<std::string>& inputs,
                          const std::string& result) {
  builder_.AddOp(type, StrCat(scope_, "/", name), inputs, {result}, {}, scope_);
  builder_.AddOutput(result);
}

std::string ModuleWriter::Reshaped(std::string_view name, const std::string& x, std::vector<int64_t> shape) {
  return Op("Reshape", name, {x, Ints(std::move(shape))});
}

std::string ModuleWriter::CastTo(std::string_view name, const std::string& x, DType dtype) {
  return Op("Cast", name, {x}, {{"to", static_cast<int64_t>(dtype)}});
}

std::string ModuleWriter::Transposed(std::string_view name, const std::string& x, std::vector<int64_t> order) {
  return Op("Transpose", name, {x}, {{"perm", std::move(order)}});
}

std::string ModuleWriter::Linear(const std::string& name, const std::string& x, int64_t from, int64_t to, bool bias) {
  const std::string outer = scope_;
  Enter(StrCat(outer, "/", name));
  const std::string weight = Transposed("t", Parameter("weight", {to, from}), {1, 0});
  std::string y = Op("MatMul", "linear", {x, weight});
  if (bias) y = Op("Add", "add", {y, Parameter("bias", {to})});
  Enter(outer);
  return y;
}

}  // namespace sbp::huggingface
