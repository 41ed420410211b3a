# embed_literal(OUT TEXT): TEXT as C++ string literals. Compilers limit the length of one literal: pieces of 8,000
# characters, which the compiler joins.
function(embed_literal out text)
  string(LENGTH "${text}" length)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literal "\n    R\"text(${piece})text\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(${out} "${literal}" PARENT_SCOPE)
endfunction()
