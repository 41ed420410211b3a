#include "runtime/run/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cancelled.h"
#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "cluster/collective_kind.h"
#include "graph/graph.h"
#include "graph/sections.h"
#include "graph/tensor_type.h"
#include "physical/physical.h"
#include "plan/physical_plan.h"
#include "plan/transition_runs.h"
#include "runtime/actors/actor_engine.h"
#include "runtime/actors/actor_graph.h"
#include "runtime/data/parts.h"
#include "runtime/data/value.h"
#include "runtime/exchange/communicator.h"
#include "runtime/run/compare.h"
#include "runtime/run/run_report.h"
#include "runtime/run/run_results.h"
#include "runtime/run/sharded_run.h"
#include "sbp/sbp.h"
#include "schedule/schedule.h"

namespace sbp {
namespace {

using Outputs = std::vector<std::pair<std::string, Value>>;

// The output that is minimised: by name, else the only number among the outputs; -1: there is none.
int FindLoss(const Graph& graph) {
  int only = -1;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& tensor = graph.tensor(graph.outputs[i]);
    if (!IsFloat(tensor.type.dtype) || tensor.type.rank() != 0) continue;
    if (tensor.name == "loss") return static_cast<int>(i);
    only = only == -1 ? static_cast<int>(i) : -2;
  }
  return std::max(only, -1);
}

double NumberOf(const Value& value) {
  const Result<std::vector<double>> numbers = NumbersOf(value);
  return numbers.ok() && numbers->size() == 1 ? numbers->front() : std::numeric_limits<double>::quiet_NaN();
}

// Each micro-batch of each step draws numbers of its own, which follow from its place among all: a run that resumes
// draws what one that was not stopped does.
uint64_t DrawOf(const Graph& graph, int64_t step, int64_t micro_batch) {
  return static_cast<uint64_t>(step) * static_cast<uint64_t>(graph.micro_batches) + static_cast<uint64_t>(micro_batch);
}

// Ties by when they are fed: those that section micro writes after each micro-batch, the others after the step.
struct TieSchedule {
  std::vector<uint32_t> micro, step;
};
TieSchedule ScheduleOf(const Graph& graph) {
  const std::vector<StepSection> sections = SectionsOf(graph);
  TieSchedule schedule;
  for (uint32_t i = 0; i < graph.ties.size(); ++i) {
    const OpId producer = graph.tensor(graph.ties[i].output).producer;
    const bool micro = graph.micro_batches > 1 && producer.valid() && sections[producer.index()] == StepSection::kMicro;
    (micro ? schedule.micro : schedule.step).push_back(i);
  }
  return schedule;
}

// Runs a graph unsharded, a step at a time. All of it runs for each micro-batch; what the step leaves counts once.
class TwinRunner {
 public:
  TwinRunner(const Twin& twin, const RuleSet& rules, const PlanRunOptions& options)
      : twin_(twin), rules_(rules), seed_(options.seed), cancelled_(options.cancelled) {
    if (twin.graph != nullptr) schedule_ = ScheduleOf(*twin.graph);
  }
  bool exists() const { return twin_.graph != nullptr; }

  Status Step(int64_t step, const TrainingOptions& training) {
    const Graph& graph = *twin_.graph;
    std::vector<TensorData> zeros;
    for (const Tie& tie : graph.ties) {
      if (!tie.restarts) continue;
      const Tensor& input = graph.tensor(tie.input);
      zeros.push_back({input.name, input.type, std::string(static_cast<size_t>(input.type.num_bytes()), '\0')});
    }
    SBP_RETURN_IF_ERROR(twin_.store->Give(zeros));
    for (int64_t mb = 0; mb < graph.micro_batches; ++mb) {
      SBP_RETURN_IF_ERROR(twin_.store->Give(training.feed(step, mb)));
      SBP_ASSIGN_OR_RETURN(UnshardedRun run, RunUnsharded(graph, rules_, *twin_.store,
                                                          {.micro_batch = static_cast<uint32_t>(mb),
                                                           .draw = DrawOf(graph, step, mb),
                                                           .seed = seed_,
                                                           .cancelled = cancelled_}));
      outputs_ = std::move(run.outputs);
      seconds_ += run.seconds;
      SBP_RETURN_IF_ERROR(Feed(schedule_.micro));
    }
    return Feed(schedule_.step);
  }

