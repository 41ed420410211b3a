#include "rule/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/rule/ask.h"

namespace sbp {
namespace {

using testing::Ask;
using testing::Question;

constexpr char kInferRules[] = R"(
op Relu(Tensor x) -> Tensor y
  rule ... -> ...
op Move(Tensor x) -> Tensor y
  rule a b -> b a ; linear x ; monotone x
op Scale(Tensor x) -> Tensor y
  rule ... -> ... ; linear x
op Add(Tensor x, Tensor y) -> Tensor z
  rule ..., ... -> ... ; linear {x, y}
op Softmax(Tensor x) -> Tensor y
  rule ... a! -> ... a
op MatMul(Tensor x, Tensor y) -> Tensor z
  rule ... m k, ... k n -> ... m n ; reduce sum k ; linear x | y
op Linear(Tensor x, Tensor w, Tensor b) -> Tensor z
  rule m k, k n, n -> m n ; reduce sum k ; addend b ; linear {x, b} | {w, b}
op Sum(Tensor x) -> Tensor y
  rule a b -> a ; reduce sum b ; linear x
op Seed(Tensor x) -> Tensor y
  rule a b c (d e) -> (a b) c d e ; size d = 6 ; linear x
op Merge(Tensor x) -> Tensor y
  rule a b c -> (a b) c ; linear x
op MergeAll(Tensor x) -> Tensor y
  rule a b -> (a b) ; linear x
op Cut(Tensor x, *, int a) -> Tensor y
  rule (a b) c -> a b c ; size a = a ; linear x
)";

struct InferRow {
  const char* mesh;
  Question question;
  const char* given;     // the operands' layouts (backward: the results'), '|' between them
  const char* expected;  // operands -> results
  bool backward = false;
  const char* conflict = "";  // part of the first conflict; "": none
};

std::vector<NdSbp> Layouts(std::string_view text, int axes) {
  std::vector<NdSbp> layouts;
  for (std::string_view part : Split(text, '|')) {
    Result<NdSbp> layout = ParseLayout(Trim(part), axes);
    EXPECT_TRUE(layout.ok()) << layout.status().message();
    layouts.push_back(layout.ok() ? *layout : NdSbp(axes));
  }
  return layouts;
}

std::string Format(const std::vector<NdSbp>& layouts, const std::vector<TensorType>& types) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < layouts.size(); ++i) {
    parts.push_back(FormatLayout(layouts[i], types[i].rank(), Notation::kDimsMapping));
  }
  return Join(parts, " | ");
}

void Check(const InferRow& row) {
  Result<RuleInstanceRef> instance = Ask(kInferRules, row.question);
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  InferRequest request{.instance = *instance, .mesh = *ParseMesh(row.mesh), .backward = row.backward};
  (row.backward ? request.outputs : request.inputs) = Layouts(row.given, request.mesh.num_axes());
  const InferAnswer answer = InferLayouts(request);
  EXPECT_EQ(Format(answer.inputs, (*instance)->operands) + " -> " + Format(answer.outputs, (*instance)->results),
            row.expected)
      << row.question.op << " " << row.given << " on " << row.mesh;
  EXPECT_EQ(answer.conflicts.empty(), row.conflict[0] == '\0') << ::testing::PrintToString(answer.conflicts);
  if (!answer.conflicts.empty()) {
    EXPECT_THAT(answer.conflicts[0], ::testing::HasSubstr(row.conflict));
  }
}

const Question kAdd{"Add", {"f32[64,36]", "f32[64,36]"}};
const Question kAdd3{"Add", {"f32[96,24,48]", "f32[96,24,48]"}};
const Question kMatMul{"MatMul", {"f32[64,32]", "f32[32,48]"}};

TEST(InferForward, ElementByElement) {
  const InferRow rows[] = {
      {"4", kAdd, "[0,-1]|[-1,-1]", "[0,-1] | [0,-1] -> [0,-1]"},
      {"2,3", kAdd3, "[0,1,-1]|[-1,-1,-1]", "[0,1,-1] | [0,1,-1] -> [0,1,-1]"},
      {"2,3", kAdd3, "[0,-1,-1]|[-1,-1,1]", "[0,-1,1] | [0,-1,1] -> [0,-1,1]"},
      {"2,3", kAdd3, "[0,-1,-1]|[1,-1,-1]", "[[0,1],-1,-1] | [[0,1],-1,-1] -> [[0,1],-1,-1]"},
      // One axis on two letters: the one met first keeps it.
      {"4", kAdd, "[-1,0]|[0,-1]", "[-1,0] | [-1,0] -> [-1,0]", false, "factor d1 keeps x, met first"},
      // Dimensions of size 1 take no part.
      {"4", {"Add", {"f32[1,8]", "f32[4,8]"}}, "[-1,-1]|[0,-1]", "[-1,-1] | [0,-1] -> [0,-1]"},
      // Not divisible.
      {"4", {"Relu", {"f32[6,8]"}}, "[0,-1]", "[-1,-1] -> [-1,-1]", false, "is not divisible over x"},
      {"2,4", {"Relu", {"f32[6]"}}, "[[0,1]]", "[0] -> [0]", false, "x1 is dropped"},
      {"4", {"Softmax", {"f32[8,8]"}}, "[-1,0]", "[-1,-1] -> [-1,-1]", false, "keeps this dimension whole"},
  };
  for (const InferRow& row : rows) Check(row);
}

