#include "grad/known_numbers.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {

std::optional<double> KnownNumbers::Find(TensorId id, int depth) {
  if (const auto it = values_.find(id); it != values_.end()) return it->second;
  const Tensor& tensor = graph_.tensor(id);
  std::optional<double> value;
  const Literal* literal = tensor.role == TensorRole::kInput ? Assumed(tensor) : tensor.literal.get();
  if (literal != nullptr && literal->type.num_elements() == 1) {
    if (!literal->ints.empty()) value = static_cast<double>(literal->ints[0]);
    if (!literal->floats.empty()) value = literal->floats[0];
  } else if (tensor.producer.valid() && depth < kDeepest && tensor.type.num_elements() == 1) {
    value = Compute(graph_.op(tensor.producer), tensor.type.dtype, depth);
  }
  return values_[id] = value;
}

const Literal* KnownNumbers::Assumed(const Tensor& input) const {
  const auto is_its = [&](const Assumption& assumption) { return assumption.input == input.name; };
  const auto found = std::ranges::find_if(graph_.assumptions, is_its);
  return found == graph_.assumptions.end() ? nullptr : found->value.get();
}

std::optional<double> KnownNumbers::Compute(const Op& op, DType type, int depth) {
  std::vector<double> x;
  const std::string name = graph_.type_of(op);
  const bool moves = name == "Reshape" || name == "Squeeze" || name == "Unsqueeze" || name == "Expand";
  for (size_t i = 0; i < (moves ? 1 : op.inputs.size()); ++i) {
    const std::optional<double> operand = op.inputs[i].valid() ? Find(op.inputs[i], depth + 1) : std::nullopt;
    if (!operand) return std::nullopt;
    x.push_back(*operand);
  }
  if (x.size() == 1) {
    if (moves || name == "Identity") return x[0];
    if (name == "Cast")
      return type == DType::kBool ? static_cast<double>(x[0] != 0) : IsFloat(type) ? x[0] : std::trunc(x[0]);
    if (name == "Not") return static_cast<double>(x[0] == 0);
    if (name == "Neg") return -x[0];
  }
  if (x.size() != 2) return std::nullopt;
  if (name == "Add") return x[0] + x[1];
  if (name == "Sub") return x[0] - x[1];
  if (name == "Mul") return x[0] * x[1];
  if (name == "And") return static_cast<double>(x[0] != 0 && x[1] != 0);
  if (name == "Or") return static_cast<double>(x[0] != 0 || x[1] != 0);
  if (name == "Less") return static_cast<double>(x[0] < x[1]);
  if (name == "LessOrEqual") return static_cast<double>(x[0] <= x[1]);
  if (name == "Greater") return static_cast<double>(x[0] > x[1]);
  if (name == "GreaterOrEqual") return static_cast<double>(x[0] >= x[1]);
  if (name == "Equal") return static_cast<double>(x[0] == x[1]);
  return std::nullopt;
}

}  // namespace sbp