  // Of the last step. Null: there is none of that name.
  const Value* Output(const std::string& name) const {
    const auto found = std::ranges::find(outputs_, name, &Outputs::value_type::first);
    return found == outputs_.end() ? nullptr : &found->second;
  }
  double seconds() const { return seconds_; }

 private:
  Status Feed(const std::vector<uint32_t>& ties) {
    std::vector<std::pair<TensorId, Value>> next;  // all are read before any is given
    for (const uint32_t i : ties) {
      const Tie& tie = twin_.graph->ties[i];
      const std::string& name = twin_.graph->tensor(tie.output).name;
      const Value* value = Output(name);
      if (value == nullptr) return BadInput(StrCat(Quote(name), " is tied to an input, and no output of the graph"));
      next.emplace_back(tie.input, *value);
    }
    for (const auto& [input, value] : next) SBP_RETURN_IF_ERROR(twin_.store->Give(input, value));
    return OkStatus();
  }

  Twin twin_;
  const RuleSet& rules_;
  uint64_t seed_;
  std::function<bool()> cancelled_;
  TieSchedule schedule_;
  Outputs outputs_;
  double seconds_ = 0;
};

class Trainer {
 public:
  Trainer(const Plan& plan, const RuleSet& rules, TensorStore& store, Backend& backend, const PlanRunOptions& options,
          const TrainingOptions& training)
      : plan_(plan),
        rules_(rules),
        store_(store),
        backend_(backend),
        options_(options),
        training_(training),
        physical_(MakePhysicalPlan(plan, {.micro_batches = 1})),
        schedule_(ScheduleOf(plan.graph)),
        loss_(FindLoss(plan.graph)),
        reference_(training.reference, rules, options),
        exact_(training.exact, rules, options) {}

