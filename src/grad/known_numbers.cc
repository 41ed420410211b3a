#include "grad/known_numbers.h"

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
  if (tensor.literal != nullptr && tensor.literal->type.num_elements() == 1) {
    const Literal& literal = *tensor.literal;
    if (!literal.ints.empty()) value = static_cast<double>(literal.ints[0]);
    if (!literal.floats.empty()) value = literal.floats[0];
  } else if (tensor.producer.valid() && depth < kDeepest && tensor.type.num_elements() == 1) {
    value = Compute(graph_.op(tensor.producer), tensor.type.dtype, depth);
  }
  return values_[id] = value;
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
