// The text of rules/*.rules, compiled in; generated at build time by scripts/embed_rules.cmake.
#pragma once

#include <span>
#include <string_view>

namespace sbp {

struct BuiltinRuleFile {
  std::string_view name;  // "activation.rules"
  std::string_view text;
};
std::span<const BuiltinRuleFile> BuiltinRuleFiles();  // sorted by name

}  // namespace sbp
