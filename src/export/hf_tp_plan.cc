// hf-tp-plan: the plan as a DistributedConfig of Hugging Face's transformers: a style for each module that tensor
// parallelism splits, '*' for the number of the layer, and the sizes of the mesh. Styles: transformers 5.23,
// distributed/tensor_parallel.py; fields: distributed/configuration_utils.py.
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/folded.h"
#include "graph/producers.h"
#include "parallelism/fold.h"
#include "parallelism/words.h"
#include "plan/plan.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {
namespace {

using HfJson = nlohmann::ordered_json;

// Does the graph have the layouts of the model's own modules? ONNX and StableHLO turn matrices as their exporters like.
bool LiesAsModules(const Plan& plan) {
  return IsProducedBy(plan.graph, kTorchProducer) || IsProducedBy(plan.graph, kConfigProducer);
}

class HfPlan {
 public:
  HfPlan(const Plan& plan, const Fold& fold, FoldedReport& report)
      : plan_(plan), fold_(fold), report_(report), as_modules_(LiesAsModules(plan)) {}

  HfJson Make() {
    HfJson config = HfJson::object();
    report_.CannotOrderRanks(plan_.mesh);
    CheckEven(fold_, plan_, RanksOf(fold_, plan_.mesh, AxisUse::kData), report_);
    if (const int64_t ranks = RanksOf(fold_, plan_.mesh, AxisUse::kTensor); ranks > 1) {
      config["tp_size"] = ranks;
      config["tp_plan"] = Styles();
      if (HasResidual(fold_, ResidualUse::kSequence)) {
        report_.Cannot("sequence parallelism", "between layers is not wired up there: sums are whole");
      }
    }
    AddData(config);
    return config;
  }

 private:
  // By pattern. Modules of one pattern must have one style.
  HfJson Styles() {
    std::vector<std::pair<std::string, std::string>> styles;
    std::map<std::string, size_t> at;
    std::map<std::string, std::string> of_module;  // for vectors beside the matrix
    std::map<std::string, std::string> first_of;   // name of the parameter that gave a pattern its style
    for (const FoldedParameter& parameter : fold_.parameters) {
      if (parameter.rank < 2) continue;
      const std::string style = StyleOf(parameter);
      if (style.empty()) continue;
      of_module[parameter.module] = style;
      const std::string pattern = ModulePattern(parameter.module);
      const auto [entry, is_new] = at.emplace(pattern, styles.size());
      if (is_new) styles.emplace_back(pattern, style), first_of[pattern] = parameter.name;
      const std::string& first = styles[entry->second].second;
      if (first != style) {
        report_.Cannot(parameter.name, StrCat("is ", style, ", where ", first_of[pattern], " is ", first, ": ", pattern,
                                              " has one style"));
      }
    }
    for (const FoldedParameter& parameter : fold_.parameters) {
      if (parameter.rank < 2) CheckVector(parameter, of_module);
    }
    HfJson json = HfJson::object();
    for (const auto& [pattern, style] : styles) json[pattern] = style;
    return json;
  }

  // Of a matrix. "": it has none, which is reported.
  std::string StyleOf(const FoldedParameter& parameter) {
    const ParameterStyle style = StyleOverTensor(fold_, parameter);
    std::string_view reason;
    if (parameter.module.empty()) {
      reason = style == ParameterStyle::kWhole ? "" : "is split and belongs to no module that has a name";
    } else if (parameter.is_part && style != ParameterStyle::kWhole) {
      reason = "is a part of a fused parameter, which has one style";
    } else if (parameter.rank > 2 && style != ParameterStyle::kWhole) {
      reason = "is a stack of experts, whose styles follow how the model fuses them";
    } else if (as_modules_ && IsTurned(plan_, fold_, parameter)) {
      reason = "lies as [in, out], as Conv1D's, which has no style: they are of nn.Linear, which lies as [out, in]";
    } else {
      NoteIfTurned(parameter);
      switch (style) {
        case ParameterStyle::kColumn:
          return parameter.gathered ? "colwise_gather_output" : "colwise";
        case ParameterStyle::kRow:
          return "rowwise";
        case ParameterStyle::kVocabulary:
          return "embedding_rowwise";
        case ParameterStyle::kWhole:
          // Else the model's own plan might split it. A part of a fused matrix has no module of its own.
          return parameter.rank == 2 && !parameter.is_part ? "replicate" : "";
        case ParameterStyle::kExpert:
        case ParameterStyle::kOther:
          reason = "is split otherwise over one tensor axis than over another, or by experts";
      }
    }
    if (!reason.empty()) report_.Cannot(parameter.name, std::string(reason));
    return "";
  }

