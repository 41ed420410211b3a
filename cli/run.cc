// run: executes a plan, or a model as it is, and compares the numbers.
#include "api/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/plan_file.h"
#include "api/plan_inputs.h"
#include "api/tensors.h"
#include "api/train.h"
#include "base/dtype.h"
#include "base/hash.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "cli/backend_flags.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "fold/resolve_options.h"
#include "graph/tensor_data.h"
#include "io/file.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/data/value.h"
#include "runtime/processes/launch.h"
#include "runtime/processes/own_ranks.h"
#include "runtime/run/plan_run.h"
#include "runtime/run/run_report.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr uint32_t kRepeats = 20;
const int64_t kPatience = BackendOptions().patience;

struct RunFlags {
  ModelFlags model;  // model.model: PLAN, or MODEL with --unsharded
  std::string plan_model;
  bool unsharded = false;
  std::string outputs, parts, expect, dtype, until;
  std::vector<std::string> inputs;
  std::string weights;
  std::optional<double> tolerance, rtol, atol;
  bool tensors = false, no_reference = false;
  std::string backend{AllBackends().front().name}, trace;
  BackendOptions gpus;
  uint32_t micro_batches = 0;  // 0: as the plan file says
  bool compare = false;
  bool one_process = false;
  std::optional<uint32_t> repeats;  // of --compare: kRepeats
  uint64_t seed = 0;
  std::optional<int64_t> steps;
  StepsRequest training;
  OutputFlags output;

  bool ToStdout() const { return outputs == "-" || trace == "-"; }  // of a file
};

const BackendRow& BackendOf(const RunFlags& flags) { return *FindBackend(flags.backend); }  // the flag is checked

// Everything that the user gave as data.
Result<RunData> ReadGiven(const RunFlags& flags, const Graph& graph) {
  RunData given;
  for (const std::string& path : flags.inputs) {
    SBP_ASSIGN_OR_RETURN(std::vector<TensorData> tensors, ReadTensors(path, graph, graph.inputs, "input"));
    for (TensorData& tensor : tensors) given.inputs.push_back(std::move(tensor));
  }
  if (!flags.weights.empty()) {
    SBP_ASSIGN_OR_RETURN(std::vector<TensorData> weights, ReadWeights(flags.weights, graph));
    for (TensorData& weight : weights) given.inputs.push_back(std::move(weight));
  }
  if (!flags.expect.empty()) {
    SBP_ASSIGN_OR_RETURN(given.expected, ReadTensors(flags.expect, graph, graph.outputs, "output"));
    if (given.expected.empty()) {
      return BadInput(StrCat("--expect ", flags.expect,
                             ": holds nothing to compare with; expected an .npz archive with ",
                             "outputs, or a folder with output_0.pb"));
    }
  }
  return given;
}

Result<std::optional<DType>> TypeFlag(const RunFlags& flags) {
  if (flags.dtype.empty()) return std::optional<DType>();
  const std::optional<DType> dtype = ParseDType(flags.dtype);
  if (!dtype || !IsFloat(*dtype) || DTypeBits(*dtype) < 16) {
    return UsageError(StrCat("--dtype ", Quote(flags.dtype), ": expected f64, f32, f16 or bf16"));
  }
  return dtype;
}

// On stderr where stdout is a file.
Status PrintReport(const RunFlags& flags, const RunReport& report) {
  if (!flags.ToStdout()) return Print(flags.output.json() ? RunReportJson(report) : FormatRunReport(report));
  Note(FormatRunReport(report));
  return OkStatus();
}

Result<RunOptions> OptionsOf(const RunFlags& flags) {
  RunOptions options;
  SBP_ASSIGN_OR_RETURN(options.dtype, TypeFlag(flags));
  options.until = flags.until;
  options.seed = flags.seed;
  options.tolerance = flags.tolerance;
  options.rtol = flags.rtol;
  options.atol = flags.atol;
  options.expected_from = flags.expect;
  options.repeats = flags.repeats.value_or(flags.compare ? kRepeats : 0);
  options.micro_batches = flags.micro_batches;
  options.tensors = flags.tensors;
  options.reference = !flags.no_reference;
  options.trace = !flags.trace.empty();
  options.parts = !flags.parts.empty();
  options.cancelled = InterruptAsker();
  if (ProgressShown()) {
    options.progress = [tell = ProgressTeller()](uint64_t done, uint64_t total) {
      tell(StrCat("running: ", 100 * done / total, " %"));
    };
  }
  return options;
}