TEST(InferForward, MatMul) {
  const InferRow rows[] = {
      {"2,4", kMatMul, "[0,-1]|[-1,1]", "[0,-1] | [-1,1] -> [0,1]"},
      {"2,4", kMatMul, "[0,1]|[-1,-1]", "[0,1] | [1,-1] -> [0,-1] partial=[1:sum]"},
      {"2,4", kMatMul, "[-1,0]|[1,-1]", "[-1,[0,1]] | [[0,1],-1] -> [-1,-1] partial=[0:sum,1:sum]"},
      // Two free letters on one axis: the larger dimension keeps it, ties go to the first.
      {"2,4",
       {"MatMul", {"f32[16,32]", "f32[32,64]"}},
       "[0,-1]|[-1,0]",
       "[-1,-1] | [-1,0] -> [-1,0]",
       false,
       "factor n keeps x0, the larger one"},
      {"2,4",
       {"MatMul", {"f32[64,32]", "f32[32,64]"}},
       "[0,-1]|[-1,0]",
       "[0,-1] | [-1,-1] -> [0,-1]",
       false,
       "factor m keeps x0"},
      // The reduced letter yields to the free ones, those to the batch letters.
      {"2,4", kMatMul, "[0,-1]|[0,-1]", "[0,-1] | [-1,-1] -> [0,-1]", false, "taken by a letter of an earlier class"},
      {"2,4",
       {"MatMul", {"f32[2,1024,16]", "f32[2,16,8]"}},
       "[-1,0,-1]|[0,-1,-1]",
       "[0,-1,-1] | [0,-1,-1] -> [0,-1,-1]",
       false,
       "taken by a letter of an earlier class"},
      {"2,4",
       {"MatMul", {"f32[8,12]", "f32[12,8]"}},
       "[-1,0]|[1,-1]",
       "[-1,1] | [1,-1] -> [-1,-1] partial=[1:sum]",
       false,
       "x0 is dropped"},
      // The bias takes part in the partial sum.
      {"2,4",
       {"Linear", {"f32[8,8]", "f32[8,8]", "f32[8]"}},
       "[0,1]|[-1,-1]|[-1]",
       "[0,1] | [1,-1] | [-1] partial=[1:sum] -> [0,-1] partial=[1:sum]"},
  };
  for (const InferRow& row : rows) Check(row);
}

TEST(InferForward, Partial) {
  const InferRow rows[] = {
      {"2,4", {"Scale", {"f32[8,8]"}}, "[1,-1] partial=[0:sum]", "[1,-1] partial=[0:sum] -> [1,-1] partial=[0:sum]"},
      {"2,4", {"Relu", {"f32[8,8]"}}, "[1,-1] partial=[0:sum]", "[1,-1] -> [1,-1]", false, "not linear in it"},
      // Jointly linear: both or none.
      {"2", kAdd, "[-1,-1] partial=[0:sum]|[-1,-1] partial=[0:sum]",
       "[-1,-1] partial=[0:sum] | [-1,-1] partial=[0:sum] -> [-1,-1] partial=[0:sum]"},
      {"2", kAdd, "[-1,-1] partial=[0:sum]|[-1,-1]", "[-1,-1] | [-1,-1] -> [-1,-1]", false, "not linear in it"},
      {"2", kAdd, "[-1,-1] partial=[0:sum]|[0,-1]", "[0,-1] | [0,-1] -> [0,-1]", false, "a letter takes the axis"},
      // One factor of a product stays partial, the other is resolved.
      {"2", kMatMul, "[-1,-1] partial=[0:sum]|[-1,-1] partial=[0:sum]",
       "[-1,-1] partial=[0:sum] | [-1,-1] -> [-1,-1] partial=[0:sum]", false, "y is P(sum)"},
      // Only what moves elements hands on P(max); a kind never meets another on one tensor.
      {"2,4", {"Move", {"f32[8,8]"}}, "[1,-1] partial=[0:max]", "[1,-1] partial=[0:max] -> [-1,1] partial=[0:max]"},
      {"2", {"Scale", {"f32[8,8]"}}, "[-1,-1] partial=[0:max]", "[-1,-1] -> [-1,-1]", false, "resolved first"},
      {"2", {"Sum", {"f32[8,8]"}}, "[-1,0]", "[-1,0] -> [-1] partial=[0:sum]"},
  };
  for (const InferRow& row : rows) Check(row);
}

