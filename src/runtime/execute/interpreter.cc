#include "runtime/execute/interpreter.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/cancelled.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "graph/tensor_type.h"
#include "kernel/view.h"
#include "runtime/execute/local_program.h"

namespace sbp {
namespace {

constexpr int kMaxNesting = 64;

bool IsStatic(const Graph& graph, const Op& op) {
  const auto fixed = [&](TensorId id) {
    return !id.valid() || (graph.tensor(id).type.kind == ValueKind::kTensor && graph.tensor(id).type.is_static());
  };
  return std::all_of(op.inputs.begin(), op.inputs.end(), fixed) &&
         std::all_of(op.captures.begin(), op.captures.end(), fixed);
}

Status InOp(const Graph& graph, const Op& op, const Status& status) {
  return status.WithContext(StrCat("op ", Quote(op.name), " (", graph.type_of(op), ")"));
}

}  // namespace

const SpecialOpRow* FindSpecialOp(std::string_view op) {
  const std::span<const SpecialOpRow> rows = AllSpecialOps();
  const auto it = std::lower_bound(rows.begin(), rows.end(), op,
                                   [](const SpecialOpRow& row, std::string_view name) { return row.op < name; });
  return it != rows.end() && it->op == op ? &*it : nullptr;
}

Interpreter::GraphState& Interpreter::StateOf(const Graph& graph) {
  const auto [entry, is_new] = states_.try_emplace(&graph);
  if (!is_new) return entry->second;
  entry->second.ops.resize(graph.ops.size());
  entry->second.reads.assign(graph.tensors.size(), 0);
  for (const Op& op : graph.ops) {
    for (const TensorId id : graph.OperandsOf(op)) {
      if (id.valid()) ++entry->second.reads[id.index()];
    }
  }
  for (const TensorId id : graph.outputs) ++entry->second.reads[id.index()];
  return entry->second;
}

// The values of one run of one graph.
class Interpreter::Frame {
 public:
  Frame(const InterpreterHooks& hooks, const Graph& graph, std::vector<uint32_t> reads, bool outermost)
      : hooks_(hooks),
        graph_(graph),
        reads_(std::move(reads)),
        outermost_(outermost),
        values_(graph.tensors.size()),
        known_(graph.tensors.size(), false) {}

  Status Set(TensorId id, Value value) {
    known_[id.index()] = true;
    if (outermost_ && hooks_.seen) SBP_RETURN_IF_ERROR(hooks_.seen(id, value));
    if (reads_[id.index()] > 0) values_[id.index()] = std::move(value);
    return OkStatus();
  }

  // For one reader; the last one takes it away. An absent operand has an absent value.
  Result<Value> Take(TensorId id) {
    if (!id.valid()) return Value();
    if (!known_[id.index()]) {
      SBP_ASSIGN_OR_RETURN(Value value, hooks_.parameter(graph_, id));
      SBP_RETURN_IF_ERROR(Set(id, std::move(value)));
    }
    if (--reads_[id.index()] > 0) return values_[id.index()];
    return std::move(values_[id.index()]);
  }

  Result<std::vector<Value>> TakeAll(const std::vector<TensorId>& ids) {
    std::vector<Value> values;
    for (const TensorId id : ids) {
      SBP_ASSIGN_OR_RETURN(Value value, Take(id));
      values.push_back(std::move(value));
    }
    return values;
  }

