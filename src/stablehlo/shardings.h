// Shardings of Shardy in a text of StableHLO (https://openxla.org/shardy/sdy_dialect), as jax.jit writes them: of
// main's arguments and results, of ops, and sharding constraints; as layouts over a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/graph.h"
#include "sbp/mesh.h"
#include "sbp/sbp.h"

namespace sbp {

// One tensor's sharding, as it is written.
struct Sharding {
  struct Dim {
    std::vector<std::string> axes;  // outermost first
    bool open = false;              // may be split further
  };
  std::string mesh;                                      // its name; "": `inlined`
  std::vector<std::pair<std::string, int64_t>> inlined;  // axes of a mesh that stands in the sharding
  std::vector<Dim> dims;
  std::vector<std::string> replicated;                        // axes
  std::vector<std::pair<std::string, ReduceKind>> unreduced;  // axes
  bool has_priority = false;
};

// A sharding and the tensor of the graph that it is of.
struct ShardingMark {
  std::string tensor;
  Sharding sharding;
  std::string place;  // FILE:LINE:COL
};

struct Shardings {
  std::map<std::string, Mesh> meshes;  // by name; those without axes are left out
  std::vector<ShardingMark> marks;     // in the text's order
  std::vector<std::string> notes;      // what was not read, a line each
  Status problem;                      // the first sharding that cannot be read, for whoever wants to
  bool empty() const { return meshes.empty() && marks.empty() && problem.ok(); }
};

// Of a text that ReadStableHlo reads; its errors.
Result<Shardings> ReadShardings(std::string_view text, std::string_view where);

// The mesh that most marks are over, else the only one that the text declares, else nothing.
std::optional<Mesh> MeshOfShardings(const Shardings& shardings);

struct ShardingPins {
  int64_t pinned = 0;  // tensors
  std::vector<std::string> notes;
};
// Pins each marked tensor in the graph that was read from the same text (Tensor::layout_pin). A sharding that leaves
// axes open is none, as a pin says all axes; it is noted where it names some. Errors (kBadInput), by place: `problem`;
// an axis that the mesh has not, or of another size; axes of one dimension in another order than the mesh's; two
// shardings of one tensor.
Result<ShardingPins> PinShardings(const Shardings& shardings, const Mesh& mesh, Graph& graph);

}  // namespace sbp
