// The table of factorizers. One thing = one file in factorizers/ and one declaration and row here, sorted by name.
#include <initializer_list>

#include "rule/factorizer.h"

namespace sbp {

namespace {

// name, function, one line of documentation, operands whose values it reads (bit set of positions; bit 63: all)
constexpr std::initializer_list<FactorizerRow> kFactorizers = {};

}  // namespace

std::span<const FactorizerRow> AllFactorizers() { return {kFactorizers.begin(), kFactorizers.size()}; }

const FactorizerRow* FindFactorizer(std::string_view name) {
  for (const FactorizerRow& row : AllFactorizers()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace sbp