// What each device has of each output, as NAME@DEVICE.
std::vector<std::pair<std::string, Value>> NamedParts(const PlanRun& run) {
  std::vector<std::pair<std::string, Value>> named;
  for (const auto& [name, parts] : run.parts) {
    for (size_t device = 0; device < parts.size(); ++device) {
      named.emplace_back(StrCat(name, "@", device), parts[device]);
    }
  }
  return named;
}

// Writes what was asked for, prints, judges.
Status Deliver(const RunFlags& flags, const PlanRun& run) {
  if (!flags.outputs.empty()) SBP_RETURN_IF_ERROR(WriteTensors(flags.outputs, run.outputs));
  if (!flags.parts.empty()) SBP_RETURN_IF_ERROR(WriteTensors(flags.parts, NamedParts(run)));
  if (!flags.trace.empty()) SBP_RETURN_IF_ERROR(WriteFile(flags.trace, run.trace));
  SBP_RETURN_IF_ERROR(PrintReport(flags, run.report));
  return run.report.good() ? OkStatus() : Status(Code::kMismatch, "");
}

Status RunModelFile(const RunFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
  SBP_ASSIGN_OR_RETURN(LoadedModel model, LoadModelFile(flags.model.model));
  SBP_ASSIGN_OR_RETURN(RunData data, ReadGiven(flags, model.graph));
  SBP_ASSIGN_OR_RETURN(const RunOptions options, OptionsOf(flags));
  SBP_ASSIGN_OR_RETURN(const ResolveOptions resolve, ReadModelFlags(flags.model));
  const auto warn = [](std::string_view warning) { Note(StrCat("warning: ", warning)); };
  SBP_ASSIGN_OR_RETURN(const PlanRun run, RunModel(std::move(model), rules, resolve, std::move(data), options, warn));
  return Deliver(flags, run);
}

Status RunPlanFile(const RunFlags& flags, Backend& backend) {
  Result<Plan> read = ReadPlanFile(flags.model.model);
  if (!read.ok() && read.status().message().find("expected a plan") != std::string::npos) {
    return BadInput(StrCat(read.status().message(), "; to run a model as it is, give --unsharded"));
  }
  SBP_ASSIGN_OR_RETURN(Plan plan, std::move(read));
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, RulesOfPlan(plan));
  SBP_RETURN_IF_ERROR(RefuseWrongPlan(plan, rules, flags.model.model));
  SBP_ASSIGN_OR_RETURN(const std::string model_path, FindModelOfPlan(plan, flags.model.model, flags.plan_model));
  if (model_path.empty() && backend.leads()) {
    const bool compares = !flags.no_reference && flags.expect.empty();
    Note(StrCat("note: the model of the plan is not at hand; its weights are random",
                compares ? ", and the reference is the plan's own graph" : ""));
  }
  SBP_ASSIGN_OR_RETURN(RunData data, ReadGiven(flags, plan.graph));
  SBP_ASSIGN_OR_RETURN(const RunOptions options, OptionsOf(flags));
  if (flags.steps) {
    SBP_ASSIGN_OR_RETURN(const PlanRun run, TrainPlan(std::move(plan), rules, model_path, std::move(data), backend,
                                                      options, flags.training));
    return backend.leads() ? Deliver(flags, run) : OkStatus();
  }
  SBP_ASSIGN_OR_RETURN(const PlanRun run,
                       RunPlan(std::move(plan), rules, model_path, std::move(data), backend, options));
  return backend.leads() ? Deliver(flags, run) : OkStatus();
}

