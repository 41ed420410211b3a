#include "calibrate/calibrate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/cancelled.h"
#include "base/status.h"
#include "base/text.h"
#include "calibrate/samples.h"
#include "cluster/cluster.h"
#include "cluster/collective_kind.h"
#include "graph/tensor_data.h"
#include "io/documents.h"
#include "pipeline/pipeline.h"
#include "pipeline/request.h"
#include "plan/pins.h"
#include "plan/plan.h"
#include "runtime/run/plan_run.h"
#include "runtime/run/run_report.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

// Sizes of boxed tensors: each so many times the one before, closer where caches end.
constexpr double kSmallestBoxed = 4096, kLargeBoxed = 1 << 20, kSmallStep = 4, kLargeStep = 2;
constexpr double kLargestHalo = 4;       // the part of the largest boxed tensor
constexpr uint32_t kOverlapRepeats = 3;  // times as many steps: a difference of step times is wanted
constexpr int kLeastProducts = 12;       // beside a collective
constexpr double kMostProducts = 12 * 64;
constexpr int64_t kMostMeshes = 8;
constexpr uint64_t kRandomPlans = 12;  // of a model

class Calibration {
 public:
  Calibration(Backend& backend, const CalibrationRequest& request) : backend_(backend), request_(request) {
    cluster_ = *FindPreset("cpu");  // placeholders to plan with; everything that counts is replaced
    cluster_.name = request.name;
    cluster_.description = request.description;
    cluster_.num_nodes = request.nodes;
    cluster_.devices_per_node = request.devices / request.nodes;
    cluster_.growable = false;
    cluster_.device.name = request.name;
    cluster_.device.memory_bytes = {request.memory_bytes, request.source};
  }

  Result<Fit> Run() {
    for (round_ = 0; round_ < request_.rounds; ++round_) {
      SBP_RETURN_IF_ERROR(MeasureBoxing());
      SBP_RETURN_IF_ERROR(MeasureHalos());
      if (round_ == 0) {
        SBP_RETURN_IF_ERROR(MeasureOverlap());
        SBP_ASSIGN_OR_RETURN(cluster_, Shared(cluster_));  // plans of one cluster are the same everywhere
      }
      if (request_.built_in) SBP_RETURN_IF_ERROR(MeasureOps());
      if (round_ == 0) SBP_RETURN_IF_ERROR(PlanModelsByStrategies());
      SBP_RETURN_IF_ERROR(MeasureModels(0));
      if (round_ > 0 || request_.models.empty()) continue;
      // With these constants other plans win, whose collectives and splits are measured too.
      SBP_ASSIGN_OR_RETURN(cluster_, FittedSoFar());
      const size_t first = model_plans_.size();
      SBP_RETURN_IF_ERROR(PlanModelsByStrategies());
      SBP_RETURN_IF_ERROR(PlanModelsAtRandom());
      SBP_RETURN_IF_ERROR(MeasureModels(first));
    }
    if (!backend_.leads()) return Fit();
    return FitCluster(cluster_, samples_.Ops(request_.source), samples_.Collectives(request_.source), request_.source);
  }

 private:
  // Before each measurement.
  Status Tell(std::string_view what, size_t done, size_t total) const {
    if (request_.progress) request_.progress(what, round_ * total + done, request_.rounds * total);
    return RefuseCancelled(request_.cancelled);
  }

  // One axis with all devices, and two for each way to divide them.
  Result<std::vector<Mesh>> Meshes() const {
    const int64_t n = request_.devices;
    std::vector<std::string> texts = {StrCat("x=", n)};
    for (int64_t a = 2; a <= n / 2 && static_cast<int64_t>(texts.size()) < kMostMeshes; ++a) {
      if (n % a == 0) texts.push_back(StrCat("x=", a, ",y=", n / a));
    }
    std::vector<Mesh> meshes;
    for (const std::string& text : texts) {
      SBP_ASSIGN_OR_RETURN(meshes.emplace_back(), ParseMesh(text));
    }
    return meshes;
  }

  // The leading process's, at every process. After something has run.
  Result<Cluster> Shared(const Cluster& mine) {
    SBP_ASSIGN_OR_RETURN(const std::string bytes, backend_.Share(WriteCluster(mine, Encoding::kBinary)));
    return ReadCluster(bytes, "the cluster so far");
  }
  Result<Cluster> FittedSoFar() {
    if (!backend_.leads()) return Shared(cluster_);
    SBP_ASSIGN_OR_RETURN(const Fit fit, FitCluster(cluster_, samples_.Ops(request_.source),
                                                   samples_.Collectives(request_.source), request_.source));
    return Shared(fit.cluster);
  }

