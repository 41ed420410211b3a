// The logical op graph: what a model file says, with dense ids. Plain data; no I/O and no recursion here.
//
// A graph as read may have symbolic dimensions and shape arithmetic ("unresolved"); fold/ turns it into a graph in
// which every tensor has a concrete shape ("resolved"), and all later stages require that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/name_table.h"
#include "base/status.h"
#include "graph/literal.h"
#include "graph/strided_ints.h"
#include "graph/tensor_type.h"
#include "sbp/sbp.h"

namespace sbp {

struct Graph;

// An attribute value. A Graph value is a subgraph of If, Loop or Scan.
using AttributeValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                    std::vector<std::string>, LiteralRef, std::shared_ptr<const Graph>>;

// An attribute that only a graph before resolution has: a Softmax, LogSoftmax or Hardmax of an old opset treats all
// dimensions from this one on as one. fold/ writes the op in today's form as soon as the rank is known.
inline constexpr std::string_view kFlattenFrom = "flatten_from";
// Attributes that only a resolved graph has: what all rounds of an op's subgraph compute, read and write (of several
// subgraphs the dearest one). fold/ finds them; prices are made from them.
inline constexpr std::string_view kBodyFlops = "body_flops", kBodyBytes = "body_bytes";

// Attributes of an op, sorted by name. Equal sets are shared between ops of one graph (see GraphBuilder), so that
// comparing pointers usually decides equality.
class Attributes {
 public:
  const AttributeValue* Find(std::string_view name) const;
  // Replaces an entry of the same name.
  void Set(std::string name, AttributeValue value);
  bool empty() const { return entries_.empty(); }
  const std::vector<std::pair<std::string, AttributeValue>>& entries() const { return entries_; }
  std::vector<std::pair<std::string, AttributeValue>>& mutable_entries() { return entries_; }

  // Typed access; `fallback` when absent or of another type.
  int64_t Int(std::string_view name, int64_t fallback) const;
  double Float(std::string_view name, double fallback) const;
  std::string String(std::string_view name, std::string_view fallback) const;
  const std::vector<int64_t>* Ints(std::string_view name) const;  // nullptr when absent