 private:
  const InterpreterHooks& hooks_;
  const Graph& graph_;
  std::vector<uint32_t> reads_;  // per tensor: how many readers are left
  bool outermost_;
  std::vector<Value> values_;
  std::vector<bool> known_;
};

Result<std::vector<Value>> Interpreter::Run(const Graph& graph, std::vector<Value> inputs, int64_t round) {
  if (inputs.size() != graph.inputs.size()) {
    return RunFailed(StrCat("a subgraph of ", graph.inputs.size(), " inputs was given ", inputs.size()));
  }
  if (depth_ == kMaxNesting) return RunFailed("subgraphs are nested too deeply");
  ++depth_;
  const uint64_t outside = place_;
  if (place_ != 0) place_ = HashCombine(place_, static_cast<uint64_t>(round));
  Result<std::vector<Value>> outputs = RunFrame(graph, std::move(inputs));
  place_ = outside;
  --depth_;
  return outputs;
}

Result<std::vector<Value>> Interpreter::RunFrame(const Graph& graph, std::vector<Value> inputs) {
  Frame frame(hooks_, graph, StateOf(graph).reads, depth_ == 1);
  for (size_t i = 0; i < inputs.size(); ++i) SBP_RETURN_IF_ERROR(frame.Set(graph.inputs[i], std::move(inputs[i])));
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    const Op& op = graph.ops[o];
    SBP_RETURN_IF_ERROR(RefuseCancelled(hooks_.cancelled));
    SBP_ASSIGN_OR_RETURN(std::vector<Value> operands, frame.TakeAll(graph.OperandsOf(op)));
    SBP_ASSIGN_OR_RETURN(std::vector<Value> results, RunOp(graph, OpId(o), std::move(operands)));
    for (size_t r = 0; r < op.outputs.size(); ++r) {
      if (op.outputs[r].valid()) SBP_RETURN_IF_ERROR(frame.Set(op.outputs[r], std::move(results[r])));
    }
  }
  return frame.TakeAll(graph.outputs);
}

Result<std::vector<Value>> Interpreter::RunOp(const Graph& graph, OpId id, std::vector<Value> operands) {
  const Op& op = graph.op(id);
  if (const SpecialOpRow* special = FindSpecialOp(graph.type_of(op))) {
    const uint64_t outside = std::exchange(place_, HashCombine(place_, HashOf(op.name)));
    Result<std::vector<Value>> results = special->run(*this, graph, op, std::move(operands));
    place_ = outside;
    if (results.ok() && results->size() < op.outputs.size())
      results = RunFailed(StrCat("it gives ", results->size(), " results of ", op.outputs.size()));
    return results.ok() ? std::move(results) : InOp(graph, op, results.status());
  }
  return RunPlainOp(graph, id, operands);
}

Result<std::vector<Value>> Interpreter::RunPlainOp(const Graph& graph, OpId id, std::span<const Value> operands) {
  const Op& op = graph.op(id);
  std::optional<PreparedOp>& prepared = StateOf(graph).ops[id.index()];
  const uint64_t seed = SeedOf(place_ == 0 ? seed_ : HashCombine(seed_, place_), op);
  if (prepared) {
    prepared->seed = seed;
  } else {
    Result<PreparedOp> made = PrepareOp(graph, op, {}, seed, IsStatic(graph, op) ? &compiler_ : nullptr);
    // A value that the op must know (axes, ...) may be one that the body captures: then it is known once it runs.
    if (!made.ok()) made = PrepareOp(graph, op, {}, seed, nullptr);
    if (!made.ok()) return made.status();
    prepared = std::move(made).value();
  }
  std::vector<TensorView> views;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].sequence != nullptr || operands[i].none) {
      return InOp(graph, op, RunFailed(StrCat("operand ", i + 1, " is no tensor")));
    }
    views.push_back(operands[i].view);
  }
  SBP_ASSIGN_OR_RETURN(const LocalProgramRef program, runner_.ProgramFor(*prepared, views));
  std::vector<Value> results(op.outputs.size());
  std::vector<TensorView> written(op.outputs.size());
  for (size_t r = 0; r < results.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType& type = program->slots[program->num_operands + r].type;
    Result<Value> made = MakeTensor(type.dtype, type.shape);
    if (!made.ok()) return InOp(graph, op, made.status());
    results[r] = *std::move(made);
    written[r] = results[r].view;
  }
  SBP_RETURN_IF_ERROR(runner_.Run(*prepared, *program, views, written));
  for (size_t r = 0; r < results.size(); ++r) {
    if (op.outputs[r].valid()) results[r].view = written[r];
  }
  return results;
}

}  // namespace sbp