  Status MeasureBoxing() {
    if (request_.devices < 2) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const std::vector<Mesh> meshes, Meshes());
    std::vector<double> sizes;
    for (double bytes = kSmallestBoxed; bytes <= request_.most_bytes;) {
      sizes.push_back(bytes);
      bytes *= bytes < kLargeBoxed ? kSmallStep : kLargeStep;
    }
    size_t done = 0;
    for (const Mesh& mesh : meshes) {
      for (const double bytes : sizes) {
        SBP_RETURN_IF_ERROR(Tell("collectives", done++, meshes.size() * sizes.size()));
        for (int axis = 0; axis < mesh.num_axes(); ++axis) {
          for (const double run : kMeasuredRuns) {
            SBP_ASSIGN_OR_RETURN(const CalibrationCase boxing,
                                 BoxingCase(mesh, axis, static_cast<int64_t>(bytes), run, *request_.rules));
            SBP_RETURN_IF_ERROR(RunCase(boxing, mesh, "greedy").status());
          }
        }
      }
    }
    return OkStatus();
  }

  Status MeasureHalos() {
    if (request_.devices < 2) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(StrCat("x=", request_.devices)));
    for (double bytes = kSmallestBoxed; bytes <= request_.most_bytes / kLargestHalo; bytes *= kSmallStep) {
      SBP_RETURN_IF_ERROR(Tell("neighbours", 0, 1));
      SBP_ASSIGN_OR_RETURN(const CalibrationCase halo, HaloCase(mesh, static_cast<int64_t>(bytes), *request_.rules));
      SBP_RETURN_IF_ERROR(RunCase(halo, mesh, "greedy").status());
    }
    return OkStatus();
  }

  // Without the collective, which takes k, a step takes a; with it c. Of the k seconds a + k - c were hidden: that part
  // of its speed compute kept. There are so many products that a is twice k or more.
  Status MeasureOverlap() {
    if (request_.devices < 2) return OkStatus();
    SBP_RETURN_IF_ERROR(Tell("overlap", 0, 1));
    SBP_ASSIGN_OR_RETURN(const OverlapTimes collective, TimeOverlap(0, true));
    int products = kLeastProducts;
    SBP_ASSIGN_OR_RETURN(OverlapTimes compute, TimeOverlap(products, false));
    if (backend_.leads() && compute.step > 0 && collective.all_reduce > 0) {
      const double times = std::ceil(2 * collective.all_reduce / compute.step);
      products = static_cast<int>(std::clamp(times, 1.0, kMostProducts / kLeastProducts) * kLeastProducts);
    }
    SBP_ASSIGN_OR_RETURN(const std::string shared, backend_.Share(std::to_string(products)));
    products = static_cast<int>(ParseInt(shared).value_or(kLeastProducts));
    SBP_ASSIGN_OR_RETURN(compute, TimeOverlap(products, false));
    SBP_ASSIGN_OR_RETURN(const OverlapTimes both, TimeOverlap(products, true));
    if (collective.all_reduce <= 0 || compute.step < collective.all_reduce) return OkStatus();  // nothing to tell from
    const double hidden = compute.step + collective.all_reduce - both.step;
    cluster_.device.overlap = {std::clamp(hidden / collective.all_reduce, 0.0, 1.0), request_.source};
    return OkStatus();
  }

  // Zeros in a process that does not lead.
  struct OverlapTimes {
    double step = 0, all_reduce = 0;
  };
  Result<OverlapTimes> TimeOverlap(int products, bool collective) {
    SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(StrCat("x=", request_.devices)));
    SBP_ASSIGN_OR_RETURN(const CalibrationCase both, OverlapCase(mesh, products, collective, *request_.rules));
    SBP_ASSIGN_OR_RETURN(const RunReport report, RunCase(both, mesh, "greedy", kOverlapRepeats));
    OverlapTimes times;
    if (!report.comparison) return times;
    times.step = report.comparison->measured.median;
    for (const TaskReport& task : report.tasks) {
      if (task.kind == CollectiveKindName(CollectiveKind::kAllReduce)) times.all_reduce = task.measured_seconds;
    }
    return times;
  }

  Status MeasureOps() {
    SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(StrCat("x=", request_.devices)));
    SBP_ASSIGN_OR_RETURN(const std::vector<CalibrationCase> cases,
                         OpCases(BuiltinCalibrationText(), "calibration.txt", *request_.rules, request_.limits));
    for (size_t i = 0; i < cases.size(); ++i) {
      SBP_RETURN_IF_ERROR(Tell("ops", i, cases.size()));
      SBP_RETURN_IF_ERROR(RunCase(cases[i], mesh, "replicate").status());
    }
    return OkStatus();
  }

  // Every model by every strategy, with the constants of now.
  Status PlanModelsByStrategies() {
    SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(StrCat("x=", request_.devices)));
    constexpr std::pair<std::string_view, std::string_view> kWays[] = {
        {"replicate", "bytes"}, {"greedy", "bytes"}, {"greedy", "order-value"}, {"greedy", "copy-cost"},
        {"greedy", "time"},     {"einsum", "bytes"}, {"optimal", "bytes"}};
    for (const CalibrationModel& model : request_.models) {
      for (const auto& [strategy, criterion] : kWays) {
        CalibrationCase whole;
        whole.graph = model.graph;
        SBP_ASSIGN_OR_RETURN(Plan plan, PlanCase(whole, mesh, strategy, criterion));
        model_plans_.emplace_back(std::move(plan), &model.reader);
      }
    }
    return OkStatus();
  }

  // Planners ask for the prices of ops and collectives that no strategy chooses, too.
  Status PlanModelsAtRandom() {
    if (request_.devices < 2) return OkStatus();
    SBP_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(StrCat("x=", request_.devices)));
    for (const CalibrationModel& model : request_.models) {
      for (uint64_t number = 0; number < kRandomPlans; ++number) {
        CalibrationCase split;
        split.graph = WithRandomSplits(model.graph, mesh, request_.seed + number);
        Result<Plan> plan = PlanCase(split, mesh, number % 2 == 0 ? "greedy" : "einsum", "bytes");
        if (!plan.ok() && plan.status().code() == Code::kNoPlan) continue;  // the splits contradict each other
        SBP_RETURN_IF_ERROR(plan.status());
        model_plans_.emplace_back(*std::move(plan), &model.reader);
      }
    }
    return OkStatus();
  }

  Status MeasureModels(size_t first) {
    for (size_t i = first; i < model_plans_.size(); ++i) {
      const auto& [plan, reader] = model_plans_[i];
      SBP_RETURN_IF_ERROR(Tell(StrCat("model ", plan.graph.name), i, model_plans_.size()));
      SBP_RETURN_IF_ERROR(RunPlan(plan, {}, *reader, 1, true).status());
    }
    return OkStatus();
  }

  Result<Plan> PlanCase(const CalibrationCase& what, const Mesh& mesh, std::string_view strategy,
                        std::string_view criterion) const {
    PlanRequest plan_request;
    plan_request.graph = what.graph;
    plan_request.mesh = mesh;
    plan_request.cluster = cluster_;
    plan_request.options.strategy = strategy;
    plan_request.options.criterion = criterion;
    plan_request.options.outputs = OutputPolicy::kAny;  // what a case measures is what it writes
    plan_request.pins = what.pins;
    plan_request.strategy.criterion = criterion;
    plan_request.rules = request_.rules;
    return MakePlan(std::move(plan_request));
  }

  // The report of a process that does not lead is empty.
  Result<RunReport> RunCase(const CalibrationCase& what, const Mesh& mesh, std::string_view strategy,
                            uint32_t times = 1) {
    SBP_ASSIGN_OR_RETURN(const Plan plan, PlanCase(what, mesh, strategy, "bytes"));
    return RunPlan(plan, what.inputs, DataReader(), times);
  }

  Result<RunReport> RunPlan(const Plan& plan, const std::vector<TensorData>& inputs, const DataReader& reader,
                            uint32_t times, bool of_model = false) {
    TensorStore store(plan.graph, plan.graph, request_.seed, reader);
    SBP_RETURN_IF_ERROR(store.Give(inputs));
    PlanRunOptions options;
    options.reference = false;
    options.repeats = times * ((request_.repeats + request_.rounds - 1) / request_.rounds);
    options.seed = request_.seed;
    SBP_ASSIGN_OR_RETURN(PlanRun run, RunPlanOn(plan, *request_.rules, store, backend_, options));
    if (backend_.leads()) SBP_RETURN_IF_ERROR(samples_.Add(plan, *request_.rules, run.report, of_model));
    return std::move(run.report);
  }

  Backend& backend_;
  const CalibrationRequest& request_;
  Cluster cluster_;
  Samples samples_;
  uint32_t round_ = 0;
  std::vector<std::pair<Plan, const DataReader*>> model_plans_;
};

}  // namespace