 private:
  std::vector<std::pair<std::string, AttributeValue>> entries_;
};
using AttributesRef = std::shared_ptr<const Attributes>;
bool Equal(const Attributes& a, const Attributes& b);  // by value; subgraphs by pointer
// Floating numbers by their bits, so that sharing does not turn -0 into 0 and NaN equals itself.
bool Equal(const AttributeValue& a, const AttributeValue& b);
size_t HashAttributes(const Attributes& attributes);
std::string ToString(const AttributeValue& value);
bool HasSubgraph(const Attributes& attributes);

enum class TensorRole : uint8_t {
  kActivation,  // written by an op
  kInput,       // data given at each step
  kParameter,   // an initializer: a weight, or a constant table
};

// What a parameter was cut out of: it holds the elements from `start` on along `axis` of the model file's parameter
// `whole`, of which a Tensor's `data` then says the place.
struct WeightPart {
  std::string whole;  // its name in the file
  TensorType type;    // of the whole
  int axis = 0;
  int64_t start = 0;  // elements along axis
  friend bool operator==(const WeightPart&, const WeightPart&) = default;
};

struct Tensor {
  std::string name;
  TensorType type;
  TensorRole role = TensorRole::kActivation;
  OpId producer;                     // invalid for inputs and parameters
  uint32_t producer_index = 0;       // which result of the producer
  std::vector<std::string> symbols;  // per dimension: the symbol or expression, "" where the size is a number; or empty
  LiteralRef literal;                // the value, when it is known and small
  std::optional<DataReference> data;           // where a large value is
  std::shared_ptr<const WeightPart> part;      // null: a tensor of its own
  std::shared_ptr<const StridedInts> strided;  // what a large integer parameter holds, where it is so simple
  NdSbp layout_pin;  // size 0: none; else a layout written in the graph itself: how it lies for its readers
};

struct Op {
  std::string name;                                           // unique within the graph
  uint32_t type = 0;                                          // index into Graph::op_types
  std::vector<TensorId> inputs;                               // invalid ids are absent optional operands
  std::vector<TensorId> outputs;                              // invalid ids are results that nobody asked for
  AttributesRef attributes;                                   // never null
  uint32_t scope = 0;                                         // index into Graph::scopes
  std::vector<std::pair<std::string, std::string>> metadata;  // as the file has it, except scopes
  // Tensors of this graph that a subgraph of the op reads; also operands for planning (appended, after `inputs`). One
  // subgraph after the other, in the order of the attributes; they stand for the last inputs of that subgraph, of which
  // each subgraph of an op has equally many before them.
  std::vector<TensorId> captures;
  std::vector<NdSbp> signature_pin;  // empty: none; else one entry per input, then per output
};

// An input whose value shaped a resolved graph: a size, an axis, a number of trips, a branch. The graph is right only
// where these elements are given as they are here; other inputs may have any value.
struct Assumption {
  std::string input;
  LiteralRef value;               // of the input's type, never null; elements that are not listed are an example
  std::vector<int64_t> elements;  // the positions that count, row-major, ascending; never empty
};
// "[3, 4]", "3"; where not all elements count, those that do: "[0]=3 [2]=4".
std::string ToString(const Assumption& assumption);
// Is a given value, of whatever type holds it, equal in the elements that count?
bool Agrees(const Assumption& assumption, const Literal& value);

// State: `output` is what `input` is at the next step, or at the next micro-batch where section micro makes it (an
// updated parameter), so it must end as `input` lay at the start.
struct Tie {
  TensorId output;
  TensorId input;
  bool restarts = false;  // an accumulator: `input` is zeros where a step begins
  friend bool operator==(const Tie&, const Tie&) = default;
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Op> ops;           // in a topological order once built
  std::vector<TensorId> inputs;  // role kInput, in the file's order (initializers are not listed)
  std::vector<TensorId> outputs;
  std::vector<Tie> ties;
  int64_t micro_batches = 1;                // how often section micro runs in a step (graph/sections.h)
  std::vector<std::string> op_types;        // "MatMul"; other domains are qualified: "com.microsoft::Attention"
  std::vector<std::string> scopes;          // scopes[0] == ""; '/' separates levels: "model/layers.0/attn"
  std::map<std::string, int64_t> opsets;    // domain ("" for ONNX's own) -> version
  std::map<std::string, int64_t> bindings;  // symbols that were bound, once resolved
  std::vector<Assumption> assumptions;      // by inputs, in their order, once resolved
  std::vector<std::pair<std::string, std::string>> metadata;  // producer, ir_version, model metadata

  Tensor& tensor(TensorId id) { return tensors[id.index()]; }
  const Tensor& tensor(TensorId id) const { return tensors[id.index()]; }
  Op& op(OpId id) { return ops[id.index()]; }
  const Op& op(OpId id) const { return ops[id.index()]; }
  const std::string& type_of(const Op& op) const { return op_types[op.type]; }
  const std::string& scope_of(const Op& op) const { return scopes[op.scope]; }
  // The operands for planning: inputs, then captures.
  std::vector<TensorId> OperandsOf(const Op& op) const;
};

// Who reads each tensor, as one array (compressed rows): consumers of tensor t are uses[offsets[t] .. offsets[t + 1]).
struct Use {
  OpId op;
  uint32_t operand = 0;  // index into OperandsOf
};
struct UseTable {
  std::vector<uint32_t> offsets;
  std::vector<Use> uses;
  // begin, end
  std::pair<const Use*, const Use*> of(TensorId t) const {
    return {uses.data() + offsets[t.index()], uses.data() + offsets[t.index() + 1]};
  }
};
UseTable BuildUses(const Graph& graph);

// Finds tensors and ops by name; valid while the graph does not change.
class NameIndex {
 public:
  explicit NameIndex(const Graph& graph);
  TensorId tensor(std::string_view name) const;  // invalid when absent
  OpId op(std::string_view name) const;

 private:
  const Graph& graph_;
  NameTable tensors_, ops_;
};

// Sorts ops topologically (stable: the file's order wherever it is legal) and renumbers. Error names a cycle's ops.
Status SortTopologically(Graph& graph);

// Structure: ids in range, unique names, one producer per tensor, order topological, no read before write, role agrees
// with producer, rank <= kMaxRank, no overflow in sizes. `where` names the file in messages.
Status Verify(const Graph& graph, std::string_view where);

// The canonical text of a graph: one line a tensor and an op, stable, no pointers. For tests and --dump-dir.
std::string Dump(const Graph& graph);

}  // namespace sbp
