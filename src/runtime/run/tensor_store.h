// TensorStore: the whole tensors that a run starts from: inputs and parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "base/status.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_data.h"
#include "graph/tensor_type.h"
#include "rule/rule_set.h"
#include "runtime/data/value.h"
#include "runtime/run/roles.h"

namespace sbp {

// `bytes` bytes at a place, of the model file or a file beside it. Error: not there.
using DataReader = std::function<Result<std::string>(const DataReference& place, int64_t bytes)>;

// Do files of `stored` values hold the bits of `dtype`? NumPy lacks bf16; its bits are often kept as u16.
bool StoresBits(DType stored, DType dtype);
// The values of a file, cast to the type where both are floats. Error: another type, or shape.
Result<Value> ValueFromData(const TensorData& data, const TensorType& type);
// A tensor as files hold it.
TensorData DataFromValue(std::string name, const Value& value);
// The same values in another element type.
Result<Value> CastTo(const Value& value, DType dtype);

class TensorStore {
 public:
  // `graph`: the graph that is run; `stored`: the same with the types of the model file. Both outlive the store.
  TensorStore(const Graph& graph, const Graph& stored, uint64_t seed, DataReader reader)
      : graph_(graph), stored_(stored), seed_(seed), reader_(std::move(reader)), roles_(graph) {}

  // Values given by the user, by the names of inputs and parameters. Error: a name that the graph lacks (with the
  // nearest), a type or shape that does not fit.
  Status Give(const std::vector<TensorData>& tensors);

  // What a run made, for an input or parameter of its shape; the memory is shared where the types are the same.
  Status Give(TensorId id, const Value& value);

  // What is random, or read from the same place of the model's files, is what `other`, which outlives this, has under
  // the same name and type.
  void ShareRandom(TensorStore& other) { shared_ = &other; }

  // Asked before a value is made, from any thread; true is an error (kRunFailed). Null: nobody stops it.
  void set_cancelled(std::function<bool()> cancelled) { cancelled_ = std::move(cancelled); }

  // The value: given, a literal, from the model's files, else random by role (seed and name decide). Micro-batches
  // differ in their random inputs. Keeps what it hands out. Safe to call from several threads.
  Result<Value> Get(TensorId id, uint32_t micro_batch = 0);

  // The same for the interpreter: of a subgraph, only what stands in it as a literal is known. Error: names the tensor.
  Result<Value> GetIn(const Graph& of, TensorId id, uint32_t micro_batch = 0);

  // Inputs and parameters that were filled at random, by name.
  std::vector<std::string> random_inputs() const;
  int64_t random_parameters() const;

 private:
  Status GiveTo(TensorId id, const TensorData& data);
  Result<Value> Make(TensorId id, uint32_t micro_batch);
  // Asked by another store: the value read or drawn for such a tensor; an absent value: there is none.
  Result<Value> DrawnFor(const Tensor& tensor, uint32_t micro_batch);
  // All values of `tensor`, or of the parameter that it is a part of, which is of `type` (in the file: `stored`).
  Result<Value> MakeWhole(TensorId id, const std::string& name, const TensorType& type, const TensorType& stored,
                          uint32_t micro_batch);

  const Graph& graph_;
  const Graph& stored_;
  uint64_t seed_;
  DataReader reader_;
  RoleFinder roles_;
  TensorStore* shared_ = nullptr;
  std::function<bool()> cancelled_;
  std::map<std::string, TensorId> by_name_;  // inputs and parameters, once asked for
  mutable std::mutex mutex_;
  std::map<std::string, TensorData> given_;
  std::map<std::pair<uint32_t, uint32_t>, Value> values_;  // tensor, micro-batch
  std::map<std::string, bool> random_;                     // name -> is a parameter
};

// `graph` with every float tensor of 16 bits or more of type `to`, and what attributes, their defaults in the ops'
// schemas, and subgraphs say of them.
Graph Retyped(const Graph& graph, const RuleSet& rules, DType to);

}  // namespace sbp
