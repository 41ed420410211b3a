#include "runtime/run/plan_run.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>

#include "base/cancelled.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "boxing/boxing.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/actors/simulate.h"
#include "runtime/actors/step_times.h"
#include "runtime/actors/trace.h"
#include "runtime/data/parts.h"
#include "runtime/data/value.h"
#include "runtime/exchange/communicator.h"
#include "runtime/run/compare.h"
#include "runtime/run/run_results.h"
#include "runtime/run/sharded_run.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

TensorReport ReportOf(const Tensor& tensor, const Value& value) {
  TensorReport report;
  report.name = tensor.name;
  report.type = value.view.present() ? TensorType{value.view.dtype, value.view.shape} : tensor.type;
  return report;
}

// What each repeat of a step took.
struct StepRepeats {
  std::vector<double> steps;
  std::vector<std::vector<double>> tasks;  // task, repeat

  void Add(const ActorGraph& graph, const Mesh& mesh, const std::vector<Span>& spans) {
    steps.push_back(StepSeconds(graph, spans));
    const std::vector<double> seconds = TaskSeconds(graph, mesh, spans);
    tasks.resize(seconds.size());
    for (size_t t = 0; t < seconds.size(); ++t) tasks[t].push_back(seconds[t]);
  }
};

class PlanRunner {
 public:
  PlanRunner(const Plan& plan, const RuleSet& rules, TensorStore& store, Backend& backend,
             const PlanRunOptions& options)
      : plan_(plan), rules_(rules), store_(store), backend_(backend), options_(options) {
    const uint32_t planned = plan.physical ? plan.physical->micro_batches : 1;
    const uint32_t wanted = options.micro_batches == 0 ? planned : options.micro_batches;
    // The graph may have been given other element types: sizes are taken anew.
    physical_ = MakePhysicalPlan(plan, {.micro_batches = wanted});
  }

  Result<PlanRun> Run() {
    SBP_ASSIGN_OR_RETURN(devices_, backend_.Claim(plan_.mesh));
    PlanRun run;
    const int64_t devices = plan_.mesh.num_devices();
    run.report.what = StrCat(physical_.tasks.size(), " tasks on ", devices, devices == 1 ? " device (" : " devices (",
                             backend_.name(), "), mesh ", ToString(plan_.mesh));
    if (backend_.is_virtual()) {
      SBP_RETURN_IF_ERROR(RunVirtually(run));
    } else {
      SBP_RETURN_IF_ERROR(Execute(run));
    }
    return run;
  }

 private:
  Status RunVirtually(PlanRun& run) {
    SBP_ASSIGN_OR_RETURN(const ActorGraph actors, MakeActorGraph(plan_, physical_));
    SBP_ASSIGN_OR_RETURN(const Timeline timeline, Simulate(actors, plan_.mesh));
    run.report.is_virtual = true;
    run.report.predicted_seconds = timeline.seconds;
    run.report.peak_bytes = physical_.arena_bytes;
    run.report.notes.push_back("virtual time: what the cost model predicts, with tasks and collectives overlapped");
    if (options_.trace) run.trace = TraceJson(plan_, physical_, actors, {}, timeline.spans);
    return OkStatus();
  }

  Status Execute(PlanRun& run) {
    SBP_ASSIGN_OR_RETURN(MeshCommunicators handles, backend_.Connect(plan_.mesh));
    SBP_ASSIGN_OR_RETURN(
        const std::unique_ptr<ShardedRun> sharded,
        ShardedRun::Make(plan_, physical_, rules_, store_, std::move(handles),
                         {devices_, options_.keep_tensors, options_.seed, backend_.runtimes(), options_.cancelled}));
    SBP_RETURN_IF_ERROR(backend_.MarkMemory("the plan: tensors, workspaces, constants"));
    if (plan_.mesh.num_devices() > 1) sharded->Warm();
    SBP_RETURN_IF_ERROR(backend_.MarkMemory("kernels and libraries"));
    SBP_ASSIGN_OR_RETURN(const ActorGraph actors, MakeActorGraph(plan_, physical_, {.halos = sharded->halos()}));
    SBP_RETURN_IF_ERROR(backend_.Any(false).status());  // all begin at once: their clocks start then
    EngineOptions engine;
    engine.devices = devices_;
    engine.progress = options_.progress;
    engine.cancelled = options_.cancelled;
    const EngineResult result = backend_.RunActors(actors, *sharded, engine);
    SBP_RETURN_IF_ERROR(result.status);
    SBP_RETURN_IF_ERROR(LookAgain(actors, *sharded, engine));
    SBP_ASSIGN_OR_RETURN(const RunResults results, GatherResults(plan_, physical_, *sharded, result, backend_));
    SBP_ASSIGN_OR_RETURN(const std::string fused, FusedNote(*sharded));
    StepRepeats repeats;
    if (options_.repeats > 0) {
      SBP_ASSIGN_OR_RETURN(repeats, Repeat(actors, *sharded, engine));
    }
    SBP_RETURN_IF_ERROR(backend_.MarkMemory("while it ran"));
    if (!backend_.leads()) return OkStatus();
    run.report.device_memory = backend_.memory();
    SBP_ASSIGN_OR_RETURN(const Timeline predicted, Simulate(actors, plan_.mesh));
    run.report.predicted_seconds = predicted.seconds;
    run.report.measured_seconds = results.seconds;
    run.report.peak_bytes = results.device_bytes;
    if (!backend_.devices().empty()) run.report.notes.push_back(backend_.devices());
    if (!fused.empty()) run.report.notes.push_back(fused);
    SBP_RETURN_IF_ERROR(Judge(results, run));
    if (options_.trace) run.trace = TraceJson(plan_, physical_, actors, results.spans, predicted.spans);
    if (options_.repeats > 0) {
      CompareSteps(repeats, run.report);
    } else {
      repeats.Add(actors, plan_.mesh, results.spans);
    }
    ReportTasks(actors, repeats, *sharded, run.report);
    run.report.random_inputs = store_.random_inputs();
    run.report.random_parameters = store_.random_parameters();
    return OkStatus();
  }

