// The unsharded run that a plan's numbers are compared with: the model file itself, read and resolved anew, so that a
// mistake in the plan's graph shows. Only the sizes of the plan's inputs and the values that shaped it are taken over.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "fold/resolve.h"
#include "fold/resolve_options.h"
#include "graph/graph.h"
#include "graph/tensor_data.h"
#include "plan/plan.h"
#include "rule/rule_set.h"
#include "runtime/run/judge.h"
#include "runtime/run/tensor_store.h"

namespace sbp {

struct Reference {
  Graph stored, graph;  // the types of the file, and those that are computed with
  std::unique_ptr<TensorStore> store;
};

struct ReferenceRequest {
  std::string model_path;                           // "" (MakeTwin only): the plan's own graph is run
  const Plan* whole = nullptr;                      // the plan before --until
  const std::vector<TensorData>* inputs = nullptr;  // the run's own
  std::optional<DType> dtype;
  std::string until;  // "": all outputs
  uint64_t seed = 0;
  // Reads what planning computed in a type narrower than `dtype` as the plan has it, so that it is not what differs.
  bool takes_folded = false;
};
// `plan_store`: of the plan's run; what is random there has the same values here. Errors (kBadInput): the model does
// not resolve for the plan's sizes, or lacks an output of the plan.
Result<std::unique_ptr<Reference>> LoadReference(const Plan& plan, const RuleSet& rules,
                                                 const ReferenceRequest& request, TensorStore& plan_store);

// The unsharded graph beside a run; all that it refers to stays where it is.
struct TwinData {
  std::unique_ptr<Reference> reference;  // of the model
  Graph graph;                           // where the model is not at hand: of the plan
  std::unique_ptr<TensorStore> store;
  Twin twin() const;
};
// `stored`: the plan's graph with the types of the file; outlives the result. Errors: as LoadReference.
Result<std::unique_ptr<TwinData>> MakeTwin(const Plan& plan, const Graph& stored, const RuleSet& rules,
                                           const ReferenceRequest& request, TensorStore& plan_store);

// How to resolve `model` as the plan's was: the bindings, the assumptions, and the shapes of inputs whose rank the
// model leaves open.
ResolveOptions ResolveOptionsOf(const Plan& plan, const Graph& model);

}  // namespace sbp
