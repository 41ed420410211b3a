// grad: a training graph from a forward one.
#include "api/grad.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/explain.h"
#include "api/model.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/train_flags.h"
#include "fold/resolve.h"
#include "grad/grad.h"
#include "grad/request.h"
#include "graph/graph.h"
#include "io/documents.h"
#include "io/file.h"
#include "io/signals.h"
#include "remat/recompute.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

struct GradFlags {
  ModelFlags model;
  GradRequest request;
  std::string out;
};

constexpr size_t kListed = 4;  // of each kind in the summary

std::string Summary(const GradGraph& made, const RuleSet& rules) {
  int64_t gradients = 0;
  for (const TensorId id : made.graph.outputs) gradients += made.graph.tensor(id).name.starts_with("grad/") ? 1 : 0;
  const auto updates = std::ranges::count_if(
      made.graph.ties, [&](const Tie& tie) { return made.graph.tensor(tie.input).role == TensorRole::kParameter; });
  const std::string what = updates > 0 && gradients == 0
                               ? StrCat(updates, updates == 1 ? " parameter is updated" : " parameters are updated")
                               : StrCat(gradients, gradients == 1 ? " gradient" : " gradients");
  const RematSummary& remat = made.remat;
  const std::string again = remat.ops == 0 ? ""
                                           : StrCat(", of them ", remat.ops, " again, in ", remat.segments,
                                                    remat.segments == 1 ? " segment" : " segments", ": they keep ",
                                                    FormatBytes(static_cast<double>(remat.kept_bytes)), " in place of ",
                                                    FormatBytes(static_cast<double>(remat.kept_bytes_before)));
  return StrCat(what, ", ", made.graph.ops.size(), " ops", again, "\n", ExplainKept(made.graph, rules, false, kListed));
}

Status Grad(const GradFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const Encoding encoding, EncodingForPath(flags.out));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
  GradInput input{.model = flags.model.model, .inputs = flags.model.inputs, .request = flags.request};
  SBP_ASSIGN_OR_RETURN(input.resolve, ReadModelFlags(flags.model));
  const auto warn = [](std::string_view warning) { Note(StrCat("warning: ", warning)); };
  SBP_ASSIGN_OR_RETURN(GradGraph made, MakeGradOfModel(std::move(input), rules, warn));
  LocateWeightsFor(flags.model.model, flags.out, made.graph);
  {
    // Of a million ops either takes seconds.
    const SignalsHeld held;
    std::future<std::string> summary = std::async(std::launch::async, [&] { return Summary(made, rules); });
    SBP_RETURN_IF_ERROR(
        WriteFileInPieces(flags.out, [&](const ByteSink& sink) { WriteGraph(made.graph, encoding, sink); }));
    std::string text = summary.get();
    text.pop_back();  // a line's end
    Note(text);
  }
  for (const std::string& note : NotesOn(made)) Note("warning: " + note);
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
  return [flags] { return Grad(*flags); };
}

}  // namespace sbp
