// convert: a graph, cluster or plan from one encoding to another, loss-free, and checked by reading it back.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/model.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cluster/cluster.h"
#include "decompose/decompose.h"
#include "fold/resolve.h"
#include "io/documents.h"
#include "io/file.h"
#include "pipeline/pipeline.h"
#include "plan/plan.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct ConvertFlags {
  ModelFlags model;
  std::string out;
  std::string to;
  bool resolve = false;
  std::string decompose;  // types of ops, joined by commas; "all": every op that is no primitive; "": none
};

Result<Encoding> ChooseEncoding(const ConvertFlags& flags) {
  if (flags.to.empty()) return EncodingForPath(flags.out);
  return EncodingForPath("x." + (flags.to == "binary" ? std::string("pb") : flags.to));
}

// Writes, reads what was written, writes again: the same bytes, or it is a defect of ours and nothing reaches the disk.
template <typename Document>
Status WriteChecked(const Document& document, Encoding encoding, const std::string& out,
                    std::string (*write)(const Document&, Encoding),
                    Result<Document> (*read)(std::string_view, std::string_view)) {
  const std::string bytes = write(document, encoding);
  auto again = read(bytes, out);
  if (!again.ok()) return Defect(StrCat("the converted document does not read back: ", again.status().message()));
  if (write(*again, encoding) != bytes) return Defect("the converted document reads back differently");
  return WriteFile(out, bytes);
}

DecomposeOptions OptionsOf(std::string_view types) {
  DecomposeOptions options;
  if (types == "all") return options;
  for (const std::string_view type : Split(types, ',')) {
    if (!Trim(type).empty()) options.only.emplace_back(Trim(type));
  }
  return options;
}

Status ConvertGraph(const ConvertFlags& flags, std::string_view bytes, bool has_weights, Encoding encoding) {
  SBP_ASSIGN_OR_RETURN(Graph graph, LoadModel(bytes, flags.model.model, flags.model.model));
  if (flags.resolve || !flags.decompose.empty() || !flags.model.dims.empty() || !flags.model.inputs.empty()) {
    SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
    SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveModel(std::move(graph), rules, flags.model));
    for (const std::string& warning : resolved.warnings) Note("warning: " + warning);
    graph = std::move(resolved.graph);
    if (!flags.decompose.empty()) {
      SBP_ASSIGN_OR_RETURN(graph, Decompose(graph, rules, OptionsOf(flags.decompose)));
    }
  }
  if (has_weights) LocateWeightsFor(flags.model.model, flags.out, graph);
  return WriteChecked(graph, encoding, flags.out, WriteGraph, ReadGraph);
}

Status Convert(const ConvertFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Encoding encoding, ChooseEncoding(flags));
  SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.model.model));
  const auto info = Recognise(bytes, flags.model.model);
  // StableHLO is none of the kinds; of what is no model either, reading says why.
  if (!info.ok()) return ConvertGraph(flags, bytes, /*has_weights=*/false, encoding);
  switch (info->kind) {
    case DocumentKind::kOnnx:
    case DocumentKind::kTorch:
    case DocumentKind::kConfig:
    case DocumentKind::kGraph:
      return ConvertGraph(flags, bytes, info->kind != DocumentKind::kGraph, encoding);
    case DocumentKind::kCluster: {
      SBP_ASSIGN_OR_RETURN(const Cluster cluster, ReadCluster(bytes, flags.model.model));
      return WriteChecked(cluster, encoding, flags.out, WriteCluster, ReadCluster);
    }
    case DocumentKind::kPlan: {
      SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlan(bytes, flags.model.model));
      return WriteChecked(plan, encoding, flags.out, WritePlan, ReadPlan);
    }
  }
  return Defect("a kind of document without a conversion");
}

}  // namespace

Command SetupConvert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  app.add_option(
         "in", flags->model.model,
         "ONNX, .pt2, StableHLO, config.json of Hugging Face, or a graph, cluster or plan in any encoding; - is stdin")
      ->required()
      ->type_name("IN");
  app.add_option("out", flags->out, ".json, .prototxt or .pb; - is stdout")->required()->type_name("OUT");
  app.add_option("--to", flags->to, "encoding, when OUT does not say it")
      ->check(CLI::IsMember({"json", "prototxt", "binary"}));
  app.add_option("--dim", flags->model.dims, "bind a symbolic dimension and resolve the graph")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--inputs", flags->model.inputs, "take dimensions from real inputs (.npz)")->type_name("X.npz");
  app.add_option("--rules", flags->model.rules, "sharding rules of your own")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag("--resolve", flags->resolve, "fold shape arithmetic and infer all shapes, as infer does");
  app.add_flag("--decompose{all}", flags->decompose,
               "write ops in terms of primitives (--decompose=OP,OP: only those); resolves the graph");
  return [flags] { return Convert(*flags); };
}

}  // namespace sbp
