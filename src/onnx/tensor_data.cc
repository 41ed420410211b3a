// All values of a TensorProto, whatever list it keeps them in.
#include "graph/tensor_data.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "onnx/onnx_ir.pb.h"
#include "onnx/reader.h"
#include "onnx/tensor.h"

namespace sbp {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold little-endian values");

// One entry of a list per element, cut to the element's width.
template <typename List>
std::string Narrow(const List& list, size_t width) {
  std::string bytes(static_cast<size_t>(list.size()) * width, '\0');
  size_t at = 0;
  for (const auto entry : list) {
    std::memcpy(bytes.data() + at, &entry, width);
    at += width;
  }
  return bytes;
}

std::string ListBytes(const sbp_onnx::Tensor& tensor, DType dtype) {
  const auto width = static_cast<size_t>(DTypeBits(dtype) / 8);
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return Narrow(tensor.float_data(), sizeof(float));
    case DType::kF64:
    case DType::kC128:
      return Narrow(tensor.double_data(), sizeof(double));
    case DType::kI64:
      return Narrow(tensor.int64_data(), width);
    case DType::kU32:
    case DType::kU64:
      return Narrow(tensor.uint64_data(), width);
    default:
      return Narrow(tensor.int32_data(), width == 0 ? 1 : width);  // packed elements stand a byte in an entry
  }
}

Result<TensorData> DecodeData(const sbp_onnx::Tensor& tensor, std::string_view where) {
  TensorData data;
  data.name = tensor.name();
  auto dtype = onnx::DecodeDType(tensor.data_type());
  if (!dtype.ok()) return dtype.status().WithContext(where);
  data.type.dtype = *dtype;
  data.type.shape.assign(tensor.dims().begin(), tensor.dims().end());
  if (*dtype == DType::kString || *dtype == DType::kUndefined) {
    return BadInput(StrCat(where, ": a tensor of ", DTypeName(*dtype), "; expected numbers"));
  }
  if (tensor.data_location() == 1) return BadInput(StrCat(where, ": its values are in another file"));
  data.bytes = tensor.raw_data().empty() ? ListBytes(tensor, *dtype) : tensor.raw_data();
  if (!data.type.is_static() || static_cast<int64_t>(data.bytes.size()) != data.type.num_bytes()) {
    return BadInput(StrCat(where, ": ", data.bytes.size(), " bytes of values for ", ToString(data.type)));
  }
  return data;
}

// The name of an element type of SequenceProto and OptionalProto.
std::string_view ElementName(int32_t elem_type) {
  static constexpr std::string_view kNames[] = {"undefined", "tensor", "sparse tensor", "sequence", "map", "optional"};
  return elem_type >= 0 && elem_type < 6 ? kNames[elem_type] : "unknown";
}
constexpr int32_t kTensorElement = 1, kSequenceElement = 3;

Result<TensorData> DecodeSequence(const sbp_onnx::SequenceValue& sequence, std::string_view where) {
  if (sequence.elem_type() > kTensorElement) {
    return BadInput(StrCat(where, ": a sequence of ", ElementName(sequence.elem_type()), " values; expected tensors"));
  }
  std::vector<TensorData> entries;
  for (const sbp_onnx::Tensor& tensor : sequence.tensor_values()) {
    SBP_ASSIGN_OR_RETURN(TensorData entry, DecodeData(tensor, StrCat(where, ": entry ", entries.size())));
    entries.push_back(std::move(entry));
  }
  auto data = SequenceOf(sequence.name(), std::move(entries));
  if (!data.ok()) return data.status().WithContext(where);
  return data;
}

Result<TensorData> DecodeOptional(const sbp_onnx::OptionalValue& optional, std::string_view where) {
  TensorData data;
  if (optional.elem_type() == kTensorElement && optional.has_tensor_value()) {
    SBP_ASSIGN_OR_RETURN(TensorData entry, DecodeData(optional.tensor_value(), where));
    data.type = entry.type;
    data.entries.push_back(std::move(entry));
  } else if (optional.elem_type() == kSequenceElement && optional.has_sequence_value()) {
    SBP_ASSIGN_OR_RETURN(TensorData entry, DecodeSequence(optional.sequence_value(), where));
    data.type = entry.type;
    data.entries.push_back(std::move(entry));
  } else if (optional.elem_type() > kTensorElement && optional.elem_type() != kSequenceElement) {
    return BadInput(StrCat(where, ": an optional ", ElementName(optional.elem_type()),
                           " value; expected a tensor or a sequence of them"));
  }
  data.name = optional.name();
  data.type.kind = ValueKind::kOptional;
  return data;
}

template <typename Message>
Result<Message> Parse(std::string_view bytes, std::string_view where, std::string_view name) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadInput(StrCat(where, ": not a serialised ", name));
  }
  return message;
}

}  // namespace

Result<TensorData> ReadOnnxData(std::string_view bytes, std::string_view where, ValueKind kind) {
  if (kind == ValueKind::kSequence) {
    SBP_ASSIGN_OR_RETURN(const auto sequence, Parse<sbp_onnx::SequenceValue>(bytes, where, "SequenceProto"));
    return DecodeSequence(sequence, where);
  }
  if (kind == ValueKind::kOptional) {
    SBP_ASSIGN_OR_RETURN(const auto optional, Parse<sbp_onnx::OptionalValue>(bytes, where, "OptionalProto"));
    return DecodeOptional(optional, where);
  }
  if (kind == ValueKind::kMap) return BadInput(StrCat(where, ": a map; expected tensors"));
  SBP_ASSIGN_OR_RETURN(const auto tensor, Parse<sbp_onnx::Tensor>(bytes, where, "TensorProto"));
  return DecodeData(tensor, where);
}

}  // namespace sbp
