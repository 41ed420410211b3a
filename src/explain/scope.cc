#include "explain/scope.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/text.h"
#include "naming/fused_parts.h"
#include "naming/module_names.h"
#include "plan/plan.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

using ScopeJson = nlohmann::ordered_json;

constexpr size_t kMostScopes = 8, kMostRows = 60;  // in text

class ScopeLister {
 public:
  ScopeLister(const Plan& plan, const ModuleIndex& index, const ExplainFormat& format)
      : plan_(plan), graph_(plan.graph), index_(index), format_(format) {}

  std::string Text(const std::vector<std::string>& scopes) const {
    std::string text;
    for (size_t i = 0; i < std::min(scopes.size(), kMostScopes); ++i) text += ScopeText(scopes[i]);
    if (scopes.size() > kMostScopes) text += StrCat("and ", scopes.size() - kMostScopes, " scopes more\n");
    return text;
  }
  std::string Text(const ScopedMatch& match) const {
    std::vector<std::string> rows;
    for (const TensorId id : match.tensors) rows.push_back(TensorRow(id));
    for (const ModulePart& part : match.parts) rows.push_back(PartRow(part));
    return Limited(rows);
  }

  ScopeJson Json(const std::vector<std::string>& scopes) const {
    ScopeJson list = ScopeJson::array();
    for (const std::string& scope : scopes) {
      ScopeJson ops = ScopeJson::array(), parameters = ScopeJson::array(), parts = ScopeJson::array();
      for (const TensorId id : ParametersOf(scope)) parameters.push_back(TensorJson(id));
      for (const ModulePart& part : PartsOf(scope)) parts.push_back(PartJson(part));
      for (const OpId op : index_.OpsOf(scope)) {
        ops.push_back({{"op", graph_.op(op).name},
                       {"type", graph_.type_of(graph_.op(op))},
                       {"signature", SignatureOf(op)},
                       {"seconds", plan_.decision(op).compute_seconds}});
      }
      list.push_back({{"scope", scope},
                      {"parameters", std::move(parameters)},
                      {"parts", std::move(parts)},
                      {"ops", std::move(ops)}});
    }
    return {{"scopes", std::move(list)}};
  }
  ScopeJson Json(const ScopedMatch& match) const {
    ScopeJson tensors = ScopeJson::array(), parts = ScopeJson::array();
    for (const TensorId id : match.tensors) tensors.push_back(TensorJson(id));
    for (const ModulePart& part : match.parts) parts.push_back(PartJson(part));
    return {{"tensors", std::move(tensors)}, {"parts", std::move(parts)}};
  }

 private:
  static std::string Limited(const std::vector<std::string>& rows) {
    std::string text;
    for (size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) text += StrCat("  ", rows[i], "\n");
    if (rows.size() > kMostRows) text += StrCat("  and ", rows.size() - kMostRows, " more (--format json lists all)\n");
    return text;
  }

  std::string ScopeText(const std::string& scope) const {
    const std::vector<OpId> ops = index_.OpsOf(scope);
    const std::vector<TensorId> parameters = ParametersOf(scope);
    double seconds = 0;
    std::vector<std::string> rows, op_rows;
    for (const TensorId id : parameters) rows.push_back(TensorRow(id));
    for (const ModulePart& part : PartsOf(scope)) rows.push_back(PartRow(part));
    for (const OpId op : ops) {
      seconds += plan_.decision(op).compute_seconds;
      op_rows.push_back(StrCat(graph_.type_of(graph_.op(op)), " ", Quote(graph_.op(op).name), ": ", SignatureOf(op),
                               ", ", FormatSeconds(plan_.decision(op).compute_seconds)));
    }
    std::string text =
        StrCat("scope ", Quote(scope), " on ", ToString(plan_.mesh), ": ", FormatCount(Size(ops)),
               ops.size() == 1 ? " op, " : " ops, ", FormatCount(Size(parameters)),
               parameters.size() == 1 ? " parameter, " : " parameters, ", "compute ", FormatSeconds(seconds), "\n");
    if (!rows.empty()) text += "parameters:\n" + Limited(rows);
    return text + "ops:\n" + Limited(op_rows);
  }
  template <typename List>
  static int64_t Size(const List& list) {
    return static_cast<int64_t>(list.size());
  }

