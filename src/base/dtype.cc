#include "base/dtype.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

namespace sbp {
namespace {

enum class Family : uint8_t { kNone, kFloat, kSigned, kUnsigned, kBool, kString, kComplex };

struct Row {
  DType type;
  std::string_view name;        // of our files
  std::string_view onnx_name;   // TensorProto.DataType
  std::string_view other_name;  // numpy's or ml_dtypes'
  int bits;
  Family family;
};

// Row i describes the type of numeric value i.
constexpr std::array<Row, 27> kRows = {{
    {DType::kUndefined, "undefined", "UNDEFINED", "", 0, Family::kNone},
    {DType::kF32, "f32", "FLOAT", "float32", 32, Family::kFloat},
    {DType::kU8, "u8", "UINT8", "uint8", 8, Family::kUnsigned},
    {DType::kI8, "i8", "INT8", "int8", 8, Family::kSigned},
    {DType::kU16, "u16", "UINT16", "uint16", 16, Family::kUnsigned},
    {DType::kI16, "i16", "INT16", "int16", 16, Family::kSigned},
    {DType::kI32, "i32", "INT32", "int32", 32, Family::kSigned},
    {DType::kI64, "i64", "INT64", "int64", 64, Family::kSigned},
    {DType::kString, "string", "STRING", "str", 0, Family::kString},
    {DType::kBool, "bool", "BOOL", "boolean", 8, Family::kBool},
    {DType::kF16, "f16", "FLOAT16", "half", 16, Family::kFloat},
    {DType::kF64, "f64", "DOUBLE", "float64", 64, Family::kFloat},
    {DType::kU32, "u32", "UINT32", "uint32", 32, Family::kUnsigned},
    {DType::kU64, "u64", "UINT64", "uint64", 64, Family::kUnsigned},
    {DType::kC64, "c64", "COMPLEX64", "complex64", 64, Family::kComplex},
    {DType::kC128, "c128", "COMPLEX128", "complex128", 128, Family::kComplex},
    {DType::kBF16, "bf16", "BFLOAT16", "bfloat16", 16, Family::kFloat},
    {DType::kF8E4M3FN, "f8e4m3fn", "FLOAT8E4M3FN", "float8_e4m3fn", 8, Family::kFloat},
    {DType::kF8E4M3FNUZ, "f8e4m3fnuz", "FLOAT8E4M3FNUZ", "float8_e4m3fnuz", 8, Family::kFloat},
    {DType::kF8E5M2, "f8e5m2", "FLOAT8E5M2", "float8_e5m2", 8, Family::kFloat},
    {DType::kF8E5M2FNUZ, "f8e5m2fnuz", "FLOAT8E5M2FNUZ", "float8_e5m2fnuz", 8, Family::kFloat},
    {DType::kU4, "u4", "UINT4", "uint4", 4, Family::kUnsigned},
    {DType::kI4, "i4", "INT4", "int4", 4, Family::kSigned},
    {DType::kF4E2M1, "f4e2m1", "FLOAT4E2M1", "float4_e2m1fn", 4, Family::kFloat},
    {DType::kF8E8M0, "f8e8m0", "FLOAT8E8M0", "float8_e8m0fnu", 8, Family::kFloat},
    {DType::kU2, "u2", "UINT2", "uint2", 2, Family::kUnsigned},
    {DType::kI2, "i2", "INT2", "int2", 2, Family::kSigned},
}};

constexpr bool RowsAreInOrder() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(RowsAreInOrder());

const Row& RowOf(DType type) {
  const size_t index = static_cast<size_t>(type);
  return kRows[index < kRows.size() ? index : 0];
}

// Of a float type: (2 - the last digit's step) times the highest power of two.
double HighestFloat(DType type) {
  switch (type) {
    case DType::kF64:
      return std::numeric_limits<double>::max();
    case DType::kF32:
      return std::numeric_limits<float>::max();
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return std::ldexp(2 - std::ldexp(1.0, -7), 127);
    case DType::kF8E4M3FN:
      return 448;
    case DType::kF8E4M3FNUZ:
      return 240;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 57344;
    case DType::kF4E2M1:
      return 6;
    case DType::kF8E8M0:
      return std::ldexp(1.0, 127);
    default:
      return 0;
  }
}

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::string_view DTypeName(DType type) { return RowOf(type).name; }

std::optional<DType> ParseDType(std::string_view name) {
  if (name.empty()) return std::nullopt;
  // The short names are unambiguous ignoring case; "float" is ONNX's name of f32.
  for (const Row& row : kRows) {
    for (std::string_view known : {row.name, row.onnx_name, row.other_name}) {
      if (!known.empty() && EqualIgnoringCase(name, known)) return row.type;
    }
  }
  return std::nullopt;
}

std::vector<std::string> DTypeNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if (row.type != DType::kUndefined) names.emplace_back(row.name);
  }
  return names;
}

int DTypeBits(DType type) { return RowOf(type).bits; }
bool IsFloat(DType type) { return RowOf(type).family == Family::kFloat; }
bool IsInteger(DType type) { return RowOf(type).family == Family::kSigned || RowOf(type).family == Family::kUnsigned; }
bool IsSmallInteger(DType type) { return IsInteger(type) && DTypeBits(type) <= 8; }
bool IsSigned(DType type) { return RowOf(type).family == Family::kSigned || IsFloat(type); }
bool IsStorageOnly(DType type) {
  return (IsFloat(type) && DTypeBits(type) <= 8) || (IsInteger(type) && DTypeBits(type) < 8);
}
bool IsComplex(DType type) { return RowOf(type).family == Family::kComplex; }

double HighestNumber(DType type) {
  const Row& row = RowOf(type);
  switch (row.family) {
    case Family::kBool:
      return 1;
    case Family::kSigned:
      return std::ldexp(1.0, row.bits - 1) - 1;
    case Family::kUnsigned:
      return std::ldexp(1.0, row.bits) - 1;
    case Family::kFloat:
      return HighestFloat(type);
    default:
      return 0;
  }
}

double LowestNumber(DType type) {
  const Family family = RowOf(type).family;
  if (type == DType::kF8E8M0) return std::ldexp(1.0, -127);  // powers of two only
  if (family == Family::kFloat) return -HighestNumber(type);
  return family == Family::kSigned ? -HighestNumber(type) - 1 : 0;
}

}  // namespace sbp
