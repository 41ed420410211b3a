// Fuzz targets: each takes any bytes, reads them as one kind of input, and goes as far with what was read as the
// program would. A target fails by crashing, by a sanitizer's report, or by Require.
//
// The same functions are driven twice: by libFuzzer (entry.cc, preset `fuzz`, scripts/fuzz) and over the checked-in
// corpus in every test run (replay_test.cc). An input that once failed stays in corpus/TARGET/.
#pragma once

#include <span>
#include <string_view>

#include "rule/rule_set.h"

namespace sbp::fuzz {

struct Target {
  std::string_view name;  // also the folder of its corpus
  void (*run)(std::string_view bytes);
};
std::span<const Target> AllTargets();

// One file each.
void RunCheckpoint(std::string_view bytes);
void RunCluster(std::string_view bytes);
void RunConfig(std::string_view bytes);
void RunDims(std::string_view bytes);
void RunExpansions(std::string_view bytes);
void RunGrad(std::string_view bytes);
void RunGraph(std::string_view bytes);
void RunIopddl(std::string_view bytes);
void RunNpz(std::string_view bytes);
void RunOnnx(std::string_view bytes);
void RunPins(std::string_view bytes);
void RunPlan(std::string_view bytes);
void RunRules(std::string_view bytes);
void RunSafetensors(std::string_view bytes);
void RunStableHlo(std::string_view bytes);
void RunTensor(std::string_view bytes);
void RunTorch(std::string_view bytes);

// Ends the process with `what` unless `holds`: a property that every input must keep.
void Require(bool holds, std::string_view what);

// What a user gets for input that cannot be taken: blamed on the input and not on us, and on one screen.
void RequireRefusal(const Status& status);

// The built-in rules, parsed once.
const RuleSet& BuiltinRules();

// A model that was read is well formed, and the same after it was written as a graph and read again; it is resolved and
// planned as below. One that was refused was refused well.
void RequireModel(const Result<Graph>& graph, std::string_view where);

// Binds every open dimension of the graph's inputs to a small size and resolves; a graph that resolves must be well
// formed and, when it is small, is planned on a mesh of 2 x 2; the plan must check clean.
void ResolveAndPlan(const Graph& graph);

}  // namespace sbp::fuzz