  // What decides the time and cannot be seen in the plan: which ops ran as one kernel on every device? "": none might.
  Result<std::string> FusedNote(const ShardedRun& sharded) {
    constexpr size_t kNamed = 4;
    size_t all = 0;
    std::vector<std::string> expanded;
    for (uint32_t t = 0; t < physical_.tasks.size(); ++t) {
      if (!sharded.may_be_fused(t)) continue;  // alike in all processes
      ++all;
      SBP_ASSIGN_OR_RETURN(const bool somewhere, backend_.Any(sharded.was_expanded(t)));
      if (somewhere) expanded.push_back(plan_.graph.op(physical_.tasks[t].op).name);
    }
    if (all == 0) return std::string();
    std::string note = StrCat("fused kernels: for ", all - expanded.size(), " of ", all, " ops");
    const size_t more = expanded.size() - std::min(kNamed, expanded.size());
    expanded.resize(expanded.size() - more);
    if (!expanded.empty()) note += StrCat("; expanded: ", Join(expanded, ", "));
    if (more > 0) note += StrCat(" and ", more, " more");
    return note;
  }

  // An asynchronous device does not stop to look at what a task wrote: where there is something to be found, a second
  // run does. Its times mean nothing.
  Status LookAgain(const ActorGraph& actors, ShardedRun& sharded, EngineOptions engine) {
    if (!sharded.is_asynchronous()) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const bool doubtful, backend_.Any(sharded.doubtful()));
    if (!doubtful) return OkStatus();
    Status noted = sharded.noted();
    engine.progress = nullptr;
    sharded.BeCareful(true);
    SBP_RETURN_IF_ERROR(backend_.RunActors(actors, sharded, engine).status);
    sharded.BeCareful(false);
    return noted;
  }

  Status Judge(const RunResults& results, PlanRun& run) {
    RunReport& report = run.report;
    report.tolerance = options_.tolerance.value_or(DefaultTolerance(plan_.graph));
    if (options_.reference) report.against = "the unsharded run";
    for (uint32_t mb = 0; mb < physical_.micro_batches; ++mb) {
      UnshardedRun reference;
      if (options_.reference) {
        SBP_ASSIGN_OR_RETURN(reference, RunReference(mb));
        report.reference_seconds += reference.seconds;
      }
      const size_t first = report.outputs.size();
      for (size_t i = 0; i < plan_.graph.outputs.size(); ++i) {
        SBP_RETURN_IF_ERROR(JudgeOutput(results, i, mb, reference, run));
      }
      if (mb == 0 && options_.keep_tensors && options_.reference) {
        SBP_RETURN_IF_ERROR(JudgeTensors(results, reference, report));
      }
      if (options_.reference && options_.exact) SBP_RETURN_IF_ERROR(AllowRounding(mb, first, reference, report));
    }
    return OkStatus();
  }

  // What is above the tolerance may be rounding, of the reference as well. `first`: of the micro-batch's outputs.
  Status AllowRounding(uint32_t mb, size_t first, const UnshardedRun& reference, RunReport& report) {
    const auto fails = [&](const TensorReport& entry) { return entry.compared && report.Fails(entry); };
    const bool tensors = mb == 0 && std::ranges::any_of(report.tensors, fails);
    if (!tensors && std::none_of(report.outputs.begin() + static_cast<int64_t>(first), report.outputs.end(), fails)) {
      return OkStatus();
    }
    if (exact_.graph == nullptr) {
      SBP_ASSIGN_OR_RETURN(exact_, options_.exact());
    }
    auto run = RunTwin(exact_, mb);
    if (!run.ok()) return run.status().WithContext("the unsharded run in f64");
    Rounding rounding;
    for (size_t i = first; i < report.outputs.size(); ++i) {
      if (!fails(report.outputs[i])) continue;
      const auto& [name, value] = reference.outputs[i - first];
      SBP_RETURN_IF_ERROR(rounding.Allow(name, value, run->outputs[i - first].second, report.outputs[i]));
    }
    if (!tensors) return OkStatus();
    for (TensorReport& entry : report.tensors) {
      const auto exact = run->tensors.find(entry.name);
      const auto value = reference.tensors.find(entry.name);
      if (!fails(entry) || exact == run->tensors.end() || value == reference.tensors.end()) continue;
      SBP_RETURN_IF_ERROR(rounding.Allow(entry.name, value->second, exact->second, entry));
    }
    return OkStatus();
  }

  Result<UnshardedRun> RunReference(uint32_t mb) {
    if (options_.reference_graph == nullptr) return RunUnsharded(plan_.graph, rules_, store_, HowToRun(mb));
    return RunTwin({options_.reference_graph, options_.reference_store}, mb);
  }

  UnshardedOptions HowToRun(uint32_t mb) const {
    return {options_.keep_tensors && mb == 0, mb, mb, options_.seed, 0, options_.cancelled};
  }

  // The outputs in the order of the plan's.
  Result<UnshardedRun> RunTwin(const Twin& twin, uint32_t mb) {
    SBP_ASSIGN_OR_RETURN(UnshardedRun run, RunUnsharded(*twin.graph, rules_, *twin.store, HowToRun(mb)));
    std::vector<std::pair<std::string, Value>> outputs;
    for (const TensorId id : plan_.graph.outputs) {
      const std::string& name = plan_.graph.tensor(id).name;
      const auto found = std::ranges::find(run.outputs, name, &std::pair<std::string, Value>::first);
      if (found == run.outputs.end()) return BadInput(StrCat("the model has no output ", Quote(name)));
      outputs.push_back(*found);
    }
    run.outputs = std::move(outputs);
    return run;
  }

  Status JudgeOutput(const RunResults& results, size_t output, uint32_t mb, const UnshardedRun& reference,
                     PlanRun& run) {
    const Tensor& tensor = plan_.graph.tensor(plan_.graph.outputs[output]);
    const std::vector<Value>& parts = results.outputs[output][mb];
    TensorReport report = ReportOf(tensor, Value());
    if (physical_.micro_batches > 1) report.name += StrCat(" [", mb, "]");
    if (tensor.type.kind != ValueKind::kTensor) {
      if (options_.reference) CompareCopies({parts[0]}, reference.outputs[output].second, report);
      if (mb == 0) run.outputs.emplace_back(tensor.name, parts[0]);
      run.report.outputs.push_back(std::move(report));
      return OkStatus();
    }
    const uint32_t reg = OutputRegisters(plan_, physical_)[output];
    SBP_ASSIGN_OR_RETURN(std::vector<Value> copies, AssembleCopies(parts, physical_.registers[reg].layout, plan_.mesh));
    report.type = {copies[0].view.dtype, copies[0].view.shape};
    SBP_RETURN_IF_ERROR(RefuseNaN(results, tensor, copies[0], reference, output));
    if (options_.reference) CompareCopies(copies, reference.outputs[output].second, report);
    if (mb == 0 && options_.parts) run.parts.emplace_back(tensor.name, parts);
    if (mb == 0) run.outputs.emplace_back(tensor.name, copies[0]);
    run.report.outputs.push_back(std::move(report));
    return OkStatus();
  }

  Status RefuseNaN(const RunResults& results, const Tensor& tensor, const Value& value, const UnshardedRun& reference,
                   size_t output) const {
    if (options_.parts || !HasNaN(value.view) || options_.nan_expected.contains(tensor.name)) return OkStatus();
    const auto origin = results.first_nan;
    if (!origin && FirstWithNaN(plan_.graph, store_).valid()) return OkStatus();
    const std::string task =
        origin ? StrCat("; the first task to make one: ", TaskName(origin->task), " on device ", origin->device) : "";
    const bool also_unsharded = options_.reference && HasNaN(reference.outputs[output].second.view);
    return RunFailed(StrCat("output ", Quote(tensor.name), " holds NaN", task,
                            also_unsharded ? "; the unsharded run makes it too" : ""));
  }

  std::string TaskName(uint32_t task) const {
    const Task& what = physical_.tasks[task];
    if (what.op.valid()) {
      const Op& op = plan_.graph.op(what.op);
      return StrCat("op ", Quote(op.name), " (", plan_.graph.type_of(op), ")");
    }
    const Transition& transition = plan_.transitions[what.transition];
    return StrCat(CollectiveKindName(transition.steps[what.step].kind), " of ",
                  Quote(plan_.graph.tensor(transition.tensor).name));
  }

  Status JudgeTensors(const RunResults& results, const UnshardedRun& reference, RunReport& report) {
    const std::set<TensorId> outputs(plan_.graph.outputs.begin(), plan_.graph.outputs.end());
    for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
      const Register& reg = physical_.registers[r];
      if (reg.transition >= 0 || outputs.count(reg.tensor) > 0 || results.registers[r].empty()) continue;
      const Tensor& tensor = plan_.graph.tensor(reg.tensor);
      const auto value = reference.tensors.find(tensor.name);
      if (value == reference.tensors.end()) continue;
      TensorReport entry = ReportOf(tensor, value->second);
      SBP_ASSIGN_OR_RETURN(const std::vector<Value> copies,
                           AssembleCopies(results.registers[r], reg.layout, plan_.mesh));
      CompareCopies(copies, value->second, entry);
      report.tensors.push_back(std::move(entry));
    }
    return OkStatus();
  }

  // The run before was the first one: its memory and the libraries were cold.
  Result<StepRepeats> Repeat(const ActorGraph& actors, ShardedRun& sharded, EngineOptions engine) {
    StepRepeats repeats;
    engine.progress = nullptr;
    sharded.OnlyTime();
    for (uint32_t i = 0; i <= options_.repeats; ++i) {
      SBP_RETURN_IF_ERROR(RefuseCancelled(options_.cancelled));
      SBP_RETURN_IF_ERROR(backend_.Any(false).status());
      const EngineResult result = backend_.RunActors(actors, sharded, engine);
      SBP_RETURN_IF_ERROR(result.status);
      SBP_ASSIGN_OR_RETURN(const std::vector<Span> spans, GatherSpans(result, backend_));
      if (i > 0 && backend_.leads()) repeats.Add(actors, plan_.mesh, spans);
    }
    return repeats;
  }

  void CompareSteps(const StepRepeats& repeats, RunReport& report) const {
    StepComparison& comparison = report.comparison.emplace();
    comparison.repeats = options_.repeats;
    comparison.predicted_seconds = report.predicted_seconds;
    comparison.measured = Summarise(repeats.steps);
    // The plan's peak is that of one micro-batch at a time.
    const bool streams = physical_.micro_batches > 1;
    comparison.predicted_peak_bytes =
        streams ? physical_.lower_bound_bytes + plan_.memory.workspace_bytes : plan_.memory.peak_bytes;
    comparison.constants = StrCat(plan_.cluster.name, " (", plan_.cluster.device.launch_seconds.source, ")");
  }

  void ReportTasks(const ActorGraph& actors, const StepRepeats& repeats, const ShardedRun& sharded,
                   RunReport& report) const {
    for (uint32_t t = 0; t < actors.num_tasks(); ++t) {
      TaskReport task;
      const Task& what = physical_.tasks[t];
      task.op = what.op;
      task.transition = what.transition;
      task.step = what.step;
      if (what.op.valid()) {
        task.name = plan_.graph.op(what.op).name;
        task.kind = plan_.graph.type_of(plan_.graph.op(what.op));
      } else {
        const Transition& transition = plan_.transitions[what.transition];
        task.name = plan_.graph.tensor(transition.tensor).name;
        task.kind = CollectiveKindName(transition.steps[what.step].kind);
        const BoxingStep& step = transition.steps[what.step];
        task.bytes = step.tensor_bytes;
        task.ranks = plan_.mesh.size(step.axis);
        task.run_bytes =
            RunBytes(plan_.graph.tensor(transition.tensor).type, step.from, step.to, plan_.mesh, step.axis);
      }
      const Measured measured = Summarise(repeats.tasks[t]);
      task.predicted_seconds = actors.actors[t].seconds;
      task.measured_seconds = measured.median;
      task.mean_seconds = measured.mean;
      task.spread = measured.spread;
      task.workspace_bytes = sharded.task_bytes(t);
      report.tasks.push_back(std::move(task));
    }
  }

  const Plan& plan_;
  const RuleSet& rules_;
  TensorStore& store_;
  Backend& backend_;
  const PlanRunOptions& options_;
  PhysicalPlan physical_;
  std::vector<int64_t> devices_;
  Twin exact_;  // of options_.exact, once it is asked for
};

}  // namespace

Result<PlanRun> RunPlanOn(const Plan& plan, const RuleSet& rules, TensorStore& store, Backend& backend,
                          const PlanRunOptions& options) {
  return PlanRunner(plan, rules, store, backend, options).Run();
}

}  // namespace sbp
