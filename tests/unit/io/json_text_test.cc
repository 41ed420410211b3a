#include "io/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {
namespace {

std::string JsonErrorOf(std::string_view text, JsonLimits limits = {}) {
  const Result<nlohmann::json> json = ParseJsonObject(text, "x", limits);
  return json.ok() ? "" : json.status().message();
}

TEST(JsonTextTest, ReadsAnObject) {
  const Result<nlohmann::json> json = ParseJsonObject("{\"a\": [1, {\"b\": null}], \"c\": {\"b\": 1}}", "x");
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_EQ(json->dump(), "{\"a\":[1,{\"b\":null}],\"c\":{\"b\":1}}");
}

TEST(JsonTextTest, SaysWhereItIsBroken) {
  EXPECT_THAT(JsonErrorOf("{\"a\": 1,\n  \"b\" 2}"), testing::StartsWith("x:2:7: not valid JSON: "));
  EXPECT_THAT(JsonErrorOf("{\"a\": 1"), testing::StartsWith("x:1:8: not valid JSON: "));
  EXPECT_THAT(JsonErrorOf(""), testing::StartsWith("x:1:1: not valid JSON: "));
  EXPECT_THAT(JsonErrorOf("{\"a\": 1e999}"), testing::HasSubstr("not valid JSON: number overflow"));
  EXPECT_EQ(JsonErrorOf("[1]"), "x: expected a JSON object, {...}, found a list");
  EXPECT_EQ(JsonErrorOf("1"), "x: expected a JSON object, {...}");
  EXPECT_EQ(JsonErrorOf("{\"a\": 1, \"a\": 2}"), "x: name \"a\" is given twice");
}

// A value takes tens of bytes where its text takes one or two.
TEST(JsonTextTest, BoundsWhatATextTakes) {
  const std::string deep = "{\"a\": " + std::string(1'000'000, '[');
  EXPECT_EQ(JsonErrorOf(deep), "x: JSON nested deeper than 200 brackets");
  const std::string wide = "{\"a\": [1, 2, 3, 4]}";  // an object, a name, a list and its numbers
  EXPECT_EQ(JsonErrorOf(wide, {.values = 7}), "");
  EXPECT_EQ(JsonErrorOf(wide, {.values = 6}), "x: more values and names in JSON than can be read");
}

}  // namespace
}  // namespace sbp
