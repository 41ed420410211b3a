// Why candidates are legal, in words.
#pragma once

#include <array>
#include <map>
#include <string>

#include "rule/candidates.h"
#include "sbp/mesh.h"

namespace sbp {

// For many candidates of one list, which share what they choose on an axis: an op may have 100,000 operands to name.
class CandidateDescriber {
 public:
  // Both outlive this.
  CandidateDescriber(const CandidateList& list, const Mesh& mesh) : list_(list), mesh_(mesh) {}
  // As DescribeCandidate.
  std::string Describe(size_t index);

 private:
  const std::string& Choice(const AxisChoice& choice);

  const CandidateList& list_;
  const Mesh& mesh_;
  std::map<std::array<int, 3>, std::string> known_;  // by kind, index, reduction
};

}  // namespace sbp
