// Ties by name: a training step returns each updated parameter under its old name, but for an affix that all of them
// share: "new.h.0.weight" of "h.0.weight", or of "ps.net/h/0/weight" (exporters write separators as they like, so they
// all count as equal). Both names are cut at separators; the longest common rest decides. A name alone proves nothing:
// a mask that is handed through, "src_mask" in and out, is no state. An update is computed from the old value and from
// something else that is given, and the updates of a step are of one kind: made by ops of equal type.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "graph/graph.h"
#include "graph/producers.h"
#include "graph/tensor_type.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

constexpr size_t kMaxName = 512;    // longer names are compared whole only
constexpr size_t kMaxSharing = 64;  // a rest that more sources share ("weight") says nothing

bool IsSeparator(char c) { return c == '.' || c == '/' || c == ':' || c == '_' || c == '-'; }

// The name with every separator written '.'.
std::string Normalised(std::string_view name) {
  std::string text(name);
  std::replace_if(text.begin(), text.end(), IsSeparator, '.');
  return text;
}

// What is cut off at the front (or at the end) and what is left: whole names first, then ever shorter rests.
struct Cut {
  std::string_view affix, rest;
};
std::vector<Cut> CutsOf(std::string_view name, bool at_front) {
  std::vector<Cut> cuts = {{name.substr(0, 0), name}};
  if (name.size() > kMaxName) return cuts;
  if (at_front) {
    for (size_t i = 0; i + 1 < name.size(); ++i) {
      if (name[i] == '.') cuts.push_back({name.substr(0, i + 1), name.substr(i + 1)});
    }
  } else {
    for (size_t i = name.size() - 1; i > 0; --i) {
      if (name[i] == '.') cuts.push_back({name.substr(i), name.substr(0, i)});
    }
  }
  return cuts;
}

// The affixes of a pair: of the output's name, of the source's name.
struct Form {
  bool at_front = true;
  std::string_view output, source;
  friend auto operator<=>(const Form&, const Form&) = default;
};
using PairsByForm = std::map<Form, std::vector<Tie>>;

struct Named {
  TensorId tensor;
  std::string name;  // normalised
};

// "div/constant_2" is a number that the expansion of op "div" needs, and no state of the result "div".
bool IsConstantOf(const Graph& graph, TensorId source, TensorId output) {
  const std::string_view op = graph.op(graph.tensor(output).producer).name;
  const std::string_view name = graph.tensor(source).name;
  return graph.tensor(source).literal != nullptr && name.starts_with(op) && name.substr(op.size()).starts_with("/");
}

// Pairs each output with the sources that share its longest rest.
void AddPairs(const Graph& graph, const std::vector<Named>& outputs, const std::vector<Named>& sources, bool at_front,
              PairsByForm& pairs) {
  std::unordered_map<std::string_view, std::vector<std::pair<TensorId, std::string_view>>> by_rest;
  for (const Named& source : sources) {
    for (const Cut& cut : CutsOf(source.name, at_front)) by_rest[cut.rest].emplace_back(source.tensor, cut.affix);
  }
  for (const Named& output : outputs) {
    for (const Cut& cut : CutsOf(output.name, at_front)) {
      const auto found = by_rest.find(cut.rest);
      if (found == by_rest.end() || found->second.size() > kMaxSharing) continue;
      for (const auto& [source, affix] : found->second) {
        if (graph.tensor(source).type != graph.tensor(output.tensor).type) continue;
        if (IsConstantOf(graph, source, output.tensor)) continue;
        pairs[{at_front, cut.affix, affix}].push_back({output.tensor, source});
      }
      break;  // shorter rests say less
    }
  }
}

// What every tensor is computed from: nothing given, one given tensor alone, or several.
constexpr uint32_t kNothing = std::numeric_limits<uint32_t>::max(), kSeveral = kNothing - 1;
std::vector<uint32_t> GivenSources(const Graph& graph, const std::vector<Tie>& ties) {
  std::vector<uint32_t> sources(graph.tensors.size(), kNothing);
  for (uint32_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role != TensorRole::kActivation && graph.tensors[t].literal == nullptr) sources[t] = t;
  }
  for (const Tie& tie : ties) sources[tie.input.index()] = tie.input.value;  // a small parameter may be known by value
  for (const Op& op : graph.ops) {
    uint32_t all = kNothing;
    for (const TensorId id : graph.OperandsOf(op)) {
      if (!id.valid() || sources[id.index()] == kNothing) continue;
      all = all == kNothing || all == sources[id.index()] ? sources[id.index()] : kSeveral;
    }
    for (const TensorId id : op.outputs) {
      if (id.valid()) sources[id.index()] = all;
    }
  }
  return sources;
}

