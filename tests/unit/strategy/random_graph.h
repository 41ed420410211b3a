// Small graphs whose every assignment can be priced.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "support/listed_problem.h"

namespace sbp {

// One input, ops that read one or two of the tensors so far: tensors with one, two, three and more readers occur.
inline ListedGraph RandomGraph(std::mt19937& random, int num_ops) {
  const std::vector<std::string> unary = {"S(0) -> S(0)", "S(1) -> S(1)", "B -> B", "P(sum) -> P(sum)",
                                          "S(1) -> P(sum)"};
  const std::vector<std::string> binary = {"S(0) S(0) -> S(0)",   "S(1) S(1) -> S(1)",  "B B -> B",
                                           "S(1) S(0) -> P(sum)", "P(sum) B -> P(sum)", "B S(1) -> S(1)"};
  ListedGraph graph;
  graph.inputs = {"t0"};
  graph.shapes["t0"] = {64, 64};
  for (int o = 0; o < num_ops; ++o) {
    const auto pick = [&] { return StrCat("t", random() % (o + 1)); };
    const std::string out = StrCat("t", o + 1);
    graph.shapes[out] = {64, 64};
    if (random() % 2 == 0) {
      graph.ops.push_back({StrCat("op", o), {pick()}, {out}, SomeOf(unary, random)});
    } else {
      graph.ops.push_back({StrCat("op", o), {pick(), pick()}, {out}, SomeOf(binary, random)});
    }
  }
  return graph;
}

}  // namespace sbp
