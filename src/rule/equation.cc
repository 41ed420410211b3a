#include "rule/equation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"

namespace sbp {
namespace {

constexpr std::string_view kEllipsis = "...";

// The dimensions of one tensor: letters, and "..." as one.
using Letters = std::vector<std::string>;

struct Equation {
  std::vector<Letters> operands;
  Letters result;
};

Result<Letters> ParseLetters(std::string_view text) {
  Letters letters;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (text.substr(i).starts_with(kEllipsis)) {
      letters.emplace_back(kEllipsis);
      i += kEllipsis.size() - 1;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      letters.emplace_back(1, c);
    } else {
      return BadInput(StrCat("an equation has letters, \"...\", \",\" and \"->\", not ", Quote(std::string(1, c))));
    }
  }
  return letters;
}

// Without "->": "..." and the letters that stand once, in the alphabet's order.
Letters ImplicitResult(const std::vector<Letters>& operands) {
  std::map<std::string, int> count;
  for (const Letters& letters : operands) {
    for (const std::string& letter : letters) ++count[letter];
  }
  Letters result;
  if (count.contains(std::string(kEllipsis))) result.emplace_back(kEllipsis);
  for (const auto& [letter, times] : count) {
    if (times == 1 && letter != kEllipsis) result.push_back(letter);
  }
  return result;
}

Result<Equation> ParseEquation(std::string_view text, int64_t operand) {
  Equation equation;
  const size_t arrow = text.find("->");
  for (const std::string_view part : Split(text.substr(0, arrow), ',')) {
    SBP_ASSIGN_OR_RETURN(Letters letters, ParseLetters(part));
    equation.operands.push_back(std::move(letters));
  }
  if (arrow == std::string_view::npos) {
    equation.result = ImplicitResult(equation.operands);
  } else {
    SBP_ASSIGN_OR_RETURN(equation.result, ParseLetters(text.substr(arrow + 2)));
  }
  if (operand < 0 || operand >= static_cast<int64_t>(equation.operands.size())) {
    return BadInput(
        StrCat("equation ", Quote(text), " has ", equation.operands.size(), " operands, no number ", operand));
  }
  return equation;
}

bool Holds(const Letters& letters, const std::string& letter) {
  return std::ranges::find(letters, letter) != letters.end();
}

}  // namespace

Result<bool> HasLoneLetter(std::string_view text, int64_t operand) {
  SBP_ASSIGN_OR_RETURN(const Equation equation, ParseEquation(text, operand));
  return std::ranges::any_of(equation.operands[operand], [&](const std::string& letter) {
    if (Holds(equation.result, letter)) return false;
    for (size_t i = 0; i < equation.operands.size(); ++i) {
      if (static_cast<int64_t>(i) != operand && Holds(equation.operands[i], letter)) return false;
    }
    return true;
  });
}

Result<std::vector<int64_t>> RepeatedDims(std::string_view text, int64_t operand) {
  SBP_ASSIGN_OR_RETURN(const Equation equation, ParseEquation(text, operand));
  const Letters& own = equation.operands[operand];
  const auto ellipsis = std::ranges::find(own, std::string(kEllipsis)) - own.begin();
  std::vector<int64_t> dims;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto before = own.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(own.begin(), before, own[i]) == before) continue;
    const auto at = static_cast<int64_t>(i);
    dims.push_back(at < ellipsis ? at : at - static_cast<int64_t>(own.size()));
  }
  return dims;
}

Result<std::string> AdjointEquation(std::string_view text, int64_t operand, bool with_own) {
  SBP_ASSIGN_OR_RETURN(const Equation equation, ParseEquation(text, operand));
  Letters own = equation.operands[operand];
  std::vector<std::string> parts = {Join(equation.result, "")};
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    if (static_cast<int64_t>(i) != operand) parts.push_back(Join(equation.operands[i], ""));
  }
  if (with_own) parts.push_back(Join(own, ""));
  // Broadcast dimensions that this operand lacks are summed by the equation itself, if they have letters; "..." that
  // only others have must stay in the result.
  const bool others =
      std::ranges::any_of(parts, [](const std::string& part) { return part.find(kEllipsis) != std::string::npos; });
  const bool keeps = others && !Holds(own, std::string(kEllipsis));
  // A diagonal: what is repeated gets a letter of its own, and a matrix that is 1 where both are equal.
  std::string used(text);
  for (size_t i = 0; i < own.size(); ++i) {
    const auto before = own.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(own.begin(), before, own[i]) == before) continue;
    const std::string_view alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const size_t free = alphabet.find_first_not_of(used);
    if (free == std::string_view::npos) return BadInput(StrCat("equation ", Quote(text), " leaves no letter free"));
    const std::string letter(1, alphabet[free]);
    used += letter;
    parts.push_back(own[i] + letter);
    own[i] = letter;
  }
  return StrCat(Join(parts, ","), "->", keeps ? kEllipsis : "", Join(own, ""));
}

}  // namespace sbp
