#include "rule/describe.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factor_use.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

std::string Names(const std::vector<std::string>& names, const std::vector<int>& positions) {
  constexpr size_t kMostNames = 12;
  std::vector<std::string> picked;
  for (const int i : positions) {
    picked.push_back(names[i]);
    if (picked.size() == kMostNames) break;
  }
  if (const size_t left = positions.size() - picked.size(); left > 0)
    picked.push_back(StrCat("and ", FormatCount(static_cast<int64_t>(left)), " more"));
  return picked.size() == 1 ? picked[0] : StrCat("{", Join(picked, ", "), "}");
}

std::string_view PartialWord(PartialClause::Kind kind) {
  switch (kind) {
    case PartialClause::Kind::kLinear:
      return "linear";
    case PartialClause::Kind::kMonotone:
      return "monotone";
    case PartialClause::Kind::kAntitone:
      return "antitone";
  }
  return "";
}

std::string DescribeFactor(const RuleInstance& instance, FactorId f) {
  const Factor& factor = instance.map.factors[f];
  const auto places = FactorPlaces(instance)[f];
  std::vector<std::string> notes;
  for (size_t r = 0; r < instance.results.size(); ++r) {
    bool carried = false;
    for (const FactorPlace& place : places) carried |= place.is_result && place.tensor == static_cast<int>(r);
    if (carried || !IsUsed(instance.results[r])) continue;
    const ReduceOutcome outcome = OutcomeOf(instance.map, f, static_cast<int>(r));
    if (outcome.answer == ReduceAnswer::kPartial) notes.push_back(StrCat("reduced: ", ReduceKindName(outcome.kind)));
    break;
  }
  if (factor.masked) notes.emplace_back("indices of other ranks masked");
  if (factor.halo && factor.halo->low + factor.halo->high > 0) notes.emplace_back("neighbours' elements exchanged");
  return StrCat("splits factor ", factor.name, notes.empty() ? "" : StrCat(" (", Join(notes, "; "), ")"));
}

}  // namespace

std::string DescribeChoice(const RuleInstance& instance, const AxisChoice& choice) {
  switch (choice.kind) {
    case AxisChoice::Kind::kReplicate:
      return "replicated";
    case AxisChoice::Kind::kFactor:
      return DescribeFactor(instance, choice.index);
    case AxisChoice::Kind::kPartial: {
      const PartialClause& partial = instance.map.partials[choice.index];
      return StrCat("passes P(", ReduceKindName(choice.reduce), ") of ",
                    Names(instance.operand_names, partial.operands), " through (", PartialWord(partial.kind), ")");
    }
    case AxisChoice::Kind::kExplicit: {
      const ExplicitSignature& signature = instance.map.signatures[choice.index];
      std::vector<std::string> in, out;
      for (Sbp sbp : signature.operands) in.push_back(ToString(sbp));
      for (Sbp sbp : signature.results) out.push_back(ToString(sbp));
      return StrCat("the rule's signature ", Join(in, ", "), " -> ", Join(out, ", "));
    }
    case AxisChoice::Kind::kUnused:
      return StrCat("only the shape of ", instance.operand_names[choice.index], " is read: it may be P(",
                    ReduceKindName(choice.reduce), ")");
  }
  return "";
}

const std::string& CandidateDescriber::Choice(const AxisChoice& choice) {
  std::string& words = known_[{static_cast<int>(choice.kind), choice.index, static_cast<int>(choice.reduce)}];
  if (words.empty()) words = DescribeChoice(*list_.instance, choice);
  return words;
}

std::string CandidateDescriber::Describe(size_t index) {
  const Candidate& candidate = list_.candidates[index];
  std::vector<std::string> parts;
  for (size_t a = 0; a < candidate.axes.size(); ++a)
    parts.push_back(StrCat(Choice(candidate.axes[a]), " over ", mesh_.axes[a].name));
  return Join(parts, "; ");
}

std::string DescribeCandidate(const CandidateList& list, size_t index, const Mesh& mesh) {
  return CandidateDescriber(list, mesh).Describe(index);
}

}  // namespace sbp