  Result<PlanRun> Run() {
    if (backend_.is_virtual()) return BadInput("--steps computes; virtual time has no numbers");
    SBP_RETURN_IF_ERROR(FindTies());
    SBP_ASSIGN_OR_RETURN(devices_, backend_.Claim(plan_.mesh));
    SBP_ASSIGN_OR_RETURN(MeshCommunicators handles, backend_.Connect(plan_.mesh));
    SBP_RETURN_IF_ERROR(store_.Give(training_.feed(training_.first, 0)));
    SBP_ASSIGN_OR_RETURN(sharded_,
                         ShardedRun::Make(plan_, physical_, rules_, store_, std::move(handles),
                                          {devices_, false, options_.seed, backend_.runtimes(), options_.cancelled}));
    if (plan_.mesh.num_devices() > 1) sharded_->Warm();
    SBP_ASSIGN_OR_RETURN(actors_, MakeActorGraph(plan_, physical_, {.halos = sharded_->halos()}));
    PlanRun run;
    Describe(run.report);
    const auto start = std::chrono::steady_clock::now();
    for (int64_t step = training_.first; step < training_.first + training_.steps; ++step) {
      const bool last = step + 1 == training_.first + training_.steps;
      SBP_RETURN_IF_ERROR(Step(step, last, run).WithContext(StrCat("step ", step + 1)));
      if (options_.progress) {
        options_.progress(static_cast<uint64_t>(step + 1 - training_.first), static_cast<uint64_t>(training_.steps));
      }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    run.report.measured_seconds =
        std::max(0.0, taken.count() - reference_.seconds() - exact_.seconds()) / static_cast<double>(training_.steps);
    run.report.reference_seconds = reference_.seconds() / static_cast<double>(training_.steps);
    run.report.peak_bytes = sharded_->device_bytes();
    run.report.random_inputs = store_.random_inputs();
    run.report.random_parameters = store_.random_parameters();
    return run;
  }

 private:
  void Describe(RunReport& report) const {
    const int64_t devices = plan_.mesh.num_devices();
    report.what =
        StrCat(training_.steps, training_.steps == 1 ? " step of " : " steps of ", physical_.tasks.size(), " tasks on ",
               devices, devices == 1 ? " device (" : " devices (", backend_.name(), "), mesh ", ToString(plan_.mesh));
    report.predicted_seconds = MakeSchedule(plan_).summary.step;
    report.tolerance = options_.tolerance.value_or(DefaultTolerance(plan_.graph));
    if (reference_.exists()) report.against = "the unsharded run";
  }

  // Of each tie: which output it is, and the register of its input.
  Status FindTies() {
    std::map<TensorId, uint32_t> outputs;
    for (uint32_t i = 0; i < plan_.graph.outputs.size(); ++i) outputs.emplace(plan_.graph.outputs[i], i);
    for (const Tie& tie : plan_.graph.ties) {
      const auto found = outputs.find(tie.output);
      if (found == outputs.end()) {
        return BadInput(StrCat("--steps: ", Quote(plan_.graph.tensor(tie.output).name), " is tied to ",
                               Quote(plan_.graph.tensor(tie.input).name), ", and no output of the graph"));
      }
      uint32_t reg = kNoRegister;
      for (uint32_t r = 0; r < physical_.registers.size(); ++r) {
        if (physical_.registers[r].tensor == tie.input && physical_.registers[r].transition < 0) reg = r;
      }
      all_ties_.push_back(static_cast<uint32_t>(feeds_.size()));
      feeds_.push_back({found->second, reg});
    }
    return OkStatus();
  }

  // What a pass through the tasks does. What lies in the arena between them was placed for one pass through all: a
  // boxing that section step alone needs may be put where something lies that section step reads before. So the last
  // micro-batch leaves such boxing to section step; those before it, after which all is written again, do not.
  enum class PassKind : uint8_t { kMicro, kLastMicro, kStep };

  std::vector<bool> TasksOf(PassKind kind) const {
    if (plan_.graph.micro_batches == 1) return {};
    const StepRuns runs(plan_.graph);
    const std::vector<int64_t> of_transitions = RunsOfTransitions(plan_, runs);
    const std::vector<bool> serves_micro = ServesMicro(plan_, runs);
    std::vector<bool> active;
    for (const Task& task : physical_.tasks) {
      const bool is_op = task.op.valid();
      const bool micro = is_op ? runs.of(task.op) > 1 : of_transitions[task.transition] > 1;
      const bool early = is_op ? micro : serves_micro[task.transition];
      active.push_back(kind == PassKind::kMicro ? micro : early == (kind == PassKind::kLastMicro));
    }
    return active;
  }

  Status Pass(std::vector<bool> active, const std::vector<uint32_t>& ties, int64_t step, int64_t micro_batch) {
    sharded_->OnlyTasks(std::move(active));
    sharded_->SetBatch(static_cast<uint32_t>(micro_batch), DrawOf(plan_.graph, step, micro_batch));
    SBP_RETURN_IF_ERROR(RefuseCancelled(options_.cancelled));
    SBP_RETURN_IF_ERROR(backend_.Any(false).status());
    EngineOptions engine;
    engine.devices = devices_;
    engine.cancelled = options_.cancelled;
    engine_ = backend_.RunActors(actors_, *sharded_, engine);
    SBP_RETURN_IF_ERROR(engine_.status);
    std::vector<ShardedRun::StateFeed> feeds;
    for (const uint32_t i : ties) feeds.push_back(feeds_[i]);
    return sharded_->FeedStates(feeds);
  }

  Status Step(int64_t step, bool is_last, PlanRun& run) {
    std::vector<uint32_t> restarting;
    for (uint32_t i = 0; i < feeds_.size(); ++i) {
      if (plan_.graph.ties[i].restarts && feeds_[i].reg != kNoRegister) restarting.push_back(feeds_[i].reg);
    }
    const int64_t count = plan_.graph.micro_batches;
    for (int64_t mb = 0; mb < count; ++mb) {
      const bool last = mb + 1 == count;
      SBP_RETURN_IF_ERROR(store_.Give(training_.feed(step, mb)));
      if (mb == 0) SBP_RETURN_IF_ERROR(sharded_->ZeroStates(restarting));
      const std::vector<uint32_t>& ties = count == 1 ? all_ties_ : last ? no_ties_ : schedule_.micro;
      SBP_RETURN_IF_ERROR(Pass(TasksOf(last ? PassKind::kLastMicro : PassKind::kMicro), ties, step, mb));
    }
    if (count > 1) {
      SBP_RETURN_IF_ERROR(Pass(TasksOf(PassKind::kStep), all_ties_, step, count - 1));
    }
    const bool saves =
        training_.save && (is_last || (training_.save_every > 0 && (step + 1) % training_.save_every == 0));
    return Judge(step, saves, is_last, run);
  }

  Status Judge(int64_t step, bool saves, bool last, PlanRun& run) {
    const bool everything = saves || last || options_.reference;  // alike in all processes
    SBP_ASSIGN_OR_RETURN(const RunResults results, everything
                                                       ? GatherResults(plan_, physical_, *sharded_, engine_, backend_)
                                                       : GatherOutput(plan_, *sharded_, engine_, loss_, backend_));
    if (!backend_.leads()) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const auto outputs, Assemble(results, everything));
    StepReport report{.step = step + 1};
    if (loss_ >= 0) report.loss = NumberOf(outputs[loss_].front());
    SBP_RETURN_IF_ERROR(RefuseBadLoss(report, results));
    if (reference_.exists()) SBP_RETURN_IF_ERROR(Compare(step, outputs, report, run));
    run.report.steps.push_back(report);
    if (last) {
      run.outputs.clear();
      for (size_t i = 0; i < outputs.size(); ++i) {
        run.outputs.emplace_back(plan_.graph.tensor(plan_.graph.outputs[i]).name, outputs[i].front());
      }
    }
    if (!saves && !last) return OkStatus();
    const Outputs states = States(outputs);
    SBP_RETURN_IF_ERROR(RefuseBadStates(states));
    return saves ? training_.save(step + 1, states) : OkStatus();
  }

