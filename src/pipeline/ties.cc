// Ties by name: a training step returns each updated parameter under its old name with one common affix.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "pipeline/pipeline.h"

namespace sbp {
namespace {

constexpr size_t kMaxName = 512;  // longer names take no part: each name is looked up once per affix length

using Names = std::unordered_map<std::string_view, TensorId>;

// Which name carries the affix, and where.
struct Affix {
  bool on_output = true;
  bool is_prefix = true;
  std::string_view text;
  friend auto operator<=>(const Affix&, const Affix&) = default;
};
using PairsByAffix = std::map<Affix, std::vector<Tie>>;

// Looks up what is left of `name` without each prefix and each suffix.
template <typename Found>
void ForEachStem(std::string_view name, const Names& stems, Found found) {
  if (name.size() > kMaxName) return;
  for (size_t cut = 1; cut < name.size(); ++cut) {
    if (const auto stem = stems.find(name.substr(cut)); stem != stems.end())
      found(stem->second, true, name.substr(0, cut));
    if (const auto stem = stems.find(name.substr(0, cut)); stem != stems.end())
      found(stem->second, false, name.substr(cut));
  }
}

}  // namespace

std::vector<Tie> FindTiesByName(const Graph& graph) {
  Names outputs, sources;
  std::vector<TensorId> output_order, source_order;
  for (TensorId id : graph.outputs) {
    const Tensor& tensor = graph.tensor(id);
    if (tensor.producer.valid() && outputs.emplace(tensor.name, id).second) output_order.push_back(id);
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.role == TensorRole::kActivation) continue;
    sources.emplace(tensor.name, TensorId(t));
    source_order.push_back(TensorId(t));
  }
  PairsByAffix pairs;
  const auto add = [&](TensorId output, TensorId input, Affix affix) {
    if (graph.tensor(output).type == graph.tensor(input).type) pairs[affix].push_back({output, input});
  };
  for (TensorId output : output_order) {
    ForEachStem(graph.tensor(output).name, sources, [&](TensorId input, bool is_prefix, std::string_view text) {
      add(output, input, {true, is_prefix, text});
    });
  }
  for (TensorId input : source_order) {
    ForEachStem(graph.tensor(input).name, outputs, [&](TensorId output, bool is_prefix, std::string_view text) {
      add(output, input, {false, is_prefix, text});
    });
  }
  const std::vector<Tie>* best = nullptr;
  bool unique = false;
  for (const auto& [affix, ties] : pairs) {
    if (best != nullptr && ties.size() < best->size()) continue;
    unique = best == nullptr || ties.size() > best->size();
    best = &ties;
  }
  if (best == nullptr || !unique) return {};
  std::vector<Tie> ties = *best;
  std::sort(ties.begin(), ties.end(), [](const Tie& a, const Tie& b) { return a.output < b.output; });
  return ties;
}

}  // namespace sbp
