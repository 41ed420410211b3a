// Transpose: each dimension goes where perm says.
#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "rule/factorizer.h"
#include "rule/factorizers/carry.h"
#include "rule/factorizers/structural.h"
#include "sbp/shard_math.h"

namespace sbp {

Status FactorizeTranspose(FactorizerContext& context) {
  const size_t data = context.operand("data");
  const Shape& in = context.shape(data);
  std::vector<int64_t> perm = context.Ints("perm");
  if (perm.empty()) {
    for (size_t d = in.size(); d > 0; --d) perm.push_back(static_cast<int64_t>(d) - 1);
  }
  std::vector<bool> seen(in.size(), false);
  Shape shape;
  for (int64_t axis : perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(in.size()) || seen[axis] || perm.size() != in.size()) {
      return context.Error(
          StrCat("perm [", Join(perm, ","), "] is no permutation of the dimensions of ", ToString(context.type(data))));
    }
    seen[axis] = true;
    shape.push_back(in[axis]);
  }
  context.SetResult(0, std::move(shape));
  for (size_t d = 0; d < perm.size(); ++d) ShareDim(context, data, perm[d], 0, d);
  return OkStatus();
}

}  // namespace sbp
