// Micro benchmarks of planning: candidates, boxing paths, the greedy walk. Built on demand (target sbp-bench); run with
// scripts/bench --micro.
#include <benchmark/benchmark.h>

#include "boxing/boxing.h"
#include "cluster/cluster.h"
#include "generate/generate.h"
#include "io/documents.h"
#include "pipeline/pipeline.h"
#include "rule/candidates.h"
#include "strategy/strategy.h"

namespace sbp {
namespace {

const RuleSet& Rules() {
  static const RuleSet rules = RuleSet::Builtin().value();
  return rules;
}

OpQuery BatchedMatMul(const Attributes& attributes) {
  OpQuery query{.type = "MatMul", .attributes = &attributes, .wanted = {true}};
  for (const char* text : {"f32[32,16,1024,64]", "f32[32,16,64,1024]"}) {
    query.operands.push_back({true, ParseTensorType(text).value()});
  }
  return query;
}

// Argument: mesh axes of size 2.
Mesh MeshOf(int64_t axes) {
  std::string text = "a0=2";
  for (int64_t i = 1; i < axes; ++i) text += ",a" + std::to_string(i) + "=2";
  return ParseMesh(text).value();
}

void InstantiateRule(benchmark::State& state) {
  const Attributes attributes;
  const OpQuery query = BatchedMatMul(attributes);
  for (auto _ : state) benchmark::DoNotOptimize(Rules().Instantiate(query));
}
BENCHMARK(InstantiateRule);

void Candidates(benchmark::State& state) {
  const Attributes attributes;
  const RuleInstanceRef instance = Rules().Instantiate(BatchedMatMul(attributes)).value();
  const Mesh mesh = MeshOf(state.range(0));
  size_t count = 0;
  for (auto _ : state) count = MakeCandidates(instance, mesh).candidates.size();
  state.counters["candidates"] = static_cast<double>(count);
}
BENCHMARK(Candidates)->DenseRange(1, 3);

NdSbp EveryAxis(const Mesh& mesh, Sbp sbp) { return NdSbp(mesh.num_axes(), sbp); }

// A fresh table for each search.
void PathSearch(benchmark::State& state) {
  const Mesh mesh = MeshOf(state.range(0));
  const Cluster cluster = FindPreset("8xH100").value();
  const TensorType type = ParseTensorType("f32[64,1024,1024]").value();
  for (auto _ : state) {
    BoxingTable table(mesh, cluster);
    benchmark::DoNotOptimize(&table.Path(type, EveryAxis(mesh, Sbp::Split(0)), EveryAxis(mesh, Sbp::Split(1))));
  }
}
BENCHMARK(PathSearch)->DenseRange(1, 3);

void PathFromCache(benchmark::State& state) {
  const Mesh mesh = MeshOf(state.range(0));
  BoxingTable table(mesh, FindPreset("8xH100").value());
  const TensorType type = ParseTensorType("f32[64,1024,1024]").value();
  const NdSbp from = EveryAxis(mesh, Sbp::Split(0)), to = EveryAxis(mesh, Sbp::Split(1));
  for (auto _ : state) benchmark::DoNotOptimize(&table.Path(type, from, to));
}
BENCHMARK(PathFromCache)->DenseRange(1, 3);

Graph Layers(int64_t ops) { return GenerateGraph("transformer", {.ops = ops}).value(); }

void GreedyOnLayers(benchmark::State& state) {
  const Graph graph = Layers(state.range(0));
  const Problem problem =
      BuildProblem(graph, Rules(), ParseMesh("data=2,model=4").value(), FindPreset("8xH100").value(), Pins()).value();
  const StrategyRow* greedy = FindStrategy("greedy").value();
  for (auto _ : state) benchmark::DoNotOptimize(greedy->solve(problem, {}));
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(graph.ops.size()));
}
BENCHMARK(GreedyOnLayers)->RangeMultiplier(10)->Range(100, 10000)->Unit(benchmark::kMillisecond);

void WriteGraphAs(benchmark::State& state, Encoding encoding) {
  const Graph graph = Layers(10000);
  size_t bytes = 0;
  for (auto _ : state) bytes += WriteGraph(graph, encoding).size();
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
void ReadGraphAs(benchmark::State& state, Encoding encoding) {
  const std::string bytes = WriteGraph(Layers(10000), encoding);
  for (auto _ : state) benchmark::DoNotOptimize(ReadGraph(bytes, "bench"));
  state.SetBytesProcessed(static_cast<int64_t>(bytes.size()) * state.iterations());
}
BENCHMARK_CAPTURE(WriteGraphAs, json, Encoding::kJson)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WriteGraphAs, prototxt, Encoding::kPrototxt)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(WriteGraphAs, binary, Encoding::kBinary)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReadGraphAs, json, Encoding::kJson)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReadGraphAs, prototxt, Encoding::kPrototxt)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(ReadGraphAs, binary, Encoding::kBinary)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sbp

BENCHMARK_MAIN();
