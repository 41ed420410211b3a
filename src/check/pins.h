// Pins and whether a plan holds them: those of the graph itself, and the texts that the plan records; how outputs end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "check/findings.h"
#include "graph/graph.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {

class PinChecker {
 public:
  // A text that cannot be read is a violation.
  PinChecker(const Plan& plan, Findings& findings);

  // The pins that concern an op: its signature, its operands, the tensors it writes or is the first to read.
  void Check(OpId op, const Signature& signature, const std::vector<std::string>& operand_names, Findings& findings);
  // Outputs end as the plan's options allow, where neither a tie nor a pin says how.
  void CheckOutputs(Findings& findings) const;
  // Texts that no op or tensor answered to.
  void ReportUnmatched(Findings& findings) const;

 private:
  // One text: `NAME=LAYOUT`, `NAME<-LAYOUT`, `NAME==LAYOUT` or `NAME: SIGNATURE`; NAME may hold '*'.
  struct Text {
    std::string text, name;
    bool whole_signature = false;
    PinOperator op = PinOperator::kLies;
    NdSbp layout;
    Signature signature;
    bool matched = false;
    std::unordered_set<TensorId> scoped;  // what NAME stands for where it is a scope and a role
  };

  // Finds what names by scope and role stand for, where no tensor and no op has such a name.
  void FindScoped();
  void Read(const std::string& text, Findings& findings);
  // By what names a text may be asked for; those with a '*' always.
  void IndexTexts();
  // Texts that may concern who has one of these names, or the tensor by its scope, in their order.
  std::vector<size_t> TextsOf(const std::vector<std::string_view>& names, TensorId tensor = {}) const;
  std::vector<size_t> TextsOf(TensorId tensor) const;
  void CheckTensor(TensorId tensor, Findings& findings);
  // "" or what is wrong: how the tensor is written, who reads it otherwise.
  std::string Fault(TensorId tensor, PinOperator op, const NdSbp& layout);
  std::string FaultOfReaders(TensorId tensor, const NdSbp& layout);

  const Plan& plan_;
  std::vector<Text> texts_;
  std::map<std::string, std::vector<size_t>, std::less<>> by_name_;  // of tensors and ops: texts
  std::unordered_map<TensorId, std::vector<size_t>> by_scope_;
  std::vector<size_t> patterns_;  // texts
  std::vector<bool> tensor_done_;
  UseTable uses_;                                             // empty without pins, as are the next two
  std::unordered_map<TensorId, std::vector<uint32_t>> made_;  // per tensor: its transitions
  std::unordered_map<uint64_t, uint32_t> fed_;                // UseKey -> transition
};

}  // namespace sbp
