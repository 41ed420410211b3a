// What operands of ops are in a module's own words: "weight", "bias", "scale". Facts, as a table; used for parameters
// whose exporter named them val_76.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sbp {

// The role of operand `operand` of an op of `type` ("Gemm" 1 is "weight"), in whatever domain; "" where the table says
// nothing.
std::string_view OperandRole(std::string_view type, size_t operand);

// What an op's type means for the names of what it reads.
enum class NamingKind {
  kReader,   // gives a name
  kPasses,   // operand 0 in another form: its reader's name is what counts (Transpose, Cast, DequantizeLinear)
  kIgnores,  // reads no values (Shape)
};
NamingKind NamingKindOf(std::string_view type);
// Operands of a kPasses op that go with operand 0 have roles of their own ("scale"); they too follow to the reader.

// Is `level` the name of an op rather than of a module: "MatMul", "BiasAdd", "Conv2D"?
bool IsOpLike(std::string_view level);

// One word for one thing: "kernel", "qweight" and "w_0" are "weight", "scales" is "scale"; others as they are.
std::string CanonicalRole(std::string_view role);
// Is it one of the words that the above knows, so that the level before it is a module?
bool IsRole(std::string_view word);

// "com.microsoft::MatMulNBits" -> "MatMulNBits".
std::string_view Unqualified(std::string_view type);

}  // namespace sbp
