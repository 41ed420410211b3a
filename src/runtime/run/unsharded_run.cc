#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/cancelled.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"
#include "runtime/execute/interpreter.h"
#include "runtime/execute/local_program.h"
#include "runtime/run/compare.h"
#include "runtime/run/plan_run.h"
#include "runtime/run/tensor_store.h"
#include "sbp/mesh.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

// Watches for the first op that makes a NaN although it read none.
class NaNWatch {
 public:
  explicit NaNWatch(const Graph& graph) : graph_(graph), holds_(graph.tensors.size(), false) {}

  void See(TensorId id, const Value& value) {
    if (!value.view.present() || !HasNaN(value.view)) return;
    holds_[id.index()] = true;
    const OpId producer = graph_.tensor(id).producer;
    if (!producer.valid() || !first_.empty()) return;
    const std::vector<TensorId> operands = graph_.OperandsOf(graph_.op(producer));
    const bool given = std::any_of(operands.begin(), operands.end(),
                                   [&](TensorId operand) { return operand.valid() && holds_[operand.index()]; });
    if (!given) first_ = graph_.op(producer).name;
  }
  const std::string& first() const { return first_; }

 private:
  const Graph& graph_;
  std::vector<bool> holds_;  // per tensor
  std::string first_;
};

Result<std::vector<Value>> InputsOf(const Graph& graph, TensorStore& store, uint32_t micro_batch) {
  std::vector<Value> inputs;
  for (const TensorId id : graph.inputs) {
    SBP_ASSIGN_OR_RETURN(Value value, store.Get(id, micro_batch));
    inputs.push_back(std::move(value));
  }
  return inputs;
}

// Times the graph alone, without a look at what its ops write. The first repeat, which prepares the ops, is not
// counted.
Status Repeat(const Graph& graph, LocalCompiler& compiler, TensorStore& store, const UnshardedOptions& options,
              UnshardedRun& run) {
  if (options.repeats == 0) return OkStatus();
  InterpreterHooks hooks;
  hooks.parameter = [&](const Graph& of, TensorId id) { return store.GetIn(of, id, options.micro_batch); };
  hooks.cancelled = options.cancelled;
  Interpreter interpreter(compiler, std::move(hooks), options.seed);
  interpreter.set_draw(options.draw);
  for (uint32_t i = 0; i <= options.repeats; ++i) {
    SBP_ASSIGN_OR_RETURN(std::vector<Value> inputs, InputsOf(graph, store, options.micro_batch));
    const Clock::time_point start = Clock::now();
    SBP_RETURN_IF_ERROR(interpreter.Run(graph, std::move(inputs)).status());
    if (i > 0) run.repeats.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  return OkStatus();
}

}  // namespace

Result<UnshardedRun> RunUnsharded(const Graph& graph, const RuleSet& rules, TensorStore& store,
                                  const UnshardedOptions& options) {
  LocalCompiler compiler(rules, Mesh());
  UnshardedRun run;
  NaNWatch watch(graph);
  InterpreterHooks hooks;
  hooks.parameter = [&](const Graph& of, TensorId id) { return store.GetIn(of, id, options.micro_batch); };
  hooks.seen = [&](TensorId id, const Value& value) {
    watch.See(id, value);
    if (options.keep_tensors && graph.tensor(id).producer.valid()) run.tensors[graph.tensor(id).name] = value;
    return OkStatus();
  };
  hooks.cancelled = options.cancelled;
  Interpreter interpreter(compiler, std::move(hooks), options.seed);
  interpreter.set_draw(options.draw);
  SBP_ASSIGN_OR_RETURN(std::vector<Value> inputs, InputsOf(graph, store, options.micro_batch));
  for (uint32_t t = 0; t < graph.tensors.size(); ++t) {
    SBP_RETURN_IF_ERROR(RefuseCancelled(options.cancelled));
    if (graph.tensors[t].role == TensorRole::kParameter) SBP_RETURN_IF_ERROR(store.Get(TensorId(t)).status());
  }
  const Clock::time_point start = Clock::now();
  SBP_ASSIGN_OR_RETURN(std::vector<Value> outputs, interpreter.Run(graph, std::move(inputs)));
  run.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (size_t i = 0; i < outputs.size(); ++i) {
    run.outputs.emplace_back(graph.tensor(graph.outputs[i]).name, std::move(outputs[i]));
  }
  run.first_nan = watch.first();
  SBP_RETURN_IF_ERROR(Repeat(graph, compiler, store, options, run));
  return run;
}

}  // namespace sbp
