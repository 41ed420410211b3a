#include "base/name_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sbp {
namespace {

struct Named {
  std::string name;
};

TEST(NameTable, FindsWhatWasInserted) {
  std::vector<Named> items;
  NameTable table;
  EXPECT_EQ(table.Find("a", NameIn(items)), NameTable::kNone);
  for (uint32_t i = 0; i < 5000; ++i) {
    const std::string name = "item" + std::to_string(i);
    EXPECT_EQ(table.Insert(name, i, NameIn(items)), i);
    items.push_back({name});
  }
  for (uint32_t i = 0; i < 5000; ++i) EXPECT_EQ(table.Find(items[i].name, NameIn(items)), i);
  EXPECT_EQ(table.Find("item5000", NameIn(items)), NameTable::kNone);
  EXPECT_EQ(table.Find("", NameIn(items)), NameTable::kNone);
}

TEST(NameTable, TheFirstOfEqualNamesStands) {
  const std::vector<Named> items = {{"a"}, {"b"}, {"a"}, {""}};
  NameTable table;
  table.Reserve(1);  // less than comes
  EXPECT_EQ(table.Insert("a", 0, NameIn(items)), 0U);
  EXPECT_EQ(table.Insert("b", 1, NameIn(items)), 1U);
  EXPECT_EQ(table.Insert("a", 2, NameIn(items)), 0U);
  EXPECT_EQ(table.Insert("", 3, NameIn(items)), 3U);
  EXPECT_EQ(table.Find("", NameIn(items)), 3U);
}

}  // namespace
}  // namespace sbp
