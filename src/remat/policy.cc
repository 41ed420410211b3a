#include "remat/policy.h"

#include <array>
#include <optional>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

constexpr std::array<RematPolicyRow, 5> kRows = {{{RematPolicy::kNone, "none"},
                                                  {RematPolicy::kLight, "light"},
                                                  {RematPolicy::kSelective, "selective"},
                                                  {RematPolicy::kAlternate, "alternate"},
                                                  {RematPolicy::kFull, "full"}}};

constexpr std::string_view kHeld = "+held", kFused = "+fused";

bool TakeSuffix(std::string_view suffix, std::string_view& text) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

Result<RematPolicy> ReadPolicy(std::string_view name) {
  std::vector<std::string> names;
  for (const RematPolicyRow& row : kRows) {
    if (row.name == name) return row.policy;
    names.emplace_back(row.name);
  }
  if (const size_t plus = name.find('+'); plus != std::string_view::npos) {
    const std::vector<std::string> suffixes = {std::string(kHeld), std::string(kFused)};
    return BadInput(StrCat("--remat: ", Quote(name), ": behind a policy may stand ", Join(suffixes, " and "),
                           DidYouMean(name.substr(plus), suffixes)));
  }
  if (name == "auto") return BadInput("--remat: auto stands alone, and is for `infer`");
  const std::string expected = Join(names, ", ");
  names.emplace_back("auto");
  return BadInput(StrCat("--remat: unknown policy ", Quote(name), "; expected ", expected,
                         " or, of `infer`, auto alone", DidYouMean(name, names)));
}

}  // namespace

std::span<const RematPolicyRow> AllRematPolicies() { return kRows; }

std::string_view NameOf(RematPolicy policy) { return kRows[static_cast<size_t>(policy)].name; }

Result<std::vector<RematEntry>> ParseRemat(std::string_view text) {
  std::vector<RematEntry> entries;
  bool rest_taken = false;
  for (const std::string_view part : Split(text, ',')) {
    RematEntry entry;
    std::string_view policy = part;
    if (const size_t equals = policy.rfind('='); equals != std::string_view::npos) {
      entry.scope = policy.substr(0, equals);
      policy.remove_prefix(equals + 1);
      if (entry.scope.empty()) return BadInput(StrCat("--remat: ", Quote(part), " names no scope before '='"));
    } else {
      if (rest_taken) return BadInput(StrCat("--remat: nothing is left for ", Quote(part), "; the rest comes last"));
      if (const size_t colon = policy.find(':'); colon != std::string_view::npos) {
        const std::optional<int64_t> count = ParseInt(policy.substr(colon + 1));
        if (!count || *count < 0) {
          return BadInput(StrCat("--remat: ", Quote(part), ": expected a number of layers after ':'"));
        }
        entry.count = *count;
        policy = policy.substr(0, colon);
      }
      rest_taken = entry.count < 0;
    }
    entry.held = TakeSuffix(kHeld, policy);
    entry.fused = TakeSuffix(kFused, policy);
    SBP_ASSIGN_OR_RETURN(entry.policy, ReadPolicy(policy));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace sbp
