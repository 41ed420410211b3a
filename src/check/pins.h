// Pins and whether a plan holds them: those of the graph itself, and the texts that the plan records.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "check/findings.h"

namespace sbp {

class PinChecker {
 public:
  // A text that cannot be read is a violation.
  PinChecker(const Plan& plan, Findings& findings);

  // The pins that concern an op: its signature, its operands, the tensors it writes or is the first to read.
  void Check(OpId op, const Signature& signature, const std::vector<std::string>& operand_names, Findings& findings);
  // Texts that no op or tensor answered to.
  void ReportUnmatched(Findings& findings) const;

 private:
  // One text: `NAME=LAYOUT` or `NAME: SIGNATURE`; NAME may hold '*'.
  struct Text {
    std::string text, name;
    bool whole_signature = false;
    NdSbp layout;
    Signature signature;
    bool matched = false;
    std::unordered_set<TensorId> scoped;  // what NAME stands for where it is a scope and a role
  };

  // Finds what names by scope and role stand for, where no tensor and no op has such a name.
  void FindScoped();
  void Read(const std::string& text, Findings& findings);
  void CheckTensor(TensorId tensor, Findings& findings);

  const Plan& plan_;
  std::vector<Text> texts_;
  std::vector<bool> tensor_done_;
};

}  // namespace sbp
