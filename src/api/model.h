// Models and rules from files, and the graph that planning and running begin with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "rule/rule_set.h"

namespace sbp {

// The built-in rules and the user's files (rules/README.md). Errors (kBadInput): a file that cannot be read; what is
// wrong in it, with file:line:column.
Result<RuleSet> LoadRules(const std::vector<std::string>& files = {});

struct ShardingAnnotations;  // onnx/annotations.h
struct Shardings;            // stablehlo/shardings.h

struct LoadedModel {
  std::string path, fingerprint;                           // fingerprint: of the file's bytes, as plans record it
  Graph graph;                                             // as the file has it, possibly with symbols
  std::shared_ptr<const ShardingAnnotations> annotations;  // of an ONNX model that has some; else null
  std::shared_ptr<const Shardings> shardings;              // of a text of StableHLO that has some; else null
};
// ONNX, .pt2 of torch.export, or a graph as JSON, prototxt or binary; "-" is stdin. Error (kBadInput): no such file, or
// not a model.
Result<LoadedModel> LoadModelFile(const std::string& path);
// The same of a file that was read: a pipe can be read only once.
Result<LoadedModel> LoadModelBytes(std::string_view bytes, const std::string& path);

// What stands for flags that were not given, of models whose kind says more than their graph: a config.json of Hugging
// Face is a language model of `batch` sequences. Says what it chose to `note`.
void AssumeBatch(const Graph& graph, int64_t batch, ResolveOptions& options,
                 const std::function<void(std::string)>& note = nullptr);
// `loss`, or that of the model's kind where it is "". Error (kUsage): there is none.
Result<std::string> LossOf(const Graph& graph, const std::string& loss);

// Makes the weights of a graph that will be written to `path` ("-": as if to the current folder) refer to the file
// `model`, in which they stay: as files beside or below. False: it is neither, and the graph says no longer where they
// are.
bool LocateWeights(const std::string& model, const std::string& path, Graph& graph);

// Resolve (fold/resolve.h) with real inputs: their shapes bind dimensions, and the small ones give values that may
// shape the graph.
Result<Resolved> ResolveWithInputs(Graph graph, const RuleSet& rules, ResolveOptions options,
                                   const std::vector<TensorData>& inputs);

}  // namespace sbp
