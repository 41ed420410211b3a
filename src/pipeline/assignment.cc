// `--assignment FILE`: another plan, or a pins file.
#include "base/text.h"
#include "io/documents.h"
#include "io/pins.h"
#include "pipeline/pipeline.h"

namespace sbp {
namespace {

Status GivePlan(const Plan& given, const std::string& where, PlanRequest& request) {
  if (given.mesh.axes != request.mesh.axes) {
    return BadInput(StrCat(where, ": its mesh is ", ToString(given.mesh), "; expected ", ToString(request.mesh)));
  }
  const NameIndex index(given.graph);
  StrategyOptions& strategy = request.strategy;
  for (const Op& op : request.graph.ops) {
    const OpId same = index.op(op.name);
    if (!same.valid()) return BadInput(StrCat(where, ": it has no op ", Quote(op.name)));
    strategy.given_signatures.push_back(given.decision(same).signature);
  }
  for (const Tensor& tensor : request.graph.tensors) {
    const TensorId same = index.tensor(tensor.name);
    strategy.given_sources.push_back(same.valid() ? given.source_layouts[same.index()]
                                                  : NdSbp(request.mesh.num_axes()));
  }
  return OkStatus();
}

}  // namespace

Status GiveAssignment(std::string_view content, const std::string& where, PlanRequest& request) {
  const Result<DocumentInfo> document = Recognise(content, where);
  if (document.ok()) {
    if (document->kind != DocumentKind::kPlan) {
      return BadInput(StrCat(where, ": expected a plan or a pins file that covers every op"));
    }
    SBP_ASSIGN_OR_RETURN(const Plan given, ReadPlan(content, where));
    return GivePlan(given, where, request);
  }
  SBP_ASSIGN_OR_RETURN(const std::vector<PinText> pins, ReadPinsFile(content, where));
  for (const PinText& pin : pins) request.pins.emplace_back(pin.text, pin.where);
  return OkStatus();
}

}  // namespace sbp
