// Programs of kernels for one op: what they refuse, and data-dependent sizes from run to run.
#include "fold/op_program.h"

#include <gtest/gtest.h>

#include <cstring>

#include "rule/rule_set.h"

namespace sbp {
namespace {

struct Question {
  explicit Question(std::string op, std::vector<TensorType> operands) : type(std::move(op)) {
    query.type = type;
    query.attributes = attributes.get();
    query.wanted = {true};
    for (const TensorType& operand : operands) query.operands.push_back({true, operand, nullptr});
  }

  std::string type;
  AttributesRef attributes = std::make_shared<const Attributes>();
  OpQuery query;
};

Result<OpProgram> ProgramOf(const Question& question, const RuleSet& rules) {
  SBP_ASSIGN_OR_RETURN(const RuleInstanceRef instance, rules.Instantiate(question.query));
  return OpProgram::Make(question.query, question.attributes, *instance, rules);
}

std::byte* Fill(Scratch& memory, const std::vector<float>& values) {
  auto* data = memory.Allocate<float>(static_cast<int64_t>(values.size()));
  std::memcpy(data, values.data(), values.size() * sizeof(float));
  return reinterpret_cast<std::byte*>(data);
}

TEST(OpProgramTest, ExpandsDownToKernels) {
  const RuleSet rules = *RuleSet::Builtin();
  Result<OpProgram> program = ProgramOf(Question("LeakyRelu", {{DType::kF32, {2}}}), rules);
  ASSERT_TRUE(program.ok()) << program.status().message();
  Scratch memory;
  std::byte* data = Fill(memory, {-100, 3});
  const auto results = program->Run({&data, 1}, memory);
  ASSERT_TRUE(results.ok());
  EXPECT_FLOAT_EQ(results->at(0)->as<float>()[0], -1);
  EXPECT_FLOAT_EQ(results->at(0)->as<float>()[1], 3);
}

TEST(OpProgramTest, SizesThatDataDecideAreThoseOfEachRun) {
  const RuleSet rules = *RuleSet::Builtin();
  Result<OpProgram> program = ProgramOf(Question("NonZero", {{DType::kF32, {3}}}), rules);
  ASSERT_TRUE(program.ok()) << program.status().message();
  for (const auto& [values, found] : {std::pair(std::vector<float>{0, 1, 0}, 1), {{1, 1, 1}, 3}, {{0, 0, 0}, 0}}) {
    Scratch memory;
    std::byte* data = Fill(memory, values);
    const auto results = program->Run({&data, 1}, memory);
    ASSERT_TRUE(results.ok());
    EXPECT_EQ(results->at(0)->shape, (Shape{1, found}));
  }
}

TEST(OpProgramTest, WhatIsReadMustBeKnown) {
  const RuleSet rules = *RuleSet::Builtin();
  Result<OpProgram> program = ProgramOf(Question("Neg", {{DType::kF32, {3}}}), rules);
  ASSERT_TRUE(program.ok());
  Scratch memory;
  std::byte* unknown = nullptr;
  EXPECT_FALSE(program->Run({&unknown, 1}, memory).ok());
}

// A user's expansion that does not end, or makes a large tensor, is no program.
TEST(OpProgramTest, HostileExpansionsAreRefused) {
  for (const std::string expansion :
       {"y = test::Grow(x)", "y = ReduceSum(Expand(x, [1000000, 1000]), [0, 1], keepdims=0)"}) {
    RuleSet rules = *RuleSet::Builtin();
    const Status added = rules.Add(
        "op test::Grow(Tensor x) -> Tensor y\n  rule ... -> ...\n  expand\n    " + expansion + "\n", "grow.rules");
    ASSERT_TRUE(added.ok()) << added.message();
    EXPECT_FALSE(ProgramOf(Question("test::Grow", {{DType::kF32, {}}}), rules).ok()) << expansion;
  }
}

}  // namespace
}  // namespace sbp
