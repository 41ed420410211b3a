#include "fold/provenance.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/ids.h"
#include "fold/foldable.h"
#include "graph/literal.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// Where elements only move, their sources move like them. Nothing: the results are computed from them.
std::optional<std::vector<Provenance::Sources>> MovedSources(const SourceMap& sources, const FoldableOp& row,
                                                             const OpQuery& query,
                                                             const std::vector<TensorId>& operands,
                                                             const Evaluated& results) {
  if (results.places.empty()) return std::nullopt;
  Provenance::Sources moved;  // of the elements that may move, as places count them
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!query.operands[i].present) continue;
    const auto own = sources.find(operands[i]);
    if (!row.moves(i)) {
      if (own != sources.end()) return std::nullopt;  // it places the others
      continue;
    }
    const size_t first = moved.size();
    moved.resize(first + static_cast<size_t>(query.operands[i].type.num_elements()), Provenance::kConstant);
    if (own != sources.end()) std::ranges::copy(own->second, moved.begin() + static_cast<std::ptrdiff_t>(first));
  }
  std::vector<Provenance::Sources> found;
  for (const std::vector<int64_t>& places : results.places) found.push_back(ElementsAt(places, moved));
  return found;
}

}  // namespace

Provenance::Sources Provenance::AddInput(const std::string& name, LiteralRef value) {
  const int64_t count = value->type.num_elements();
  const auto first = static_cast<Source>(nodes_.size());
  Sources sources;
  for (int64_t i = 0; i < count; ++i) {
    sources.push_back(static_cast<Source>(nodes_.size()));
    nodes_.push_back({false, static_cast<int32_t>(inputs_.size()), i, {}});
  }
  inputs_.push_back({name, std::move(value), first});
  return sources;
}

Provenance::Source Provenance::Union(const std::vector<const Sources*>& elements) {
  std::vector<Source> parts;
  for (const Sources* sources : elements) parts.insert(parts.end(), sources->begin(), sources->end());
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  std::erase(parts, kConstant);
  if (parts.empty()) return kConstant;
  if (parts.size() == 1) return parts[0];
  nodes_.push_back({false, -1, 0, std::move(parts)});
  return static_cast<Source>(nodes_.size() - 1);
}

void Provenance::Use(const Sources& sources) {
  std::vector<Source> left(sources.begin(), sources.end());
  while (!left.empty()) {
    Node& node = nodes_[left.back()];
    left.pop_back();
    if (std::exchange(node.used, true)) continue;
    left.insert(left.end(), node.parts.begin(), node.parts.end());
  }
}

std::vector<Assumption> Provenance::Taken() const {
  std::vector<Assumption> taken;
  for (const Input& input : inputs_) {
    Assumption assumption{input.name, input.value, {}};
    for (int64_t i = 0; i < input.value->type.num_elements(); ++i) {
      if (nodes_[input.first + static_cast<size_t>(i)].used) assumption.elements.push_back(i);
    }
    if (!assumption.elements.empty()) taken.push_back(std::move(assumption));
  }
  return taken;
}

std::optional<std::vector<Provenance::Sources>> SourcesOf(Provenance& provenance, const SourceMap& sources,
                                                          const FoldableOp& row, const OpQuery& query,
                                                          const std::vector<TensorId>& operands,
                                                          const Evaluated& results) {
  if (sources.empty() || !row.needs_values) return std::nullopt;
  std::vector<const Provenance::Sources*> all;
  for (const TensorId id : operands) {
    const auto own = id.valid() ? sources.find(id) : sources.end();
    if (own != sources.end()) all.push_back(&own->second);
  }
  if (all.empty()) return std::nullopt;
  if (auto moved = MovedSources(sources, row, query, operands, results)) {
    const bool constant = std::ranges::all_of(*moved, [](const Provenance::Sources& list) {
      return std::ranges::all_of(list, [](Provenance::Source source) { return source == Provenance::kConstant; });
    });
    if (constant) return std::nullopt;
    return moved;
  }
  const Provenance::Source one = provenance.Union(all);
  std::vector<Provenance::Sources> found;
  for (const Literal& result : results.values) found.emplace_back(static_cast<size_t>(result.type.num_elements()), one);
  return found;
}

}  // namespace sbp
