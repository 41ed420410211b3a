#include "runtime/interpreter.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

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

Result<std::vector<Value>> Interpreter::Run(const Graph& graph, std::vector<Value> inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return Defect(StrCat("a graph of ", graph.inputs.size(), " inputs was given ", inputs.size()));
  }
  if (depth_ == kMaxNesting) return RunFailed("subgraphs are nested too deeply");
  ++depth_;
  const bool outermost = depth_ == 1;
  std::vector<uint32_t> reads = StateOf(graph).reads;
  std::vector<Value> values(graph.tensors.size());
  std::vector<bool> known(graph.tensors.size(), false);
  const auto set = [&](TensorId id, Value value) -> Status {
    known[id.index()] = true;
    if (outermost && hooks_.seen) SBP_RETURN_IF_ERROR(hooks_.seen(id, value));
    if (reads[id.index()] > 0) values[id.index()] = std::move(value);
    return OkStatus();
  };
  const auto take = [&](TensorId id) -> Result<Value> {
    if (!known[id.index()]) {
      SBP_ASSIGN_OR_RETURN(Value value, hooks_.parameter(graph, id));
      SBP_RETURN_IF_ERROR(set(id, std::move(value)));
    }
    if (--reads[id.index()] > 0) return values[id.index()];
    return std::move(values[id.index()]);
  };
  const auto run = [&]() -> Result<std::vector<Value>> {
    for (size_t i = 0; i < inputs.size(); ++i) SBP_RETURN_IF_ERROR(set(graph.inputs[i], std::move(inputs[i])));
    bool ended = false;
    for (size_t o = 0; o < graph.ops.size() && !ended; ++o) {
      if (outermost && hooks_.go_on && !hooks_.go_on(OpId(o))) {
        ended = true;
        break;
      }
      const Op& op = graph.ops[o];
      std::vector<Value> operands;
      for (const TensorId id : graph.OperandsOf(op)) {
        if (!id.valid()) {
          operands.emplace_back();
          continue;
        }
        SBP_ASSIGN_OR_RETURN(Value value, take(id));
        operands.push_back(std::move(value));
      }
      SBP_ASSIGN_OR_RETURN(std::vector<Value> results, RunOp(graph, OpId(o), std::move(operands)));
      for (size_t r = 0; r < op.outputs.size(); ++r) {
        if (op.outputs[r].valid()) SBP_RETURN_IF_ERROR(set(op.outputs[r], std::move(results[r])));
      }
    }
    std::vector<Value> outputs;
    for (const TensorId id : graph.outputs) {
      const bool written = known[id.index()] || graph.tensor(id).role != TensorRole::kActivation;
      if (!written && ended) {
        outputs.emplace_back();
        continue;
      }
      SBP_ASSIGN_OR_RETURN(Value value, take(id));
      outputs.push_back(std::move(value));
    }
    return outputs;
  };
  Result<std::vector<Value>> outputs = run();
  --depth_;
  return outputs;
}

Result<std::vector<Value>> Interpreter::RunOp(const Graph& graph, OpId id, std::vector<Value> operands) {
  const Op& op = graph.op(id);
  if (const SpecialOpRow* special = FindSpecialOp(graph.type_of(op))) {
    Result<std::vector<Value>> results = special->run(*this, graph, op, std::move(operands));
    return results.ok() ? std::move(results) : InOp(graph, op, results.status());
  }
  return RunPlainOp(graph, id, operands);
}

Result<std::vector<Value>> Interpreter::RunPlainOp(const Graph& graph, OpId id, std::span<const Value> operands) {
  const Op& op = graph.op(id);
  std::optional<PreparedOp>& prepared = StateOf(graph).ops[id.index()];
  if (!prepared) {
    const uint64_t seed = HashCombine(seed_, id.value);
    if (IsStatic(graph, op)) {
      SBP_ASSIGN_OR_RETURN(prepared, PrepareOp(graph, op, {}, seed, &compiler_));
    } else {
      SBP_ASSIGN_OR_RETURN(prepared, PrepareOp(graph, op, {}, seed, nullptr));
    }
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
