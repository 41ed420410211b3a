// All values of a TensorProto, whatever list it keeps them in.
#include <bit>
#include <cstring>

#include "base/text.h"
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

}  // namespace

Result<TensorData> ReadOnnxTensorData(std::string_view bytes, std::string_view where) {
  sbp_onnx::Tensor tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return BadInput(StrCat(where, ": not a serialised TensorProto"));
  }
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

}  // namespace sbp
