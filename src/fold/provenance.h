// Which elements of the model's inputs a known value follows from. A value that is given for an input (--inputs) is
// only an example: what is computed from it stays computed. Where a shape, a branch or a number of trips needs it, the
// graph assumes the elements that it follows from, and says so (Graph::assumptions).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "fold/evaluate.h"
#include "fold/foldable.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "rule/rule_set.h"

namespace sbp {

// What one resolution knows, its subgraphs included. A source is an element of an input, or a set of sources.
class Provenance {
 public:
  using Source = uint32_t;
  static constexpr Source kConstant = 0;
  using Sources = std::vector<Source>;  // one an element, row-major; empty: all constant

  // The sources of an input's elements.
  Sources AddInput(const std::string& name, LiteralRef value);
  // One source for all that `elements` follow from.
  Source Union(const std::vector<const Sources*>& elements);
  // The graph relies on these.
  void Use(const Sources& sources);
  // By inputs, in the order in which they were added.
  std::vector<Assumption> Taken() const;

 private:
  struct Node {
    bool used = false;
    int32_t input = -1;  // of an element; else a set
    int64_t element = 0;
    std::vector<Source> parts;
  };
  struct Input {
    std::string name;
    LiteralRef value;
    Source first;
  };
  std::vector<Node> nodes_ = std::vector<Node>(1);
  std::vector<Input> inputs_;
};

using SourceMap = std::unordered_map<TensorId, Provenance::Sources>;

// Where the elements of the evaluated `results` come from, one entry a result; nothing: from constants alone. Elements
// that an op moves keep their own sources; computed ones follow from all operands.
std::optional<std::vector<Provenance::Sources>> SourcesOf(Provenance& provenance, const SourceMap& sources,
                                                          const FoldableOp& row, const OpQuery& query,
                                                          const std::vector<TensorId>& operands,
                                                          const Evaluated& results);

}  // namespace sbp
