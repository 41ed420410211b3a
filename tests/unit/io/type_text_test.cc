#include "io/type_text.h"

#include <gtest/gtest.h>

#include "io/base64.h"
#include "io/utf8.h"

namespace sbp {
namespace {

struct TypeTextRow {
  std::string_view text;
  Shape shape;
  std::vector<std::string> symbols;
  std::string_view canonical = "";  // when it differs
};

TEST(TypeText, RoundTrips) {
  const TypeTextRow rows[] = {
      {"f32[]", {}, {}},
      {"f32[16,32]", {16, 32}, {}},
      {"f32[16,?]", {16, kUnknownDim}, {}},
      {"f32[batch,16]", {kUnknownDim, 16}, {"batch", ""}},
      {"f32[ batch , 16 ]", {kUnknownDim, 16}, {"batch", ""}, "f32[batch,16]"},
      {"f32[batch=8,?]", {8, kUnknownDim}, {"batch", ""}},
      {"f32[past_seq + 1]", {kUnknownDim}, {"past_seq + 1"}},
      {"f32[max(a, b),2]", {kUnknownDim, 2}, {"max(a, b)", ""}},
      {"f32['a,b','it\\'s','7','...']",
       {kUnknownDim, kUnknownDim, kUnknownDim, kUnknownDim},
       {"a,b", "it's", "7", "..."}},
      {"f32['x]'=3]", {3}, {"x]"}},
      {"f32['plain']", {kUnknownDim}, {"plain"}, "f32[plain]"},
      {"sequence(f32[n])", {kUnknownDim}, {"n"}},
  };
  for (const TypeTextRow& row : rows) {
    const Result<SymbolicType> type = ParseTypeText(row.text);
    ASSERT_TRUE(type.ok()) << type.status().message();
    EXPECT_EQ(type->type.shape, row.shape) << row.text;
    EXPECT_EQ(type->symbols, row.symbols) << row.text;
    EXPECT_EQ(FormatTypeText(type->type, type->symbols), row.canonical.empty() ? row.text : row.canonical);
  }
  EXPECT_FALSE(ParseTypeText("f32[...]").value().type.has_rank);
}

TEST(TypeText, Errors) {
  for (const std::string_view text :
       {"", "f32", "f32[", "f32[1,]", "f32[,1]", "f32[a b!]", "f32['a]", "f32['a'b]", "f32[a=b]", "f32[a=-1]",
        "f32['']", "f32[1 2]", "f32[99999999999999999999]", "x[1]"}) {
    EXPECT_FALSE(ParseTypeText(text).ok()) << text;
  }
  std::string many = "f32[1";
  for (int i = 0; i < kMaxRank; ++i) many += ",1";
  EXPECT_FALSE(ParseTypeText(many + "]").ok());
}

TEST(Base64, KnownTexts) {
  const std::pair<std::string, std::string> rows[] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                                      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe\x3f", "//4/"}};
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(Base64Encode(bytes), text);
    EXPECT_EQ(Base64Decode(text), bytes);
  }
  for (const std::string_view bad : {"Z", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm 9"}) {
    EXPECT_FALSE(Base64Decode(bad).has_value()) << bad;
  }
}

TEST(Utf8, EscapesWhatIsNotUtf8) {
  const std::pair<std::string, std::string> rows[] = {{"plain", "plain"},
                                                      {"é €", "é €"},
                                                      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                                                      {"a\xff", "a\\xff"},
                                                      {"\xc0\xaf", "\\xc0\\xaf"},
                                                      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
                                                      {"\xe2\x82", "\\xe2\\x82"}};
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(ToUtf8(bytes), text);
    EXPECT_EQ(IsUtf8(bytes), bytes == text);
  }
}

}  // namespace
}  // namespace sbp