Status CheckStepFlags(const RunFlags& flags) {
  const std::pair<bool, std::string_view> of_steps[] = {{!flags.training.save.empty(), "--save"},
                                                        {flags.training.save_every != 0, "--save-every"},
                                                        {!flags.training.load.empty(), "--load"},
                                                        {flags.training.lr.has_value(), "--lr"}};
  for (const auto& [given, name] : of_steps) {
    if (given && !flags.steps) return UsageError(StrCat(name, " goes with --steps"));
  }
  if (!flags.steps) return OkStatus();
  if (*flags.steps < 1) return UsageError(StrCat("--steps ", *flags.steps, ": expected at least 1"));
  constexpr int64_t kMostSteps = 1'000'000'000;
  if (*flags.steps > kMostSteps) {
    return UsageError(StrCat("--steps ", *flags.steps, ": expected at most ", kMostSteps));
  }
  if (flags.training.lr && !std::isfinite(*flags.training.lr)) return UsageError("--lr: expected a finite number");
  if (flags.training.save_every < 0) {
    return UsageError(StrCat("--save-every ", flags.training.save_every, ": expected at least 1"));
  }
  if (flags.training.save_every > 0 && flags.training.save.empty()) return UsageError("--save-every goes with --save");
  const std::string backend = StrCat("--backend ", flags.backend);
  const std::pair<bool, std::string_view> of_one[] = {
      {flags.unsharded, "--unsharded"},      {flags.tensors, "--tensors"},
      {!flags.until.empty(), "--until"},     {flags.micro_batches != 0, "--micro-batches"},
      {flags.compare, "--compare"},          {!flags.expect.empty(), "--expect"},
      {!flags.trace.empty(), "--trace"},     {!flags.parts.empty(), "--parts"},
      {BackendOf(flags).is_virtual, backend}};
  for (const auto& [given, name] : of_one) {
    if (given) return UsageError(StrCat(name, " is of a single run, and goes without --steps"));
  }
  return OkStatus();
}

// Flags that would not be looked at, or contradict each other, are no matter of taste: the user means something.
Status CheckFlags(const RunFlags& flags) {
  SBP_RETURN_IF_ERROR(CheckStepFlags(flags));
  const std::pair<bool, std::string_view> of_plans[] = {{!flags.plan_model.empty(), "a second file"},
                                                        {flags.tensors, "--tensors"},
                                                        {flags.no_reference, "--no-reference"},
                                                        {!flags.trace.empty(), "--trace"},
                                                        {!flags.parts.empty(), "--parts"},
                                                        {flags.micro_batches != 0, "--micro-batches"},
                                                        {flags.compare, "--compare"},
                                                        {flags.backend != RunFlags().backend, "--backend"}};
  for (const auto& [given, name] : of_plans) {
    if (flags.unsharded && given) return UsageError(StrCat(name, " goes with a plan, not with --unsharded"));
  }
  const bool has_sizes = !flags.model.dims.empty() || flags.model.batch || flags.model.sequence;
  if (!flags.unsharded && (has_sizes || !flags.model.rules.empty())) {
    const std::string_view flag = !flags.model.dims.empty() ? "--dim"
                                  : flags.model.batch       ? "--batch"
                                  : flags.model.sequence    ? "--seq"
                                                            : "--rules";
    return UsageError(StrCat(flag, " goes with --unsharded: a plan holds its own"));
  }
  const std::pair<bool, std::string_view> of_gpus[] = {{flags.gpus.allow_tf32, "--tf32"},
                                                       {flags.gpus.ranks_per_gpu > 1, "--ranks-per-gpu"},
                                                       {!flags.gpus.use_graphs, "--no-graphs"},
                                                       {flags.one_process, "--one-process"},
                                                       {flags.gpus.patience != kPatience, "--patience"}};
  for (const auto& [given, name] : of_gpus) {
    if (given && !BackendOf(flags).has_gpus) return UsageError(StrCat(name, " goes with --backend ", GpuBackends()));
  }
  const std::pair<const std::optional<double>&, std::string_view> numbers[] = {
      {flags.tolerance, "--tolerance"}, {flags.rtol, "--rtol"}, {flags.atol, "--atol"}};
  for (const auto& [number, name] : numbers) {
    if (number && !(*number >= 0))
      return UsageError(StrCat(name, " ", FormatGeneral(*number), ": expected a number of at least 0"));
  }
  if (flags.compare && BackendOf(flags).is_virtual) {
    return UsageError("--compare measures: it goes with a backend that computes");
  }
  if (!flags.parts.empty() && BackendOf(flags).is_virtual) {
    return UsageError("--parts writes numbers: it goes with a backend that computes");
  }
  if (flags.repeats && !flags.compare && !flags.unsharded) {
    return UsageError("--repeat goes with --compare, or with --unsharded");
  }
  if (flags.expect.empty() && (flags.rtol || flags.atol)) return UsageError("--rtol and --atol go with --expect");
  if (flags.outputs == "-" && flags.trace == "-") return UsageError("--outputs and --trace both write to stdout");
  if (flags.ToStdout() && flags.output.json()) {
    return UsageError(
        StrCat(flags.outputs == "-" ? "--outputs -" : "--trace -", " and --format json both write to stdout"));
  }
  return OkStatus();
}

