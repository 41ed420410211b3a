#include "torch/constant.h"

#include <cstdint>
#include <memory>

#include "base/dtype.h"
#include "graph/literal_bits.h"

namespace sbp::torch {

LiteralRef SmallConstant(const TensorType& type, std::string_view bytes) {
  if (!type.is_static() || type.num_elements() > kMaxLiteralElements) return nullptr;
  if (IsComplex(type.dtype) || static_cast<int64_t>(bytes.size()) != type.num_bytes()) return nullptr;
  auto literal = std::make_shared<Literal>();
  literal->type = type;
  AppendElements(bytes, *literal);
  return literal;
}

}  // namespace sbp::torch
