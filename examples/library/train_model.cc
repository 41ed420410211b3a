// sbp-plan as a library: makes a model's training step, plans it, and trains on threads.
//
//   train_model linear.json mse:y adamw data=2 batch=8
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/sbp_plan.h"

namespace {

void Say(std::string_view text) { std::cerr << "note: " << text << "\n"; }

// "batch=8" of the command line. The façade takes numbers, not text.
sbp::Status Bind(const std::string& text, sbp::ResolveOptions& resolve) {
  const size_t at = text.rfind('=');
  char* end = nullptr;
  const int64_t size = at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + 1, &end, 10);
  if (size < 0 || *end != '\0') return sbp::UsageError(text + ": expected NAME=N");
  resolve.bindings.emplace(text.substr(0, at), size);
  return sbp::OkStatus();
}

// The graph of one step alone: what it hands to the next one are its ties.
sbp::Status ShowStep(const sbp::GradInput& input, const sbp::RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const sbp::GradGraph made, sbp::MakeGradOfModel(input, rules, Say));
  for (const std::string& note : sbp::NotesOn(made)) Say(note);
  std::cout << made.graph.ops.size() << " ops; " << made.graph.ties.size() << " tensors go on to the next step\n";
  return sbp::OkStatus();
}

sbp::Result<sbp::Plan> PlanStep(const sbp::GradInput& input, const std::string& mesh, const sbp::RuleSet& rules) {
  sbp::PlanningInput planning;
  planning.model = input.model;
  planning.resolve = input.resolve;
  planning.train = input.request;
  SBP_ASSIGN_OR_RETURN(planning.mesh, sbp::ParseMesh(mesh));
  SBP_ASSIGN_OR_RETURN(sbp::PlanRequest request, sbp::PreparePlan(std::move(planning), rules, Say));
  return sbp::MakePlan(std::move(request));
}

sbp::Status Main(int argc, char** argv) {
  if (argc < 5) return sbp::UsageError("usage: train_model MODEL LOSS OPTIMIZER MESH [DIM=N]...");
  sbp::GradInput input;
  input.model = argv[1];
  input.request.loss = argv[2];
  input.request.update.optimizer.optimizer = argv[3];
  for (int i = 5; i < argc; ++i) SBP_RETURN_IF_ERROR(Bind(argv[i], input.resolve));
  SBP_ASSIGN_OR_RETURN(const sbp::RuleSet rules, sbp::LoadRules());
  SBP_RETURN_IF_ERROR(ShowStep(input, rules));
  SBP_ASSIGN_OR_RETURN(const sbp::Plan plan, PlanStep(input, argv[4], rules));
  std::cout << sbp::FormatSummary(plan);
  // Every device is a thread; each step is compared with the unsharded one.
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<sbp::Backend> threads, sbp::StartBackend("cpu"));
  SBP_ASSIGN_OR_RETURN(const sbp::PlanRun run,
                       sbp::TrainPlan(plan, rules, input.model, {}, *threads, {}, {.steps = 3}));
  std::cout << "\n" << sbp::FormatRunReport(run.report) << "\n";
  return run.report.good() ? sbp::OkStatus() : sbp::Status(sbp::Code::kMismatch, "the numbers differ");
}

}  // namespace

int main(int argc, char** argv) {
  const sbp::Status status = Main(argc, argv);
  if (!status.ok()) std::cerr << "error: " << status.message() << "\n";
  return static_cast<int>(status.code());
}