Status CheckFilesWritable(const RunFlags& flags) {
  for (const std::string* path : {&flags.outputs, &flags.parts, &flags.trace}) {
    if (!path->empty()) SBP_RETURN_IF_ERROR(CheckWritable(*path));
  }
  return OkStatus();
}

// One process a device, where the backend wants it so and nobody has started several.
Result<bool> WantsOwnRanks(const RunFlags& flags) {
  if (!BackendOf(flags).own_ranks || flags.one_process || HasLauncher()) return false;
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(flags.model.model));
  if (plan.mesh.num_devices() > 1 && flags.model.model == "-") {
    return UsageError("a plan that comes on stdin cannot be read by a process a device; give a file, or --one-process");
  }
  return plan.mesh.num_devices() > 1;
}

Status RunOnOwnRanks(const RunFlags& flags) {
  SBP_RETURN_IF_ERROR(CheckFilesWritable(flags));
  SBP_ASSIGN_OR_RETURN(const Plan plan, ReadPlanFile(flags.model.model));
  constexpr int64_t kMostRanks = 1024;
  if (plan.mesh.num_devices() > kMostRanks) {
    return UsageError(StrCat("the plan is for ", plan.mesh.num_devices(), " devices; one machine runs at most ",
                             kMostRanks, " processes; start them by mpirun or torchrun"));
  }
  SBP_ASSIGN_OR_RETURN(const int code, RunOwnRanks(static_cast<int>(plan.mesh.num_devices())));
  return code == 0 ? OkStatus() : Status(static_cast<Code>(code), "");  // the ranks have said why
}

Status Run(const RunFlags& flags) {
  SBP_RETURN_IF_ERROR(CheckFlags(flags));
  if (flags.unsharded) {
    SBP_RETURN_IF_ERROR(CheckFilesWritable(flags));
    return RunModelFile(flags);
  }
  SBP_ASSIGN_OR_RETURN(const bool own_ranks, WantsOwnRanks(flags));
  if (own_ranks) return RunOnOwnRanks(flags);
  BackendOptions options = flags.gpus;
  options.identity.version = SBP_VERSION;
  if (BackendOf(flags).own_ranks && HasLauncher() && flags.model.model != "-") {
    SBP_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(flags.model.model));
    options.identity.plan =
        StrCat(std::filesystem::path(flags.model.model).filename().string(), ", ", Fingerprint(bytes));
  }
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, StartBackend(flags.backend, options));
  Status status = backend->leads() ? CheckFilesWritable(flags) : OkStatus();
  if (status.ok()) status = RunPlanFile(flags, *backend);
  return backend->Finish(status, [](const Status& failure) {
    if (!failure.message().empty()) Note(StrCat("error: ", failure.message()));
  });
}

void AddGpuFlags(CLI::App& app, const std::shared_ptr<RunFlags>& flags) {
  const std::string with = StrCat("with --backend ", GpuBackends(), ": ");
  app.add_option("--ranks-per-gpu", flags->gpus.ranks_per_gpu,
                 with + "so many processes share a GPU, for tests of small sizes (NCCL does not support it)")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--one-process", flags->one_process, with + "all GPUs in this process, instead of a process for each");
  app.add_option("--patience", flags->gpus.patience,
                 with + "so many seconds a GPU may be silent before the run is ended")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_flag("--tf32", flags->gpus.allow_tf32, with + "products of f32 may round operands to tf32");
  app.add_flag_callback(
      "--no-graphs", [flags] { flags->gpus.use_graphs = false; },
      with + "every kernel is started by itself, none by a CUDA graph");
}

}  // namespace