TEST(InferForward, Views) {
  const Question seed{"Seed", {"f32[6,12,24,48]"}};
  const InferRow rows[] = {
      {"2,3", seed, "[0,-1,-1,1]", "[0,-1,-1,1] -> [0,-1,1,-1]"},
      {"2,3", seed, "[-1,-1,0,1]", "[-1,-1,0,1] -> [-1,0,1,-1]"},
      {"2,3", seed, "[0,1,-1,-1]", "[[0,1],-1,-1,-1] -> [[0,1],-1,-1,-1]"},
      {"2,3", seed, "[-1,1,0,-1]", "[-1,-1,0,-1] -> [-1,0,-1,-1]", false, "only axes of the leftmost one"},
      {"4", seed, "[-1,-1,-1,0]", "[-1,-1,-1,-1] -> [-1,-1,-1,-1]", false, "only where they divide it"},
      {"2,4", {"MergeAll", {"f32[8,16]"}}, "[0,1]", "[[0,1],-1] -> [[0,1]]"},
      {"2,4", {"MergeAll", {"f32[8,16]"}}, "[-1,0]", "[-1,-1] -> [-1]", false, "leftmost"},
      {"2,4", {"Merge", {"f32[4,8,16]"}}, "[0,1,-1]", "[0,-1,-1] -> [0,-1]", false, "(x1)"},
      {"2,4", {"MergeAll", {"f32[6,8]"}}, "[1,-1]", "[-1,-1] -> [-1]", false, "(x1)"},
      {"2,4", {"Cut", {"f32[16,16]"}, {{"a", int64_t{2}}}}, "[1,-1]", "[-1,-1] -> [-1,-1,-1]", false, "(x1)"},
      {"2,4", {"Cut", {"f32[8,16]"}, {{"a", int64_t{4}}}}, "[1,-1]", "[1,-1] -> [1,-1,-1]"},
      {"2,4",
       {"Cut", {"f32[8,16]"}, {{"a", int64_t{4}}}},
       "[1,-1] partial=[0:sum]",
       "[1,-1] partial=[0:sum] -> [1,-1,-1] partial=[0:sum]"},
  };
  for (const InferRow& row : rows) Check(row);
}

TEST(InferBackward, OperandsFollowResults) {
  const InferRow rows[] = {
      {"4", kAdd, "[0,-1]", "[0,-1] | [0,-1] -> [0,-1]", true},
      {"2,3", kAdd3, "[0,1,-1]", "[0,1,-1] | [0,1,-1] -> [0,1,-1]", true},
      {"2,4", kMatMul, "[0,1]", "[0,-1] | [-1,1] -> [0,1]", true},
      {"2,4", kMatMul, "[1,-1] partial=[0:sum]", "[1,-1] | [-1,-1] -> [1,-1] partial=[0:sum]", true},
      {"2,3", {"Seed", {"f32[6,12,24,48]"}}, "[0,-1,1,-1]", "[0,-1,-1,1] -> [0,-1,1,-1]", true},
      {"2,3", {"Seed", {"f32[6,12,24,48]"}}, "[-1,-1,-1,0]", "[-1,-1,-1,-1] -> [-1,-1,-1,-1]", true, "leftmost"},
      {"2,4", {"MergeAll", {"f32[6,8]"}}, "[1]", "[-1,-1] -> [-1]", true, "(x1)"},
  };
  for (const InferRow& row : rows) Check(row);
}

TEST(Infer, SaysWhichLayoutsChanged) {
  Result<RuleInstanceRef> instance = Ask(kInferRules, kMatMul);
  ASSERT_TRUE(instance.ok());
  InferRequest request{.instance = *instance, .mesh = *ParseMesh("2,4")};
  request.inputs = Layouts("[0,1]|[-1,-1]", 2);
  const InferAnswer answer = InferLayouts(request);
  EXPECT_THAT(answer.input_changed, ::testing::ElementsAre(false, true));
  EXPECT_THAT(answer.output_changed, ::testing::ElementsAre(true));
}

}  // namespace
}  // namespace sbp
