// Ops, regions and aliases of the generic form.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "stablehlo/cursor.h"
#include "stablehlo/syntax.h"

namespace sbp::stablehlo {
namespace {

constexpr int kMaxRegionDepth = 48;
constexpr int kMaxAliasDepth = 16;
constexpr size_t kMaxAliasSize = 4096;  // it is copied wherever it is named, in other aliases too

// Parts of an attribute, and bytes of its texts.
size_t SizeOf(const Attribute& attribute) {
  size_t size = 1 + attribute.text.size() + attribute.type.text.size() + attribute.integers.size();
  for (const Attribute& item : attribute.list) size += SizeOf(item);
  for (const auto& [name, value] : attribute.entries) size += name.size() + SizeOf(value);
  return size;
}

bool IsNested(const Attribute& attribute, int depth) {
  const auto is_deep = [&](const Attribute& part) { return IsNested(part, depth - 1); };
  return depth <= 0 || std::ranges::any_of(attribute.list, is_deep) ||
         std::ranges::any_of(attribute.entries, [&](const auto& entry) { return is_deep(entry.second); });
}

constexpr std::string_view kWay =
    "an op of MLIR's generic form, such as %0 = \"stablehlo.add\"(%a, %b) ...; JAX prints it with "
    "lowered.compiler_ir('stablehlo').operation.get_asm(print_generic_op_form=True, enable_debug_info=True)";

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : cursor_(text) { module_.text = text; }

  Result<Module> Run() {
    SBP_RETURN_IF_ERROR(Aliases());
    SBP_ASSIGN_OR_RETURN(module_.top, ReadOperation(0));
    SBP_RETURN_IF_ERROR(Aliases());
    if (!cursor_.AtEnd()) return cursor_.Unexpected("the end, or the definition of an alias");
    if (module_.top.name != "builtin.module") {
      return cursor_.ErrorAt(module_.top.offset, "expected a \"builtin.module\" around all");
    }
    return std::move(module_);
  }

 private:
  Status Aliases() {
    while (cursor_.Peek() == '#') {
      cursor_.Take("#");
      const std::string name = StrCat("#", cursor_.Word());
      SBP_RETURN_IF_ERROR(cursor_.Expect("=", "and what the alias stands for"));
      if (cursor_.Is("loc(")) {
        SBP_ASSIGN_OR_RETURN(module_.locations[name], ParseLocation(cursor_, 0));
      } else {
        SBP_ASSIGN_OR_RETURN(Attribute attribute, ParseAttribute(cursor_, aliases_, 0));
        if (IsNested(attribute, kMaxAliasDepth) || SizeOf(attribute) > kMaxAliasSize) {
          return cursor_.Error(StrCat("what ", name, " stands for is too large for an alias"));
        }
        aliases_[name] = std::move(attribute);
      }
    }
    return OkStatus();
  }

  std::string_view ValueWord() {
    if (!cursor_.Take("%")) return "";
    const size_t sign = cursor_.offset() - 1;
    cursor_.Word();
    return cursor_.whole().substr(sign, cursor_.offset() - sign);
  }

  Status Results(Operation& op) {
    while (cursor_.Peek() == '%') {
      const std::string_view name = ValueWord();
      int64_t count = 1;
      if (cursor_.Take(":")) {
        SBP_ASSIGN_OR_RETURN(count, cursor_.Integer());
        if (count < 1 || count > 65536) return cursor_.Error("expected a number of results from 1 to 65536");
      }
      op.results.emplace_back(name, count);
      if (!cursor_.Take(",")) return cursor_.Expect("=", "behind the results");
    }
    return OkStatus();
  }

  Status Operands(Operation& op) {
    SBP_RETURN_IF_ERROR(cursor_.Expect("(", "and operands"));
    if (cursor_.Take(")")) return OkStatus();
    do {
      if (cursor_.Peek() != '%') return cursor_.Unexpected("an operand, %NAME");
      ValueName value;
      value.offset = cursor_.offset();
      value.name = ValueWord();
      if (cursor_.Take("#")) {
        SBP_ASSIGN_OR_RETURN(value.index, cursor_.Integer());
      }
      op.operands.push_back(value);
    } while (cursor_.Take(","));
    return cursor_.Expect(")", "behind the operands");
  }

  static void Merge(Attribute&& dictionary, Operation& op) {
    for (auto& [name, value] : dictionary.entries) op.attributes.insert_or_assign(name, std::move(value));
  }

