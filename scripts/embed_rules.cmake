# Writes the rule files into one C++ source: cmake -DOUT=builtin_rules.cc "-DFILES=a.rules;b.rules" -P embed_rules.cmake
set(rows "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  # Compilers limit the length of one literal: pieces of 8,000 characters are joined by the compiler.
  string(LENGTH "${text}" length)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literal "\n     R\"rules(${piece})rules\"")
    math(EXPR at "${at} + 8000")
  endwhile()
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
