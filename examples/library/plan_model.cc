// sbp-plan as a library: plans a model, explains what its dearest collective is for, proves the plan on threads.
//
//   plan_model model.onnx data=2,model=2 batch=8
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

#include "api/sbp_plan.h"

namespace {

// "batch=8" of the command line. The façade takes numbers, not text.
sbp::Result<std::pair<std::string, int64_t>> ParseBinding(const std::string& text) {
  const size_t at = text.rfind('=');
  char* end = nullptr;
  const int64_t size = at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + 1, &end, 10);
  if (size < 0 || *end != '\0') return sbp::UsageError(text + ": expected NAME=N");
  return std::pair(text.substr(0, at), size);
}

sbp::Result<sbp::Plan> PlanModel(const std::string& model, const std::string& mesh,
                                 std::map<std::string, int64_t> bindings, const sbp::RuleSet& rules) {
  sbp::PlanningInput input;
  input.model = model;
  input.resolve.bindings = std::move(bindings);
  SBP_ASSIGN_OR_RETURN(input.mesh, sbp::ParseMesh(mesh));
  const auto note = [](std::string_view text) { std::cerr << "note: " << text << "\n"; };
  SBP_ASSIGN_OR_RETURN(sbp::PlanRequest request, sbp::PreparePlan(std::move(input), rules, note));
  return sbp::MakePlan(std::move(request));
}

sbp::Status ExplainDearest(const sbp::Plan& plan, const sbp::RuleSet& rules) {
  const auto dearest = std::ranges::max_element(plan.transitions, {}, &sbp::Transition::seconds);
  if (dearest == plan.transitions.end()) return sbp::OkStatus();
  const std::string& tensor = plan.graph.tensor(dearest->tensor).name;
  SBP_ASSIGN_OR_RETURN(const std::string text, sbp::ExplainPlan(plan, rules, tensor));
  std::cout << "\n" << text << "\n";
  return sbp::OkStatus();
}

// Every device is a thread; the unsharded model is run beside it, and the numbers compared.
sbp::Status Prove(const sbp::Plan& plan, const sbp::RuleSet& rules, const std::string& model) {
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<sbp::Backend> threads, sbp::StartBackend("cpu"));
  SBP_ASSIGN_OR_RETURN(const sbp::PlanRun run, sbp::RunPlan(plan, rules, model, {}, *threads, {}));
  std::cout << "\n" << sbp::FormatRunReport(run.report) << "\n";
  return run.report.good() ? sbp::OkStatus() : sbp::Status(sbp::Code::kMismatch, "the numbers differ");
}

sbp::Status Main(int argc, char** argv) {
  if (argc < 3) return sbp::UsageError("usage: plan_model MODEL MESH [DIM=N]...");
  std::map<std::string, int64_t> bindings;
  for (int i = 3; i < argc; ++i) {
    SBP_ASSIGN_OR_RETURN(auto binding, ParseBinding(argv[i]));
    bindings.insert(std::move(binding));
  }
  SBP_ASSIGN_OR_RETURN(const sbp::RuleSet rules, sbp::LoadRules());
  SBP_ASSIGN_OR_RETURN(const sbp::Plan plan, PlanModel(argv[1], argv[2], std::move(bindings), rules));
  std::cout << sbp::FormatSummary(plan);
  SBP_RETURN_IF_ERROR(ExplainDearest(plan, rules));
  return Prove(plan, rules, argv[1]);
}

}  // namespace

int main(int argc, char** argv) {
  const sbp::Status status = Main(argc, argv);
  if (!status.ok()) std::cerr << "error: " << status.message() << "\n";
  return static_cast<int>(status.code());
}
