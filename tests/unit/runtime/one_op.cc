#include "unit/runtime/one_op.h"

#include "base/text.h"
#include "unit/runtime/graphs.h"

namespace sbp {

Graph GraphOf(const OneOp& c) {
  std::vector<std::string> inputs, names;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const std::string name = c.operands[i].empty() ? "" : StrCat("x", i);
    names.push_back(StrCat("\"", name, "\""));
    if (name.empty()) continue;
    inputs.push_back(StrCat(R"({"name": ")", name, R"(", "type": ")", c.operands[i], "\"}"));
  }
  return MakeTestGraph(StrCat(R"("inputs": [)", Join(inputs, ", "), R"(], "ops": [{"name": "o", "type": ")", c.type,
                              R"(", "inputs": [)", Join(names, ", "), R"(], "outputs": ["y"], "attributes": {)",
                              c.attributes, R"(}}], "outputs": ["y"])"));
}

}  // namespace sbp
