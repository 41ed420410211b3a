# Writes text files into one C++ source: cmake -DOUT=builtin_rules.cc -DHEADER=rule/builtin_rules.h -DTYPE=BuiltinRuleFile
# "-DFILES=a.rules;b.rules" -P embed_rules.cmake. HEADER declares TYPE, {name, text}, and std::span<const TYPE> TYPEs().
include(${CMAKE_CURRENT_LIST_DIR}/embed_literal.cmake)
set(rows "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  file(READ ${path} text)
  embed_literal(literal "${text}")
  string(APPEND rows "    {\"${name}\", ${literal}},\n")
endforeach()
file(WRITE ${OUT}.new "// Generated from rules/.
#include \"${HEADER}\"

namespace sbp {
namespace {
constexpr ${TYPE} kFiles[] = {
${rows}};
}  // namespace

std::span<const ${TYPE}> ${TYPE}s() { return kFiles; }

}  // namespace sbp
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
