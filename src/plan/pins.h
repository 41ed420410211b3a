// Pins: layouts that the user fixed, by flag, by file or in the graph. io/ parses them; problem/ restricts candidates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "sbp/sbp.h"
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
  // `TENSOR<-LAYOUT`: what the producer writes; `TENSOR=LAYOUT` of inputs and parameters: how they start.
  std::unordered_map<TensorId, TensorPin> tensors;
  // `TENSOR=LAYOUT` of tensors that an op writes: how they lie for their readers and as outputs. What the producer
  // writes is brought there first; readers start from there.
  std::unordered_map<TensorId, TensorPin> lies;
  std::unordered_map<uint64_t, TensorPin> uses;  // UseKey(op, operand): how one use wants it
  std::unordered_map<OpId, SignaturePin> signatures;
  std::vector<PinMatch> matches;      // of the texts, in their order
  std::vector<std::string> warnings;  // of what they match
  bool empty() const { return tensors.empty() && lies.empty() && uses.empty() && signatures.empty(); }
};
inline uint64_t UseKey(OpId op, size_t operand) { return (static_cast<uint64_t>(op.value) << 32) | operand; }

// What stands between the name and the layout of a tensor's pin.
enum class PinOperator : uint8_t {
  kLies,        // TENSOR=LAYOUT: how it lies for its readers and as an output; how an input or a parameter starts
  kWritten,     // TENSOR<-LAYOUT: what its producer writes
  kEverywhere,  // TENSOR==LAYOUT: it is written or starts so, and every reader takes it so
};
struct PinDivision {
  PinOperator op = PinOperator::kLies;
  size_t name_size = 0;     // of the text before the operator; 0: there is no operator
  size_t layout_begin = 0;  // behind it
};
// The last operator of a text such as "a=b==(S(0), B)". Names and layouts may hold '=' too: ask again for what stands
// before, until the rest reads as a layout.
PinDivision FindPinOperator(std::string_view text);

// How outputs of the graph may end, where neither a tie nor a pin says it (--outputs).
enum class OutputPolicy : uint8_t {
  kSharded,  // any layout without P
  kWhole,    // B on every axis
  kAny,      // as written, partial too
};
std::string_view OutputPolicyName(OutputPolicy policy);  // "sharded", "whole", "any"
std::optional<OutputPolicy> ParseOutputPolicy(std::string_view name);

}  // namespace sbp
