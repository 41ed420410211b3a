// Pins: layouts that the user fixed, by flag, by file or in the graph. io/ parses them; problem/ restricts candidates.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

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
// What one pin's text stands for.
struct PinMatch {
  std::string text, where;         // where: "--pin", or file:line
  int64_t count = 0;               // of tensors, or of ops
  bool of_ops = false;             // a signature, or one use
  std::vector<std::string> first;  // up to three, as reports call them
};
struct Pins {
  std::unordered_map<TensorId, TensorPin> tensors;  // what the producer writes
  std::unordered_map<uint64_t, TensorPin> uses;     // UseKey(op, operand): how one use wants it
  std::unordered_map<OpId, SignaturePin> signatures;
  std::vector<PinMatch> matches;      // of the texts, in their order
  std::vector<std::string> warnings;  // of what they match
  bool empty() const { return tensors.empty() && uses.empty() && signatures.empty(); }
};
inline uint64_t UseKey(OpId op, size_t operand) { return (static_cast<uint64_t>(op.value) << 32) | operand; }

}  // namespace sbp
