# Writes a text file into a C++ source: cmake -DOUT=x.cc -DFILE=x.txt -DHEADER=folder/x.h -DFUNCTION=XText -P
# embed_text.cmake; HEADER declares `std::string_view XText()`.
file(READ ${FILE} text)
# Compilers limit the length of one literal: pieces of 8,000 characters are joined by the compiler.
string(LENGTH "${text}" length)
set(literal "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND literal "\n    R\"text(${piece})text\"")
  math(EXPR at "${at} + 8000")
endwhile()
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
