// Data for op instances: whole operands, and parts of them as a layout asks for.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "runtime/data/value.h"
#include "runtime/exchange/halo.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"
#include "verify/op_instance.h"

namespace sbp {

// The instance's own values, else random ones of its domain; floats and signed integers vary in sign where that allows.
Result<Value> MakeOperand(const InstanceOperand& operand, std::mt19937_64& random);

// One part per device, by position. Partial axes get parts that combine to the whole and differ between ranks: random
// ones that add up, or, for max and min, a random owner per element and worse values of the domain elsewhere. With a
// halo a part reaches as far into its neighbours as the whole allows. Error: values of the type cannot be combined so.
Result<std::vector<Value>> MakeParts(const Value& whole, const InstanceOperand& operand, const NdSbp& layout,
                                     const Mesh& mesh, const HaloWidths& halo, std::mt19937_64& random);

// A tensor with readable memory of the whole's size before and after it: where a rule is wrong a kernel may reach
// beyond its part.
Result<Value> MakeGuarded(DType dtype, Shape shape, int64_t whole_bytes);
// Is the memory around it as it was?
bool GuardsIntact(const Value& value);

}  // namespace sbp
