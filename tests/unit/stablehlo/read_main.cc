#include "read_main.h"

#include <gtest/gtest.h>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "stablehlo/reader.h"

namespace sbp {

std::string ReadMain(std::string_view arguments, std::string_view ops) {
  const std::string text = StrCat("\"builtin.module\"() ({\n\"func.func\"() <{sym_name = \"main\"}> ({\n^bb0(",
                                  arguments, "):\n", ops, "\n}) : () -> ()\n}) : () -> ()");
  const Result<Graph> graph = ReadStableHlo(text, "m.mlir");
  if (!graph.ok()) {
    EXPECT_EQ(graph.status().code(), Code::kBadInput);
    return graph.status().message();
  }
  EXPECT_EQ(Verify(*graph, "").message(), "");
  return Dump(*graph);
}

}  // namespace sbp
