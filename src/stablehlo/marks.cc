#include "stablehlo/marks.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sbp/mesh.h"
#include "stablehlo/cursor.h"
#include "stablehlo/parse_sharding.h"

namespace sbp::stablehlo {
namespace {

constexpr std::string_view kKey = "sdy.sharding";

const Attribute* FindDialect(const Dictionary& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  const bool is_there = found != attributes.end() && found->second.kind == Attribute::Kind::kDialect;
  return is_there ? &found->second : nullptr;
}

const Attribute* AttributeOf(const Operation& op) {
  return FindDialect(op.attributes, IsConstraint(op.name) ? "sharding" : kKey);
}

}  // namespace

bool IsConstraint(std::string_view op) { return op == "sdy.sharding_constraint" || op == "sdy.reshard"; }

bool Marks::IsMarked(const Operation& op) { return AttributeOf(op) != nullptr; }

void Marks::AddMesh(const std::string& name, const Operation& op) {
  const Attribute* attribute = FindDialect(op.attributes, "mesh");
  if (attribute == nullptr) return Fail(Cursor(text_).ErrorAt(op.offset, "expected mesh = #sdy.mesh<...>"));
  Result<Mesh> mesh = ParseMeshAttribute(Cursor(text_, attribute->begin, attribute->end));
  if (!mesh.ok()) return Fail(mesh.status());
  if (!mesh->axes.empty()) shardings_.meshes[name] = *std::move(mesh);
}

void Marks::AddInner(const Operation& function) {
  for (const std::string_view list : {"arg_attrs", "res_attrs"}) {
    const auto attributes = function.attributes.find(list);
    if (attributes == function.attributes.end()) continue;
    for (const Attribute& entry : attributes->second.list)
      inner_ += FindDialect(entry.entries, kKey) != nullptr ? 1 : 0;
  }
}

void Marks::AddOf(const Operation& function, std::string_view list, size_t index, const std::string& tensor) {
  const auto attributes = function.attributes.find(list);
  if (attributes == function.attributes.end() || index >= attributes->second.list.size()) return;
  const Attribute* attribute = FindDialect(attributes->second.list[index].entries, kKey);
  if (attribute == nullptr) return;
  Add(attribute->begin, ParseSharding(Cursor(text_, attribute->begin, attribute->end)), tensor);
}

void Marks::AddOf(const Operation& op, const std::vector<std::string>& tensors) {
  const Attribute* attribute = AttributeOf(op);
  const Cursor body(text_, attribute->begin, attribute->end);
  if (IsConstraint(op.name)) return Add(op.offset, ParseSharding(body), tensors.front());
  Result<std::vector<Sharding>> parsed = ParseShardings(body);
  if (!parsed.ok()) return Fail(parsed.status());
  if (parsed->size() != tensors.size()) {
    return Fail(Cursor(text_).ErrorAt(
        op.offset, StrCat(op.name, " has ", tensors.size(), " results and ", parsed->size(), " shardings of them")));
  }
  for (size_t i = 0; i < tensors.size(); ++i) Add(op.offset, std::move((*parsed)[i]), tensors[i]);
}

void Marks::Add(size_t offset, Result<Sharding> sharding, const std::string& tensor) {
  if (!sharding.ok()) return Fail(sharding.status());
  if (tensor.empty()) {
    ++virtual_;
    return;
  }
  shardings_.marks.push_back({tensor, *std::move(sharding), ""});
  offsets_.push_back(offset);
}

void Marks::Fail(Status status) {
  if (shardings_.problem.ok()) shardings_.problem = std::move(status);
}

Shardings Marks::Take(std::string_view where) {
  std::vector<size_t> lines{0};  // where each begins
  for (size_t at = text_.find('\n'); at != std::string_view::npos; at = text_.find('\n', at + 1))
    lines.push_back(at + 1);
  for (size_t i = 0; i < offsets_.size(); ++i) {
    const auto line = std::ranges::upper_bound(lines, offsets_[i]) - 1;
    shardings_.marks[i].place = StrCat(where, ":", line - lines.begin() + 1, ":", offsets_[i] - *line + 1);
  }
  if (!shardings_.problem.ok()) shardings_.problem = BadInput(StrCat(where, ":", shardings_.problem.message()));
  if (virtual_ > 0) {
    shardings_.notes.push_back(StrCat(virtual_, " shardings of constants and broadcasts not read"));
  }
  if (inner_ > 0) {
    shardings_.notes.push_back(StrCat(inner_, " shardings of arguments and results of inner functions not read"));
  }
  if (text_.find("mhlo.sharding") != std::string_view::npos) {
    shardings_.notes.emplace_back("GSPMD's shardings (mhlo.sharding) are not read, only Shardy's (sdy.sharding)");
  }
  return std::move(shardings_);
}

}  // namespace sbp::stablehlo
