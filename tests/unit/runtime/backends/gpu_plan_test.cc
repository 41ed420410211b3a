// Whole plans on devices that are no CPUs: the same numbers as unsharded, and failures that name what failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "cluster/presets.h"
#include "kernel/gpu/device_errors.h"
#include "pipeline/pipeline.h"
#include "runtime/run/plan_run.h"
#include "support/host_gpus.h"
#include "unit/plan/small_plan.h"
#include "unit/runtime/graphs.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;

Result<PlanRun> RunOnHostGpus(const Plan& plan, const HostGpus& gpus, const PlanRunOptions& options = {},
                              const std::vector<TensorData>& given = {}) {
  TensorStore store(plan.graph, plan.graph, 1, DataReader());
  SBP_RETURN_IF_ERROR(store.Give(given));
  const std::unique_ptr<Backend> backend = MakeHostBackend(gpus);
  Result<PlanRun> run = RunPlanOn(plan, TestRules(), store, *backend, options);
  const Status end = backend->Finish(run.status(), {});
  if (!end.ok()) return end;
  return run;
}

TEST(GpuPlan, ComputesWhatTheGraphDoes) {
  for (const uint32_t micro_batches : {1U, 5U}) {
    const auto run = RunOnHostGpus(SmallPlan(), {}, {.micro_batches = micro_batches, .keep_tensors = true});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
    EXPECT_EQ(run->report.outputs.size(), micro_batches);
    EXPECT_FALSE(run->report.tensors.empty());
    EXPECT_GT(run->report.measured_seconds, 0);
    const DeviceMemory& memory = run->report.device_memory;
    ASSERT_EQ(memory.phases.size(), 5U);  // before, communicators, plan, libraries, run
    EXPECT_GE(memory.phases[2].bytes, run->report.peak_bytes);
    EXPECT_THAT(FormatRunReport(run->report), HasSubstr("memory of the first device, as it says itself: "));
    EXPECT_THAT(RunReportJson(run->report), HasSubstr("\"device_memory\""));
  }
}

// A table of kernels in which some op is another one.
GpuKernels With(std::vector<KernelRow>& rows, std::string_view op, KernelFn run) {
  GpuKernels kernels = HostKernels();
  rows.assign(kernels.rows.begin(), kernels.rows.end());
  std::erase_if(rows, [&](const KernelRow& row) { return row.op == op; });
  rows.push_back({op, TypeSet{DType::kF32}, KernelDevice::kCuda, run});
  std::sort(rows.begin(), rows.end(), [](const KernelRow& a, const KernelRow& b) { return a.op < b.op; });
  kernels.rows = rows;
  return kernels;
}

// Every kernel has run once before the first collective.
TEST(GpuPlan, KernelsAreWarmBeforeTheRun) {
  static std::atomic<int> calls;
  std::vector<KernelRow> rows;
  const GpuKernels kernels = With(rows, "Relu", [](KernelCall& call) {
    ++calls;
    const float* const x = call.inputs[0].as<float>();
    for (int64_t i = 0; i < call.outputs[0].elements(); ++i) call.outputs[0].as<float>()[i] = std::max(x[i], 0.0F);
    return OkStatus();
  });
  calls = 0;
  const auto run = RunOnHostGpus(SmallPlan(), {.kernels = &kernels});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
  EXPECT_EQ(calls, 2 * 4);  // on each device: warm, and in the run
}

// Attention on heads of two devices: by the fused kernel, and by its expansion where that declines.
std::atomic<int64_t> fused_calls{0};
Status FusedAttention(KernelCall& call) {
  const Status status = HostKernels().Find("Attention", DType::kF16)->run(call);
  if (!call.declined) ++fused_calls;
  return status;
}

GpuKernels WithCountedAttention(std::vector<KernelRow>& rows) {
  GpuKernels kernels = With(rows, "Attention", FusedAttention);
  const DeclinesFn declines = HostKernels().Find("Attention", DType::kF16)->declines;
  for (KernelRow& row : rows) {
    if (row.op == "Attention") row = {row.op, TypeSet{DType::kF16}, KernelDevice::kCuda, FusedAttention, declines};
  }
  kernels.rows = rows;
  return kernels;
}

// On two devices.
Plan PlanOf(const std::string& fields, const std::vector<std::string>& signatures) {
  PlanRequest request;
  request.graph = MakeTestGraph(fields);
  request.mesh = ParseMesh("x=2").value();
  request.cluster = FindPreset("8xH100").value();
  request.rules = &TestRules();
  request.options.strategy = "fixed";
  for (const std::string& text : signatures) {
    request.strategy.given_signatures.push_back(ParseSignature(text, 1).value());
  }
  return MakePlan(std::move(request)).value();
}