  static bool Within(const std::string& outer, const std::string& inner) {
    return inner == outer || inner.starts_with(outer + "/");
  }
  std::vector<TensorId> ParametersOf(const std::string& scope) const {
    std::vector<TensorId> ids;
    for (const ModuleName& name : index_.names().all()) {
      if (Within(scope, name.scope)) ids.push_back(name.parameter);
    }
    return ids;
  }
  std::vector<ModulePart> PartsOf(const std::string& scope) const {
    const std::vector<TensorId> fused = ParametersOf(scope);
    std::vector<ModulePart> parts;
    for (const ModulePart& part : index_.parts()) {
      if (std::binary_search(fused.begin(), fused.end(), part.parameter)) parts.push_back(part);
    }
    return parts;
  }

  std::string LayoutOf(TensorId id) const {
    return FormatLayout(plan_.source_layouts[id.index()], graph_.tensor(id).type.rank(), format_.notation);
  }
  std::string SignatureOf(OpId op) const {
    std::vector<int> operands, results;
    for (const TensorId id : graph_.OperandsOf(graph_.op(op))) operands.push_back(RankOf(id));
    for (const TensorId id : graph_.op(op).outputs) results.push_back(RankOf(id));
    return FormatSignature(plan_.decision(op).signature, operands, results, format_.notation);
  }
  int RankOf(TensorId id) const { return id.valid() ? graph_.tensor(id).type.rank() : 0; }

  // Parameters with their modules' names, though their own are paths: those are what one can ask for.
  std::string TensorRow(TensorId id) const {
    const ModuleName* name = index_.names().Find(id);
    const std::string text = name != nullptr ? StrCat(name->Text(), ", ") : "";
    return StrCat(text, Quote(graph_.tensor(id).name), " ", ToString(graph_.tensor(id).type), ": ", LayoutOf(id));
  }
  std::string PartRow(const ModulePart& part) const {
    return StrCat(part.scope, ":", part.role, ", ", part.begin, ":", part.end, " of dimension ", part.dim,
                  part.groups > 1 ? StrCat(" in each of ", part.groups, " groups") : "", " of ",
                  Quote(graph_.tensor(part.parameter).name),
                  part.activation.valid() ? StrCat("; the product's is ", Quote(graph_.tensor(part.activation).name),
                                                   ": ", LayoutOf(part.activation))
                                          : "");
  }
  ScopeJson TensorJson(TensorId id) const {
    const ModuleName* name = index_.names().Find(id);
    return {{"tensor", graph_.tensor(id).name},
            {"module", name == nullptr ? ScopeJson(nullptr) : ScopeJson(name->Text())},
            {"type", ToString(graph_.tensor(id).type)},
            {"layout", LayoutOf(id)}};
  }
  ScopeJson PartJson(const ModulePart& part) const {
    ScopeJson activation = nullptr;
    if (part.activation.valid()) activation = graph_.tensor(part.activation).name;
    return {{"module", StrCat(part.scope, ":", part.role)},
            {"tensor", graph_.tensor(part.parameter).name},
            {"dim", part.dim},
            {"begin", part.begin},
            {"end", part.end},
            {"groups", part.groups},
            {"activation", std::move(activation)}};
  }

  const Plan& plan_;
  const Graph& graph_;
  const ModuleIndex& index_;
  const ExplainFormat& format_;
};

std::string PrintScope(const ScopeJson& json) {
  return json.dump(2, ' ', false, ScopeJson::error_handler_t::replace) + "\n";
}

}  // namespace

ScopeAnswer ExplainScope(const Plan& plan, const ModuleIndex& index, std::string_view name, bool json,
                         const ExplainFormat& format) {
  const ScopeLister lister(plan, index, format);
  if (const std::optional<ScopedName> scoped = ReadScopedName(name)) {
    const ScopedMatch match = index.Match(*scoped);
    if (match.tensors.size() == 1 && match.parts.empty()) return {match.tensors[0], ""};
    if (!match.empty()) return {{}, json ? PrintScope(lister.Json(match)) : lister.Text(match)};
    return {};
  }
  const std::vector<std::string> scopes = index.Scopes(name);
  if (scopes.empty()) return {};
  return {{}, json ? PrintScope(lister.Json(scopes)) : lister.Text(scopes)};
}

}  // namespace sbp