  Result<Operation> ReadOperation(int depth) {
    if (depth > kMaxRegionDepth) return cursor_.Error("regions are nested too deeply");
    Operation op;
    SBP_RETURN_IF_ERROR(Results(op));
    cursor_.AtEnd();
    op.offset = cursor_.offset();
    if (cursor_.Peek() != '"') return cursor_.Unexpected(kWay);
    SBP_ASSIGN_OR_RETURN(op.name, cursor_.String());
    SBP_RETURN_IF_ERROR(Operands(op));
    if (cursor_.Peek() == '[') return cursor_.Error("branches between blocks are not read");
    if (cursor_.Is("<{")) {
      SBP_ASSIGN_OR_RETURN(Cursor inside, cursor_.Balanced());
      op.properties_at = inside.offset() + 1;
      SBP_ASSIGN_OR_RETURN(Attribute properties, ParseAttribute(inside, aliases_, 0));
      Merge(std::move(properties), op);
    }
    if (cursor_.Take("(")) {
      do {
        SBP_RETURN_IF_ERROR(ReadRegion(op.regions.emplace_back(), depth + 1));
      } while (cursor_.Take(","));
      SBP_RETURN_IF_ERROR(cursor_.Expect(")", "behind the regions"));
    }
    op.attributes_at = cursor_.offset();  // behind what was read last, before blanks
    if (cursor_.Peek() == '{') {
      op.has_attributes = true;
      op.attributes_at = cursor_.offset() + 1;
      SBP_ASSIGN_OR_RETURN(Attribute attributes, ParseAttribute(cursor_, aliases_, 0));
      Merge(std::move(attributes), op);
    }
    SBP_RETURN_IF_ERROR(cursor_.Expect(":", "and the op's type"));
    SBP_RETURN_IF_ERROR(Signature(op));
    op.end = cursor_.offset();
    if (cursor_.Is("loc(")) {
      SBP_ASSIGN_OR_RETURN(op.location, ParseLocation(cursor_, 0));
    }
    return op;
  }

  Status TypeList(std::vector<Type>& types) {
    if (!cursor_.Take("(")) {
      SBP_ASSIGN_OR_RETURN(types.emplace_back(), ParseType(cursor_));
      return OkStatus();
    }
    if (cursor_.Take(")")) return OkStatus();
    do {
      SBP_ASSIGN_OR_RETURN(types.emplace_back(), ParseType(cursor_));
    } while (cursor_.Take(","));
    return cursor_.Expect(")", "behind the types");
  }

  Status Signature(Operation& op) {
    SBP_RETURN_IF_ERROR(TypeList(op.operand_types));
    SBP_RETURN_IF_ERROR(cursor_.Expect("->", "and the types of the results"));
    SBP_RETURN_IF_ERROR(TypeList(op.result_types));
    size_t results = 0;
    for (const auto& [name, count] : op.results) results += static_cast<size_t>(count);
    if (op.operand_types.size() != op.operands.size()) {
      return cursor_.ErrorAt(op.offset, StrCat(op.name, " has ", op.operands.size(), " operands and ",
                                               op.operand_types.size(), " types of operands"));
    }
    if (!op.results.empty() && results != op.result_types.size()) {
      return cursor_.ErrorAt(
          op.offset, StrCat(op.name, " has ", results, " results and ", op.result_types.size(), " types of results"));
    }
    return OkStatus();
  }

  Status ReadRegion(Region& region, int depth) {
    SBP_RETURN_IF_ERROR(cursor_.Expect("{", "of a region"));
    if (cursor_.Take("^")) {
      cursor_.Word();
      if (cursor_.Take("(")) {
        do {
          BlockArgument& argument = region.arguments.emplace_back();
          if (cursor_.Peek() != '%') return cursor_.Unexpected("an argument, %NAME: TYPE");
          argument.name = ValueWord();
          SBP_RETURN_IF_ERROR(cursor_.Expect(":", "and the argument's type"));
          SBP_ASSIGN_OR_RETURN(argument.type, ParseType(cursor_));
          if (cursor_.Is("loc(")) {
            SBP_ASSIGN_OR_RETURN(argument.location, ParseLocation(cursor_, 0));
          }
        } while (cursor_.Take(","));
        SBP_RETURN_IF_ERROR(cursor_.Expect(")", "behind the arguments"));
      }
      SBP_RETURN_IF_ERROR(cursor_.Expect(":", "behind the block's name"));
    }
    while (!cursor_.Take("}")) {
      if (cursor_.Peek() == '^') return cursor_.Error("regions of several blocks are not read");
      SBP_ASSIGN_OR_RETURN(Operation op, ReadOperation(depth));
      region.operations.push_back(std::move(op));
    }
    return OkStatus();
  }

  Cursor cursor_;
  Module module_;
  Dictionary aliases_;
};

}  // namespace

Result<Module> ParseModule(std::string_view text) { return ModuleParser(text).Run(); }

}  // namespace sbp::stablehlo
