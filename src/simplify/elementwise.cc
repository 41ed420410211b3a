#include "simplify/elementwise.h"

#include <set>

namespace sbp::simplify {

bool IsElementwise(std::string_view type) {
  static const std::set<std::string_view> kTypes = {
      "Abs",   "Add",  "And",       "Cast",        "Clip",      "Div",      "Elu",  "Equal",
      "Erf",   "Exp",  "Floor",     "Gelu",        "Greater",   "Less",     "Max",  "GreaterOrEqual",
      "Min",   "Mish", "HardSwish", "LessOrEqual", "LeakyRelu", "Mul",      "Neg",  "Not",
      "Or",    "Pow",  "Relu",      "Sigmoid",     "Silu",      "Softplus", "Sqrt", "Sub",
      "Swish", "Tanh", "Where"};
  return kTypes.contains(type);
}

}  // namespace sbp::simplify
