#include "fusion/kernel_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"
#include "fold/resolve.h"
#include "fusion/op_traits.h"
#include "generate/generate.h"
#include "graph/kernel_groups.h"
#include "graph/made_anew.h"
#include "unit/fusion/lines.h"

namespace sbp {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

TEST(KernelGroups, ElementwiseChainsAreOneKernel) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Input("y", {16})
                          .Op("Relu", {"x"}, "a")
                          .Op("Add", {"a", "y"}, "b")
                          .Op("Exp", {"b"}, "c")
                          .Make({"c"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a b c"));
  EXPECT_THAT(InsideOf(graph), ElementsAre("a", "b"));
}

TEST(KernelGroups, OpsOutsideTheCompiledScopesAreAlone) {
  GraphBuilder builder("scopes");
  builder.AddInput("x", F32({8, 16}));
  std::string at = "x";
  for (const std::string scope : {"net/h.0", "net/h.1", "loss"}) {
    for (const std::string type : {"Relu", "Exp"}) {
      const std::string name = StrCat(scope, "/", type);
      builder.AddOp(type, name, {at}, {name}, {}, scope);
      at = name;
    }
  }
  builder.AddOutput(at);
  const Graph graph = Resolve(*builder.Build("test"), Rules(), {})->graph;
  const auto groups = [&](std::vector<std::string> scopes) {
    return FuseOps(graph, Rules(), {.scopes = std::move(scopes)}).groups.groups.size();
  };
  EXPECT_EQ(FuseOps(graph, Rules(), {}).groups.groups[0].ops.size(), 6U);
  EXPECT_EQ(groups({"h.1"}), 1U);
  EXPECT_EQ(FuseOps(graph, Rules(), {.scopes = {"h.*"}}).groups.groups[0].ops.size(), 4U);
  EXPECT_EQ(groups({"h.0", "loss"}), 2U);  // with h.1 between them
  EXPECT_THAT(ScopesNotFound(graph, {.scopes = {"h.1", "h.2"}}), ElementsAre("h.2"));
}

TEST(KernelGroups, WhatIsReadElsewhereIsWritten) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Input("w", {16, 16})
                          .Op("Relu", {"x"}, "a")
                          .Op("Exp", {"a"}, "b")
                          .Op("MatMul", {"a", "w"}, "c")
                          .Make({"b", "c"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a b"));
  EXPECT_THAT(InsideOf(graph), IsEmpty());
  const Fusion fusion = FuseOps(graph, Rules(), {});
  EXPECT_EQ(fusion.of(OpId(1)).operands[0], OpFusion::End::kInside);  // in registers nevertheless
  EXPECT_THAT(fusion.of(OpId(1)).joins, ElementsAre(true));
}

// A cut in front of either branch leaves two kernels, cuts in front of both three; within one branch it is the first
// that counts.
TEST(KernelGroups, EveryBranchIsJoinedByAnOperand) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Op("Relu", {"x"}, "a")
                          .Op("Exp", {"x"}, "b")
                          .Op("Tanh", {"b"}, "c")
                          .Op("Sum", {"a", "b", "c", "x"}, "y")
                          .Make({"y"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a b c y"));
  const Fusion fusion = FuseOps(graph, Rules(), {});
  EXPECT_TRUE(fusion.of(OpId(0)).launches);
  EXPECT_THAT(fusion.of(OpId(1)).joins, IsEmpty());  // the second branch begins
  EXPECT_THAT(fusion.of(OpId(2)).joins, ElementsAre(true));
  EXPECT_THAT(fusion.of(OpId(3)).joins, ElementsAre(true, true, false, false));
}

TEST(KernelGroups, NormalisationIsOneKernelWithTheSumBefore) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Input("r", {8, 16})
                          .Ints("last", {-1})
                          .Op("Add", {"x", "r"}, "s")
                          .Op("Mul", {"s", "s"}, "squares")
                          .Op("ReduceMean", {"squares", "last"}, "mean")
                          .Op("Sqrt", {"mean"}, "root")
                          .Op("Div", {"s", "root"}, "y")
                          .Make({"y", "s"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: s squares mean root y"));
  EXPECT_THAT(InsideOf(graph), ElementsAre("squares", "mean", "root"));
}

TEST(KernelGroups, ReductionsOfOtherRowsAreAKernelOfTheirOwn) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Ints("first", {0})
                          .Ints("last", {1})
                          .Op("Exp", {"x"}, "a")
                          .Op("ReduceSum", {"a", "last"}, "rows")
                          .Op("ReduceSum", {"a", "first"}, "columns")
                          .Make({"rows", "columns"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a rows"));
}

// As a plan file that nobody checked may have it.
TEST(KernelGroups, AxesOutOfRangeReduceNoRows) {
  Graph graph = Lines()
                    .Input("x", {8, 16})
                    .Ints("last", {1})
                    .Op("Exp", {"x"}, "a")
                    .Op("ReduceSum", {"a", "last"}, "rows")
                    .Make({"rows"});
  ASSERT_THAT(GroupsOf(graph), ElementsAre("light: a rows"));
  for (Tensor& tensor : graph.tensors) {
    if (tensor.literal != nullptr) tensor.literal = std::make_shared<const Literal>(Literal::Ints({int64_t{1} << 62}));
  }
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a rows"));  // whatever it reduces, made where it is read
}

// A bias' gradient: what it sums is not written, though others read it, too.
TEST(KernelGroups, ColumnsAreReducedWhereTheirElementsAreMade) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Ints("first", {0})
                          .Op("Exp", {"x"}, "a")
                          .Op("ReduceSum", {"a", "first"}, "columns")
                          .Op("Abs", {"a"}, "b")
                          .Op("ReduceMax", {"b", "first"}, "largest")
                          .Op("Neg", {"columns"}, "behind")
                          .Make({"b", "behind", "largest"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a columns b largest"));
  EXPECT_THAT(InsideOf(graph), ElementsAre("a"));
}

// As in the statistics of a batch: a cast is made where it is read, if that is another kernel than the mean's, too.
TEST(KernelGroups, CastsAndWhatColumnsAreReducedOfAreMadeAnew) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Ints("first", {0})
                          .Op("Cast", {"x"}, "a", {{"to", static_cast<int64_t>(DType::kF64)}})
                          .Op("ReduceMean", {"a", "first"}, "mean")
                          .Op("Sub", {"a", "mean"}, "y")
                          .Make({"y"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a mean"));
  EXPECT_THAT(InsideOf(graph), ElementsAre("a"));
  // What is cast has to be there until it is cast for the last time.
  const KernelGroups groups = FuseOps(graph, Rules(), {}).groups;
  EXPECT_THAT(MadeAnewUntil(graph, groups), ElementsAre(OpId(2), OpId(1), OpId(2)));
  // Not what a row's sum is part of, unless that is written for others, too.
  const auto softmax = [](bool kept) {
    return Lines()
        .Input("x", {8, 16})
        .Ints("first", {0})
        .Ints("last", {1})
        .Op("ReduceMax", {"x", "last"}, "most")
        .Op("Sub", {"x", "most"}, "below")
        .Op("Exp", {"below"}, "power")
        .Op("ReduceSum", {"power", "first"}, "columns")
        .Make(kept ? std::vector<std::string>{"below", "columns"} : std::vector<std::string>{"columns"});
  };
  EXPECT_THAT(InsideOf(softmax(false)), ElementsAre("most", "below"));
  EXPECT_THAT(InsideOf(softmax(true)), ElementsAre("most", "power"));
}

TEST(KernelGroups, NoPathLeavesAndComesBack) {
  const Graph graph = Lines()
                          .Input("x", {16, 16})
                          .Op("Relu", {"x"}, "a")
                          .Op("MatMul", {"a", "a"}, "b")
                          .Op("Add", {"a", "b"}, "c")
                          .Make({"c"});
  EXPECT_THAT(GroupsOf(graph), IsEmpty());
}

// a and d would be one kernel, and so would b and c, but each would wait for the other.
TEST(KernelGroups, GroupsDoNotWaitForEachOther) {
  const Graph graph = Lines()
                          .Input("x", {16, 16})
                          .Input("y", {16, 16})
                          .Op("Relu", {"x"}, "a")
                          .Op("Relu", {"y"}, "b")
                          .Op("MatMul", {"a", "a"}, "m")
                          .Op("Add", {"b", "m"}, "c")
                          .Op("MatMul", {"b", "b"}, "n")
                          .Op("Add", {"a", "n"}, "d")
                          .Make({"c", "d"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: b c"));
}

// Which of two branches of one tensor began first, or is named first, is an accident of spelling.
TEST(KernelGroups, BranchesOfOneTensorAreOneKernel) {
  for (const bool turned : {false, true}) {
    Lines lines;
    lines.Input("x", {8, 16}).Op("Tanh", {"x"}, "a").Op("Exp", {"a"}, "b").Op("Relu", {"x"}, "c");
    const Graph graph =
        lines.Op("Mul", turned ? std::vector<std::string>{"c", "b"} : std::vector<std::string>{"b", "c"}, "d")
            .Make({"d"});
    EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a b c d"));
    EXPECT_THAT(InsideOf(graph), ElementsAre("a", "b", "c"));
  }
}

// A kernel that is made of two has no more than 64 ops: what each op looks at is bounded.
TEST(KernelGroups, BranchesStayApartWhereTheKernelIsLarge) {
  Lines lines;
  lines.Input("a0", {8, 16});
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i), next = "a" + std::to_string(i + 1);
    lines.Op("Sin", {"a0"}, "s" + n).Op("Add", {"s" + n, "a" + n}, next);
  }
  const Fusion fusion = FuseOps(lines.Make({"a100"}), Rules(), {});
  EXPECT_THAT(fusion.groups.groups, SizeIs(AllOf(Gt(2), Lt(6))));
}

// Each of them reads a tensor of its own.
TEST(KernelGroups, BranchesOfTwoTensorsStayTwo) {
  Lines lines;
  lines.Input("x", {8, 16}).Input("y", {8, 16}).Op("Tanh", {"x"}, "a").Op("Exp", {"a"}, "b");
  const Graph graph = lines.Op("Relu", {"y"}, "c").Op("Exp", {"c"}, "d").Op("Mul", {"b", "d"}, "e").Make({"e"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a b e", "light: c d"));
}

// A number a row, as the places of a loss's labels, is little beside the rows.
TEST(KernelGroups, ABranchOfLittleIsOneKernelWithWhatReadsIt) {
  const auto groups = [](int64_t size) {
    Lines lines;
    lines.Input("x", {size, size}).Input("row", {size, 1}).Input("column", {1, size});
    lines.Op("Add", {"row", "column"}, "a").Op("Exp", {"a"}, "b").Op("Relu", {"x"}, "c").Op("Tanh", {"c"}, "d");
    return GroupsOf(lines.Op("Mul", {"b", "d"}, "e").Make({"e"}));
  };
  EXPECT_THAT(groups(64), ElementsAre("light: a b e", "light: c d"));
  EXPECT_THAT(groups(2048), ElementsAre("light: a b c d e"));
}

// The second branch waits for a product of the first, which is no part of the kernel.
TEST(KernelGroups, KernelsThatReadTheSameAreOne) {
  const Graph graph = Lines()  // an activation that is computed again, and its derivative
                          .Input("gate", {4, 2048})
                          .Input("up", {4, 2048})
                          .Input("dy", {4, 2048})
                          .Op("Mul", {"dy", "up"}, "d_active")
                          .Op("sbp::SwishGrad", {"d_active", "gate"}, "d_gate")
                          .Op("Swish", {"gate"}, "active")
                          .Op("Mul", {"dy", "active"}, "d_up")
                          .Make({"d_gate", "d_up"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: d_active d_gate active d_up"));
  const Graph other = Lines()  // each reads what the other does not
                          .Input("x", {4, 2048})
                          .Input("a", {4, 2048})
                          .Input("b", {4, 2048})
                          .Op("Mul", {"x", "a"}, "y")
                          .Op("Mul", {"x", "b"}, "z")
                          .Make({"y", "z"});
  EXPECT_THAT(GroupsOf(other), IsEmpty());
}

// A rotary embedding as it is spelled: halves are turned and joined where the sum reads them, of tables of its size
// too.
TEST(KernelGroups, AJoinIsMadeWhereItIsRead) {
  const auto rotary = [](const std::vector<std::string>& outputs) {
    Lines lines;
    lines.Input("x", {4, 8}).Input("y", {4, 8}).Input("cos", {4, 8}).Input("sin", {4, 8});
    lines.Input("low", {4, 4}).Input("high", {4, 4}).Op("Mul", {"x", "cos"}, "a").Op("Neg", {"high"}, "b");
    lines.Op("Concat", {"b", "low"}, "c", {{"axis", int64_t{1}}})
        .Op("Mul", {"c", "sin"}, "d")
        .Op("Add", {"a", "d"}, "e");
    return GroupsOf(lines.Make(outputs));
  };
  EXPECT_THAT(rotary({"e"}), ElementsAre("light: a b c d e"));
  EXPECT_THAT(rotary({"e", "c"}), ElementsAre("light: a e", "light: c d"));  // written for others
  EXPECT_THAT(rotary({"e", "d"}), ElementsAre("light: a e", "light: b c d"));
}

// Halves that are made for the join alone are one kernel with it, whoever reads them joined.
TEST(KernelGroups, PartsAreMadeWhereTheyAreJoined) {
  const auto joined = [](bool keeps_part) {
    Lines lines;
    lines.Input("x", {4, 8}).Input("y", {4, 8}).Input("w", {16, 4}).Op("Neg", {"x"}, "a").Op("Relu", {"y"}, "b");
    lines.Op("Concat", {"a", "b"}, "c", {{"axis", int64_t{1}}}).Op("MatMul", {"c", "w"}, "d");
    return GroupsOf(lines.Make(keeps_part ? std::vector<std::string>{"d", "a"} : std::vector<std::string>{"d"}));
  };
  EXPECT_THAT(joined(false), ElementsAre("light: a b c"));
  EXPECT_THAT(joined(true), IsEmpty());
}

TEST(KernelGroups, BranchesThatWaitForEachOtherStayTwo) {
  const Graph graph = Lines()
                          .Input("x", {16, 16})
                          .Op("Relu", {"x"}, "a")
                          .Op("Exp", {"a"}, "b")
                          .Op("MatMul", {"b", "b"}, "m")
                          .Op("Add", {"m", "a"}, "c")
                          .Op("Exp", {"m"}, "d")
                          .Op("Mul", {"d", "c"}, "e")
                          .Make({"e"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: a b", "light: c d e"));
}

// Both read x, but a product stands between.
TEST(KernelGroups, BranchesAreNotJoinedAcrossAProduct) {
  Lines lines;
  lines.Input("x", {16, 16}).Op("Tanh", {"x"}, "a").Op("MatMul", {"a", "a"}, "m").Op("Add", {"m", "x"}, "c");
  EXPECT_THAT(GroupsOf(lines.Op("Mul", {"a", "c"}, "d").Make({"d"})), ElementsAre("light: c d"));
}

TEST(KernelGroups, EpiloguesWhereTheDeviceTakesThem) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Input("w", {16, 32})
                          .Input("b", {32})
                          .Op("MatMul", {"x", "w"}, "m")
                          .Op("Add", {"m", "b"}, "s")
                          .Op("Gelu", {"s"}, "g")
                          .Make({"g"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: s g"));
  EXPECT_THAT(GroupsOf(graph, true), ElementsAre("epilogue: m s g"));
}

TEST(KernelGroups, MovesThatNeighboursAbsorbRunNoKernel) {
  const Graph graph = Lines()
                          .Input("x", {8, 16})
                          .Input("y", {8, 16})
                          .Op("Transpose", {"y"}, "t", {{"perm", std::vector<int64_t>{1, 0}}})
                          .Op("MatMul", {"x", "t"}, "m")
                          .Op("Transpose", {"x"}, "u", {{"perm", std::vector<int64_t>{1, 0}}})
                          .Make({"m", "u"});
  const KernelGroups groups = FuseOps(graph, Rules(), {}).groups;
  EXPECT_THAT(groups.no_kernel, ElementsAre(true, false, false));  // the last one is written out
}

// cuDNN reads what lies in memory by strides; what repeats elements or mixes dimensions is written for it.
TEST(KernelGroups, ConvolutionsAbsorbNothingButStrides) {
  for (const bool mixes : {false, true}) {
    Lines lines;
    lines.Input("x", {1, 8, 4, 6}).Input("w", {2, 2, 3, 3}).Input("v", {2, 8, 3, 3});
    if (mixes) {
      lines.Op("DepthToSpace", {"x"}, "moved", {{"blocksize", int64_t{2}}}).Op("Conv", {"moved", "w"}, "y");
    } else {
      lines.Op("Transpose", {"x"}, "moved", {{"perm", std::vector<int64_t>{0, 1, 3, 2}}})
          .Op("Conv", {"moved", "v"}, "y");
    }
    const KernelGroups groups = FuseOps(lines.Make({"y"}), Rules(), {}).groups;
    EXPECT_THAT(groups.no_kernel, ElementsAre(!mixes, false)) << mixes;
  }
  const Graph between = Lines()
                            .Input("x", {1, 2, 4, 6})
                            .Input("w", {8, 2, 3, 3})
                            .Input("v", {2, 2, 3, 3})
                            .Op("Conv", {"x", "w"}, "c")
                            .Op("DepthToSpace", {"c"}, "moved", {{"blocksize", int64_t{2}}})
                            .Op("Conv", {"moved", "v"}, "y")
                            .Make({"y"});
  EXPECT_THAT(FuseOps(between, Rules(), {}).groups.no_kernel, ElementsAre(false, false, false));
}

// A sum before the small kernel's first op reaches it through the large kernel, which begins before both: as in the
// gradient of a batch's normalisation.
TEST(KernelGroups, SmallOnesDoNotCloseACircleThroughALargeOne) {
  const Graph graph = Lines()
                          .Input("x", {2048, 8})
                          .Input("w", {8})
                          .Ints("first", {0})
                          .Op("Exp", {"x"}, "dy")
                          .Op("ReduceSum", {"dy", "first"}, "sums", {{"keepdims", int64_t{0}}})
                          .Op("Neg", {"w"}, "small")
                          .Op("Mul", {"dy", "small"}, "large")
                          .Op("Mul", {"small", "sums"}, "behind")
                          .Make({"large", "behind"});
  EXPECT_THAT(GroupsOf(graph), ElementsAre("light: dy sums large"));
}

// Whatever the graph: groups wait for each other in one direction only, and what is inside is read inside, or made anew
// by who reads it.
TEST(KernelGroups, FormAGraphWithoutCycles) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Result<Graph> generated = GenerateGraph(seed % 3 == 0 ? "transformer" : "random", {.ops = 80, .seed = seed});
    ASSERT_TRUE(generated.ok());
    Result<Resolved> resolved = Resolve(*generated, Rules(), {});
    ASSERT_TRUE(resolved.ok());
    const Graph& graph = resolved->graph;
    const KernelGroups groups = FuseOps(graph, Rules(), {.epilogue = seed % 2 == 0}).groups;
    // Ops of a group are one node; nodes without an unfinished operand are taken until none is left.
    const size_t num_ops = graph.ops.size();
    const auto node = [&](OpId op) {
      return groups.of(op) == nullptr ? op.index() : num_ops + static_cast<size_t>(groups.of_op[op.index()]);
    };
    std::set<std::pair<size_t, size_t>> edges;
    for (const Tensor& tensor : graph.tensors) {
      if (!tensor.producer.valid()) continue;
      const auto id = TensorId(static_cast<size_t>(&tensor - graph.tensors.data()));
      const UseTable uses = BuildUses(graph);
      const auto [begin, end] = uses.of(id);
      for (const Use* use = begin; use != end; ++use) {
        if (node(use->op) != node(tensor.producer)) edges.emplace(node(tensor.producer), node(use->op));
        if (!groups.is_inside(id)) continue;
        const bool is_anchor = TraitsOfOps(graph, Rules())[use->op.index()].kind > OpTraits::Kind::kLight;
        EXPECT_TRUE(node(use->op) == node(tensor.producer) || !is_anchor) << seed << ": " << tensor.name;
      }
    }
    for (bool gone = true; gone;) {
      std::set<size_t> waits;
      for (const auto& [from, to] : edges) waits.insert(to);
      gone = std::erase_if(edges, [&](const auto& edge) { return !waits.contains(edge.first); }) > 0;
    }
    EXPECT_THAT(edges, IsEmpty()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sbp