  // They would replace those of a good checkpoint.
  Status RefuseBadStates(const Outputs& states) const {
    for (const auto& [name, value] : states) {
      if (AllFinite(value.view)) continue;
      return RunFailed(StrCat("the next ", Quote(name), " holds ", HasNaN(value.view) ? "a NaN" : "an infinite number",
                              training_.save ? "; the checkpoint is left as it was" : ""));
    }
    return OkStatus();
  }

  // Copies of each output, whole.
  Result<std::vector<std::vector<Value>>> Assemble(const RunResults& results, bool everything) const {
    const std::vector<uint32_t> registers = OutputRegisters(plan_, physical_);
    std::vector<std::vector<Value>> outputs(plan_.graph.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!everything && static_cast<int>(i) != loss_) continue;
      const std::vector<Value>& parts = results.outputs[i][0];
      const bool tensor = plan_.graph.tensor(plan_.graph.outputs[i]).type.kind == ValueKind::kTensor;
      if (!tensor) {
        outputs[i] = {parts[0]};
        continue;
      }
      SBP_ASSIGN_OR_RETURN(outputs[i], AssembleCopies(parts, physical_.registers[registers[i]].layout, plan_.mesh));
    }
    return outputs;
  }

  Status RefuseBadLoss(const StepReport& report, const RunResults& results) const {
    if (loss_ < 0 || std::isfinite(report.loss)) return OkStatus();
    const std::string name = plan_.graph.tensor(plan_.graph.outputs[loss_]).name;
    std::string text = StrCat(Quote(name), " is ", std::isnan(report.loss) ? "NaN" : "infinite");
    if (results.first_nan) {
      text += StrCat("; the first task to make a NaN: ", TaskName(results.first_nan->task), " on device ",
                     results.first_nan->device);
    } else if (const TensorId given = FirstWithNaN(plan_.graph, store_); std::isnan(report.loss) && given.valid()) {
      text += StrCat("; the first tensor to hold a NaN, as given: ", Quote(plan_.graph.tensor(given).name));
    }
    return RunFailed(text);
  }

