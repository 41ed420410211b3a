#include "onnx/tensor.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/text.h"
#include "graph/literal.h"
#include "graph/literal_bits.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "onnx/reader.h"
#include "onnx/wire.h"
#include "sbp/sbp.h"

namespace sbp {
namespace onnx {
namespace {

Status WrongLength(const TensorType& type, std::string_view list, int64_t expected, int64_t found) {
  return BadInput(
      StrCat("a constant of type ", ToString(type), " needs ", expected, " entries of ", list, ", and has ", found));
}

Status DecodeRaw(std::string_view raw, Literal& out) {
  const int64_t expected = out.type.num_bytes();
  if (static_cast<int64_t>(raw.size()) != expected) {
    return WrongLength(out.type, "raw_data (bytes)", expected, static_cast<int64_t>(raw.size()));
  }
  AppendElements(raw, out);
  return OkStatus();
}

// A list of numbers, one element an entry.
template <typename List>
Status DecodeList(const List& list, std::string_view name, Literal& out) {
  const int64_t count = out.type.num_elements();
  if (list.size() != count) return WrongLength(out.type, name, count, list.size());
  for (const auto entry : list) {
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(entry)>>) {
      out.floats.push_back(entry);
    } else {
      AppendElement(static_cast<uint64_t>(static_cast<int64_t>(entry)), out);
    }
  }
  return OkStatus();
}

// int32_data holds integers up to 32 bits, bools, the bit patterns of narrow floats, and packed elements a byte each.
Status DecodeInt32List(const sbp_onnx::Tensor& tensor, Literal& out) {
  const int bits = DTypeBits(out.type.dtype);
  if (bits >= 8) return DecodeList(tensor.int32_data(), "int32_data", out);
  const int64_t count = out.type.num_elements();
  const int64_t entries = CeilDiv(count * bits, 8);
  if (tensor.int32_data_size() != entries)
    return WrongLength(out.type, "int32_data", entries, tensor.int32_data_size());
  std::string raw;
  for (const int32_t entry : tensor.int32_data()) raw.push_back(static_cast<char>(entry));
  return DecodeRaw(raw, out);
}

// The parts of complex numbers, in pairs.
template <typename List>
Status DecodeComplex(const List& list, std::string_view name, Literal& out) {
  const int64_t entries = 2 * out.type.num_elements();
  if (list.size() != entries) return WrongLength(out.type, name, entries, list.size());
  out.raw.assign(reinterpret_cast<const char*>(list.data()), static_cast<size_t>(list.size()) * sizeof(*list.data()));
  return OkStatus();
}

Status DecodeValues(const sbp_onnx::Tensor& tensor, Literal& out) {
  if (!tensor.raw_data().empty()) return DecodeRaw(tensor.raw_data(), out);
  switch (out.type.dtype) {
    case DType::kF32:
      return DecodeList(tensor.float_data(), "float_data", out);
    case DType::kF64:
      return DecodeList(tensor.double_data(), "double_data", out);
    case DType::kI64:
      return DecodeList(tensor.int64_data(), "int64_data", out);
    case DType::kU32:
    case DType::kU64:
      return DecodeList(tensor.uint64_data(), "uint64_data", out);
    case DType::kC64:
      return DecodeComplex(tensor.float_data(), "float_data", out);
    case DType::kC128:
      return DecodeComplex(tensor.double_data(), "double_data", out);
    case DType::kString:
      if (tensor.string_data_size() != out.type.num_elements()) {
        return WrongLength(out.type, "string_data", out.type.num_elements(), tensor.string_data_size());
      }
      for (const std::string& text : tensor.string_data()) out.strings.push_back(text);
      return OkStatus();
    default:
      return DecodeInt32List(tensor, out);
  }
}

bool HasValues(const sbp_onnx::Tensor& tensor) {
  return !tensor.raw_data().empty() || tensor.float_data_size() > 0 || tensor.int32_data_size() > 0 ||
         tensor.string_data_size() > 0 || tensor.int64_data_size() > 0 || tensor.double_data_size() > 0 ||
         tensor.uint64_data_size() > 0;
}

Result<DataReference> ExternalReference(const sbp_onnx::Tensor& tensor) {
  DataReference reference;
  for (const sbp_onnx::Entry& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      reference.location = entry.value();
      continue;
    }
    if (entry.key() != "offset" && entry.key() != "length") continue;  // a checksum
    const std::optional<int64_t> number = ParseInt(entry.value());
    if (!number || *number < 0) {
      return BadInput(
          StrCat("external data: ", entry.key(), " is ", Quote(entry.value()), ", expected a number of bytes"));
    }
    (entry.key() == "offset" ? reference.offset : reference.length) = *number;
  }
  if (reference.location.empty()) return BadInput("external data without a location");
  return reference;
}

// Elements of fixed width, little-endian: what a DataReference can describe.
bool IsFixedWidth(int32_t field) { return field == 9 || field == 4 || field == 10; }

Result<TensorType> TypeOf(int32_t data_type, const google::protobuf::RepeatedField<int64_t>& dims) {
  TensorType type;
  SBP_ASSIGN_OR_RETURN(type.dtype, DecodeDType(data_type));
  if (type.dtype == DType::kUndefined) return BadInput("a constant without an element type");
  if (dims.size() > kMaxRank) return BadInput(StrCat("a constant of rank ", dims.size(), "; at most ", kMaxRank));
  for (const int64_t size : dims) {
    if (size < 0) return BadInput(StrCat("a constant with a dimension of size ", size));
    type.shape.push_back(size);
  }
  if (type.num_elements() == kInt64Max || type.num_bytes() == kInt64Max) {
    return BadInput(StrCat("a constant of type ", ToString(type), " is too large"));
  }
  return type;
}

}  // namespace

