// megatron: the plan as flags of Megatron-LM, one a line. Flags: NVIDIA/Megatron-LM d98e8a6, megatron/training and
// docs/user-guide.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "export/exporter.h"
#include "export/folded.h"
#include "parallelism/fold.h"
#include "parallelism/words.h"
#include "plan/plan.h"

namespace sbp {
namespace {

void AddZero(const Fold& fold, const ShardedData& data, std::vector<std::string>& flags) {
  // The distributed optimizer holds masters. In a step of one micro-batch gradients that are split as they are summed
  // take no less memory, so that stages 1 and 2 are one.
  const int stage = data.zero_of_copies == 2 && fold.micro_batches == 1 ? 1 : data.zero_of_copies;
  if (stage == 0) return;
  flags.emplace_back("--use-distributed-optimizer");
  if (stage > 1) {
    flags.emplace_back("--use-megatron-fsdp");
    flags.push_back(StrCat("--data-parallel-sharding-strategy ", stage == 2 ? "optim_grads" : "optim_grads_params"));
    flags.emplace_back("--ckpt-format fsdp_dtensor");  // the only one that it takes then
  }
  if (data.replicated > 1) {  // whole groups that split, side by side
    flags.push_back(StrCat("--num-distributed-optimizer-instances ", data.replicated));
    if (stage > 1) flags.emplace_back("--outer-dp-sharding-strategy no_shard");
  }
}

// Batch sizes are of sequences; a data rank's own of one micro-batch, and all of a step.
void AddBatch(const Fold& fold, const Plan& plan, int64_t data_ranks, std::vector<std::string>& flags,
              FoldedReport& report) {
  CheckEven(fold, plan, data_ranks, report);
  if (fold.batch > 0 && fold.batch % data_ranks == 0) {
    flags.push_back(StrCat("--micro-batch-size ", fold.batch / data_ranks));
    flags.push_back(StrCat("--global-batch-size ", fold.batch * fold.micro_batches));
  }
  if (fold.sequence > 0) flags.push_back(StrCat("--seq-length ", fold.sequence));
}

void AddRecomputation(const Fold& fold, std::vector<std::string>& flags, FoldedReport& report) {
  switch (UniformRecomputation(fold, report)) {
    case Recomputation::kNone:
      return;
    case Recomputation::kFull:
      flags.insert(flags.end(),
                   {"--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"});
      return;
    case Recomputation::kSelective:
      flags.insert(flags.end(), {"--recompute-granularity selective", "--recompute-modules core_attn layernorm"});
      report.Note("layers compute activations of their MLPs again, too, which no module of --recompute-modules is");
      return;
    case Recomputation::kLight:
      report.Cannot("recomputation", "of light ops alone has a flag for norms only");
      flags.insert(flags.end(), {"--recompute-granularity selective", "--recompute-modules layernorm"});
      return;
    case Recomputation::kAlternate:
      report.Cannot("recomputation", "of some of a layer's products has a flag for attention and norms only");
      flags.insert(flags.end(), {"--recompute-granularity selective", "--recompute-modules core_attn layernorm"});
      return;
  }
}

Result<PlanExport> WriteMegatron(const Plan& plan, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const Fold fold, FoldPlan(plan));
  FoldedReport report("Megatron-LM", fold, plan.mesh);
  report.CannotListModules(fold);
  report.CannotOrderRanks(plan.mesh);
  const int64_t tensor = RanksOf(fold, plan.mesh, AxisUse::kTensor);
  const int64_t context = RanksOf(fold, plan.mesh, AxisUse::kContext);
  const int64_t expert = RanksOf(fold, plan.mesh, AxisUse::kExpert);
  std::vector<std::string> flags = {StrCat("--tensor-model-parallel-size ", tensor),
                                    "--pipeline-model-parallel-size 1"};
  if (HasResidual(fold, ResidualUse::kSequence) && HasResidual(fold, ResidualUse::kWhole)) {
    report.Cannot("the tensor axes", "differ in sequence parallelism");
  }
  if (HasResidual(fold, ResidualUse::kSequence) || HasResidual(fold, ResidualUse::kOther))
    flags.emplace_back("--sequence-parallel");
  if (context > 1) {
    if (fold.sequence % (2 * context) != 0) {
      report.Cannot(StrCat("a sequence of ", fold.sequence),
                    StrCat("is no multiple of ", 2 * context, ", twice the ranks that split it"));
    }
    flags.push_back(StrCat("--context-parallel-size ", context));
    flags.emplace_back("--cp-comm-type allgather");
  }
  if (expert > 1) flags.push_back(StrCat("--expert-model-parallel-size ", expert));
  if (RanksOf(fold, plan.mesh, AxisUse::kIdle) > 1) {
    report.Cannot(StrCat(RanksOf(fold, plan.mesh, AxisUse::kIdle), " ranks"), "repeat what others compute");
  }
  const ShardedData data = DataOf(fold, plan, report);
  if (expert > 1 && data.zero > 0 && plan.mesh.num_devices() / (tensor * expert) % data.replicated != 0) {
    report.Cannot(StrCat(data.replicated, " copies"),
                  StrCat("of what data ranks split do not divide the ", plan.mesh.num_devices() / (tensor * expert),
                         " ranks that have the same experts"));
  }
  AddZero(fold, data, flags);
  AddBatch(fold, plan, RanksOf(fold, plan.mesh, AxisUse::kData) * expert, flags, report);
  AddRecomputation(fold, flags, report);
  report.Note(StrCat("for ", plan.mesh.num_devices(), " ranks, mesh ", ToString(plan.mesh),
                     "; which ranks form a group is Megatron-LM's own order"));
  PlanExport made;
  SBP_RETURN_IF_ERROR(report.Finish(options, made.report));
  made.files.push_back({"megatron.args", Join(flags, "\n") + "\n"});
  return made;
}

}  // namespace

ExporterRow MegatronExporter() {
  return {.name = "megatron",
          .doc = "flags of Megatron-LM, where the plan folds to them",
          .extension = "args",
          .write_plan = WriteMegatron};
}

}  // namespace sbp
