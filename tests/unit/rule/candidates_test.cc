#include "rule/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "unit/rule/ask.h"

namespace sbp {
namespace {

using testing::Ask;
using testing::CandidatesOf;
using testing::Question;

constexpr char kMatMul[] =
    "op MatMul(Tensor a, Tensor b) -> Tensor y\n  rule ... m k, ... k n -> ... m n ; reduce sum k ; linear a | b";
constexpr char kRelu[] = "op Relu(Tensor x) -> Tensor y\n  rule ... -> ... ; monotone x";

struct CandidatesRow {
  std::string rules;
  Question question;
  std::string mesh;
  std::string candidates;
};

TEST(Candidates, OnOneAxis) {
  const CandidatesRow rows[] = {
      {kMatMul,
       {"MatMul", {"f32[16,32]", "f32[32,64]"}},
       "x=4",
       "S(0), B -> S(0)\nB, S(1) -> S(1)\nS(1), S(0) -> P(sum)\nP(sum), B -> P(sum)\nB, P(sum) -> P(sum)\nB, B -> B\n"},
      // m is shorter than the axis; k is uneven; size 1 is never split.
      {kMatMul,
       {"MatMul", {"f32[3,5]", "f32[5,1]"}},
       "x=4",
       "S(1), S(0) -> P(sum)\nP(sum), B -> P(sum)\nB, P(sum) -> P(sum)\nB, B -> B\n"},
      {"op Add(Tensor x, Tensor y) -> Tensor z\n  rule ..., ... -> ... ; linear {x, y}",
       {"Add", {"f32[8,1,6]", "f32[4,6]"}},
       "x=2",
       "S(0), B -> S(0)\nB, S(0) -> S(1)\nS(2), S(1) -> S(2)\nP(sum), P(sum) -> P(sum)\nB, B -> B\n"},
      {kRelu, {"Relu", {"f32[4]"}}, "x=2", "S(0) -> S(0)\nP(max) -> P(max)\nP(min) -> P(min)\nB -> B\n"},
      {"op Neg(Tensor x) -> Tensor y\n  rule a -> a ; antitone x",
       {"Neg", {"f32[1]"}},
       "x=2",
       "P(max) -> P(min)\nP(min) -> P(max)\nB -> B\n"},
      // An addend of the reduction is partial with it, unless it carries the factor itself.
      {"op Gemm(Tensor a, Tensor b, Tensor c?) -> Tensor y\n"
       "  rule m k, k n, m n -> m n ; reduce sum k ; addend c ; linear {a, c} | {b, c}",
       {"Gemm", {"f32[4,4]", "f32[4,4]", "f32[1,4]"}},
       "x=2",
       "S(0), B, B -> S(0)\nB, S(1), S(1) -> S(1)\nS(1), S(0), P(sum) -> P(sum)\nP(sum), B, P(sum) -> P(sum)\n"
       "B, P(sum), P(sum) -> P(sum)\nB, B, B -> B\n"},
      // A diagonal is not split; a letter that vanishes without a reduce clause is not split.
      {"op Diag(Tensor x) -> Tensor y\n  rule i i k -> i", {"Diag", {"f32[4,4,4]"}}, "x=2", "B -> B\n"},
      // Only results carry f: split when the kernel is told its offset.
      {"op Fill(Tensor x) -> Tensor y\n  rule a -> f a g ; size f = 4 ; size g = 4 ; aware f",
       {"Fill", {"f32[4]"}},
       "x=2",
       "B -> S(0)\nS(0) -> S(1)\nB -> B\n"},
      {"op Max(Tensor x) -> Tensor y, Tensor n\n  rule a b -> a, a b ; reduce max b -> y",
       {"Max", {"f32[4,4]"}, {}, {true, true}},
       "x=2",
       "S(0) -> S(0), S(0)\nS(1) -> P(max), S(1)\nB -> B, B\n"},
      // The same with the second result unused: its entry stays B.
      {"op Max(Tensor x) -> Tensor y, Tensor n\n  rule a b -> a, b ; reduce max b -> y ; reduce none a -> n",
       {"Max", {"f32[4,4]"}, {}, {true, false}},
       "x=2",
       "S(0) -> S(0), B\nS(1) -> P(max), B\nB -> B, B\n"},
      {"op NoneOf(Tensor x) -> Tensor y\n  rule a b -> a ; reduce none b",
       {"NoneOf", {"f32[4,4]"}},
       "x=2",
       "S(0) -> S(0)\nS(1) -> B\nB -> B\n"},
      {"op Sig(Tensor x, Tensor y) -> Tensor z\n  rule a!, a! -> a ; sig (S(0), B) -> S(0) ; sig (P, B) -> B ; sig "
       "(S(3), B) -> B",
       {"Sig", {"f32[4]", "f32[4]"}},
       "x=2",
       "S(0), B -> S(0)\nP(sum), B -> B\nB, B -> B\n"},
      {"op Like(Tensor x, Tensor ref) -> Tensor y\n  rule a, a -> a ; unused ref",
       {"Like", {"f32[1]", "f32[1]"}},
       "x=2",
       "B, P(sum) -> B\nB, P(max) -> B\nB, P(min) -> B\nB, P(prod) -> B\nB, B -> B\n"},
      // Compound dimensions: the major factor, when its size is divisible; d leads nothing.
      {"op R(Tensor x) -> Tensor y\n  rule (h d) -> h d ; size h = 6",
       {"R", {"f32[24]"}},
       "x=3",
       "S(0) -> S(0)\nB -> B\n"},
      {"op R(Tensor x) -> Tensor y\n  rule (h d) -> h d ; size h = 6", {"R", {"f32[24]"}}, "x=4", "B -> B\n"},
      {"op R(Tensor x) -> Tensor y\n  rule (h d) -> h d ; size h = 1",
       {"R", {"f32[24]"}},
       "x=5",
       "S(0) -> S(1)\nB -> B\n"},
      {"op G(Tensor x) -> Tensor y\n  rule a*8 -> a", {"G", {"f32[32]"}}, "x=4", "S(0) -> S(0)\nB -> B\n"},
      {"op G(Tensor x) -> Tensor y\n  rule a*8 -> a", {"G", {"f32[24]"}}, "x=2", "B -> B\n"},
      {"op G(Tensor x) -> Tensor y\n  rule a*8 -> a", {"G", {"f32[20]"}}, "x=2", "B -> B\n"},
      // Duplicates: the first stays.
      {"op L(Tensor x) -> Tensor y\n  rule a! -> a ; linear x | x",
       {"L", {"f32[4]"}},
       "x=2",
       "P(sum) -> P(sum)\nB -> B\n"},
      {kRelu, {"Relu", {"f32[0,3]"}}, "x=2", "S(1) -> S(1)\nP(max) -> P(max)\nP(min) -> P(min)\nB -> B\n"},
      {kRelu, {"Relu", {"f32[]"}}, "x=2", "P(max) -> P(max)\nP(min) -> P(min)\nB -> B\n"},
  };
  for (const CandidatesRow& row : rows) {
    EXPECT_EQ(CandidatesOf(row.rules, row.question, row.mesh), row.candidates) << row.rules << " on " << row.mesh;
  }
}

TEST(Candidates, OnSeveralAxesAreTheProductOnLocalSizes) {
  const std::string relu = "op Relu(Tensor x) -> Tensor y\n  rule a b -> a b";
  // a has 3 elements: 2 and 1 on x=2, so it cannot be split again.
  EXPECT_EQ(CandidatesOf(relu, {"Relu", {"f32[3,8]"}}, "x=2,y=2"),
            "(S(0), S(1)) -> (S(0), S(1))\n(S(0), B) -> (S(0), B)\n"
            "(S(1), S(0)) -> (S(1), S(0))\n(S(1), S(1)) -> (S(1), S(1))\n(S(1), B) -> (S(1), B)\n"
            "(B, S(0)) -> (B, S(0))\n(B, S(1)) -> (B, S(1))\n(B, B) -> (B, B)\n");
  // The outer axis uses up h; then d leads.
  EXPECT_EQ(CandidatesOf("op R(Tensor x) -> Tensor y\n  rule (h d) -> h d ; size h = 2", {"R", {"f32[10]"}}, "x=2,y=2"),
            "(S(0), S(0)) -> (S(0), S(1))\n(S(0), B) -> (S(0), B)\n(B, S(0)) -> (B, S(0))\n(B, B) -> (B, B)\n");
  // No tensor is partial of two kinds.
  EXPECT_EQ(CandidatesOf(kRelu, {"Relu", {"f32[1]"}}, "x=2,y=2"),
            "(P(max), P(max)) -> (P(max), P(max))\n(P(max), B) -> (P(max), B)\n(P(min), P(min)) -> (P(min), P(min))\n"
            "(P(min), B) -> (P(min), B)\n(B, P(max)) -> (B, P(max))\n(B, P(min)) -> (B, P(min))\n(B, B) -> (B, B)\n");
}

TEST(Candidates, EvenOnlyForbidsUnequalParts) {
  const std::string rules = "op Relu(Tensor x) -> Tensor y\n  rule a b -> a b";
  EXPECT_EQ(CandidatesOf(rules, {"Relu", {"f32[3,8]"}}, "x=2", {.even_only = true}), "S(1) -> S(1)\nB -> B\n");
  EXPECT_EQ(CandidatesOf(rules, {"Relu", {"f32[3,8]"}}, "x=2"), "S(0) -> S(0)\nS(1) -> S(1)\nB -> B\n");
}

TEST(Candidates, LongListsAreCutAndSaySo) {
  Result<RuleInstanceRef> instance = Ask(kRelu, {"Relu", {"f32[8,8,8,8,8,8]"}});
  ASSERT_TRUE(instance.ok());
  const Mesh mesh = *ParseMesh("2,2,2");
  const CandidateList whole = MakeCandidates(*instance, mesh);
  EXPECT_FALSE(whole.truncated);
  const CandidateList cut = MakeCandidates(*instance, mesh, {.max_candidates = 30});
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.candidates.size(), 27u);
  EXPECT_EQ(ToString(cut.candidates.back().signature), "(B, B, B) -> (B, B, B)");
}

TEST(Candidates, CutListsKeepTheLargestDimensionsAndLinearAlternatives) {
  const std::string rules =
      "op T(Tensor x) -> Tensor y\n  rule a b c d e f -> b c d e f ; reduce sum a ; linear x ; monotone x";
  Result<RuleInstanceRef> instance = Ask(rules, {"T", {"f32[64,2,4,2,32,2]"}});
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  const CandidateList cut = MakeCandidates(*instance, *ParseMesh("x=2"), {.max_candidates = 5});
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(testing::Lines(cut), "S(2) -> S(1)\nS(4) -> S(3)\nS(0) -> P(sum)\nP(sum) -> P(sum)\nB -> B\n");
}

TEST(Candidates, AreFoundWhereTheListIsCut) {
  Result<RuleInstanceRef> instance = Ask(kRelu, {"Relu", {"f32[8,8,8,8,8,8]"}});
  ASSERT_TRUE(instance.ok());
  const Mesh mesh = *ParseMesh("2,2,2");
  for (const Candidate& legal : MakeCandidates(*instance, mesh).candidates) {
    const auto found = FindCandidate(*instance, legal.signature, mesh, {.max_candidates = 30});
    ASSERT_TRUE(found.has_value()) << ToString(legal.signature);
    EXPECT_EQ(found->work_share, legal.work_share);
  }
  const Signature wrong = *ParseSignature("(S(0), B, B) -> (S(1), B, B)", 3);
  EXPECT_FALSE(FindCandidate(*instance, wrong, mesh).has_value());
  // Some slots alone: everything that agrees with them, and nothing else.
  LayoutFilter filter;
  filter.outputs = {*ParseNdSbp("(S(5), B, S(4))")};
  EXPECT_EQ(testing::Lines(MakeCandidates(*instance, mesh, {.max_candidates = 30}, &filter)),
            "(S(5), B, S(4)) -> (S(5), B, S(4))\n");
}

// Work is counted, not timed: rows in memory, and candidates times slots for all who read the list.
TEST(Candidates, OfVeryManyOperandsShareRows) {
  for (const int count : {10, 1000, 100'000}) {
    const Question sum{"Sum", std::vector<std::string>(count, "f32[64,64]")};
    Result<RuleInstanceRef> instance = Ask(*RuleSet::Builtin(), sum);
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    for (const char* text : {"x=2,y=4", "a=2,b=2,c=2"}) {
      const CandidateList list = MakeCandidates(*instance, *ParseMesh(text));
      size_t rows = 0;
      for (const Candidate& candidate : list.candidates) {
        ASSERT_EQ(candidate.signature.inputs.size(), static_cast<size_t>(count));
        rows += candidate.signature.inputs.rows().size();
        ASSERT_EQ(candidate.signature.inputs.row_of(), list.candidates[0].signature.inputs.row_of());
      }
      EXPECT_LE(rows, size_t{1} << 22);
      EXPECT_LE(list.candidates.size() * static_cast<size_t>(count), 100'000'000u);
      // Splits of both dimensions and the joint sum are there in all lists.
      EXPECT_GE(list.candidates.size(), 16u);
      EXPECT_TRUE(list.candidates.back().signature.inputs[0].is_broadcast());
    }
  }
}

TEST(Candidates, HaloIsAPricedAlternativeAfterTheOthers) {
  const std::string rules = "op Window(Tensor x) -> Tensor y\n  rule n h -> n h ; halo h:1,2 ; linear x";
  Result<RuleInstanceRef> instance = Ask(rules, {"Window", {"f32[4,10]"}});
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  const CandidateList list = MakeCandidates(*instance, *ParseMesh("x=2"));
  EXPECT_EQ(testing::Lines(list), "S(0) -> S(0)\nP(sum) -> P(sum)\nS(1) -> S(1)\nB -> B\n");
  EXPECT_EQ(list.candidates[0].halo_bytes, 0);
  EXPECT_EQ(list.candidates[2].halo_bytes, 3 * 4 * 4);  // 3 columns of 4 floats
  // Parts of 1 have no 2 elements to give.
  EXPECT_EQ(testing::Lines(MakeCandidates(*instance, *ParseMesh("x=10"))), "P(sum) -> P(sum)\nB -> B\n");
}

TEST(Candidates, SayWhyAndHowMuchWorkIsLeft) {
  Result<RuleInstanceRef> instance = Ask(kMatMul, {"MatMul", {"f32[16,33]", "f32[33,64]"}});
  ASSERT_TRUE(instance.ok());
  const Mesh mesh = *ParseMesh("data=2,model=4");
  const CandidateList list = MakeCandidates(*instance, mesh);
  ASSERT_EQ(list.candidates.size(), 36u);
  EXPECT_EQ(DescribeCandidate(list, 2, mesh), "splits factor m over data; splits factor k (reduced: sum) over model");
  EXPECT_DOUBLE_EQ(list.candidates[2].work_share, 0.5 * 9 / 33);
  EXPECT_EQ(DescribeCandidate(list, 3, mesh),
            "splits factor m over data; passes P(sum) of a through (linear) over model");
  EXPECT_EQ(DescribeCandidate(list, 35, mesh), "replicated over data; replicated over model");
}

TEST(BatchAxis, FollowsItsFactor) {
  struct BatchRow {
    std::string rules;
    Question question;
    std::vector<int> batch, result;
  };
  const BatchRow rows[] = {
      {kMatMul, {"MatMul", {"f32[2,16,32]", "f32[32,64]"}}, {0, -1}, {0}},
      {kMatMul, {"MatMul", {"f32[16,32]", "f32[32,64]"}}, {1, -1}, {-1}},
      {kMatMul, {"MatMul", {"f32[16,32]", "f32[32,64]"}}, {-1, 1}, {1}},
      {"op R(Tensor x) -> Tensor y\n  rule (h d) -> h d ; size h = 6", {"R", {"f32[24]"}}, {0}, {0}},
      {"op R(Tensor x) -> Tensor y\n  rule (h d) -> h d ; size h = 1", {"R", {"f32[24]"}}, {0}, {1}},
      {"op T(Tensor x) -> Tensor y\n  rule a b -> b a", {"T", {"f32[2,3]"}}, {0}, {1}},
  };
  for (const BatchRow& row : rows) {
    Result<RuleInstanceRef> instance = Ask(row.rules, row.question);
    ASSERT_TRUE(instance.ok()) << instance.status().message();
    EXPECT_EQ(PropagateBatchAxis(**instance, row.batch), row.result) << row.rules;
  }
}

// The elements, counted row-major, that the device at a position holds.
std::set<int64_t> Elements(const Shape& shape, const NdSbp& sbp, const Mesh& mesh, int64_t position) {
  const std::vector<Range> slice = LocalSlice(shape, sbp, mesh, mesh.Coordinates(position));
  std::set<int64_t> elements = {0};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::set<int64_t> next;
    for (int64_t e : elements) {
      for (int64_t i = slice[d].begin; i < slice[d].end; ++i) next.insert(e * shape[d] + i);
    }
    elements = std::move(next);
  }
  return elements;
}

// Every split of a reshape must give each device the same elements before and after: over all small sizes, even or not.
TEST(Candidates, OfReshapesMoveNoElement) {
  const std::string kRules[] = {
      "op R(Tensor x, *, int a, int b) -> Tensor y\n  rule (a b) c -> a (b c) ; size a = a ; size b = b",
      "op R(Tensor x, *, int a, int b) -> Tensor y\n  rule (a b c) -> a b c ; size a = a ; size b = b",
      "op R(Tensor x, *, int a, int b) -> Tensor y\n  rule (a b) c -> (a b c) ; size a = a ; size b = b",
  };
  int splits = 0;
  for (int64_t a = 1; a <= 5; ++a) {
    for (int64_t b = 1; b <= 5; ++b) {
      for (int64_t c = 1; c <= 5; ++c) {
        for (size_t r = 0; r < 3; ++r) {
          const std::string x = r == 1 ? StrCat("f32[", a * b * c, "]") : StrCat("f32[", a * b, ",", c, "]");
          Result<RuleInstanceRef> instance = Ask(kRules[r], {"R", {x}, {{"a", a}, {"b", b}}});
          ASSERT_TRUE(instance.ok()) << instance.status().message();
          for (const char* mesh_text : {"2", "3", "2,2", "3,2", "2,3"}) {
            const Mesh mesh = *ParseMesh(mesh_text);
            for (const Candidate& candidate : MakeCandidates(*instance, mesh).candidates) {
              splits += candidate.signature.inputs[0].has_split() ? 1 : 0;
              for (int64_t p = 0; p < mesh.num_devices(); ++p) {
                ASSERT_EQ(Elements((*instance)->operands[0].shape, candidate.signature.inputs[0], mesh, p),
                          Elements((*instance)->results[0].shape, candidate.signature.outputs[0], mesh, p))
                    << x << " as " << a << "," << b << "," << c << " rule " << r << " mesh " << mesh_text << ": "
                    << ToString(candidate.signature);
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(splits, 1000);
}

}  // namespace
}  // namespace sbp
