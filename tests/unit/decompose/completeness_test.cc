// Every built-in op is a primitive, or expands into primitives without cycles, or has no tensor semantics.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "decompose/decompose.h"
#include "decompose/expansions.h"
#include "decompose/primitives.h"
#include "support/expansion_calls.h"

namespace sbp {
namespace {

const RuleSet& Rules() {
  static const RuleSet rules = RuleSet::Builtin().value();
  return rules;
}

// Families whose values are no tensors of numbers, and single such ops.
bool HasNoTensorSemantics(const OpDefinition& op) {
  static const std::map<std::string_view, std::string_view> kFamilies = {
      {"sequence", "containers of tensors"},
      {"text", "strings"},
  };
  static const std::map<std::string_view, std::string_view> kOps = {
      {"ImageDecoder", "decodes files of images"},
      {"ai.onnx.preview.training::Gradient", "differentiates the graph around it"},
  };
  return kFamilies.contains(op.family) || kOps.contains(op.name);
}

TEST(Completeness, EveryOpIsAPrimitiveOrExpands) {
  for (const auto& [name, op] : Rules().ops()) {
    const bool is_done = FindPrimitive(name) != nullptr || HasExpansion(name, Rules());
    if (HasNoTensorSemantics(op)) {
      EXPECT_FALSE(is_done) << name << " has tensor semantics after all";
    } else {
      EXPECT_TRUE(is_done) << name;
    }
  }
}

TEST(Completeness, PrimitivesAreKnownOpsWithoutExpansion) {
  std::string_view previous;
  for (const PrimitiveRow& row : AllPrimitives()) {
    EXPECT_LT(previous, row.op) << "the table is sorted";
    previous = row.op;
    EXPECT_NE(Rules().Find(row.op), nullptr) << row.op;
    EXPECT_FALSE(HasExpansion(row.op, Rules())) << row.op;
    EXPECT_FALSE(PrimitiveClassName(row.kind).empty()) << row.op;
  }
}

TEST(Completeness, CodeExpandsKnownOpsThatHaveNoText) {
  std::string_view previous;
  for (const ExpansionRow& row : AllExpansions()) {
    EXPECT_LT(previous, row.op) << "the table is sorted";
    previous = row.op;
    const OpDefinition* op = Rules().Find(row.op);
    ASSERT_NE(op, nullptr) << row.op;
    for (const OpOverload& overload : op->overloads) EXPECT_TRUE(overload.expansions.empty()) << row.op;
  }
}

TEST(Completeness, TextCallsKnownOpsWithoutCycles) {
  std::map<std::string, std::set<std::string>> calls;
  for (const auto& [name, op] : Rules().ops()) {
    for (const OpOverload& overload : op.overloads) {
      for (const Expansion& expansion : overload.expansions) CollectCalls(expansion.body, calls[name]);
    }
    for (const std::string& called : calls[name]) {
      EXPECT_NE(Rules().Find(called), nullptr) << name << " calls " << called;
      EXPECT_TRUE(FindPrimitive(called) != nullptr || HasExpansion(called, Rules()))
          << name << " calls " << called << ", which does not expand";
    }
  }
  std::map<std::string, int> state;  // 1: on the path, 2: done
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    ASSERT_NE(state[name], 1) << "a cycle through " << name;
    if (state[name] == 2 || FindPrimitive(name) != nullptr) return;
    state[name] = 1;
    for (const std::string& called : calls[name]) visit(called);
    state[name] = 2;
  };
  for (const auto& [name, op] : Rules().ops()) visit(name);
}

}  // namespace
}  // namespace sbp
