#include "grad/order.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/phases.h"

namespace sbp {
namespace {

void SetProducers(Graph& graph) {
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    for (const TensorId output : graph.ops[i].outputs) {
      if (output.valid()) graph.tensor(output).producer = OpId(i);
    }
  }
}

}  // namespace

void MoveBefore(Graph& graph, size_t count, const std::vector<size_t>& readers) {
  std::vector<Op> ops;
  ops.reserve(graph.ops.size());
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    for (; next < readers.size() && readers[next] == i; ++next) ops.push_back(std::move(graph.ops[count + next]));
    ops.push_back(std::move(graph.ops[i]));
  }
  graph.ops = std::move(ops);
  SetProducers(graph);
}

void MoveBehindProducers(Graph& graph, const std::vector<OpId>& moved) {
  constexpr size_t kStays = ~size_t{0};
  std::vector<size_t> anchor(graph.ops.size(), kStays);  // the op behind which it goes, itself unmoved
  std::vector<std::vector<size_t>> behind(graph.ops.size());
  std::vector<size_t> in_front;  // of all
  for (const OpId id : moved) {
    bool has_producer = false;
    size_t last = 0;
    for (const TensorId input : graph.op(id).inputs) {
      const OpId producer = input.valid() ? graph.tensor(input).producer : OpId();
      if (!producer.valid()) continue;
      const size_t at = anchor[producer.index()] == kStays ? producer.index() : anchor[producer.index()];
      last = std::max(last, at);
      has_producer = true;
    }
    anchor[id.index()] = last;
    (has_producer ? behind[last] : in_front).push_back(id.index());
  }
  std::vector<Op> ops;
  ops.reserve(graph.ops.size());
  const auto take = [&](size_t i) { ops.push_back(std::move(graph.ops[i])); };
  for (const size_t i : in_front) take(i);
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (anchor[i] == kStays) take(i);
    for (const size_t next : behind[i]) take(next);
  }
  graph.ops = std::move(ops);
  SetProducers(graph);
}

Status RefetchForBackward(const std::vector<TensorId>& tensors, RefetchPlace place, Appender& appender) {
  struct Reads {
    bool forward = false;
    TensorId anew;
  };
  Graph& graph = appender.graph();
  std::unordered_map<TensorId, Reads> reads;
  for (const TensorId id : tensors) reads.emplace(id, Reads());
  const AttributesRef none = appender.Shared({});
  const size_t count = graph.ops.size();
  std::vector<size_t> readers;  // of those that are appended: the first one
  for (size_t i = 0; i < count; ++i) {
    const bool backward = PhaseOf(graph, graph.ops[i]) == Phase::kBackward;
    for (size_t k = 0; k < graph.ops[i].inputs.size(); ++k) {
      const TensorId input = graph.ops[i].inputs[k];
      const auto found = input.valid() ? reads.find(input) : reads.end();
      if (found == reads.end()) continue;
      Reads& read = found->second;
      read.forward = read.forward || !backward;
      if (!backward || !read.forward) continue;
      if (!read.anew.valid()) {
        read.anew = appender.CallTyped(kRefetchOp, {input}, none, appender.type(input),
                                       StrCat("refetch/", graph.tensor(input).name), graph.ops[i].scope);
        readers.push_back(i);
      }
      graph.ops[i].inputs[k] = read.anew;
    }
  }
  if (place == RefetchPlace::kLate) return SortTopologically(graph);
  MoveBefore(graph, count, readers);
  return OkStatus();
}

}  // namespace sbp