// Leaves the pairs whose output is computed from its source and from something else. Linear in pairs / 64 x operands.
std::vector<Tie> KeepUpdates(const Graph& graph, const std::vector<Tie>& ties) {
  constexpr size_t kBits = 64;
  const std::vector<uint32_t> sources = GivenSources(graph, ties);
  std::vector<Tie> kept;
  for (size_t begin = 0; begin < ties.size(); begin += kBits) {
    const size_t end = std::min(begin + kBits, ties.size());
    std::vector<uint64_t> reached(graph.tensors.size(), 0);  // bit i: by the source of pair begin + i
    for (size_t i = begin; i < end; ++i) reached[ties[i].input.index()] |= uint64_t{1} << (i - begin);
    for (const Op& op : graph.ops) {
      uint64_t all = 0;
      for (const TensorId id : graph.OperandsOf(op)) all |= id.valid() ? reached[id.index()] : 0;
      for (const TensorId id : op.outputs) {
        if (id.valid()) reached[id.index()] = all;
      }
    }
    for (size_t i = begin; i < end; ++i) {
      const size_t output = ties[i].output.index();
      if ((reached[output] >> (i - begin) & 1) != 0 && sources[output] == kSeveral) kept.push_back(ties[i]);
    }
  }
  return kept;
}

// Leaves the pairs of which another is of the same kind. One that is alone must be a parameter and no counter: an input
// and an output may be called "src" and "out.src" for other reasons.
std::vector<Tie> KeepEqualKinds(const Graph& graph, const std::vector<Tie>& ties) {
  const auto kind = [&](const Tie& tie) { return graph.type_of(graph.op(graph.tensor(tie.output).producer)); };
  if (ties.size() == 1) {
    const Tensor& source = graph.tensor(ties[0].input);
    const bool updated = source.role == TensorRole::kParameter && IsFloat(source.type.dtype);
    return updated ? ties : std::vector<Tie>();
  }
  std::map<std::string, size_t> counts;
  for (const Tie& tie : ties) ++counts[kind(tie)];
  std::vector<Tie> kept;
  for (const Tie& tie : ties) {
    if (counts[kind(tie)] > 1) kept.push_back(tie);
  }
  return kept;
}

// "grad/w" is the gradient of "w", whatever it is computed from.
bool IsGradient(const Form& form) { return form.output.find("grad") != std::string_view::npos; }

// One pair proves an affix only where the other name stands there whole.
bool IsConvincing(const Form& form, const std::vector<Tie>& ties) {
  return ties.size() > 1 || form.output.empty() || form.source.empty();
}

}  // namespace

std::vector<Tie> FindTiesByName(const Graph& graph) {
  // In StableHLO a name says where a value stands in what a function returns: gradients of "params.w" are "result.w" as
  // updates are; what takes an argument's place is donated. Torch names results after nodes, and lists what is updated.
  if (IsProducedBy(graph, kStableHloProducer) || IsProducedBy(graph, kTorchProducer)) return {};
  std::vector<Named> outputs, sources;
  std::unordered_set<TensorType> types;  // of outputs: most parameters of a graph without ties have none of them
  for (TensorId id : graph.outputs) {
    if (!graph.tensor(id).producer.valid()) continue;
    outputs.push_back({id, Normalised(graph.tensor(id).name)});
    types.insert(graph.tensor(id).type);
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (graph.tensors[t].role == TensorRole::kActivation || !types.contains(graph.tensors[t].type)) continue;
    sources.push_back({TensorId(t), Normalised(graph.tensors[t].name)});
  }
  PairsByForm pairs;
  AddPairs(graph, outputs, sources, true, pairs);
  AddPairs(graph, outputs, sources, false, pairs);

  const std::vector<Tie>* best = nullptr;
  bool unique = false;
  for (const auto& [form, ties] : pairs) {
    if (IsGradient(form) || !IsConvincing(form, ties) || (best != nullptr && ties.size() < best->size())) continue;
    unique = best == nullptr || ties.size() > best->size() || ties == *best;
    best = &ties;
  }
  if (best == nullptr || !unique) return {};
  std::vector<Tie> ties = KeepEqualKinds(graph, KeepUpdates(graph, *best));
  std::sort(ties.begin(), ties.end(),
            [](const Tie& a, const Tie& b) { return std::tie(a.output, a.input) < std::tie(b.output, b.input); });
  const auto repeated = [](const Tie& a, const Tie& b) { return a.output == b.output; };
  ties.erase(std::unique(ties.begin(), ties.end(), repeated), ties.end());
  return ties;
}

}  // namespace sbp
