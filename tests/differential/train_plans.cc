// Trains plans, one after the other in the processes of one launch, without the unsharded run beside it: what
// training_runs.py compares with the checkpoints that `run` writes. To start ranks takes longer than to train.
//
//   train_plans BACKEND STEPS RATE (PLAN CHECKPOINT)...
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "api/plan_file.h"
#include "api/run.h"
#include "api/train.h"
#include "base/status.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"

namespace sbp {
namespace {

Status Train(const std::string& path, const StepsRequest& request, Backend& backend) {
  SBP_ASSIGN_OR_RETURN(Plan plan, ReadPlanFile(path));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
  SBP_ASSIGN_OR_RETURN(const std::string model, FindModelOfPlan(plan, path));
  RunOptions options;
  options.reference = false;
  return TrainPlan(std::move(plan), rules, model, {}, backend, options, request).status();
}

Status TrainAll(int argc, char** argv, Backend& backend) {
  StepsRequest request{.steps = std::atoll(argv[2]), .lr = std::atof(argv[3])};
  for (int i = 4; i + 1 < argc; i += 2) {
    request.save = argv[i + 1];
    SBP_RETURN_IF_ERROR(Train(argv[i], request, backend).WithContext(argv[i]));
  }
  return OkStatus();
}

int Run(int argc, char** argv) {
  if (argc < 6 || argc % 2 != 0) {
    std::fputs("usage: train_plans BACKEND STEPS RATE (PLAN CHECKPOINT)...\n", stderr);
    return 2;
  }
  const auto tell = [](const Status& failure) {
    if (!failure.message().empty()) std::fprintf(stderr, "error: %s\n", failure.message().c_str());
  };
  const Result<std::unique_ptr<Backend>> backend = StartBackend(argv[1]);
  if (!backend.ok()) {
    tell(backend.status());
    return 1;
  }
  const Status status = (*backend)->Finish(TrainAll(argc, argv, **backend), tell);
  tell(status);
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace sbp

int main(int argc, char** argv) { return sbp::Run(argc, argv); }
