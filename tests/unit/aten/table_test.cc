#include "aten/table.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "rule/rule_set.h"
#include "support/expansion_calls.h"

namespace sbp {
namespace {

using testing::HasSubstr;

TEST(AtenTableTest, RowsCallOpsThatTheRulesHave) {
  const Result<AtenTable>& table = AtenTable::Builtin();
  ASSERT_TRUE(table.ok()) << table.status().message();
  const Result<RuleSet> rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok());
  std::set<std::string> ops;
  for (const auto& [name, rows] : table->rows()) {
    for (const OpDefinition& row : rows) {
      for (const Expansion& expansion : row.overloads.front().expansions) CollectCalls(expansion.body, ops);
    }
  }
  EXPECT_GT(ops.size(), 50);
  for (const std::string& op : ops) EXPECT_NE(rules->Find(op), nullptr) << op;
}

TEST(AtenTableTest, AnOverloadOfItsOwnComesFirst) {
  const Result<AtenTable>& table = AtenTable::Builtin();
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->Find("aten::add.Tensor"), table->Find("aten::add"));
  EXPECT_NE(table->Find("aten::view.dtype"), table->Find("aten::view"));
  EXPECT_EQ(table->Find("aten::no_such_op"), nullptr);
}

TEST(AtenTableTest, ErrorsSayWhere) {
  AtenTable table;
  EXPECT_THAT(table.Add("op aten::f(Tensor self) -> Tensor y\n  expand\n    y = Relu(x)\n", "my.aten").message(),
              HasSubstr("my.aten:3:14: unknown name \"x\""));
  EXPECT_THAT(table.Add("op aten::f(Tensor self) -> Tensor y\n", "my.aten").message(),
              HasSubstr("my.aten:1:1: aten::f has no \"expand\""));
}

}  // namespace
}  // namespace sbp
