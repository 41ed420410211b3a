#include "sbp/sbp.h"

#include <cassert>
#include <initializer_list>

#include "base/text.h"

namespace sbp {
namespace {

struct KindRow {
  std::string_view name;
  ReduceKind kind;
};
// The first name of a kind is the one that is printed.
constexpr KindRow kKinds[] = {
    {"sum", ReduceKind::kSum},   {"max", ReduceKind::kMax}, {"min", ReduceKind::kMin},
    {"prod", ReduceKind::kProd}, {"or", ReduceKind::kMax},  {"and", ReduceKind::kMin},
};

// "S(2)" or "S2": the text after "S".
Result<Sbp> ParseSplit(std::string_view rest, std::string_view whole) {
  if (rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') rest = Trim(rest.substr(1, rest.size() - 2));
  const auto dim = ParseInt(rest);
  if (!dim || *dim < 0 || *dim >= kMaxRank) {
    return BadInput(StrCat("layout ", Quote(whole), ": expected a dimension from 0 to ", kMaxRank - 1, ", as in S(0)"));
  }
  return Sbp::Split(static_cast<int>(*dim));
}

// "P", "P(max)", "Pmax": the text after "P".
Result<Sbp> ParsePartial(std::string_view rest, std::string_view whole) {
  if (rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') rest = Trim(rest.substr(1, rest.size() - 2));
  if (rest.empty()) return Sbp::Partial();
  for (const KindRow& row : kKinds) {
    if (row.name == rest) return Sbp::Partial(row.kind);
  }
  return BadInput(StrCat("layout ", Quote(whole), ": expected P(sum), P(max), P(min), P(prod), P(or) or P(and)"));
}

}  // namespace

std::string_view ReduceKindName(ReduceKind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  return "?";
}

std::string ToString(Sbp sbp) {
  if (sbp.is_split()) return "S(" + std::to_string(sbp.dim()) + ")";
  if (sbp.is_partial()) return "P(" + std::string(ReduceKindName(sbp.reduce_kind())) + ")";
  return "B";
}

NdSbp::NdSbp(int axes, Sbp fill) {
  assert(axes >= 0 && axes <= kMaxMeshAxes);
  for (int i = 0; i < axes; ++i) push_back(fill);
}

NdSbp::NdSbp(std::initializer_list<Sbp> sbps) {
  assert(sbps.size() <= kMaxMeshAxes);
  for (Sbp sbp : sbps) push_back(sbp);
}

bool NdSbp::is_broadcast() const { return !has_split() && !has_partial(); }

bool NdSbp::has_partial() const {
  for (Sbp sbp : *this) {
    if (sbp.is_partial()) return true;
  }
  return false;
}

bool NdSbp::has_split() const {
  for (Sbp sbp : *this) {
    if (sbp.is_split()) return true;
  }
  return false;
}

std::string ToString(const NdSbp& sbp) {
  if (sbp.size() == 1) return ToString(sbp[0]);
  std::string text = "(";
  for (int i = 0; i < sbp.size(); ++i) {
    if (i > 0) text += ", ";
    text += ToString(sbp[i]);
  }
  return text + ")";
}

Result<Sbp> ParseSbp(std::string_view text) {
  text = Trim(text);
  if (text == "B" || text == "R") return Sbp::Broadcast();
  if (text.starts_with('S')) return ParseSplit(Trim(text.substr(1)), text);
  if (text.starts_with('P')) return ParsePartial(Trim(text.substr(1)), text);
  return BadInput(StrCat("layout ", Quote(text), ": expected S(dimension), B, or P(sum)"));
}

Result<NdSbp> ParseNdSbp(std::string_view text) {
  const std::string_view whole = Trim(text);
  text = whole;
  if (text.starts_with('(')) {
    if (!text.ends_with(')')) return BadInput(StrCat("layout ", Quote(whole), ": expected a closing bracket"));
    text = text.substr(1, text.size() - 2);
  }
  NdSbp result;
  for (std::string_view part : Split(text, ',')) {
    if (result.size() == kMaxMeshAxes) {
      return BadInput(StrCat("layout ", Quote(whole), ": more than ", kMaxMeshAxes, " mesh axes"));
    }
    const Result<Sbp> sbp = ParseSbp(part);
    if (!sbp.ok()) return part == whole ? sbp.status() : sbp.status().WithContext(Quote(whole));
    result.push_back(*sbp);
  }
  return result;
}

}  // namespace sbp
