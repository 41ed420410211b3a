// torchtitan: the plan as flags of torchtitan, one a line. Flags: torchtitan 0.3.0, config/configs.py; recomputation is
// a subcommand there, and stands last.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
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

class TorchtitanFlags {
 public:
  TorchtitanFlags(const Plan& plan, const Fold& fold, FoldedReport& report)
      : plan_(plan), fold_(fold), report_(report) {}

  std::vector<std::string> Make() {
    AddData();
    AddTensor();
    AddBatch();
    AddRecomputation();
    return std::move(flags_);
  }

 private:
  int64_t Ranks(AxisUse use) const { return RanksOf(fold_, plan_.mesh, use); }
  template <typename Value>
  void Parallelism(std::string_view flag, const Value& value) {
    flags_.push_back(StrCat("--parallelism.", flag, " ", value));
  }

  // FSDP2 splits parameters, gradients and states alike, over data and context ranks together.
  void AddData() {
    const ShardedData data = DataOf(fold_, plan_, report_);
    const int64_t context = Ranks(AxisUse::kContext);
    if (data.zero == 1 || data.zero == 2) {
      report_.Cannot(StrCat("ZeRO's stage ", data.zero),
                     "splits states, not parameters: data_parallel_shard_degree does all");
    }
    if (context > 1 && data.zero == 0) {
      report_.Cannot("context ranks", "hold parameters whole, which torchtitan splits over them");
    }
    Parallelism("data_parallel_replicate_degree", data.replicated);
    Parallelism("data_parallel_shard_degree", data.sharded / data.context);
    if (data.zero == 3) Parallelism("fsdp_reshard_after_forward", data.regathers ? "always" : "never");
    if (context > 1) {
      Parallelism("context_parallel_degree", context);
      report_.Note(
          "positions lie in the order of the sequence: context_parallel_load_balancer would deal them out anew");
      Parallelism("context_parallel_load_balancer", "None");
    }
    const int64_t experts = Ranks(AxisUse::kExpert);
    if (experts > 1) {
      if (data.zero != 3) {
        report_.Cannot("expert ranks", "hold other parameters whole, where torchtitan takes them from FSDP's");
      }
      const int64_t tensor = Ranks(AxisUse::kTensor);
      if (data.sharded * tensor % experts != 0) {
        report_.Cannot(StrCat(experts, " expert ranks"), StrCat("do not divide the ", data.sharded * tensor,
                                                                " that split parameters, of which they are"));
      }
      Parallelism("expert_parallel_degree", experts);
    }
    if (Ranks(AxisUse::kIdle) > 1)
      report_.Cannot(StrCat(Ranks(AxisUse::kIdle), " ranks"), "repeat what others compute");
  }

  void AddTensor() {
    report_.CannotListModules(fold_);
    report_.CannotOrderRanks(plan_.mesh);
    const int64_t tensor = Ranks(AxisUse::kTensor);
    if (tensor == 1) return;
    if (HasResidual(fold_, ResidualUse::kSequence) && HasResidual(fold_, ResidualUse::kWhole)) {
      report_.Cannot("the tensor axes", "differ in sequence parallelism");
    }
    Parallelism("tensor_parallel_degree", tensor);
    flags_.push_back(
        StrCat("--parallelism.", HasResidual(fold_, ResidualUse::kWhole) ? "no_" : "", "enable_sequence_parallel"));
  }

  void AddBatch() {
    const int64_t ranks = Ranks(AxisUse::kData) * Ranks(AxisUse::kExpert);
    CheckEven(fold_, plan_, ranks, report_);
    if (fold_.batch > 0 && fold_.batch % ranks == 0) {
      flags_.push_back(StrCat("--training.local_batch_size ", fold_.batch / ranks));
      flags_.push_back(StrCat("--training.global_batch_size ", fold_.batch * fold_.micro_batches));
    }
    if (fold_.sequence > 0) flags_.push_back(StrCat("--training.seq_len ", fold_.sequence));
  }

  void AddRecomputation() {
    switch (UniformRecomputation(fold_, report_)) {
      case Recomputation::kNone:
        flags_.emplace_back("activation-checkpoint:none");
        return;
      case Recomputation::kFull:
        flags_.emplace_back("activation-checkpoint:full");
        return;
      case Recomputation::kAlternate:
        flags_.emplace_back("activation-checkpoint:selective");
        return;
      case Recomputation::kSelective:
      case Recomputation::kLight:
        report_.Cannot("recomputation",
                       "of what has no products has no name: selective takes each second product, too");
        flags_.emplace_back("activation-checkpoint:selective");
        return;
    }
  }

  const Plan& plan_;
  const Fold& fold_;
  FoldedReport& report_;
  std::vector<std::string> flags_;
};

Result<PlanExport> WriteTorchtitan(const Plan& plan, const ExportOptions& options) {
  SBP_ASSIGN_OR_RETURN(const Fold fold, FoldPlan(plan));
  FoldedReport report("torchtitan", fold, plan.mesh);
  const std::vector<std::string> flags = TorchtitanFlags(plan, fold, report).Make();
  report.Note(StrCat("for ", plan.mesh.num_devices(), " ranks, mesh ", ToString(plan.mesh),
                     "; torchtitan orders copies, FSDP, context, tensor from the outermost on"));
  PlanExport made;
  SBP_RETURN_IF_ERROR(report.Finish(options, made.report));
  made.files.push_back({"torchtitan.args", Join(flags, "\n") + "\n"});
  return made;
}

}  // namespace

ExporterRow TorchtitanExporter() {
  return {.name = "torchtitan",
          .doc = "flags of torchtitan, where the plan folds to them",
          .extension = "args",
          .write_plan = WriteTorchtitan};
}

}  // namespace sbp
