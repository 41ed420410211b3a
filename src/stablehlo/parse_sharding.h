// #sdy.sharding and #sdy.mesh as plain data.
#pragma once

#include <vector>

#include "base/status.h"
#include "sbp/mesh.h"
#include "stablehlo/cursor.h"
#include "stablehlo/shardings.h"

namespace sbp::stablehlo {

// The body of #sdy.sharding<@mesh, [{"data"}, {"model", ?}p1], replicated={"x"}, unreduced=max{"y"}>. Errors
// (kBadInput, "LINE:COL: ..."): what was expected; parts of axes, such as "x":(1)2, which no axis of a mesh is.
Result<Sharding> ParseSharding(Cursor body);
// One for each result, of #sdy.sharding_per_value<[<@mesh, ...>, ...]>.
Result<std::vector<Sharding>> ParseShardings(Cursor body);
// The body of #sdy.mesh<["data"=2, "model"=4], device_ids=[...]>; without axes where it is of one device or none.
Result<Mesh> ParseMeshAttribute(Cursor body);

}  // namespace sbp::stablehlo