  std::string TaskName(uint32_t task) const {
    const Task& what = physical_.tasks[task];
    if (what.op.valid()) {
      const Op& op = plan_.graph.op(what.op);
      const TensorId tensor = op.outputs.front();
      const std::string wrote = tensor.valid() ? StrCat(", tensor ", Quote(plan_.graph.tensor(tensor).name)) : "";
      return StrCat("op ", Quote(op.name), " (", plan_.graph.type_of(op), ")", wrote);
    }
    const Transition& transition = plan_.transitions[what.transition];
    return StrCat(CollectiveKindName(transition.steps[what.step].kind), " of ",
                  Quote(plan_.graph.tensor(transition.tensor).name));
  }

  // Against the twins' same step.
  Status Compare(int64_t step, const std::vector<std::vector<Value>>& outputs, StepReport& report, PlanRun& run) {
    SBP_RETURN_IF_ERROR(reference_.Step(step, training_).WithContext("the unsharded run"));
    if (exact_.exists()) SBP_RETURN_IF_ERROR(exact_.Step(step, training_).WithContext("the unsharded run in f64"));
    run.report.outputs.clear();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& tensor = plan_.graph.tensor(plan_.graph.outputs[i]);
      TensorReport entry{.name = tensor.name, .type = tensor.type};
      const Value* expected = reference_.Output(tensor.name);
      if (expected == nullptr) return BadInput(StrCat("the model has no output ", Quote(tensor.name)));
      CompareCopies(outputs[i], *expected, entry);
      if (const Value* exact = exact_.Output(tensor.name); exact != nullptr) {
        SBP_RETURN_IF_ERROR(rounding_.Allow(tensor.name, *expected, *exact, entry));
      }
      if (run.report.Fails(entry)) ++report.failed;
      if (!(entry.difference.relative_error <= report.error)) {
        report.error = entry.difference.relative_error;
        report.worst = tensor.name;
      }
      run.report.outputs.push_back(std::move(entry));
    }
    if (loss_ >= 0) {
      const std::string& name = plan_.graph.tensor(plan_.graph.outputs[loss_]).name;
      report.reference_loss = NumberOf(*reference_.Output(name));
    }
    return OkStatus();
  }

  Outputs States(const std::vector<std::vector<Value>>& outputs) const {
    Outputs states;
    for (uint32_t i = 0; i < feeds_.size(); ++i) {
      const Tie& tie = plan_.graph.ties[i];
      if (!tie.restarts) states.emplace_back(plan_.graph.tensor(tie.input).name, outputs[feeds_[i].output].front());
    }
    return states;
  }

  const Plan& plan_;
  const RuleSet& rules_;
  TensorStore& store_;
  Backend& backend_;
  const PlanRunOptions& options_;
  const TrainingOptions& training_;
  PhysicalPlan physical_;
  TieSchedule schedule_;
  int loss_;
  TwinRunner reference_, exact_;
  Rounding rounding_;  // of the reference
  std::vector<int64_t> devices_;
  std::unique_ptr<ShardedRun> sharded_;
  ActorGraph actors_;
  EngineResult engine_;                       // of the last pass
  std::vector<ShardedRun::StateFeed> feeds_;  // per tie
  std::vector<uint32_t> all_ties_, no_ties_;
};

}  // namespace

std::vector<TensorId> StatesOf(const Graph& graph) {
  std::vector<TensorId> states;
  for (const Tie& tie : graph.ties) {
    if (!tie.restarts) states.push_back(tie.input);
  }
  return states;
}

Result<PlanRun> RunTraining(const Plan& plan, const RuleSet& rules, TensorStore& store, Backend& backend,
                            const PlanRunOptions& options, const TrainingOptions& training) {
  return Trainer(plan, rules, store, backend, options, training).Run();
}

}  // namespace sbp
