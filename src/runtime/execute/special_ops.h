// The special ops, one function each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "graph/graph.h"
#include "runtime/data/value.h"
#include "runtime/execute/interpreter.h"

namespace sbp {

using OpOutcome = Result<std::vector<Value>>;

OpOutcome RunIf(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunLoop(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunScan(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);

OpOutcome RunSequenceConstruct(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunSequenceEmpty(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunSequenceInsert(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunSequenceErase(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunSequenceAt(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunSequenceLength(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunSplitToSequence(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunConcatFromSequence(Interpreter& interpreter, const Graph& graph, const Op& op,
                                std::vector<Value> operands);
OpOutcome RunSequenceMap(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunOptional(Interpreter& interpreter, const Graph& graph, const Op& op, std::vector<Value> operands);
OpOutcome RunOptionalGetElement(Interpreter& interpreter, const Graph& graph, const Op& op,
                                std::vector<Value> operands);
OpOutcome RunOptionalHasElement(Interpreter& interpreter, const Graph& graph, const Op& op,
                                std::vector<Value> operands);

// The subgraph in attribute `name`. Error: it has none.
Result<const Graph*> BodyOf(const Op& op, std::string_view name);
// What its last inputs stand for: the captures of the op that belong to this subgraph.
Result<std::vector<Value>> BodyInputs(const Op& op, const Graph& body, const std::vector<Value>& operands,
                                      std::vector<Value> explicit_inputs);
// The single integer or bool of a tensor of one element.
Result<int64_t> SingleInteger(const Value& value, std::string_view what);
Result<Value> MakeScalar(DType dtype, int64_t value);

// Position `index` along `axis`, without that dimension.
Result<Value> TakeAlong(const Value& value, int64_t axis, int64_t index);
// Elements [begin, end) along `axis`.
Result<Value> SliceAlong(const Value& value, int64_t axis, int64_t begin, int64_t end);
// Tensors of one shape side by side along a new dimension, or of shapes that differ there along an existing one. Error:
// their shapes or types do not agree. At least one.
Result<Value> StackAlong(const std::vector<Value>& values, int64_t axis);
Result<Value> ConcatAlong(const std::vector<Value>& values, int64_t axis);

}  // namespace sbp
