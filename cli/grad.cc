// grad: a training graph from a forward one.
#include "grad/grad.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "api/model.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/train_flags.h"
#include "fold/resolve.h"
#include "grad/request.h"
#include "graph/graph.h"
#include "io/documents.h"
#include "io/file.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct GradFlags {
  ModelFlags model;
  GradRequest request;
  std::string out;
};

constexpr size_t kListed = 10;  // tensors named in the summary

// Weights stay where they are: in the model, which the new document finds beside it or below.
bool LocateWeights(const std::string& model, const std::string& out, Graph& graph) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::canonical(fs::path(out).has_parent_path() ? fs::path(out).parent_path() : ".", failed);
  const fs::path file = failed ? fs::path() : fs::canonical(model, failed);
  const fs::path relative = failed ? fs::path() : file.lexically_relative(folder);
  const bool found = !relative.empty() && *relative.begin() != "..";
  bool missing = false;
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.data) continue;
    missing = missing || !found;
    if (!found) continue;
    std::string& location = tensor.data->location;
    location = location.empty() ? relative.string() : (relative.parent_path() / location).string();
  }
  return !missing;
}

void Summarise(const GradGraph& made) {
  int64_t bytes = 0;
  for (const Kept& kept : made.kept) bytes += kept.bytes;
  int64_t gradients = 0;
  for (const TensorId id : made.graph.outputs) gradients += made.graph.tensor(id).name.starts_with("grad/") ? 1 : 0;
  const auto updates = std::ranges::count_if(
      made.graph.ties, [&](const Tie& tie) { return made.graph.tensor(tie.input).role == TensorRole::kParameter; });
  const std::string what =
      updates > 0 && gradients == 0 ? StrCat(updates, " parameters are updated") : StrCat(gradients, " gradients");
  Note(StrCat(what, ", ", made.graph.ops.size(), " ops; kept for the backward pass: ", made.kept.size(),
              made.kept.size() == 1 ? " tensor, " : " tensors, ", FormatBytes(static_cast<double>(bytes))));
  std::vector<Kept> largest = made.kept;
  std::ranges::stable_sort(largest, std::ranges::greater(), &Kept::bytes);
  for (size_t i = 0; i < std::min(kListed, largest.size()); ++i) {
    const Kept& kept = largest[i];
    Note(StrCat("  ", kept.tensor, "  ", FormatBytes(static_cast<double>(kept.bytes)), "  read by ", kept.readers,
                " op", kept.readers == 1 ? "" : "s"));
  }
  if (largest.size() > kListed) Note(StrCat("  and ", largest.size() - kListed, " smaller ones"));
  for (const std::string& note : NotesOn(made)) Note("warning: " + note);
}

Status Grad(const GradFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Encoding encoding, EncodingForPath(flags.out));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(flags.model.model));
  SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveModel(std::move(model.graph), rules, flags.model));
  for (const std::string& warning : resolved.warnings) Note("warning: " + warning);
  SBP_ASSIGN_OR_RETURN(GradGraph made, MakeGradGraph(std::move(resolved.graph), rules, flags.request));
  if (!LocateWeights(flags.model.model, flags.out, made.graph)) {
    Note(StrCat("warning: the weights stay in ", flags.model.model, ", which is not beside or below ", flags.out,
                "; `run` finds them only there"));
  }
  const std::string document = WriteGraph(made.graph, encoding);
  if (document.empty()) {
    return BadInput(StrCat(flags.out, ": a binary document may have at most 2147483647 bytes, and the graph of ",
                           made.graph.ops.size(), " ops takes more; write .json"));
  }
  SBP_RETURN_IF_ERROR(WriteFile(flags.out, document));
  Summarise(made);
  return OkStatus();
}

}  // namespace

Command SetupGrad(CLI::App& app) {
  auto flags = std::make_shared<GradFlags>();
  AddModelFlags(app, flags->model);
  AddTrainFlags(app, flags->request);
  app.add_option("-o,--out", flags->out, "the training graph: .json, .prototxt or .pb; - is stdout")
      ->required()
      ->type_name("OUT");
  flags->model.keep_floats = true;  // a parameter that is folded away has no gradient
  return [flags] { return Grad(*flags); };
}

}  // namespace sbp
