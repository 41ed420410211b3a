// galvatron: the plan as a strategy file of Hetu-Galvatron, a list entry for each layer. Keys: PKU-DAIR/Hetu-Galvatron,
// galvatron/utils/config_utils.py and the files that its search writes.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/folded.h"
#include "parallelism/fold.h"
#include "parallelism/words.h"
#include "plan/plan.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

using GalvatronJson = nlohmann::ordered_json;

class GalvatronStrategy {
 public:
  GalvatronStrategy(const Plan& plan, const Fold& fold, FoldedReport& report)
      : plan_(plan), fold_(fold), report_(report) {}

  GalvatronJson Make() {
    report_.CannotListModules(fold_);
    const int64_t tensor = Ranks(AxisUse::kTensor), context = Ranks(AxisUse::kContext);
    const int zero = StageOfData();
    RefuseOthers(zero, context);
    std::vector<std::string> recomputed;
    for (size_t i = 0; i < fold_.layers.size(); ++i) recomputed.emplace_back(IsRecomputed(i) ? "1" : "0");
    GalvatronJson json = {{"pp_deg", 1},
                          {"tp_sizes_enc", ForEachLayer(tensor)},
                          {"cp_sizes_enc", ForEachLayer(context)},
                          {"tp_consecutive_flags", ForEachLayer(TensorIsInner() ? 1 : 0)},
                          {"dp_types_enc", ForEachLayer(zero == 3 ? 1 : 0)},
                          {"use_sp", ForEachLayer(0)},  // Ulysses
                          {"checkpoint", Join(recomputed, ",")},
                          {"global_bsz", fold_.batch * fold_.micro_batches},
                          {"chunks", fold_.micro_batches},
                          {"pp_division", StrCat(fold_.layers.size())},
                          {"pipeline_type", "pipedream_flush"},
                          {"default_dp_type", zero == 3   ? "zero3"
                                              : zero == 2 ? "zero2"
                                                          : "ddp"},
                          {"vtp", tensor},
                          {"vsp", 0},
                          {"vcp", context},
                          {"embed_sdp", zero == 3 ? 1 : 0}};
    if (HasResidual(fold_, ResidualUse::kSequence))
      report_.Note("sequence parallelism is the flag --sequence-parallel");
    return json;
  }

 private:
  int64_t Ranks(AxisUse use) const { return RanksOf(fold_, plan_.mesh, use); }

  std::string ForEachLayer(int64_t value) const {
    return Join(std::vector<std::string>(fold_.layers.size(), StrCat(value)), ",");
  }

  // 0, 2 or 3. In a step of one micro-batch stages 1 and 2 take the same memory, and send the same.
  int StageOfData() {
    const ShardedData data = DataOf(fold_, plan_, report_);
    if (data.zero > 0 && data.replicated > 1) {
      report_.Cannot(StrCat(data.replicated, " copies"), "of groups that hold parts have no key");
    }
    if (data.zero_of_copies != 1) return data.zero_of_copies;
    if (fold_.micro_batches > 1)
      report_.Cannot("ZeRO's stage 1", "over several micro-batches has no name: zero2 is next");
    return 2;
  }

  void RefuseOthers(int zero, int64_t context) {
    if (context > 1 && zero > 0) {
      report_.Cannot("context ranks", "beside ranks that hold parts: which of them do is not for the file to say");
    }
    if (HasResidual(fold_, ResidualUse::kSequence) && HasResidual(fold_, ResidualUse::kWhole)) {
      report_.Cannot("the tensor axes", "differ in sequence parallelism");
    }
    if (Ranks(AxisUse::kExpert) > 1) report_.Cannot("expert parallelism", "has no key");
    if (Ranks(AxisUse::kIdle) > 1)
      report_.Cannot(StrCat(Ranks(AxisUse::kIdle), " ranks"), "repeat what others compute");
    for (size_t s = 1; s < fold_.stacks.size(); ++s) {
      report_.Cannot(StrCat("layers of ", fold_.stacks[s]),
                     StrCat("are beside those of ", fold_.stacks[0], ", where lists are of one stack of layers"));
    }
    CheckEven(fold_, plan_, Ranks(AxisUse::kData), report_);
    report_.CannotOrderRanks(plan_.mesh);
    if (fold_.batch == 0) report_.Cannot("the inputs", "have no batch size in common");
  }

  // Are the ranks of a tensor group consecutive? If not, those of a group of all others must be.
  bool TensorIsInner() {
    bool other_behind_tensor = false, tensor_behind_other = false, seen_tensor = false, seen_other = false;
    for (size_t a = 0; a < fold_.axes.size(); ++a) {
      if (plan_.mesh.axes[a].size == 1) continue;
      const bool tensor = fold_.axes[a].use == AxisUse::kTensor;
      (tensor ? tensor_behind_other : other_behind_tensor) |= tensor ? seen_other : seen_tensor;
      (tensor ? seen_tensor : seen_other) = true;
    }
    if (other_behind_tensor && tensor_behind_other) {
      report_.Cannot("the tensor axes", "lie around others in the mesh: groups are consecutive ranks, or strided ones");
    }
    return !other_behind_tensor;
  }

  bool IsRecomputed(size_t layer) {
    const Recomputation found = fold_.layers[layer];
    if (found != Recomputation::kNone && found != Recomputation::kFull) {
      report_.Cannot(
          StrCat("layer ", fold_.layer_paths[layer]),
          StrCat("computes a part of it again (", RecomputationName(found), "), where checkpoint is all or nothing"));
    }
    return found == Recomputation::kFull;
  }

  const Plan& plan_;
  const Fold& fold_;
  FoldedReport& report_;
};

Result<PlanExport> WriteGalvatron(const Plan& plan, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const Fold fold, FoldPlan(plan));
  if (fold.layers.empty()) {
    return BadInput("Galvatron's file is of layers, and no scope of the plan's model has a number: \"layers.0/mlp\"");
  }
  FoldedReport report("Galvatron", fold, plan.mesh);
  const GalvatronJson json = GalvatronStrategy(plan, fold, report).Make();
  PlanExport made;
  SBP_RETURN_IF_ERROR(report.Finish(options, made.report));
  made.files.push_back({"galvatron.json", json.dump(4, ' ', false, GalvatronJson::error_handler_t::replace) + "\n"});
  return made;
}

}  // namespace

ExporterRow GalvatronExporter() {
  return {.name = "galvatron",
          .doc = "a strategy file of Hetu-Galvatron, where the plan folds to one",
          .extension = "json",
          .write_plan = WriteGalvatron};
}

}  // namespace sbp
