// calibrate: measures this machine and writes a cluster that `infer` prices with.
#include "calibrate/calibrate.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/model.h"
#include "api/tensors.h"
#include "base/dtype.h"
#include "base/number_text.h"
#include "base/status.h"
#include "base/text.h"
#include "calibrate/cases.h"
#include "calibrate/fit.h"
#include "cli/backend_flags.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/planning.h"
#include "cli/progress.h"
#include "cluster/cluster.h"
#include "fold/resolve.h"
#include "io/documents.h"
#include "io/file.h"
#include "pipeline/pipeline.h"
#include "rule/rule_set.h"
#include "runtime/backends/backend.h"
#include "runtime/processes/machine.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

struct CalibrateFlags {
  ModelFlags model;
  std::string backend{AllBackends().front().name}, out, name;
  int64_t devices = 0;
  bool only_model = false, quick = false;
  uint32_t rounds = 3, repeats = 10;
  uint64_t seed = 0;
  BackendOptions backend_options;
  OutputFlags output;
};

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof(text), "%Y-%m-%d", &utc);
  return text;
}

std::string PercentText(double value) { return FormatFixed(100 * value, 1) + " %"; }

std::string FitText(const Fit& fit) {
  const Cluster& cluster = fit.cluster;
  const DeviceSpec& device = cluster.device;
  std::string text = StrCat("cluster ", cluster.name, ": ", cluster.devices_per_node, " devices, ",
                            device.op_samples.size(), " samples of ops, ", cluster.samples.size(), " of collectives\n");
  const auto rate = [](double value) { return StrCat(FormatBytes(value), "/s"); };
  text += StrCat("memory ", rate(device.memory_bandwidth.value), " at best, usually ",
                 PercentText(device.memory_efficiency.value), " of it; a kernel takes at least ",
                 FormatSeconds(device.launch_seconds.value), "\n");
  for (const auto& [dtype, flops] : device.flops) {
    text += StrCat("products in ", DTypeName(dtype), ": ", FormatGeneral(flops.value / 1e9, 3), " GFLOP/s at best\n");
  }
  text += StrCat("usually ", PercentText(device.compute_efficiency.value), " of that\n");
  if (!cluster.samples.empty()) {
    text += StrCat("link: ", rate(cluster.intra_node.bandwidth.value), ", latency ",
                   FormatSeconds(cluster.intra_node.latency_seconds.value), "; compute keeps ",
                   PercentText(device.overlap.value), " of its speed while a collective runs\n");
  }
  text += "how far predictions are from the measurements behind them (median, worst):\n";
  for (const Residual& residual : fit.residuals) {
    text += StrCat("  ", residual.what, " (", residual.samples, "): ", PercentText(residual.median), ", ",
                   PercentText(residual.worst), "\n");
  }
  return text;
}

std::string FitJson(const Fit& fit) {
  nlohmann::ordered_json residuals = nlohmann::ordered_json::array();
  for (const Residual& residual : fit.residuals) {
    residuals.push_back({{"what", residual.what},
                         {"samples", residual.samples},
                         {"median", residual.median},
                         {"worst", residual.worst}});
  }
  nlohmann::ordered_json json;
  json["name"] = fit.cluster.name;
  json["devices"] = fit.cluster.devices_per_node;
  json["op_samples"] = fit.cluster.device.op_samples.size();
  json["collective_samples"] = fit.cluster.samples.size();
  json["source"] = fit.cluster.device.launch_seconds.source;
  json["residuals"] = std::move(residuals);
  return json.dump(2);
}

Result<int64_t> DevicesOf(const CalibrateFlags& flags, Backend& backend) {
  if (backend.num_processes() > 1) {
    if (flags.devices != 0 && flags.devices != backend.num_processes()) {
      return UsageError(StrCat("--devices ", flags.devices, ": ", backend.num_processes(), " processes run"));
    }
    return backend.num_processes();
  }
  if (flags.devices != 0) return flags.devices;
  return backend.CountDevices();
}

Status WriteFit(const CalibrateFlags& flags, Encoding encoding, const Fit& fit) {
  SBP_RETURN_IF_ERROR(WriteFile(flags.out, WriteCluster(fit.cluster, encoding)));
  if (flags.out == "-") {
    Note(FitText(fit));
    return OkStatus();
  }
  if (flags.output.json()) return Print(FitJson(fit));
  return Print(StrCat(FitText(fit), "written to ", flags.out, "; plan with it: infer MODEL --cluster ", flags.out));
}

