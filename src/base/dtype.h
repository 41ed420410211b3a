// Element types: every type that ONNX names up to IR version 12, with its width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbp {

// The numeric value is ONNX's TensorProto.DataType (onnx.proto, IR version 12), so files need no translation table.
enum class DType : uint8_t {
  kUndefined = 0,
  kF32 = 1,
  kU8 = 2,
  kI8 = 3,
  kU16 = 4,
  kI16 = 5,
  kI32 = 6,
  kI64 = 7,
  kString = 8,
  kBool = 9,
  kF16 = 10,
  kF64 = 11,
  kU32 = 12,
  kU64 = 13,
  kC64 = 14,
  kC128 = 15,
  kBF16 = 16,
  kF8E4M3FN = 17,
  kF8E4M3FNUZ = 18,
  kF8E5M2 = 19,
  kF8E5M2FNUZ = 20,
  kU4 = 21,
  kI4 = 22,
  kF4E2M1 = 23,
  kF8E8M0 = 24,
  kU2 = 25,
  kI2 = 26,
};

// Short name used in files and messages: "f32", "bf16", "i64", "bool", "f8e4m3fn", "u4", ...
std::string_view DTypeName(DType type);
// Accepts the short name, ONNX's name ("FLOAT", "BFLOAT16") and the usual long ones ("float32", "int64").
std::optional<DType> ParseDType(std::string_view name);
// The short names of all types, for messages.
std::vector<std::string> DTypeNames();

// Bits of one element; 0 for strings and the undefined type. Elements of 4 and 2 bits are packed.
int DTypeBits(DType type);
bool IsFloat(DType type);         // f64 down to f4
bool IsInteger(DType type);       // signed and unsigned integers, not bool
bool IsSmallInteger(DType type);  // of at most 8 bits, as quantised tensors have
bool IsSigned(DType type);        // signed integers and floats
bool IsComplex(DType type);
bool IsStorageOnly(DType type);  // kept and cast, never computed with: floats of 8 and 4 bits, integers of 4 and 2
// The least and the greatest finite number of a type, as near as a double comes (i64 and u64 are rounded); 0 and 1 of
// bool, 0 of strings and complex types.
double LowestNumber(DType type);
double HighestNumber(DType type);

}  // namespace sbp
