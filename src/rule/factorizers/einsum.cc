// Einsum of any equation: ellipsis, implicit output, repeated letters (diagonals), sizes of 1 that broadcast.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/factor_map.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// One tensor's letters; an ellipsis is kEllipsis, once at most.
using Term = std::string;
constexpr char kEllipsis = '.';

struct Equation {
  std::vector<Term> operands;
  Term result;
};

Result<Term> ParseTerm(const FactorizerContext& context, std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 3) == "...") {
      if (term.find(kEllipsis) != Term::npos) return context.Error(StrCat("two ellipses in ", Quote(text)));
      term.push_back(kEllipsis);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      term.push_back(text[i]);
    } else {
      return context.Error(StrCat("equation: expected a letter, '...', ',' or '->' in ", Quote(text)));
    }
  }
  return term;
}

// Without "->": the ellipsis, then the letters that occur once, in alphabetical order.
Term ImplicitResult(const std::vector<Term>& operands) {
  std::map<char, int> occurrences;
  for (const Term& term : operands) {
    for (char letter : term) ++occurrences[letter];
  }
  Term result;
  if (occurrences.count(kEllipsis) != 0) result.push_back(kEllipsis);
  for (const auto& [letter, count] : occurrences) {
    if (letter != kEllipsis && count == 1) result.push_back(letter);
  }
  return result;
}

Result<Equation> ParseEquation(const FactorizerContext& context) {
  std::string text = context.String("equation");
  text.erase(std::remove_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c) != 0; }),
             text.end());
  const size_t arrow = text.find("->");
  Equation equation;
  for (std::string_view part : Split(std::string_view(text).substr(0, arrow), ',')) {
    SBP_ASSIGN_OR_RETURN(Term term, ParseTerm(context, part));
    equation.operands.push_back(std::move(term));
  }
  if (equation.operands.size() != context.num_operands()) {
    return context.Error(StrCat("equation ", Quote(text), " names ", equation.operands.size(), " operands, but ",
                                context.num_operands(), " are given"));
  }
  if (arrow == std::string::npos) {
    equation.result = ImplicitResult(equation.operands);
  } else {
    SBP_ASSIGN_OR_RETURN(equation.result, ParseTerm(context, std::string_view(text).substr(arrow + 2)));
  }
  return equation;
}

// What each dimension is called: a letter, or for the ellipsis its distance from the right as a negative number.
using Names = std::vector<int>;

Result<Names> NameDims(const FactorizerContext& context, const Term& term, int rank, int ellipsis_rank) {
  Names names;
  for (char letter : term) {
    if (letter != kEllipsis) {
      names.push_back(letter);
      continue;
    }
    for (int d = ellipsis_rank; d > 0; --d) names.push_back(-d);
  }
  if (static_cast<int>(names.size()) != rank) {
    return context.Error(
        StrCat("equation term ", Quote(term), " does not name the ", rank, " dimensions of its operand"));
  }
  return names;
}

struct Letter {
  int64_t size = 1;
  FactorId factor = kNoFactor;
};

class EinsumFactors {
 public:
  EinsumFactors(FactorizerContext& context, Equation equation) : context_(context), equation_(std::move(equation)) {}

  Status Run() {
    SBP_RETURN_IF_ERROR(NameOperands());
    SBP_RETURN_IF_ERROR(NameResult());
    CarryFactors();
    AddClauses();
    return OkStatus();
  }

 private:
  Status NameOperands() {
    for (size_t i = 0; i < equation_.operands.size(); ++i) {
      const Term& term = equation_.operands[i];
      const Shape& shape = context_.shape(i);
      int ellipsis_rank = 0;
      if (term.find(kEllipsis) != Term::npos) {
        ellipsis_rank = std::max(0, context_.rank(i) - static_cast<int>(term.size()) + 1);
      }
      ellipsis_rank_ = std::max(ellipsis_rank_, ellipsis_rank);
      SBP_ASSIGN_OR_RETURN(Names names, NameDims(context_, term, context_.rank(i), ellipsis_rank));
      for (size_t d = 0; d < names.size(); ++d) {
        int64_t& size = letters_[names[d]].size;
        if (size != 1 && shape[d] != 1 && size != shape[d]) {
          return context_.Error(
              StrCat("dimension ", d, " of operand ", i, " is ", shape[d], ", but its letter is ", size, " elsewhere"));
        }
        if (shape[d] != 1) size = shape[d];
      }
      operand_names_.push_back(std::move(names));
    }
    return OkStatus();
  }

  Status NameResult() {
    const Term& term = equation_.result;
    const int letters = static_cast<int>(term.size() - (term.find(kEllipsis) != Term::npos ? 1 : 0));
    const int rank = term.find(kEllipsis) != Term::npos ? letters + ellipsis_rank_ : letters;
    SBP_ASSIGN_OR_RETURN(result_names_, NameDims(context_, term, rank, ellipsis_rank_));
    Shape shape;
    for (size_t d = 0; d < result_names_.size(); ++d) {
      const auto found = letters_.find(result_names_[d]);
      if (found == letters_.end()) return context_.Error("equation: the result has a letter that no operand has");
      if (std::count(result_names_.begin(), result_names_.end(), result_names_[d]) > 1) {
        return context_.Error("equation: the result has a letter twice");
      }
      shape.push_back(found->second.size);
    }
    context_.SetResult(0, std::move(shape));
    return OkStatus();
  }

  FactorId FactorOf(int name) {
    Letter& letter = letters_[name];
    if (letter.factor == kNoFactor && letter.size != 1) {
      const std::string text = name > 0 ? std::string(1, static_cast<char>(name)) : StrCat("_", -name);
      letter.factor = NewFactor(context_, text, letter.size);
      context_.map().factors[letter.factor].from_ellipsis = name < 0;
    }
    return letter.factor;
  }

  void CarryFactors() {
    FactorMap& map = context_.map();
    for (size_t d = 0; d < result_names_.size(); ++d) Carry(map.results[0][d], {FactorOf(result_names_[d])});
    for (size_t i = 0; i < operand_names_.size(); ++i) {
      const Names& names = operand_names_[i];
      for (size_t d = 0; d < names.size(); ++d) {
        const FactorId f = FactorOf(names[d]);
        if (f == kNoFactor || context_.shape(i)[d] == 1) continue;
        map.operands[i][d].push_back(f);
        // A diagonal: its elements lie across the parts of any split.
        if (std::count(names.begin(), names.end(), names[d]) > 1) map.factors[f].whole = true;
      }
    }
  }

  // A sum of products: reduced letters add up, and the op is linear in each operand by itself.
  void AddClauses() {
    bool reduces = false;
    for (const auto& [name, letter] : letters_) {
      if (std::find(result_names_.begin(), result_names_.end(), name) != result_names_.end()) continue;
      ReduceFactor(context_, ReduceKind::kSum, letter.factor);
      reduces |= letter.size != 1;
    }
    for (size_t i = 0; i < operand_names_.size(); ++i) AddLinear(context_, {i});
    if (operand_names_.size() == 1 && !reduces) AddMonotone(context_, {kFirstOperand});
  }

  FactorizerContext& context_;
  Equation equation_;
  std::vector<Names> operand_names_;
  Names result_names_;
  std::map<int, Letter> letters_;
  int ellipsis_rank_ = 0;
};

}  // namespace

Status FactorizeEinsum(FactorizerContext& context) {
  SBP_ASSIGN_OR_RETURN(Equation equation, ParseEquation(context));
  return EinsumFactors(context, std::move(equation)).Run();
}

}  // namespace sbp
