#include "fold/forward.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "fold/assume_forms.h"
#include "fold/context.h"
#include "fold/control.h"
#include "fold/fold_op.h"
#include "fold/infer_op.h"
#include "fold/open_graph.h"
#include "fold/resolve_options.h"
#include "fold/rewrite.h"
#include "fold/subgraphs.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"

namespace sbp {
namespace {

// Says of each op in turn what becomes of it.
class ForwardPass {
 public:
  explicit ForwardPass(PassState& pass) : pass_(pass), assumed_forms_(pass) {}

  Status Process(std::vector<Op> ops) {
    for (Op& op : ops) SBP_RETURN_IF_ERROR(Process(std::move(op)));
    return OkStatus();
  }

 private:
  Status Process(Op op);
  Status InferAssumed(Op op, Folded folded);
  Status KeepWhole(Op op);
  bool Keeps(const Op& op) const;
  void HandOnContainers(Op& op);

  PassState& pass_;
  AssumedForms assumed_forms_;
};

Status ForwardPass::Process(Op op) {
  FoldContext& context = pass_.context();
  if (--context.op_budget < 0) return BadInput("the subgraphs nest too deeply to infer their shapes");
  if (op.attributes->Find(kFlattenFrom) != nullptr) {
    SBP_RETURN_IF_ERROR(pass_.guesses().Fix(op.inputs));
    SBP_ASSIGN_OR_RETURN(std::vector<Op> ops, ExpandFlattening(pass_, std::move(op)));
    return Process(std::move(ops));
  }
  assumed_forms_.Take(op);
  if (Folded folded = FoldOp(pass_, op); !folded.values.empty()) {
    SBP_RETURN_IF_ERROR(pass_.guesses().Fix(op.inputs));
    if (folded.flags || folded.sources || Keeps(op)) return InferAssumed(std::move(op), std::move(folded));
    for (size_t r = 0; r < folded.values.size(); ++r) {
      if (op.outputs[r].valid()) SetFolded(pass_, op.outputs[r], std::move(folded.values[r]));
    }
    return OkStatus();
  }
  HandOnContainers(op);
  return HasSubgraphs(op) ? KeepWhole(std::move(op)) : InferOp(pass_, std::move(op));
}

// Does the op stay where its results are known?
bool ForwardPass::Keeps(const Op& op) const {
  const ResolveOptions& options = pass_.context().options;
  if (options.keep_ops || !options.keep_floats) return options.keep_ops;
  return std::ranges::any_of(op.inputs,
                             [&](TensorId id) { return id.valid() && IsFloat(pass_.graph().tensor(id).type.dtype); });
}

// An op with subgraphs, but for an If that is known to take one branch.
Status ForwardPass::KeepWhole(Op op) {
  if (pass_.graph().type_of(op) == "If") {
    SBP_ASSIGN_OR_RETURN(const std::optional<KnownBranch> branch, FindKnownBranch(pass_, op));
    if (branch) return Process(InlineBranch(pass_, op, *branch->graph, branch->first_capture));
  }
  SBP_RETURN_IF_ERROR(pass_.guesses().Fix(op.inputs));
  SBP_RETURN_IF_ERROR(pass_.guesses().Fix(op.captures));
  SBP_ASSIGN_OR_RETURN(ControlResults results, ResolveControl(pass_, op));
  for (size_t r = 0; r < op.outputs.size(); ++r) {
    if (!op.outputs[r].valid()) continue;
    const TensorType stated = std::exchange(pass_.graph().tensor(op.outputs[r]).type, results.types[r]);
    pass_.values().assumptions().SetDims(op.outputs[r], std::move(results.assumed[r]));
    CheckStated(pass_, op, op.outputs[r], stated);
  }
  pass_.PutOp(std::move(op));
  return OkStatus();
}

// Identity of what is no tensor has no elements to copy: it is an op of containers, of which OptionalGetElement hands
// on what is not empty.
void ForwardPass::HandOnContainers(Op& op) {
  if (op.inputs.size() != 1 || !op.inputs[0].valid() || pass_.graph().type_of(op) != "Identity") return;
  if (pass_.graph().tensor(op.inputs[0]).type.kind != ValueKind::kTensor)
    op.type = pass_.open().TypeIndex("OptionalGetElement");
}

// The op stays, and what follows is planned with its assumed values.
Status ForwardPass::InferAssumed(Op op, Folded folded) {
  const std::vector<TensorId> results = op.outputs;
  const bool keeps = Keeps(op);
  SBP_RETURN_IF_ERROR(InferOp(pass_, std::move(op)));
  FoldContext& context = pass_.context();
  for (size_t r = 0; r < results.size(); ++r) {
    if (!results[r].valid()) continue;
    Literal& value = folded.values[r];
    Tensor& tensor = pass_.graph().tensor(results[r]);
    if (tensor.type != value.type) continue;
    context.literal_budget -= value.type.num_elements();
    pass_.values().SetDerived(results[r], std::make_shared<const Literal>(std::move(value)));
    if (folded.flags || keeps) tensor.literal = pass_.value(results[r]);
    if (folded.flags) pass_.values().assumptions().SetElements(results[r], std::move((*folded.flags)[r]));
    if (folded.sources) pass_.values().SetSources(results[r], std::move((*folded.sources)[r]));
  }
  return OkStatus();
}

}  // namespace

Result<Graph> ResolveGraph(PassState& pass) {
  const Status processed = ForwardPass(pass).Process(pass.open().TakeOps());
  SBP_RETURN_IF_ERROR(pass.guesses().Undecided());  // whatever failed may follow from its size
  SBP_RETURN_IF_ERROR(processed);
  return pass.open().Close();
}

}  // namespace sbp
