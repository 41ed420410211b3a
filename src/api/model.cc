#include "api/model.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "api/tensors.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/text.h"
#include "fold/resolve_options.h"
#include "grad/request.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "huggingface/reader.h"
#include "io/file.h"
#include "onnx/annotations.h"
#include "onnx/reader.h"
#include "pipeline/pipeline.h"
#include "stablehlo/reader.h"
#include "stablehlo/shardings.h"

namespace sbp {
namespace {

// By the model's own output: of one that reads tokens, its logits are those of the next ones.
std::string ExampleOfLoss(const Graph& graph) {
  const bool reads_tokens = std::ranges::any_of(graph.inputs, [&](TensorId input) {
    const TensorType& type = graph.tensor(input).type;
    return IsInteger(type.dtype) && type.has_rank && type.rank() == 2;
  });
  const std::string output = graph.outputs.empty() ? "logits" : graph.tensor(graph.outputs.front()).name;
  return StrCat(reads_tokens ? "causal-lm:" : "cross-entropy:", output, " or mean:", output);
}

}  // namespace

Result<RuleSet> LoadRules(const std::vector<std::string>& files) {
  SBP_ASSIGN_OR_RETURN(RuleSet rules, RuleSet::Builtin());
  for (const std::string& file : files) {
    SBP_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
    SBP_RETURN_IF_ERROR(rules.Add(text, file));
  }
  return rules;
}

Result<LoadedModel> LoadModelFile(const std::string& path) {
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  return LoadModelBytes(bytes, path);
}

Result<LoadedModel> LoadModelBytes(std::string_view bytes, const std::string& path) {
  LoadedModel model;
  model.path = path;
  model.fingerprint = Fingerprint(bytes);
  SBP_ASSIGN_OR_RETURN(model.graph, LoadModel(bytes, path, path));
  if (LooksLikeOnnx(bytes) && HasDeviceConfigurations(bytes)) {
    SBP_ASSIGN_OR_RETURN(ShardingAnnotations annotations, ReadShardingAnnotations(bytes, path));
    if (!annotations.nodes.empty()) {
      model.annotations = std::make_shared<const ShardingAnnotations>(std::move(annotations));
    }
  }
  if (LooksLikeMlir(bytes)) {
    SBP_ASSIGN_OR_RETURN(Shardings shardings, ReadShardings(bytes, path));
    if (!shardings.empty()) model.shardings = std::make_shared<const Shardings>(std::move(shardings));
  }
  return model;
}

void AssumeBatch(const Graph& graph, int64_t batch, ResolveOptions& options,
                 const std::function<void(std::string)>& note) {
  if (!IsOfConfig(graph) || graph.bindings.contains("batch")) return;
  if (!options.bindings.emplace("batch", batch).second || !note) return;
  note(StrCat("--batch is not given: it is ", batch));
}

Result<std::string> LossOf(const Graph& graph, const std::string& loss) {
  if (!loss.empty()) return loss;
  if (IsOfConfig(graph)) return std::string(kLanguageModelLoss);
  return UsageError(StrCat("--loss is required: what is to be differentiated, such as ", ExampleOfLoss(graph)));
}

bool LocateWeights(const std::string& model, const std::string& path, Graph& graph) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::canonical(fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".", failed);
  const fs::path file = failed ? fs::path() : fs::canonical(model, failed);
  const fs::path relative = failed ? fs::path() : file.lexically_relative(folder);
  const bool found = !relative.empty() && *relative.begin() != "..";
  bool missing = false;
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.data) continue;
    missing = missing || !found;
    if (!found) {
      tensor.data.reset();
      continue;
    }
    std::string& location = tensor.data->location;
    location = location.empty() ? relative.string() : (relative.parent_path() / location).string();
  }
  return !missing;
}

Result<Resolved> ResolveWithInputs(Graph graph, const RuleSet& rules, ResolveOptions options,
                                   const std::vector<TensorData>& inputs) {
  for (const TensorData& data : inputs) {
    options.input_shapes.emplace_back(data.name, data.type.shape);
    if (LiteralRef value = SmallValue(data)) options.input_values.emplace_back(data.name, std::move(value));
  }
  return Resolve(std::move(graph), rules, options);
}

}  // namespace sbp
