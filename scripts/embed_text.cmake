# Writes a text file into a C++ source: cmake -DOUT=x.cc -DFILE=x.txt -DHEADER=folder/x.h -DFUNCTION=XText -P
# embed_text.cmake; HEADER declares `std::string_view XText()`.
file(READ ${FILE} text)
include(${CMAKE_CURRENT_LIST_DIR}/embed_literal.cmake)
embed_literal(literal "${text}")
get_filename_component(name ${FILE} NAME)
file(WRITE ${OUT}.new "// Generated from ${name}.
#include \"${HEADER}\"

namespace sbp {

std::string_view ${FUNCTION}() {
  static constexpr std::string_view kText =${literal};
  return kText;
}

}  // namespace sbp
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
