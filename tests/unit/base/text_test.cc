#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/status.h"

namespace sbp {
namespace {

TEST(Text, Concatenates) {
  const std::string_view view = "view";
  EXPECT_EQ(StrCat("a", std::string("b"), 'c', view, int64_t{-5}, uint64_t{18446744073709551615U}, 0, true, 0.5, 1e30),
            "abcview-518446744073709551615010.51e+30");
  EXPECT_EQ(StrCat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(StrCat(), "");
  EXPECT_EQ(Join(std::vector<int>{1, -2, 3}, ", "), "1, -2, 3");
  EXPECT_EQ(Join(std::vector<bool>{true, false}, "/"), "1/0");
}

TEST(Text, Splits) {
  EXPECT_EQ(Split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(Split("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(Trim(" \t a b\n"), "a b");
  EXPECT_EQ(Trim("  "), "");
  EXPECT_EQ(Join(std::vector<int>{1, 2, 3}, ", "), "1, 2, 3");
}

TEST(Text, QuotesControlCharacters) {
  EXPECT_EQ(Quote("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\n\\x01\"");
  EXPECT_EQ(Quote(std::string(1000, 'x')).size(), 405u);
}

TEST(Text, ParsesWholeTextsOnly) {
  EXPECT_EQ(ParseInt("42"), 42);
  EXPECT_EQ(ParseInt("-42"), -42);
  EXPECT_EQ(ParseInt("+42"), 42);
  for (const char* bad : {"", "4x", " 4", "9223372036854775808", "+-4", "1.0"})
    EXPECT_EQ(ParseInt(bad), std::nullopt) << bad;
  EXPECT_EQ(ParseDouble("1e-3"), 1e-3);
  EXPECT_EQ(ParseDouble("1e-3s"), std::nullopt);
}

TEST(Text, ParsesBytes) {
  const struct {
    const char* text;
    std::optional<int64_t> bytes;
  } kRows[] = {{"1024", 1024},
               {"80GB", 80000000000},
               {"80GiB", 85899345920},
               {"512 MB", 512000000},
               {"1.5kB", 1500},
               {"2g", 2000000000},
               {"9223372036854775807", 9223372036854775807},
               {"9223372036854775808", std::nullopt},
               {"99999999999TB", std::nullopt},
               {"-1GB", std::nullopt},
               {"GB", std::nullopt},
               {"", std::nullopt},
               {"8 apples", std::nullopt}};
  for (const auto& row : kRows) EXPECT_EQ(ParseBytes(row.text), row.bytes) << row.text;
}

TEST(Text, ParsesSeconds) {
  const struct {
    const char* text;
    std::optional<double> seconds;
  } kRows[] = {{"0.8", 0.8},          {"1e-7", 1e-7},        {"2s", 2},
               {" 250 ms ", .25},     {"64us", 64e-6},       {"1e3ns", 1e3 * 1e-9},
               {"-1s", -1},           {"ms", std::nullopt},  {"", std::nullopt},
               {"1 m", std::nullopt}, {"1ks", std::nullopt}, {"1s s", std::nullopt}};
  for (const auto& row : kRows) EXPECT_EQ(ParseSeconds(row.text), row.seconds) << row.text;
}

TEST(Text, FormatsShortestDoubles) {
  const struct {
    double value;
    const char* text;
  } kRows[] = {{1, "1"},         {0.1, "0.1"},    {1e15, "1000000000000000"},
               {-3, "-3"},       {1e-9, "1e-09"}, {1.0 / 3, "0.3333333333333333"},
               {1e300, "1e+300"}};
  for (const auto& row : kRows) {
    EXPECT_EQ(FormatDouble(row.value), row.text);
    EXPECT_EQ(ParseDouble(row.text), row.value);
  }
}

TEST(Text, FormatsForPeople) {
  EXPECT_EQ(FormatBytes(1.5e9), "1.50 GB");
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(999999), "1.00 MB");
  EXPECT_EQ(FormatBytes(123456), "123 kB");
  EXPECT_EQ(FormatSeconds(0.00231), "2.31 ms");
  EXPECT_EQ(FormatSeconds(0), "0 s");
  EXPECT_EQ(FormatSeconds(1234), "1234 s");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
  EXPECT_EQ(FormatCount(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Text, MatchesGlobs) {
  const struct {
    const char* pattern;
    const char* text;
    bool match;
  } kRows[] = {{"abc", "abc", true},       {"abc", "abcd", false},      {"*", "", true},        {"a*", "abc", true},
               {"*c", "abc", true},        {"a*c", "ac", true},         {"a*a", "a", false},    {"*b*", "abc", true},
               {"a*b*c", "axxbyyc", true}, {"a*b*c", "axxcyyb", false}, {"", "", true},         {"", "a", false},
               {"**", "x", true},          {"l*.w*", "l1.w2", true},    {"*aab", "aaab", true}, {"a**c", "abc", true}};
  for (const auto& row : kRows)
    EXPECT_EQ(GlobMatch(row.pattern, row.text), row.match) << row.pattern << " " << row.text;
}

TEST(Text, SuggestsNames) {
  const std::vector<std::string> known = {"MatMul", "Mul", "Max", "Relu", "LeakyRelu"};
  EXPECT_EQ(NearestNames("Matmull", known), (std::vector<std::string>{"MatMul"}));
  EXPECT_EQ(NearestNames("mul", known), (std::vector<std::string>{"Mul"}));
  EXPECT_EQ(NearestNames("eRlu", known), (std::vector<std::string>{"Relu"}));
  EXPECT_TRUE(NearestNames("Convolution", known).empty());
  EXPECT_EQ(DidYouMean("Mal", known), " (did you mean \"Mul\" or \"Max\"?)");
  EXPECT_EQ(DidYouMean("Convolution", known), "");
}

TEST(Hash, FingerprintIsFnv1a) {
  EXPECT_EQ(Fingerprint(""), "fnv1a64:cbf29ce484222325");
  EXPECT_EQ(Fingerprint("a"), "fnv1a64:af63dc4c8601ec8c");
}

TEST(Status, CarriesContext) {
  const Status status = BadInput("no such op").WithContext("a.onnx");
  EXPECT_EQ(status.message(), "a.onnx: no such op");
  EXPECT_EQ(status.code(), Code::kBadInput);
  EXPECT_TRUE(OkStatus().WithContext("x").ok());
}

}  // namespace
}  // namespace sbp
