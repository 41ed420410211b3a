// Arguments of main whose memory results take over, as jax.jit's donate_argnums writes them.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "graph/tensor_type.h"
#include "stablehlo/cursor.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {

// One argument and the result that is written to its memory, both counted from 0.
struct Donation {
  size_t argument = 0, result = 0;
};

// Of main's `arg_attrs`: `tf.aliasing_output = N : i32`, to that result; `jax.buffer_donor = true`, to the first result
// of equal type that takes no memory yet, arguments in order, which is how JAX finds an N where it writes one; a donor
// without such a result is freed, as XLA does. By argument. Errors at the entry: no integer, no such result, one of
// another type, or one that another argument is donated to.
Result<std::vector<Donation>> Donations(const Operation& main, const std::vector<TensorType>& arguments,
                                        const std::vector<TensorType>& results, const Cursor& place);

}  // namespace sbp::stablehlo
