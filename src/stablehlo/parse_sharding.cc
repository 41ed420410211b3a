#include "stablehlo/parse_sharding.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "sbp/sbp.h"

namespace sbp::stablehlo {
namespace {

using Axes = std::vector<std::pair<std::string, int64_t>>;

// "x", not "x":(1)2.
Result<std::string> AxisName(Cursor& cursor) {
  const size_t start = cursor.offset();
  SBP_ASSIGN_OR_RETURN(std::string name, cursor.String());
  if (!cursor.Take(":")) return name;
  return cursor.ErrorAt(
      start, StrCat("a part of axis ", Quote(name), " is not read: declare a mesh with an axis for each part"));
}

// ["data"=2, "model"=4]
Result<Axes> ParseAxes(Cursor& cursor) {
  Axes axes;
  SBP_RETURN_IF_ERROR(cursor.Expect("[", "and the axes of a mesh"));
  while (!cursor.Take("]")) {
    SBP_ASSIGN_OR_RETURN(std::string name, cursor.String());
    SBP_RETURN_IF_ERROR(cursor.Expect("=", "and the size of the axis"));
    SBP_ASSIGN_OR_RETURN(const int64_t size, cursor.Integer());
    axes.emplace_back(std::move(name), size);
    cursor.Take(",");
  }
  return axes;
}

Result<Sharding::Dim> ParseDim(Cursor& cursor, bool& has_priority) {
  Sharding::Dim dim;
  SBP_RETURN_IF_ERROR(cursor.Expect("{", "and the axes of a dimension"));
  while (!cursor.Take("}")) {
    if (cursor.Take("?")) {
      dim.open = true;
    } else {
      SBP_ASSIGN_OR_RETURN(dim.axes.emplace_back(), AxisName(cursor));
    }
    cursor.Take(",");
  }
  if (cursor.Peek() == 'p') has_priority = cursor.Word() != "p0" || has_priority;
  return dim;
}

Result<std::vector<std::string>> ParseNames(Cursor& cursor) {
  std::vector<std::string> names;
  SBP_RETURN_IF_ERROR(cursor.Expect("{", "and axes"));
  while (!cursor.Take("}")) {
    SBP_ASSIGN_OR_RETURN(names.emplace_back(), AxisName(cursor));
    cursor.Take(",");
  }
  return names;
}

Result<ReduceKind> ParseReduction(Cursor& cursor) {
  if (cursor.Peek() == '{') return ReduceKind::kSum;
  const size_t start = cursor.offset();
  const std::string_view word = cursor.Word();
  for (const ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd}) {
    if (word == ReduceKindName(kind)) return kind;
  }
  return cursor.ErrorAt(start, StrCat("unreduced=", word, " is not read: expected sum, max, min or prod"));
}

}  // namespace

Result<Sharding> ParseSharding(Cursor body) {
  Sharding sharding;
  if (body.Take("@")) {
    if (body.Peek() == '"') {
      SBP_ASSIGN_OR_RETURN(sharding.mesh, body.String());
    } else {
      sharding.mesh = std::string(body.Word());
    }
  } else {
    SBP_RETURN_IF_ERROR(body.Expect("mesh", "or @NAME of one"));
    SBP_ASSIGN_OR_RETURN(Cursor mesh, body.Balanced());
    SBP_ASSIGN_OR_RETURN(sharding.inlined, ParseAxes(mesh));
  }
  SBP_RETURN_IF_ERROR(body.Expect(",", "and the dimensions"));
  SBP_RETURN_IF_ERROR(body.Expect("[", "and the dimensions"));
  while (!body.Take("]")) {
    SBP_ASSIGN_OR_RETURN(sharding.dims.emplace_back(), ParseDim(body, sharding.has_priority));
    body.Take(",");
  }
  while (body.Take(",")) {
    const size_t start = body.offset();
    const std::string_view word = body.Word();
    SBP_RETURN_IF_ERROR(body.Expect("=", "and axes"));
    if (word == "replicated") {
      SBP_ASSIGN_OR_RETURN(sharding.replicated, ParseNames(body));
    } else if (word == "unreduced") {
      SBP_ASSIGN_OR_RETURN(const ReduceKind kind, ParseReduction(body));
      SBP_ASSIGN_OR_RETURN(std::vector<std::string> names, ParseNames(body));
      for (std::string& name : names) sharding.unreduced.emplace_back(std::move(name), kind);
    } else {
      return body.ErrorAt(start, StrCat(Quote(word), " of a sharding is not read: expected replicated or unreduced"));
    }
  }
  if (!body.AtEnd()) return body.Unexpected("the end of the sharding");
  return sharding;
}

Result<std::vector<Sharding>> ParseShardings(Cursor body) {
  std::vector<Sharding> shardings;
  SBP_RETURN_IF_ERROR(body.Expect("[", "and a sharding for each result"));
  while (!body.Take("]")) {
    SBP_ASSIGN_OR_RETURN(const Cursor one, body.Balanced());
    SBP_ASSIGN_OR_RETURN(shardings.emplace_back(), ParseSharding(one));
    body.Take(",");
  }
  return shardings;
}

Result<Mesh> ParseMeshAttribute(Cursor body) {
  Mesh mesh;
  const Cursor start = body;
  SBP_ASSIGN_OR_RETURN(const Axes axes, ParseAxes(body));
  for (const auto& [name, size] : axes) mesh.axes.push_back({name, size});
  if (axes.empty()) return mesh;
  if (body.Take(",")) {
    SBP_RETURN_IF_ERROR(body.Expect("device_ids", "of the mesh"));
    SBP_RETURN_IF_ERROR(body.Expect("=", "and numbers"));
    SBP_RETURN_IF_ERROR(body.Expect("[", "and numbers"));
    while (!body.Take("]")) {
      SBP_ASSIGN_OR_RETURN(mesh.ranks.emplace_back(), body.Integer());
      body.Take(",");
    }
  }
  const Result<Mesh> checked = ParseMesh(ToString(mesh));
  if (!checked.ok()) return start.Error(checked.status().message());
  if (*checked != mesh) return start.Error(StrCat("the names of its axes cannot be those of a mesh: ", ToString(mesh)));
  return mesh;
}

}  // namespace sbp::stablehlo