Result<int64_t> CountNodes(const std::vector<std::string>& hosts) {
  std::vector<std::string> names;
  std::vector<int64_t> ranks;
  for (const std::string& host : hosts) {
    if (names.empty() || names.back() != host) {
      if (std::find(names.begin(), names.end(), host) != names.end()) {
        return UsageError(StrCat("ranks are dealt to the hosts in turn (", Quote(host),
                                 " has some that do not follow each other); calibrate wants one host filled after the "
                                 "other, as plans number devices: mpirun --map-by slot"));
      }
      names.push_back(host);
      ranks.push_back(0);
    }
    ++ranks.back();
  }
  for (size_t h = 1; h < ranks.size(); ++h) {
    if (ranks[h] != ranks[0]) {
      return UsageError(StrCat(Quote(names[0]), " has ", ranks[0], " ranks and ", Quote(names[h]), " has ", ranks[h],
                               "; a cluster has equally many on each node"));
    }
  }
  return static_cast<int64_t>(names.size());
}

void SetSizes(bool gpus, bool quickly, CalibrationRequest& request) {
  const bool large = gpus && !quickly;
  request.limits = large ? CaseLimits{2e12, 2e9} : quickly ? CaseLimits{4e7, 3e6} : CaseLimits{2.5e9, 64e6};
  request.most_bytes = large ? 1.1e9 : quickly ? 1.1e6 : 68e6;
}

Result<Fit> Calibrate(Backend& backend, const CalibrationRequest& request) {
  return Calibration(backend, request).Run();
}

}  // namespace sbp
