// What is demanded of a tensor besides what its readers want: where a pin says how it lies, and how it must end. The
// one place that says so: evaluator, cost network, greedy walk and explain all ask here.
//
// A tensor that an op writes passes through up to three kinds of layouts:
//   written - what its producer writes;
//   standing - the layout of a pin TENSOR=LAYOUT, else the written one: all readers and the end start from there. One
//     transition leads from written to standing, and is made if anybody needs the tensor;
//   its end, for outputs of the graph and ties: EndRule.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/ids.h"
#include "base/status.h"
#include "boxing/boxing.h"
#include "graph/graph.h"
#include "graph/tensor_type.h"
#include "plan/pins.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

struct EndRule {
  enum class Kind : uint8_t {
    kNone,        // as it stands
    kTied,        // as the source `tied` starts
    kWhole,       // B on every axis
    kNotPartial,  // any layout without P
  };
  Kind kind = Kind::kNone;
  TensorId tied = {};
};

class Demands {
 public:
  Demands() = default;
  // Ties come before pins, pins before the policy. On a mesh of one device only ties count. Error (kNoPlan): a pin of
  // an output is partial, and the policy forbids that.
  static Result<Demands> Of(const Graph& graph, const Mesh& mesh, const Pins& pins, OutputPolicy policy);

  EndRule end(TensorId tensor) const {
    const auto found = ends_.find(tensor);
    return found == ends_.end() ? EndRule() : found->second;
  }
  // The layout that a pin lets all readers start from; nullptr: they start from the written one.
  const TensorPin* standing(TensorId tensor) const {
    const auto found = standing_.find(tensor);
    return found == standing_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<TensorId, EndRule> ends_;
  std::unordered_map<TensorId, TensorPin> standing_;  // Pins::lies
};

// Where a tensor that lies as `from` may best end so that it is not partial: P becomes B or S, B may become S, S stays.
// `from` itself and 0 seconds where it is not partial; infinite seconds: there is no such layout. Ties go to the
// layouts with fewer splits, outermost axes first.
struct CheapestEnd {
  NdSbp layout;
  double seconds = 0;
};
CheapestEnd FindCheapestEnd(const TensorType& type, const NdSbp& from, BoxingTable& boxing);

}  // namespace sbp
