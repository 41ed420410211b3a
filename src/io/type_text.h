// Tensor types as documents spell them: ToString's form, with symbols in the place of dimensions.
//   f32[batch,16]            batch is a symbol
//   f32[past_seq + 1,?]      an expression; a dimension of which nothing is known
//   f32[batch=8,16]          a symbol that is bound to 8
//   f32['odd, name',16]      quoted where the text would be taken for something else ('' and \ are escaped by \)
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"

namespace sbp {

struct SymbolicType {
  TensorType type;
  std::vector<std::string> symbols;  // one per dimension, "" for none; or empty
};

std::string FormatTypeText(const TensorType& type, const std::vector<std::string>& symbols);
// Error: what was found and expected; rank above kMaxRank; a negative dimension.
Result<SymbolicType> ParseTypeText(std::string_view text);

// The two directions with memory: graphs have many tensors and few types.
class TypeWriter {
 public:
  const std::string& Format(const TensorType& type, const std::vector<std::string>& symbols);

 private:
  std::unordered_map<TensorType, std::string> texts_;
  std::string scratch_;
};
class TypeReader {
 public:
  // Null with `error` set on failure; else valid until the next call.
  const SymbolicType* Parse(const std::string& text, Status& error);

 private:
  std::unordered_map<std::string, SymbolicType> types_;
};

}  // namespace sbp
