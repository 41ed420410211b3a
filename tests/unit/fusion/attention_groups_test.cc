// Attention, as it may be spelled, is one kernel in each pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fusion/kernel_groups.h"
#include "grad/grad.h"
#include "graph/kernel_groups.h"
#include "unit/fusion/lines.h"

namespace sbp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Scores of [2, 4, 8, 16] x [2, 4, 16, 8] and what may stand between them and the softmax.
Graph Attention(const std::function<std::string(Lines&, std::string)>& between, bool show_weights = false) {
  Lines lines;
  lines.Input("q", {2, 4, 8, 16}).Input("k", {2, 4, 8, 16}).Input("v", {2, 4, 8, 16}).Input("mask", {1, 1, 8, 8});
  lines.Input("scale", {1}).Ints("last", {-1});
  lines.Op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}).Op("MatMul", {"q", "kt"}, "scores");
  const std::string made = between(lines, "scores");
  lines.Op("MatMul", {made, "v"}, "context");
  return lines.Make(show_weights ? std::vector<std::string>{"context", made} : std::vector<std::string>{"context"});
}

std::string Softmax(Lines& lines, const std::string& x) {
  lines.Op("Softmax", {x}, "weights");
  return "weights";
}

TEST(Attention, PlainScaledAndMasked) {
  EXPECT_THAT(GroupsOf(Attention(Softmax)), ElementsAre("attention: scores weights context"));
  const Graph scaled = Attention([](Lines& lines, const std::string& x) {
    lines.Op("Mul", {x, "scale"}, "scaled").Op("Add", {"scaled", "mask"}, "masked");
    return Softmax(lines, "masked");
  });
  EXPECT_THAT(GroupsOf(scaled), ElementsAre("attention: scores scaled masked weights context"));
  EXPECT_THAT(InsideOf(scaled), ElementsAre("scores", "scaled", "masked", "weights"));
}

// A mask is read from memory, and a number that scales is none; of the ops of such a group, all say so.
TEST(Attention, ReadsAMaskWhereALightOpDoes) {
  for (const bool masked : {false, true}) {
    const Graph graph = Attention([&](Lines& lines, const std::string& x) {
      lines.Op(masked ? "Add" : "Mul", {x, masked ? "mask" : "scale"}, "changed");
      return Softmax(lines, "changed");
    });
    const Fusion fusion = FuseOps(graph, Rules(), {});
    ASSERT_THAT(fusion.groups.groups, SizeIs(1));
    for (const OpId op : fusion.groups.groups[0].ops) {
      EXPECT_EQ(fusion.kinds[fusion.kind_of[op.index()]].in_masked, masked) << graph.op(op).name;
      EXPECT_FALSE(fusion.kinds[fusion.kind_of[op.index()]].in_backward);
    }
  }
}

TEST(Attention, SoftmaxSpelledOut) {
  const Graph graph = Attention([](Lines& lines, const std::string& x) {
    lines.Op("ReduceMax", {x, "last"}, "most").Op("Sub", {x, "most"}, "less").Op("Exp", {"less"}, "e");
    lines.Op("ReduceSum", {"e", "last"}, "sum").Op("Div", {"e", "sum"}, "weights");
    return std::string("weights");
  });
  EXPECT_THAT(GroupsOf(graph), ElementsAre("attention: scores most less e sum weights context"));
}

TEST(Attention, CappedScores) {
  const Graph graph = Attention([](Lines& lines, const std::string& x) {
    lines.Op("Div", {x, "scale"}, "d").Op("Tanh", {"d"}, "t").Op("Mul", {"t", "scale"}, "c");
    return Softmax(lines, "c");
  });
  EXPECT_THAT(GroupsOf(graph), ElementsAre("attention: scores d t c weights context"));
}

TEST(Attention, FlattenedHeadsBetweenProductsAndSoftmax) {
  const Graph graph = Attention([](Lines& lines, const std::string& x) {
    lines.Ints("flat", {8, 8, 8}).Ints("four", {2, 4, 8, 8}).Op("Reshape", {x, "flat"}, "f");
    lines.Op("Softmax", {"f"}, "weights").Op("Reshape", {"weights", "four"}, "w");
    return std::string("w");
  });
  EXPECT_THAT(GroupsOf(graph), ElementsAre("attention: scores f weights w context"));
}

TEST(Attention, WeightsThatAreShownAreWritten) { EXPECT_THAT(GroupsOf(Attention(Softmax, true)), IsEmpty()); }

// Another kernel than softmax between two products is none.
TEST(Attention, OnlyOfSoftmax) {
  const Graph graph = Attention([](Lines& lines, const std::string& x) {
    lines.Op("Relu", {x}, "r").Op("Mul", {"r", "scale"}, "s");
    return std::string("s");
  });
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: r s"));
}

// Of a masked attention, by what `loss` is.
void ExpectNoScoresInMemory(const Graph& graph, const Fusion& fusion) {
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (!tensor.producer.valid() || tensor.type.num_elements() != 2 * 4 * 8 * 8) continue;
    EXPECT_TRUE(fusion.groups.is_inside(TensorId(t))) << tensor.name;
  }
}

std::vector<GroupKind> AttentionKinds(const Fusion& fusion) {
  std::vector<GroupKind> kinds;
  for (const KernelGroup& group : fusion.groups.groups) {
    if (group.kind != GroupKind::kLight) kinds.push_back(group.kind);
  }
  return kinds;
}

Graph Trained(bool with_loss) {
  Lines lines;
  lines.Input("q", {2, 4, 8, 16}).Input("k", {2, 4, 8, 16}).Input("v", {2, 4, 8, 16}).Input("mask", {1, 1, 8, 8});
  lines.Op("Transpose", {"k"}, "kt", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}}).Op("MatMul", {"q", "kt"}, "scores");
  lines.Op("Add", {"scores", "mask"}, "masked").Op("Softmax", {"masked"}, "weights");
  lines.Op("MatMul", {"weights", "v"}, "context").Op("Mul", {"context", "context"}, "square");
  lines.Op("ReduceMean", {"square"}, "loss", {{"keepdims", int64_t{0}}});
  GradRequest request;
  request.loss = with_loss ? "loss" : "cotangents";
  request.wrt_inputs = {"q", "k", "v"};
  const Result<GradGraph> made = MakeGradGraph(lines.Make({with_loss ? "loss" : "context"}), Rules(), request);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? made->graph : Graph();
}

TEST(Attention, BackwardComputesScoresAgain) {
  const Graph graph = Trained(true);
  const Fusion fusion = FuseOps(graph, Rules(), {});
  double again = 0;
  for (size_t o = 0; o < graph.ops.size(); ++o) again += fusion.of(OpId(o)).flop_factor - 1;
  EXPECT_THAT(AttentionKinds(fusion), ElementsAre(GroupKind::kAttention, GroupKind::kAttentionBackward));
  EXPECT_EQ(again, 1);
  ExpectNoScoresInMemory(graph, fusion);
}

// Cotangents are given: no path leads from the context to its gradient, one kernel does both.
TEST(Attention, BackwardWithItsOwnSoftmax) {
  const Graph graph = Trained(false);
  const Fusion fusion = FuseOps(graph, Rules(), {});
  EXPECT_THAT(AttentionKinds(fusion), ElementsAre(GroupKind::kAttentionBackward));
  ExpectNoScoresInMemory(graph, fusion);
}

}  // namespace
}  // namespace sbp