Result<DType> DecodeDType(int32_t number) {
  if (number < 0 || number > static_cast<int32_t>(DType::kI2)) {
    return BadInput(
        StrCat("element type ", number, " is unknown; the largest known is ", static_cast<int>(DType::kI2)));
  }
  return static_cast<DType>(number);
}

Result<Constant> DecodeTensor(const sbp_onnx::Tensor& tensor, std::string_view file) {
  Constant constant;
  SBP_ASSIGN_OR_RETURN(constant.type, TypeOf(tensor.data_type(), tensor.dims()));
  const int64_t count = constant.type.num_elements();
  if (tensor.data_location() == 1) {
    SBP_ASSIGN_OR_RETURN(constant.data, ExternalReference(tensor));
    return constant;
  }
  if (tensor.has_left_in_file()) {
    const sbp_onnx::Tensor::LeftInFile& left = tensor.left_in_file();
    if (left.offset() < 0 || left.length() < 0 || left.length() > static_cast<int64_t>(file.size()) ||
        left.offset() > static_cast<int64_t>(file.size()) - left.length()) {
      return BadInput("a constant refers to bytes outside the file");
    }
    if (count <= kMaxLiteralElements) {
      std::string restored;
      AppendBytesField(static_cast<uint32_t>(left.field()),
                       file.substr(static_cast<size_t>(left.offset()), static_cast<size_t>(left.length())), restored);
      sbp_onnx::Tensor whole = tensor;
      whole.clear_left_in_file();
      if (!whole.MergeFromString(restored)) return BadInput("a constant with malformed data");
      return DecodeTensor(whole, file);
    }
    if (IsFixedWidth(left.field())) {
      if (left.length() != constant.type.num_bytes()) {
        return WrongLength(constant.type, "data (bytes)", constant.type.num_bytes(), left.length());
      }
      constant.data = DataReference{"", left.offset(), left.length()};
    }
    return constant;
  }
  if (count > kMaxLiteralElements || (count > 0 && !HasValues(tensor))) return constant;
  auto literal = std::make_shared<Literal>();
  literal->type = constant.type;
  SBP_RETURN_IF_ERROR(DecodeValues(tensor, *literal));
  constant.literal = std::move(literal);
  return constant;
}

Status ReadExternal(const ExternalReader& external, Constant& constant) {
  if (!external || !constant.data || constant.data->location.empty() || constant.literal != nullptr) return OkStatus();
  const TensorType& type = constant.type;
  const int64_t bytes = type.num_bytes();
  if (type.num_elements() > kMaxExternalElements || (constant.data->length >= 0 && constant.data->length != bytes))
    return OkStatus();
  auto literal = std::make_shared<Literal>();
  literal->type = type;
  if (!literal->is_integral() && !IsFloat(type.dtype)) return OkStatus();
  const std::optional<std::string> raw = external(*constant.data, bytes);
  if (!raw) return OkStatus();
  SBP_RETURN_IF_ERROR(DecodeRaw(*raw, *literal));
  constant.literal = std::move(literal);
  return OkStatus();
}

Result<std::optional<StridedInts>> StridesOfLarge(const Tensor& constant, std::string_view file,
                                                  const ExternalReader& external) {
  const TensorType& type = constant.type;
  const bool counts = type.dtype == DType::kI64 || type.dtype == DType::kI32;
  if (!counts || constant.literal != nullptr || !constant.data || type.num_elements() > kMaxStridedElements)
    return std::optional<StridedInts>();
  const int64_t bytes = type.num_bytes();
  std::optional<std::string> raw;
  if (constant.data->location.empty()) {
    raw = std::string(file.substr(static_cast<size_t>(constant.data->offset), static_cast<size_t>(bytes)));
  } else if (external && (constant.data->length < 0 || constant.data->length == bytes)) {
    raw = external(*constant.data, bytes);
  }
  if (!raw) return std::optional<StridedInts>();
  Literal values;
  values.type = type;
  SBP_RETURN_IF_ERROR(DecodeRaw(*raw, values));
  return FindStrides(type.shape, values.ints);
}

