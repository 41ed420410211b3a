// Pins: layouts that the user fixed, by flag, by file or in the graph. io/ parses them; problem/ restricts candidates.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/ids.h"
#include "sbp/signature.h"

namespace sbp {

// Layouts that the user fixed. `text` is the pin as written, for messages and reasons.
struct TensorPin {
  NdSbp layout;
  std::string text;
};
struct SignaturePin {
  Signature signature;
  std::string text;
};
struct Pins {
  std::unordered_map<TensorId, TensorPin> tensors;  // what the producer writes
  std::unordered_map<uint64_t, TensorPin> uses;     // UseKey(op, operand): how one use wants it
  std::unordered_map<OpId, SignaturePin> signatures;
  bool empty() const { return tensors.empty() && uses.empty() && signatures.empty(); }
};
inline uint64_t UseKey(OpId op, size_t operand) { return (static_cast<uint64_t>(op.value) << 32) | operand; }

}  // namespace sbp
