#include "plan/pins.h"

#include <array>
#include <utility>

namespace sbp {
namespace {

constexpr std::array<std::pair<OutputPolicy, std::string_view>, 3> kOutputPolicies = {
    {{OutputPolicy::kSharded, "sharded"}, {OutputPolicy::kWhole, "whole"}, {OutputPolicy::kAny, "any"}}};

}  // namespace

PinDivision FindPinOperator(std::string_view text) {
  const size_t equal = text.rfind('='), arrow = text.rfind("<-");
  if (arrow != std::string_view::npos && (equal == std::string_view::npos || arrow > equal)) {
    return {PinOperator::kWritten, arrow, arrow + 2};
  }
  if (equal == std::string_view::npos) return {};
  const bool twice = equal > 1 && text[equal - 1] == '=';
  return {twice ? PinOperator::kEverywhere : PinOperator::kLies, equal - (twice ? 1 : 0), equal + 1};
}

std::string_view OutputPolicyName(OutputPolicy policy) {
  for (const auto& [known, name] : kOutputPolicies) {
    if (known == policy) return name;
  }
  return "";
}

std::optional<OutputPolicy> ParseOutputPolicy(std::string_view name) {
  for (const auto& [policy, known] : kOutputPolicies) {
    if (known == name) return policy;
  }
  return std::nullopt;
}

}  // namespace sbp
