#include "graph/adopt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/builder.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;

struct ScopedOp {
  std::string name, input, scope;
};

// Each op reads one tensor and writes one of its own name.
Graph Chain(const std::vector<ScopedOp>& ops, const std::vector<std::string>& outputs) {
  GraphBuilder builder;
  TensorType type;
  type.dtype = DType::kF32;
  type.shape = {4};
  builder.AddInput("in", type);
  for (const ScopedOp& op : ops) builder.AddOp("Relu", op.name, {op.input}, {op.name}, {}, op.scope);
  for (const std::string& output : outputs) builder.AddOutput(output);
  return builder.Build("test").value();
}

TEST(AdoptScopes, TakeWhatHoldsAllNeighbours) {
  const Graph graph = Chain({{"start", "in", ""},
                             {"fc", "start", "m/h.0/attn/fc"},
                             {"split", "fc", ""},
                             {"q", "split", "m/h.0/attn"},
                             {"between", "q", ""},
                             {"next", "between", "m/h.10/attn"},
                             {"tail", "next", ""},
                             {"end", "tail", ""}},
                            {"end"});
  EXPECT_THAT(AdoptScopes(graph), ElementsAre("m/h.0/attn/fc", "m/h.0/attn/fc", "m/h.0/attn", "m/h.0/attn", "m",
                                              "m/h.10/attn", "m/h.10/attn", "m/h.10/attn"));
}

TEST(AdoptScopes, NothingInCommonIsTheRoot) {
  EXPECT_THAT(AdoptScopes(Chain({{"a", "in", "x/y"}, {"b", "a", ""}, {"c", "b", "z"}}, {"c"})),
              ElementsAre("x/y", "", "z"));
}

TEST(AdoptScopes, ChainsOfConstantsFollowTheirReader) {
  EXPECT_THAT(AdoptScopes(Chain({{"a", "in", ""}, {"b", "a", ""}, {"c", "b", "x"}}, {"c"})),
              ElementsAre("x", "x", "x"));
}

TEST(AdoptScopes, NothingIsPartOfTheLoss) {
  EXPECT_THAT(AdoptScopes(Chain({{"a", "in", ""}, {"b", "a", ""}, {"c", "b", "loss"}}, {"c"})),
              ElementsAre("", "", "loss"));
}

TEST(AdoptScopes, PassesOfATrainingStepStayApart) {
  EXPECT_THAT(AdoptScopes(Chain(
                  {{"a", "in", "h.0"}, {"b", "a", ""}, {"c", "b", "backward"}, {"d", "c", "backward/h.0"}}, {"d"})),
              ElementsAre("h.0", "h.0", "backward/h.0", "backward/h.0"));
}

TEST(AdoptScopes, WithoutScopesNothingChanges) {
  EXPECT_THAT(AdoptScopes(Chain({{"a", "in", ""}, {"b", "a", ""}}, {"b"})), ElementsAre("", ""));
}

}  // namespace
}  // namespace sbp