  void NoteIfTurned(const FoldedParameter& parameter) {
    if (noted_ || !IsTurned(plan_, fold_, parameter)) return;
    noted_ = true;
    report_.Note(StrCat(parameter.name, " lies as [in, out]: styles are those of nn.Linear, which lies as [out, in]; ",
                        "transformers has none for Conv1D, as GPT-2's"));
  }

  // A bias goes with its matrix: split where that is by columns, else whole.
  void CheckVector(const FoldedParameter& parameter, const std::map<std::string, std::string>& of_module) {
    const bool split = StyleOverTensor(fold_, parameter) != ParameterStyle::kWhole;
    const auto found = of_module.find(parameter.module);
    const bool wanted = found != of_module.end() && found->second.starts_with("colwise");
    if (split == wanted) return;
    report_.Cannot(parameter.name,
                   split ? "is split, and no style splits it" : "lies whole, where its matrix is colwise");
  }

  void AddData(HfJson& config) {
    const ShardedData data = DataOf(fold_, plan_, report_);
    if (data.zero == 1 || data.zero == 2) {
      report_.Cannot(StrCat("ZeRO's stage ", data.zero), "splits states, not parameters: fsdp_size does all");
    }
    if (data.zero > 0) config["fsdp_size"] = data.sharded;
    if (data.replicated > 1) config["dp_replicate_size"] = data.replicated;
    if (data.zero == 3 && !data.regathers) {
      report_.Note(
          "the plan keeps gathered parameters for the backward pass: styles of fsdp_plan would say keep_full_weight");
    }
    constexpr std::pair<AxisUse, const char*> kNone[] = {
        {AxisUse::kContext, "split the sequence, for which there is no size"},
        {AxisUse::kExpert, "split experts and the batch: ep_size takes ranks of FSDP and tensor parallelism"},
        {AxisUse::kIdle, "repeat what others compute"}};
    for (const auto& [use, reason] : kNone) {
      const int64_t ranks = RanksOf(fold_, plan_.mesh, use);
      if (ranks > 1) report_.Cannot(StrCat(ranks, " ranks"), reason);
    }
    if (UniformRecomputation(fold_, report_) != Recomputation::kNone) {
      report_.Note("layers are computed again: model.gradient_checkpointing_enable() says so, for all of each");
    }
  }

  const Plan& plan_;
  const Fold& fold_;
  FoldedReport& report_;
  const bool as_modules_;  // do matrices lie as their modules have them?
  bool noted_ = false;     // that some do not
};

Result<PlanExport> WriteHfTpPlan(const Plan& plan, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const Fold fold, FoldPlan(plan));
  FoldedReport report("transformers", fold, plan.mesh);
  const HfJson config = HfPlan(plan, fold, report).Make();
  PlanExport made;
  SBP_RETURN_IF_ERROR(report.Finish(options, made.report));
  made.files.push_back({"distributed.json", config.dump(2, ' ', false, HfJson::error_handler_t::replace) + "\n"});
  return made;
}

}  // namespace

ExporterRow HfTpPlanExporter() {
  return {.name = "hf-tp-plan",
          .doc = "a DistributedConfig of Hugging Face with its tp_plan, where the plan folds to one",
          .extension = "json",
          .write_plan = WriteHfTpPlan};
}

}  // namespace sbp
