#include "torch/constant.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/dtype.h"

namespace sbp::torch {
namespace {

template <typename Element, typename List>
void Append(std::string_view bytes, List& list) {
  for (size_t at = 0; at + sizeof(Element) <= bytes.size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, bytes.data() + at, sizeof(Element));
    list.push_back(static_cast<typename List::value_type>(element));
  }
}

bool Decode(std::string_view bytes, Literal& out) {
  switch (out.type.dtype) {
    case DType::kBool:
    case DType::kU8:
      Append<uint8_t>(bytes, out.ints);
      return true;
    case DType::kI8:
      Append<int8_t>(bytes, out.ints);
      return true;
    case DType::kI16:
      Append<int16_t>(bytes, out.ints);
      return true;
    case DType::kI32:
      Append<int32_t>(bytes, out.ints);
      return true;
    case DType::kI64:
      Append<int64_t>(bytes, out.ints);
      return true;
    case DType::kF32:
      Append<float>(bytes, out.floats);
      return true;
    case DType::kF64:
      Append<double>(bytes, out.floats);
      return true;
    default:
      return false;
  }
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

LiteralRef SmallConstant(const TensorType& type, std::string_view bytes) {
  if (!type.is_static() || type.num_elements() > kMaxLiteralElements) return nullptr;
  if (static_cast<int64_t>(bytes.size()) != type.num_bytes()) return nullptr;
  auto literal = std::make_shared<Literal>();
  literal->type = type;
  if (!Decode(bytes, *literal)) return nullptr;
  return literal;
}

}  // namespace sbp::torch
