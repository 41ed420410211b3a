// The interpreter: runs a graph op by op on whole tensors, on one device. It is the unsharded reference, and runs the
// bodies of If, Loop and Scan everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "runtime/data/value.h"
#include "runtime/execute/local_program.h"
#include "runtime/execute/op_runner.h"

namespace sbp {

struct InterpreterHooks {
  // The value of a parameter: a literal, a weight. Never null.
  std::function<Result<Value>(const Graph& graph, TensorId id)> parameter;
  // Called with every value of the outermost graph as it appears. May be null.
  std::function<Status(TensorId id, const Value& value)> seen;
  // Asked before each op, of bodies too; true fails the run. May be null.
  std::function<bool()> cancelled;
};

class Interpreter {
 public:
  // `compiler` is for a mesh without axes and outlives the interpreter.
  Interpreter(LocalCompiler& compiler, InterpreterHooks hooks, uint64_t seed = 0)
      : compiler_(compiler), hooks_(std::move(hooks)), seed_(seed), runner_(compiler, DevicePlace{}) {}

  // As OpRunner's.
  void set_draw(uint64_t draw) { runner_.set_draw(draw); }
  // `inputs`: one per graph.inputs. The values of graph.outputs. Tensors are freed after their last use. Errors
  // (kRunFailed) name the op. `round`: of a body that runs again and again; random ops draw other numbers in each.
  Result<std::vector<Value>> Run(const Graph& graph, std::vector<Value> inputs, int64_t round = 0);
  // One op, a special one (all_special_ops.cc) or any other.
  Result<std::vector<Value>> RunOp(const Graph& graph, OpId id, std::vector<Value> operands);

 private:
  struct GraphState {
    std::vector<std::optional<PreparedOp>> ops;
    std::vector<uint32_t> reads;  // per tensor: how often it is read, outputs once more
  };
  class Frame;
  GraphState& StateOf(const Graph& graph);
  Result<std::vector<Value>> RunFrame(const Graph& graph, std::vector<Value> inputs);
  Result<std::vector<Value>> RunPlainOp(const Graph& graph, OpId id, std::span<const Value> operands);

  LocalCompiler& compiler_;
  InterpreterHooks hooks_;
  uint64_t seed_;
  uint64_t place_ = 0;  // which op's body runs, and in which round; 0: no body
  OpRunner runner_;
  std::map<const Graph*, GraphState> states_;
  int depth_ = 0;
};

// An op that is no computation on tensors alone: control flow, sequences, optionals.
struct SpecialOpRow {
  std::string_view op;
  Result<std::vector<Value>> (*run)(Interpreter& interpreter, const Graph& graph, const Op& op,
                                    std::vector<Value> operands);
};
std::span<const SpecialOpRow> AllSpecialOps();  // sorted by op
const SpecialOpRow* FindSpecialOp(std::string_view op);

}  // namespace sbp