TEST(GpuPlan, FusedAttentionAndItsExpansion) {
  std::vector<KernelRow> rows;
  const GpuKernels kernels = WithCountedAttention(rows);
  std::vector<int64_t> bytes;
  for (const std::string softcap : {"0.0", "5.0"}) {
    const std::string fields =
        R"("inputs":[{"name":"q","type":"f16[2, 4, 16, 8]"},{"name":"k","type":"f16[2, 2, 16, 8]"},
      {"name":"v","type":"f16[2, 2, 16, 8]"},{"name":"m","type":"bool[16, 16]"}],
      "ops":[{"name":"a","type":"Attention","inputs":["q","k","v","m"],"outputs":["y"],
              "attributes":{"is_causal":1,"softcap":)" +
        softcap + R"(}},
             {"name":"r","type":"Relu","inputs":["y"],"outputs":["z"]}],"outputs":["z"])";
    const Plan plan = PlanOf(fields, {"S(1), S(1), S(1), B -> S(1)", "S(1) -> S(1)"});
    fused_calls = 0;
    // So often that graphs of the ops are made and tried.
    const auto run = RunOnHostGpus(plan, {.kernels = &kernels}, {.micro_batches = 12});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
    const bool fused = softcap == "0.0";
    EXPECT_EQ(fused_calls > 0, fused);
    EXPECT_THAT(run->report.notes, ::testing::Contains(fused ? "fused kernels: for 1 of 1 ops"
                                                             : "fused kernels: for 0 of 1 ops; expanded: a"));
    bytes.push_back(run->report.peak_bytes);
  }
  EXPECT_LT(bytes[0], bytes[1]) << "what the expansion hands on needs room only where it runs";
}

// Convolutions whose windows reach over the border of the devices' parts.
TEST(GpuPlan, NeighboursElementsArriveBeforeTheirTask) {
  const std::string fields =
      R"("inputs":[{"name":"x","type":"f32[1, 2, 16, 8]"},{"name":"w","type":"f32[2, 2, 3, 3]"}],
      "ops":[{"name":"a","type":"Conv","inputs":["x","w"],"outputs":["h"],"attributes":{"pads":[1,1,1,1]}},
             {"name":"b","type":"Conv","inputs":["h","w"],"outputs":["i"],"attributes":{"pads":[1,1,1,1]}},
             {"name":"r","type":"Relu","inputs":["i"],"outputs":["j"]},
             {"name":"c","type":"Conv","inputs":["j","w"],"outputs":["y"],"attributes":{"pads":[1,1,1,1]}}],
      "outputs":["y"])";
  const Plan plan = PlanOf(fields, {"S(2), B -> S(2)", "S(2), B -> S(2)", "S(2) -> S(2)", "S(2), B -> S(2)"});
  for (const uint32_t micro_batches : {1U, 5U}) {
    const auto run = RunOnHostGpus(plan, {}, {.micro_batches = micro_batches, .keep_tensors = true});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
    for (const TaskReport& task : run->report.tasks) EXPECT_GT(task.measured_seconds, 0);
  }
}

// Says that it will and then, from some run on, will not: with other memory or sizes a library may.
std::atomic<int64_t> accepted{0};
Status SometimesFusedAttention(KernelCall& call) {
  if (--accepted < 0) {
    call.declined = true;
    return OkStatus();
  }
  return FusedAttention(call);
}

TEST(GpuPlan, AKernelThatDeclinesWhileItRuns) {
  const std::string fields = R"("inputs":[{"name":"q","type":"f16[2, 4, 16, 8]"},{"name":"k","type":"f16[2, 4, 16, 8]"},
      {"name":"v","type":"f16[2, 4, 16, 8]"},{"name":"m","type":"bool[16, 16]"}],
      "ops":[{"name":"a","type":"Attention","inputs":["q","k","v","m"],"outputs":["y"]},
             {"name":"r","type":"Softmax","inputs":["y"],"outputs":["z"]}],"outputs":["z"])";
  const Plan plan = PlanOf(fields, {"S(1), S(1), S(1), B -> S(1)", "S(1) -> S(1)"});
  std::vector<KernelRow> rows;
  GpuKernels kernels = WithCountedAttention(rows);
  for (KernelRow& row : rows) {
    if (row.op == "Attention") row.run = SometimesFusedAttention;
  }
  for (const int64_t runs : {0, 1, 5, 6, 7, 8, 9, 13}) {  // of both devices: also while graphs are made
    accepted = runs;
    fused_calls = 0;
    const auto run = RunOnHostGpus(plan, {.kernels = &kernels}, {.micro_batches = 12});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run->report.good()) << runs << "\n" << FormatRunReport(run->report);
    EXPECT_LE(fused_calls, runs);
    EXPECT_GE(fused_calls, std::min<int64_t>(runs, 6)) << "three starts a device, before there are graphs";
  }
}

