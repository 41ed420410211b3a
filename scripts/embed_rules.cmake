# Writes the rule files into one C++ source: cmake -DOUT=builtin_rules.cc "-DFILES=a.rules;b.rules" -P embed_rules.cmake
include(${CMAKE_CURRENT_LIST_DIR}/embed_literal.cmake)
set(rows "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  embed_literal(literal "${text}")
  string(APPEND rows "    {\"${name}\", ${literal}},\n")
endforeach()
file(WRITE ${OUT}.new "// Generated from rules/*.rules.
#include \"rule/builtin_rules.h\"

namespace sbp {
namespace {
constexpr BuiltinRuleFile kFiles[] = {
${rows}};
}  // namespace

std::span<const BuiltinRuleFile> BuiltinRuleFiles() { return kFiles; }

}  // namespace sbp
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
