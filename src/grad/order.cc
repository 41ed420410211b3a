#include "grad/order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/text.h"
#include "grad/appender.h"
#include "graph/each_operand.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "graph/passes.h"
#include "graph/phases.h"
#include "graph/sort_with.h"
#include "graph/tensor_type.h"

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

namespace {

class Refetcher {
 public:
  Refetcher(const std::vector<TensorId>& tensors, Appender& appender)
      : appender_(appender), graph_(appender.graph()), none_(appender.Shared({})) {
    for (const TensorId id : tensors) reads_.emplace(id, Reads());
  }

  // Appends ops and returns, for each of them, in their order, the op in front of which it belongs.
  std::vector<size_t> Run() {
    const size_t count = graph_.ops.size();
    for (size_t i = 0; i < count; ++i) {
      const bool backward = PhaseOf(graph_, graph_.ops[i]) == Phase::kBackward;
      for (size_t k = 0; k < graph_.ops[i].inputs.size(); ++k) {
        const TensorId input = graph_.ops[i].inputs[k];
        const auto found = input.valid() ? reads_.find(input) : reads_.end();
        if (found == reads_.end()) continue;
        found->second.forward = found->second.forward || !backward;
        if (backward && found->second.forward) graph_.ops[i].inputs[k] = Anew(input, i);
      }
      if (!backward && MovesOnly(graph_, graph_.ops[i]) && reads_.contains(graph_.ops[i].inputs[0]))
        reads_.emplace(graph_.ops[i].outputs[0], Reads{.mover = OpId(i)});
    }
    return std::move(readers_);
  }

 private:
  struct Reads {
    bool forward = false;
    OpId mover;  // that made the tensor of another one; invalid: it is what is fetched
    TensorId anew;
  };

  // The tensor as the backward pass is to read it, first by op `reader`.
  TensorId Anew(TensorId tensor, size_t reader) {
    std::vector<TensorId> moved;  // back to what is fetched
    for (TensorId at = tensor; !reads_.at(at).anew.valid(); at = graph_.op(reads_.at(at).mover).inputs[0]) {
      moved.push_back(at);
      if (!reads_.at(at).mover.valid()) break;
    }
    for (; !moved.empty(); moved.pop_back()) {
      const TensorId made = moved.back();
      Reads& read = reads_.at(made);
      const uint32_t scope = graph_.ops[reader].scope;
      const std::string name = StrCat("refetch/", graph_.tensor(made).name);
      if (read.mover.valid()) {
        const Op mover = graph_.op(read.mover);
        std::vector<TensorId> inputs = mover.inputs;
        inputs[0] = reads_.at(inputs[0]).anew;
        read.anew = appender_.CallTyped(graph_.type_of(mover), std::move(inputs), mover.attributes,
                                        appender_.type(made), name, scope);
      } else {
        read.anew = appender_.CallTyped(kRefetchOp, {made}, none_, appender_.type(made), name, scope);
      }
      readers_.push_back(reader);
    }
    return reads_.at(tensor).anew;
  }

  Appender& appender_;
  Graph& graph_;
  const AttributesRef none_;
  std::unordered_map<TensorId, Reads> reads_;
  std::vector<size_t> readers_;
};

// What the backward pass makes of the forward pass alone, behind the cotangent with which it is read; but what takes
// less than what it is made of, as a mask, may come first.
class Openers {
 public:
  // Of the first `count` ops, which are in order.
  Openers(const Graph& graph, size_t count) : graph_(graph), count_(count), passes_(graph), uses_(BuildUses(graph)) {}

  // The ops, each behind the one that writes the cotangent; where none is found, the one in front of it.
  std::vector<std::pair<OpId, OpId>> Pairs() const {
    std::vector<std::pair<OpId, OpId>> pairs;
    for (size_t i = 1; i < count_; ++i) {
      const Op& op = graph_.ops[i];
      if (passes_.OpensBackward(op) && !Shrinks(op)) pairs.emplace_back(CotangentOf(OpId(i)), OpId(i));
    }
    return pairs;
  }

 private:
  int64_t BitsOf(TensorId id) const {
    const TensorType& type = graph_.tensor(id).type;
    return type.num_elements() * DTypeBits(type.dtype);
  }

  bool Shrinks(const Op& op) const {
    int64_t read = 0, made = 0;
    EachOperand(op, [&](TensorId id) { read = std::max(read, BitsOf(id)); });
    for (const TensorId id : op.outputs) made += id.valid() ? BitsOf(id) : 0;
    return made < read;
  }

  static constexpr int kLongestWay = 64;  // ops to the one that reads the cotangent

  // Follows what is made of the op's first result, by who reads it first, to an op that also reads what the backward
  // pass made before the op.
  OpId CotangentOf(OpId opener) const {
    OpId at = opener;
    for (int way = 0; way < kLongestWay; ++way) {
      const TensorId made = graph_.op(at).outputs[0];
      const auto [begin, end] = made.valid() ? uses_.of(made) : std::pair<const Use*, const Use*>();
      if (begin == end || begin->op.index() >= count_) break;
      at = begin->op;
      OpId latest;
      EachOperand(graph_.op(at), [&](TensorId operand) {
        const OpId producer = passes_.of(operand) == Pass::kBackward ? graph_.tensor(operand).producer : OpId();
        if (producer.valid() && producer < opener && (!latest.valid() || latest < producer)) latest = producer;
      });
      if (latest.valid()) return latest;
    }
    return OpId(opener.index() - 1);
  }

  const Graph& graph_;
  const size_t count_;
  const DataPasses passes_;
  const UseTable uses_;
};

}  // namespace

Status RefetchForBackward(const std::vector<TensorId>& tensors, RefetchPlace place, Appender& appender) {
  Graph& graph = appender.graph();
  const size_t count = graph.ops.size();
  const std::vector<size_t> readers = Refetcher(tensors, appender).Run();
  if (place == RefetchPlace::kLate) return SortWith(Openers(graph, count).Pairs(), graph);
  MoveBefore(graph, count, readers);
  return OkStatus();
}

}  // namespace sbp
