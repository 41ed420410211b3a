#include "cli/rules_coverage.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "api/model.h"
#include "aten/table.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "fold/resolve.h"
#include "grad/coverage.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "rule/syntax.h"

namespace sbp {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kColumn = 40;  // where what is said of an op begins

std::string Padded(const std::string& name) {
  return name + std::string(name.size() < kColumn ? kColumn - name.size() : 1, ' ');
}

// The file that has the op's rule, or what an op of torch is in terms of others; "": none.
std::string FamilyOf(const RuleSet& rules, const std::string& type) {
  if (const OpDefinition* op = rules.Find(type)) return op->family;
  const Result<AtenTable>& aten = AtenTable::Builtin();
  return aten.ok() && aten->Find(type) != nullptr ? "aten" : "";
}

Status ReportRules(const RuleSet& rules, const Graph& graph, const OutputFlags& output) {
  std::map<std::string, int64_t> counts;
  for (const Op& op : graph.ops) ++counts[graph.type_of(op)];
  std::string text;
  Json ops = Json::array();
  int64_t covered = 0, total = 0;
  for (const auto& [type, count] : counts) {
    const std::string family = FamilyOf(rules, type);
    total += count;
    if (!family.empty()) covered += count;
    ops.push_back({{"op", type}, {"count", count}, {"rule", family.empty() ? Json(nullptr) : Json(family)}});
    text +=
        StrCat(Padded(type), count, "  ", family.empty() ? "no rule" + DidYouMean(type, rules.Names()) : family, "\n");
  }
  if (output.json()) return Print(Json({{"ops", ops}, {"covered", covered}, {"total", total}}).dump(2));
  return Print(text + StrCat(covered, " of ", total, " ops have a rule"));
}

const char* NameOf(DerivativeRow::By by) {
  switch (by) {
    case DerivativeRow::By::kVjp:
      return "vjp";
    case DerivativeRow::By::kExpansion:
      return "expansion";
    default:
      return "none";
  }
}

Status ReportDerivatives(const DerivativeCoverage& found, const OutputFlags& output) {
  Json ops = Json::array();
  std::string text;
  for (const DerivativeRow& row : found.rows) {
    const bool none = row.by == DerivativeRow::By::kNothing;
    Json entry = {{"op", row.op}, {"count", row.count}, {"derivative", none ? Json(nullptr) : Json(NameOf(row.by))}};
    if (none) entry["why"] = row.why;
    ops.push_back(std::move(entry));
    text += StrCat(Padded(row.op), row.count, "  ", none ? "no derivative: " + row.why : NameOf(row.by), "\n");
  }
  if (output.json()) {
    return Print(
        Json({{"ops", ops}, {"covered", found.covered}, {"total", found.total}, {"beside", found.beside}}).dump(2));
  }
  return Print(text + StrCat(found.covered, " of ", found.total, " ops on float paths have a derivative; ",
                             found.beside, " further ops pass no gradient"));
}

}  // namespace

Status ReportCoverage(const RuleSet& rules, const CoverageFlags& flags, const OutputFlags& output) {
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(flags.model));
  if (!flags.vjp) return ReportRules(rules, model.graph, output);
  Graph as_written = model.graph;
  ModelFlags resolving;
  resolving.dims = flags.dims;
  resolving.keep_floats = true;
  Result<Resolved> resolved = ResolveModel(std::move(model.graph), rules, resolving);
  if (resolved.ok()) return ReportDerivatives(DerivativesOf(resolved->graph, rules), output);
  if (!flags.dims.empty()) return resolved.status();
  Note(StrCat("note: sizes are not known, so ops are asked by type alone: ", resolved.status().message()));
  return ReportDerivatives(DerivativesByType(as_written, rules), output);
}

}  // namespace sbp