Result<Constant> DecodeSparse(const sbp_onnx::SparseTensor& sparse, std::string_view file) {
  Constant constant;
  SBP_ASSIGN_OR_RETURN(constant.type, TypeOf(sparse.values().data_type(), sparse.dims()));
  const int64_t count = constant.type.num_elements();
  if (count > kMaxLiteralElements) return constant;  // a dense view of it is a large constant without a place
  SBP_ASSIGN_OR_RETURN(const Constant values, DecodeTensor(sparse.values(), file));
  SBP_ASSIGN_OR_RETURN(const Constant indices, DecodeTensor(sparse.indices(), file));
  if (values.literal == nullptr || indices.literal == nullptr) return constant;
  const int64_t stored = values.type.num_elements();
  const bool linear = indices.type.rank() == 1;
  const int64_t rank = constant.type.rank();
  if (indices.type.dtype != DType::kI64 || indices.type.num_elements() != (linear ? stored : stored * rank)) {
    return BadInput(StrCat("a sparse constant with ", stored, " values has indices of type ", ToString(indices.type)));
  }
  auto literal = std::make_shared<Literal>();
  literal->type = constant.type;
  literal->sparse = true;
  const auto n = static_cast<size_t>(count);
  if (literal->is_integral())
    literal->ints.resize(n);
  else if (IsFloat(constant.type.dtype))
    literal->floats.resize(n);
  else
    return constant;
  for (int64_t i = 0; i < stored; ++i) {
    int64_t position = 0;
    if (linear) {
      position = indices.literal->ints[static_cast<size_t>(i)];
    } else {
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t index = indices.literal->ints[static_cast<size_t>(i * rank + d)];
        const int64_t size = constant.type.shape[static_cast<size_t>(d)];
        if (index < 0 || index >= size) return BadInput(StrCat("a sparse constant with index ", index, " of ", size));
        position = position * size + index;
      }
    }
    if (position < 0 || position >= count)
      return BadInput(StrCat("a sparse constant with index ", position, " of ", count));
    const auto at = static_cast<size_t>(position);
    const auto from = static_cast<size_t>(i);
    if (literal->is_integral())
      literal->ints[at] = values.literal->ints[from];
    else
      literal->floats[at] = values.literal->floats[from];
  }
  constant.literal = std::move(literal);
  return constant;
}

Result<StatedType> DecodeType(const sbp_onnx::Type& type) {
  // The element of a sequence of optional tensors is the innermost tensor; the outermost word gives the kind.
  StatedType stated;
  stated.type.has_rank = false;
  const sbp_onnx::Type* inner = &type;
  bool sequence = false;
  for (bool outermost = true;; outermost = false) {
    ValueKind kind = ValueKind::kTensor;
    if (inner->has_sequence_type()) {
      kind = ValueKind::kSequence;
      sequence = true;
    } else if (inner->has_optional_type()) {
      kind = ValueKind::kOptional;
    } else if (inner->has_map_type()) {
      kind = ValueKind::kMap;
    }
    if (outermost) stated.type.kind = kind;
    if (kind == ValueKind::kTensor) break;
    inner = kind == ValueKind::kSequence ? &inner->sequence_type().elem_type()
                                         : (kind == ValueKind::kOptional ? &inner->optional_type().elem_type()
                                                                         : &inner->map_type().value_type());
  }
  if (!inner->has_tensor_type() && !inner->has_sparse_tensor_type()) return stated;
  const sbp_onnx::Type::Tensor& tensor = inner->has_tensor_type() ? inner->tensor_type() : inner->sparse_tensor_type();
  SBP_ASSIGN_OR_RETURN(stated.type.dtype, DecodeDType(tensor.elem_type()));
  if (!tensor.has_shape()) return stated;
  stated.type.has_rank = true;
  if (tensor.shape().dim_size() > kMaxRank) {
    return BadInput(StrCat("a type of rank ", tensor.shape().dim_size(), "; at most ", kMaxRank));
  }
  bool any_symbol = false;
  if (sequence) {  // stacked: the number of tensors comes first
    any_symbol = true;
    stated.type.shape.push_back(kUnknownDim);
    stated.symbols.emplace_back("?");
  }
  for (const sbp_onnx::TensorShape::Dimension& dim : tensor.shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      stated.type.shape.push_back(dim.dim_value());
      stated.symbols.emplace_back();
      continue;
    }
    any_symbol = true;
    const std::string_view name = Trim(dim.dim_param());
    stated.type.shape.push_back(kUnknownDim);
    stated.symbols.emplace_back(name.empty() || name == "-1" ? "?" : name);
  }
  if (!any_symbol) stated.symbols.clear();
  return stated;
}

}  // namespace onnx

Result<Literal> ReadOnnxTensor(std::string_view bytes, std::string_view where) {
  sbp_onnx::Tensor tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT32_MAX)))) {
    return BadInput(StrCat(where, ": not an ONNX tensor"));
  }
  Result<onnx::Constant> constant = onnx::DecodeTensor(tensor, bytes);
  if (!constant.ok()) return constant.status().WithContext(where);
  if (constant->literal == nullptr) {
    Literal typed;
    typed.type = constant->type;
    return typed;
  }
  return *constant->literal;
}

}  // namespace sbp