void AddStepFlags(CLI::App& app, const std::shared_ptr<RunFlags>& flags) {
  app.add_option(
         "--steps", flags->steps,
         "train: so many steps, each with what the one before left; --inputs with one dimension more are batches "
         "that take turns")
      ->type_name("N")
      ->group("Training");
  app.add_option("--lr", flags->training.lr, StrCat("the learning rate, input \"lr\" [", kDefaultRate, "]"))
      ->type_name("X")
      ->group("Training");
  app.add_option("--save", flags->training.save, "write a checkpoint after the last step")
      ->type_name("CKPT.npz")
      ->group("Training");
  app.add_option("--save-every", flags->training.save_every, "and after every K-th step")
      ->type_name("K")
      ->group("Training");
  app.add_option("--load", flags->training.load, "begin with a checkpoint, of any plan of the model")
      ->type_name("CKPT.npz")
      ->group("Training");
}

Command SetupRun(CLI::App& app) {
  auto flags = std::make_shared<RunFlags>();
  flags->model.allow_empty = true;
  app.add_option("plan", flags->model.model, "a plan; with --unsharded a model")->required()->type_name("PLAN|MODEL");
  app.add_option("model", flags->plan_model, "the model of the plan, when it is not where the plan says")
      ->type_name("MODEL");
  app.add_flag("--unsharded", flags->unsharded, "run a model as it is, on one device");
  app.add_option("--dim", flags->model.dims, "with --unsharded: bind a symbolic dimension")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  AddSizeFlags(app, flags->model);
  app.add_option("--rules", flags->model.rules, "with --unsharded: rules of your own")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--inputs", flags->inputs, "real inputs (and weights): .npz, .npy, .pb, or a folder of input_N.pb")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--weights", flags->weights,
                 "weights of Hugging Face: .safetensors, model.safetensors.index.json, or a folder with one of them")
      ->type_name("FILE");
  app.add_option("--outputs", flags->outputs, "write the outputs there")->type_name("Y.npz");
  app.add_option("--parts", flags->parts,
                 "write there what each device has of each output, as NAME@DEVICE; outputs may then hold NaN")
      ->type_name("Y.npz");
  app.add_option("--expect", flags->expect, "compare the outputs with these: .npz, .pb, or a folder of output_N.pb")
      ->type_name("FILE");
  app.add_option("--tolerance", flags->tolerance,
                 "largest ||out - ref|| / ||ref|| [1e-4 for f32, 1e-10 f64, 2e-2 f16 and bf16]");
  app.add_option("--rtol", flags->rtol, "with --expect: judge each element by atol + rtol |ref|");
  app.add_option("--atol", flags->atol, "with --expect: see --rtol");
  app.add_option("--until", flags->until, "stop at this tensor, which becomes the only output")->type_name("TENSOR");
  app.add_option("--seed", flags->seed, "of random inputs and weights")->check(RefuseNegative)->capture_default_str();
  app.add_option("--dtype", flags->dtype, "compute all floats in this type: f64, f32, f16, bf16")->type_name("TYPE");
  std::vector<std::string> backends, described;
  for (const BackendRow& row : AllBackends()) {
    backends.emplace_back(row.name);
    described.push_back(StrCat(row.name, " (", row.doc, ")"));
  }
  app.add_option("--backend", flags->backend, StrCat("where: ", Join(described, ", ")))
      ->check(CLI::IsMember(backends))
      ->capture_default_str();
  AddGpuFlags(app, flags);
  app.add_option("--micro-batches", flags->micro_batches, "inputs that stream through [as the plan says, else 1]")
      ->check(CLI::Range(1, 1 << 16));
  app.add_flag("--tensors", flags->tensors, "compare every tensor, not the outputs alone");
  app.add_flag("--no-reference", flags->no_reference, "do not run and compare the unsharded graph");
  app.add_flag("--compare", flags->compare,
               "run the step again, warm, and compare times with the plan's, kind by kind");
  app.add_option("--repeat", flags->repeats,
                 StrCat("with --compare: so often [", kRepeats, "]; with --unsharded: so often again, timed"))
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--trace", flags->trace, "write a timeline for Perfetto or chrome://tracing")->type_name("T.json");
  AddStepFlags(app, flags);
  AddFormatFlag(app, flags->output);
  return [flags] {
    flags->training.steps = flags->steps.value_or(1);
    return Run(*flags);
  };
}

}  // namespace sbp