Status Measure(const CalibrateFlags& flags, Backend& backend) {
  SBP_ASSIGN_OR_RETURN(const Encoding encoding, EncodingForPath(flags.out));
  if (backend.leads()) SBP_RETURN_IF_ERROR(CheckWritable(flags.out));
  if (backend.is_virtual())
    return UsageError(StrCat("--backend ", flags.backend, " computes nothing that could be measured"));
  const bool gpu_flags = flags.backend_options.allow_tf32 || flags.backend_options.ranks_per_gpu > 1;
  if (gpu_flags && !FindBackend(flags.backend)->has_gpus) {
    return UsageError(StrCat("--tf32 and --ranks-per-gpu go with --backend ", GpuBackends()));
  }
  if (flags.only_model && flags.model.model.empty()) return UsageError("--only-model goes with a MODEL");
  CalibrationRequest request;
  SBP_ASSIGN_OR_RETURN(request.devices, DevicesOf(flags, backend));
  SBP_ASSIGN_OR_RETURN(const std::vector<std::string> hosts, backend.Hosts());
  SBP_ASSIGN_OR_RETURN(request.nodes, CountNodes(hosts));
  const std::string nodes = request.nodes > 1 ? StrCat(request.nodes, " nodes like ") : "";
  Machine machine;  // of the process that leads
  if (backend.leads()) {
    SBP_ASSIGN_OR_RETURN(machine, backend.DescribeMachine(request.devices / request.nodes));
  }
  SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules(flags.model.rules));
  request.rules = &rules;
  request.name = flags.name.empty() ? StrCat("calibrated-", flags.backend, "-", request.devices) : flags.name;
  request.description =
      StrCat(request.devices, " devices of backend ", flags.backend, ", ", nodes, machine.description);
  request.source = StrCat("measured ", Today(), " on ", nodes, machine.description, ", backend ", flags.backend, ", ",
                          request.devices, " devices, sbp-plan ", Version());
  request.memory_bytes = static_cast<double>(machine.memory_bytes);
  request.built_in = !flags.only_model;
  request.rounds = flags.rounds;
  request.repeats = flags.repeats;
  request.seed = flags.seed;
  SetSizes(FindBackend(flags.backend)->has_gpus, flags.quick, request);
  if (!flags.model.model.empty()) {
    SBP_ASSIGN_OR_RETURN(LoadedModel loaded, LoadModelFile(flags.model.model));
    SBP_ASSIGN_OR_RETURN(Resolved resolved, ResolveModel(std::move(loaded.graph), rules, flags.model));
    request.models.push_back({std::move(resolved.graph), ReadDataOf(loaded.path)});
  }
  request.progress = [tell = ProgressTeller()](std::string_view what, size_t done, size_t total) {
    tell(StrCat("measuring ", what, ": ", done + 1, " of ", total));
  };
  request.cancelled = InterruptAsker();
  const Result<Fit> fit = Calibrate(backend, request);
  if (!fit.ok()) return fit.status();
  return backend.leads() ? WriteFit(flags, encoding, *fit) : OkStatus();
}

Status Run(const CalibrateFlags& flags) {
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<Backend> backend, StartBackend(flags.backend, flags.backend_options));
  return backend->Finish(Measure(flags, *backend), [](const Status& failure) {
    if (!failure.message().empty()) Note(StrCat("error: ", failure.message()));
  });
}

}  // namespace

Command SetupCalibrate(CLI::App& app) {
  auto flags = std::make_shared<CalibrateFlags>();
  AddModelFlags(app, flags->model);
  app.get_option("model")->required(false)->description("measure this model's ops too, as they are");
  app.add_flag("--only-model", flags->only_model, "measure no other ops");
  app.add_flag("--quick", flags->quick, "small sizes alone: seconds, and rough constants");
  std::vector<std::string> backends;
  for (const BackendRow& row : AllBackends()) backends.emplace_back(row.name);
  app.add_option("--backend", flags->backend, StrCat("what to measure: ", Join(backends, ", ")))
      ->check(CLI::IsMember(backends))
      ->capture_default_str();
  app.add_option("--devices", flags->devices, "so many of them [cpu: the cores; mpi: the ranks; cuda: the GPUs]")
      ->check(CLI::Range(1, 256));
  app.add_option("--ranks-per-gpu", flags->backend_options.ranks_per_gpu,
                 StrCat("with --backend ", GpuBackends(), ": so many processes share a GPU"))
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--tf32", flags->backend_options.allow_tf32,
               StrCat("with --backend ", GpuBackends(), ": f32 products may round to tf32"));
  app.add_option("--rounds", flags->rounds, "so often all is measured, one after the other")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--repeat", flags->repeats,
                 "warm steps of each plan in all rounds: ops count by their mean, collectives by their median")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  app.add_option("--seed", flags->seed, "of random inputs, weights and splits")
      ->check(RefuseNegative)
      ->capture_default_str();
  app.add_option("--name", flags->name, "of the cluster [calibrated-BACKEND-DEVICES]");
  app.add_option("-o,--output", flags->out, "where the cluster goes: .json, .prototxt, .pb")
      ->required()
      ->type_name("CLUSTER");
  AddFormatFlag(app, flags->output);
  return [flags] { return Run(*flags); };
}

}  // namespace sbp
