#include "kernel/cpu/elementwise.h"

#include <initializer_list>

#include "base/dtype.h"
#include "base/status.h"
#include "kernel/view.h"

namespace sbp::cpu {

Status RunElementwise(TensorView& out, std::initializer_list<const TensorView*> operands, DType compute, DType result,
                      InnerLoop line, void* functor) {
  if (line == nullptr) return Defect("no kernel for this element type");
  StridedLoop loop(out.shape);
  SBP_RETURN_IF_ERROR(loop.Add(out, result));
  for (const TensorView* operand : operands) SBP_RETURN_IF_ERROR(loop.Add(*operand, compute));
  loop.Run(line, functor);
  return OkStatus();
}

}  // namespace sbp::cpu
