#include "aten/table.h"

#include <utility>

#include "aten/aliases.h"
#include "base/text.h"

namespace sbp {
namespace {

Result<AtenTable> ReadBuiltin() {
  AtenTable table;
  for (const BuiltinAtenFile& file : BuiltinAtenFiles()) {
    if (const Status status = table.Add(file.text, StrCat("rules/aten/", file.name)); !status.ok()) {
      return Defect(status.message());
    }
  }
  for (const BuiltinHloFile& file : BuiltinHloFiles()) {
    if (const Status status = table.Add(file.text, StrCat("rules/stablehlo/", file.name)); !status.ok()) {
      return Defect(status.message());
    }
  }
  return table;
}

}  // namespace

std::string_view WithoutOverload(std::string_view type) {
  const size_t space = type.find("::");
  const size_t dot = space == std::string_view::npos ? space : type.find('.', space);
  return type.substr(0, dot);
}

const Result<AtenTable>& AtenTable::Builtin() {
  static const Result<AtenTable> table = ReadBuiltin();
  return table;
}

Status AtenTable::Add(std::string_view text, std::string_view file) {
  SBP_ASSIGN_OR_RETURN(std::vector<OpOverload> paragraphs, ParseRules(text, file));
  for (OpOverload& paragraph : paragraphs) {
    if (paragraph.expansions.empty()) {
      return BadInput(StrCat(ToString(paragraph.at), ": ", paragraph.op, " has no \"expand\""));
    }
    OpDefinition definition;
    definition.name = paragraph.op;
    definition.overloads.push_back(std::move(paragraph));
    std::vector<OpDefinition>& rows = rows_[definition.name];
    rows.push_back(std::move(definition));
  }
  return OkStatus();
}

const std::vector<OpDefinition>* AtenTable::Find(std::string_view type) const {
  auto row = rows_.find(type);
  if (row == rows_.end()) row = rows_.find(WithoutOverload(type));
  if (row == rows_.end()) row = rows_.find(OwnNameOf(WithoutOverload(type)));
  return row == rows_.end() ? nullptr : &row->second;
}

}  // namespace sbp
