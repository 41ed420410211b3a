// Pins meet candidates: which signatures of an op are left.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "plan/pins.h"
#include "problem/problem.h"
#include "rule/candidates.h"
#include "sbp/layout_rows.h"
#include "sbp/sbp.h"
#include "sbp/signature.h"

namespace sbp {
namespace {

constexpr size_t kListedSignatures = 24;  // so that an error fits on one screen

// The pins that concern one op, one entry per slot.
struct OpPins {
  std::vector<const TensorPin*> operands, results;
  const SignaturePin* signature = nullptr;
  std::vector<std::string> texts;  // distinct, in the order of the op's slots
};

const TensorPin* FindTensorPin(const Pins& pins, TensorId tensor) {
  if (!tensor.valid() || pins.tensors.empty()) return nullptr;
  const auto found = pins.tensors.find(tensor);
  return found == pins.tensors.end() ? nullptr : &found->second;
}

const TensorPin* FindUsePin(const Pins& pins, OpId op, size_t operand) {
  if (pins.uses.empty()) return nullptr;
  const auto found = pins.uses.find(UseKey(op, operand));
  return found == pins.uses.end() ? nullptr : &found->second;
}

OpPins PinsOf(const Problem& problem, OpId op) {
  OpPins found;
  auto note = [&](const std::string& text) {
    if (std::find(found.texts.begin(), found.texts.end(), text) == found.texts.end()) found.texts.push_back(text);
  };
  if (const auto pin = problem.pins.signatures.find(op); pin != problem.pins.signatures.end()) {
    found.signature = &pin->second;
    note(pin->second.text);
  }
  for (size_t i = 0; i < problem.operands(op).size(); ++i) {
    found.operands.push_back(FindUsePin(problem.pins, op, i));
    if (found.operands.back() != nullptr) note(found.operands.back()->text);
  }
  for (TensorId result : problem.graph->op(op).outputs) {
    found.results.push_back(FindTensorPin(problem.pins, result));
    if (found.results.back() != nullptr) note(found.results.back()->text);
  }
  return found;
}

bool Agrees(const CandidateSignature& signature, const OpPins& pins) {
  if (pins.signature != nullptr && !(signature == pins.signature->signature)) return false;
  for (size_t i = 0; i < pins.operands.size(); ++i) {
    if (pins.operands[i] != nullptr && !(pins.operands[i]->layout == signature.inputs[i])) return false;
  }
  for (size_t r = 0; r < pins.results.size(); ++r) {
    if (pins.results[r] != nullptr && !(pins.results[r]->layout == signature.outputs[r])) return false;
  }
  return true;
}

std::string ListSignatures(const CandidateList& list) {
  std::string text;
  for (size_t c = 0; c < list.candidates.size() && c < kListedSignatures; ++c) {
    text += StrCat("\n  ", ToString(list.candidates[c].signature));
  }
  if (list.candidates.size() > kListedSignatures) {
    text += StrCat("\n  ... and ", list.candidates.size() - kListedSignatures, " more (rules candidates lists all)");
  }
  if (!list.instance->reason.empty()) text += StrCat("\n  because ", list.instance->reason);
  return text;
}

std::string NameOf(const Problem& problem, OpId op) {
  return StrCat(problem.graph->type_of(problem.graph->op(op)), " ", Quote(problem.graph->op(op).name));
}

}  // namespace

bool IsPinned(const Problem& problem, OpId op) {
  const Pins& pins = problem.pins;
  if (pins.empty()) return false;
  if (pins.signatures.count(op) > 0) return true;
  for (size_t i = 0; i < problem.operands(op).size(); ++i) {
    if (FindUsePin(pins, op, i) != nullptr) return true;
  }
  for (TensorId result : problem.graph->op(op).outputs) {
    if (FindTensorPin(pins, result) != nullptr) return true;
  }
  return false;
}

bool WritesStanding(const Problem& problem, OpId op) {
  if (problem.pins.lies.empty()) return false;
  const std::vector<TensorId>& outputs = problem.graph->op(op).outputs;
  return std::ranges::any_of(outputs, [&](TensorId id) { return problem.demands.standing(id) != nullptr; });
}

LayoutFilter PinnedLayouts(const Problem& problem, OpId op) {
  const OpPins pins = PinsOf(problem, op);
  LayoutFilter filter;
  if (pins.signature != nullptr) filter = FilterFor(pins.signature->signature);
  const auto note = [](const std::vector<const TensorPin*>& from, std::vector<std::optional<NdSbp>>& to) {
    to.resize(std::max(to.size(), from.size()));
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != nullptr) to[i] = from[i]->layout;
    }
  };
  note(pins.operands, filter.inputs);
  note(pins.results, filter.outputs);
  return filter;
}

Result<std::vector<uint32_t>> AllowedCandidates(const Problem& problem, OpId op) {
  const CandidateList& list = problem.candidates(op);
  const OpPins pins = PinsOf(problem, op);
  std::vector<uint32_t> allowed;
  for (uint32_t c = 0; c < list.candidates.size(); ++c) {
    if (Agrees(list.candidates[c].signature, pins)) allowed.push_back(c);
  }
  if (!allowed.empty()) return allowed;
  return NoPlan(StrCat("no legal signature of ", NameOf(problem, op), " agrees with ",
                       pins.texts.size() == 1 ? "the pin " : "the pins ", Join(pins.texts, "; "), "; it has ",
                       list.candidates.size(), ":", ListSignatures(list)));
}

Result<uint32_t> FindCandidate(const Problem& problem, OpId op, const Signature& signature, std::string_view asked) {
  const CandidateList& list = problem.candidates(op);
  for (uint32_t c = 0; c < list.candidates.size(); ++c) {
    if (list.candidates[c].signature == signature) return c;
  }
  return NoPlan(StrCat(asked, ": ", ToString(signature), " is not a legal signature of ", NameOf(problem, op),
                       "; it has ", list.candidates.size(), ":", ListSignatures(list)));
}

}  // namespace sbp