// Inside the expansions of other ops, of which more runs before and after it.
TEST(GpuPlan, FusedAttentionOfOnnxruntimesOps) {
  std::vector<KernelRow> rows;
  const GpuKernels kernels = WithCountedAttention(rows);
  for (const std::string softcap : {"0.0", "5.0"}) {
    const std::string grouped =
        R"("inputs":[{"name":"q","type":"f16[2, 16, 32]"},{"name":"k","type":"f16[2, 16, 16]"},
      {"name":"v","type":"f16[2, 16, 16]"}],
      "parameters":[{"name":"lengths","type":"i32[2]","literal":{"ints":[15, 11]}},
                    {"name":"total","type":"i32[]","literal":{"ints":[16]}}],
      "ops":[{"name":"a","type":"com.microsoft::GroupQueryAttention","inputs":["q","k","v","","","lengths","total"],
              "outputs":["y"],"attributes":{"num_heads":4,"kv_num_heads":2,"softcap":)" +
        softcap + R"(}}],"outputs":["y"])";
    fused_calls = 0;
    const auto run = RunOnHostGpus(PlanOf(grouped, {"S(2), S(2), S(2), B, B, B, B -> S(2)"}), {.kernels = &kernels},
                                   {.micro_batches = 12});
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
    EXPECT_EQ(fused_calls > 0, softcap == "0.0");
  }
  const std::string multi_head =
      R"("inputs":[{"name":"q","type":"f16[2, 16, 32]"},{"name":"k","type":"f16[2, 24, 32]"},
      {"name":"v","type":"f16[2, 24, 32]"},{"name":"b","type":"f16[1, 4, 16, 24]"}],
      "parameters":[{"name":"lengths","type":"i32[2]","literal":{"ints":[20, 24]}}],
      "ops":[{"name":"a","type":"com.microsoft::MultiHeadAttention","inputs":["q","k","v","","lengths","b"],
              "outputs":["y"],"attributes":{"num_heads":4}}],"outputs":["y"])";
  fused_calls = 0;
  const auto run = RunOnHostGpus(PlanOf(multi_head, {"S(2), S(2), S(2), B, B, S(1) -> S(2)"}), {.kernels = &kernels});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
  EXPECT_GT(fused_calls, 0);
}

TEST(GpuPlan, AKernelThatFailsEndsTheRun) {
  std::vector<KernelRow> rows;
  const GpuKernels kernels = With(rows, "Relu", [](KernelCall&) { return RunFailed("no such launch"); });
  const auto run = RunOnHostGpus(SmallPlan(), {.kernels = &kernels});
  EXPECT_EQ(run.status().code(), Code::kRunFailed);
  EXPECT_THAT(run.status().message(), HasSubstr("Relu \"act\": op \"act\" (Relu): no such launch"));
}

TEST(GpuPlan, WhatAKernelNotesIsTracedToItsTask) {
  std::vector<KernelRow> rows;
  const GpuKernels kernels = With(rows, "Relu", [](KernelCall& call) {
    *call.stream->error_word() |= kIndexOutOfRange;
    return OkStatus();
  });
  const auto run = RunOnHostGpus(SmallPlan(), {.kernels = &kernels});
  EXPECT_EQ(run.status().code(), Code::kRunFailed);
  EXPECT_THAT(run.status().message(), HasSubstr("Relu \"act\": "));
  EXPECT_THAT(run.status().message(), HasSubstr("range"));
}

TensorData Constant(const std::string& name, const Shape& shape, float number) {
  Value value = MakeTensor(DType::kF32, shape).value();
  for (int64_t i = 0; i < value.view.elements(); ++i) value.view.as<float>()[i] = number;
  return DataFromValue(name, value);
}

TEST(GpuPlan, NaNIsTracedToTheTaskThatMadeIt) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto run =
      RunOnHostGpus(SmallPlan(), {}, {}, {Constant("x", {4, 8}, infinity), Constant("w", {8, 16}, 0)});  // inf * 0
  EXPECT_EQ(run.status().code(), Code::kRunFailed);
  EXPECT_THAT(run.status().message(), HasSubstr("output \"y\" holds NaN; the first task to make one: op \"fc\""));
}

TEST(GpuPlan, OutOfMemorySaysWhatADeviceNeeds) {
  const auto run = RunOnHostGpus(SmallPlan(), {.memory_bytes = 512});
  EXPECT_EQ(run.status().code(), Code::kRunFailed);
  EXPECT_THAT(run.status().message(), HasSubstr("device 0 needs "));
  EXPECT_THAT(run.status().message(), HasSubstr("out of memory"));
}

TEST(GpuPlan, MoreDevicesThanGpus) {
  const auto run = RunOnHostGpus(SmallPlan(), {.count = 2});
  EXPECT_EQ(run.status().code(), Code::kUsage);
  EXPECT_THAT(run.status().message(), HasSubstr("which has 2 GPUs"));
  EXPECT_THAT(run.status().message(), HasSubstr("mpirun -n 4 sbp-plan run ... --ranks-per-gpu 2"));
}

// Ops without a kernel for GPUs run on the host, or as what they are made of.
TEST(GpuPlan, EveryKernelOnTheHost) {
  std::vector<KernelRow> rows;
  const GpuKernels kernels = With(rows, "no op", [](KernelCall&) { return OkStatus(); });
  std::erase_if(rows, [](const KernelRow& row) { return row.op != "no op"; });
  GpuKernels none = kernels;
  none.rows = rows;
  const auto run = RunOnHostGpus(SmallPlan(), {.kernels = &none});
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_TRUE(run->report.good()) << FormatRunReport(run->report);
}

}  // namespace
}  // namespace sbp
