// Signature: one layout for every operand and every result of an op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"
#include "sbp/sbp.h"

namespace sbp {

// Absent optional operands have an all-B entry, so that positions agree with the op's.
struct Signature {
  std::vector<NdSbp> inputs;
  std::vector<NdSbp> outputs;
  friend bool operator==(const Signature&, const Signature&) = default;
};

// "(S(0), B), (B, B) -> (S(0), B)".
std::string ToString(const Signature& signature);
// Reads ToString's form ("S(0), B -> S(0)" on one axis). Every operand and result must be spelled.
Result<Signature> ParseSignature(std::string_view text, int mesh_axes);

}  // namespace sbp

template <>
struct std::hash<sbp::Signature> {
  size_t operator()(const sbp::Signature& s) const noexcept {
    return sbp::HashRange(sbp::HashRange(s.inputs.size(), s.inputs), s.outputs);
  }
};
