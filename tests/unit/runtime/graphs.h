// Graphs written as JSON and what they compute, as text, for tests.
#pragma once

#include <string>
#include <vector>

#include "fold/resolve.h"
#include "graph/graph.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"

namespace sbp {

const RuleSet& TestRules();  // the built-in ones

// The graph with these JSON fields (schemas/graph.proto), as read or resolved. Fails the test and returns an empty
// graph where that is wrong.
Graph ReadTestGraph(const std::string& fields);
Graph MakeTestGraph(const std::string& fields, const ResolveOptions& options = {});

// Small integers, fractions only where the type has them.
Value TestTensor(DType dtype, Shape shape, const std::vector<double>& values);
Value TestSequence(std::vector<Value> entries);

// "f32[2] 1 2.5"; "[f32[1] 1, f32[1] 2]" for a sequence, "none" for an empty optional, "-" for nothing.
std::string ToText(const Value& value);

// The outputs of the graph on one device, joined with "; ", or the message of the error.
std::string RunText(const Graph& graph, std::vector<Value> inputs);

}  // namespace sbp
