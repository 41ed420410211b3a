// The table that says ATen's ops in terms of ours: rules/aten/*.aten, compiled in, in the language of expansions.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rule/syntax.h"

namespace sbp {

struct BuiltinAtenFile {
  std::string_view name, text;
};
std::span<const BuiltinAtenFile> BuiltinAtenFiles();
// rules/stablehlo/*.hlo, in the same form.
struct BuiltinHloFile {
  std::string_view name, text;
};
std::span<const BuiltinHloFile> BuiltinHloFiles();

// Rows by op, "aten::add" for all overloads or "aten::add.Tensor" for one. Each definition has one paragraph: arguments
// go by name, and which paragraph has all of them is seen one by one.
class AtenTable {
 public:
  // The built-in rows. Error: a defect of ours.
  static const Result<AtenTable>& Builtin();

  // Error (kBadInput): file:line:col, what was expected and what was found.
  Status Add(std::string_view text, std::string_view file);
  // Of this very overload, or else of the op, by any name that torch has for it (aliases.h); nullptr: there is none.
  const std::vector<OpDefinition>* Find(std::string_view type) const;
  const std::map<std::string, std::vector<OpDefinition>, std::less<>>& rows() const { return rows_; }

 private:
  std::map<std::string, std::vector<OpDefinition>, std::less<>> rows_;
};

// "aten::add.Tensor" -> "aten::add".
std::string_view WithoutOverload(std::string_view type);

}  // namespace sbp
