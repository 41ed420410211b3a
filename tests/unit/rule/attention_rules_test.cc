// Attention, rotary positions and recurrent cells.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "unit/rule/ask.h"
#include "unit/rule/builtin_case.h"

namespace sbp {
namespace {

TEST(AttentionRules, Standard) {
  ExpectAll({
      {"Attention",
       {"f32[4,8,6,16]", "f32[4,2,10,16]", "f32[4,2,10,12]"},
       "",
       1,
       "f32[4,8,6,12] | S(0), S(0), S(0) -> S(0); S(1), S(1), S(1) -> S(1); S(2), B, B -> S(2); B, B, S(3) -> S(3); B, "
       "B, P(sum) -> P(sum)"},
      {"Attention",
       {"f32[4,6,128]", "f32[4,10,32]", "f32[4,10,32]"},
       "q_num_heads=8 kv_num_heads=2",
       1,
       "f32[4,6,128] | S(0), S(0), S(0) -> S(0); S(1), B, B -> S(1); S(2), S(2), S(2) -> S(2); B, B, P(sum) -> P(sum)"},
      {"Attention",
       {"f32[4,8,6,16]", "f32[4,1,10,16]", "f32[4,1,10,16]"},
       "",
       1,
       "f32[4,8,6,16] | S(0), S(0), S(0) -> S(0); S(1), B, B -> S(1); S(2), B, B -> S(2); B, B, S(3) -> S(3); B, B, "
       "P(sum) -> P(sum)"},
      {"Attention",
       {"f32[4,8,1,16]", "f32[4,2,1,16]", "f32[4,2,1,16]", "f32[4,1,1,8]", "f32[4,2,7,16]", "f32[4,2,7,16]"},
       "is_causal=1",
       4,
       "f32[4,8,1,16], f32[4,2,8,16], f32[4,2,8,16], f32[4,8,1,8] | S(0), S(0), S(0), S(0), S(0), S(0) -> S(0), S(0), "
       "S(0), S(0); S(1), S(1), S(1), B, S(1), S(1) -> S(1), S(1), S(1), S(1); B, B, S(3), B, B, S(3) -> S(3), B, "
       "S(3), B; B, B, P(sum), B, B, P(sum) -> P(sum), B, P(sum), B"},
      {"Attention",
       {"f32[4,8,6,16]", "f32[4,8,6,16]", "f32[4,8,6,16]", "bool[6,6]"},
       "",
       1,
       "f32[4,8,6,16] | S(0), S(0), S(0), B -> S(0); S(1), S(1), S(1), B -> S(1); S(2), B, B, S(0) -> S(2); B, B, "
       "S(3), B -> S(3); B, B, P(sum), B -> P(sum)"},
      // What the backward pass keeps, of 32 bits; caches and scores are made with it here.
      {"Attention",
       {"bf16[4,6,128]", "bf16[4,10,32]", "bf16[4,10,32]"},
       "q_num_heads=8 kv_num_heads=2",
       5,
       "bf16[4,6,128], bf16[4,2,10,16], bf16[4,2,10,16], bf16[4,8,6,10], f32[4,8,6] | S(0), S(0), S(0) -> S(0), S(0), "
       "S(0), S(0), S(0); S(1), B, B -> S(1), B, B, S(2), S(2); S(2), S(2), S(2) -> S(2), S(1), S(1), S(1), S(1); B, "
       "B, "
       "P(sum) -> P(sum), B, P(sum), B, B"},
      {"Attention",
       {"f32[4,6,128]", "f32[4,10,32]", "f32[4,10,32]"},
       "",
       1,
       "Attention(): 3-d operands need the attributes q_num_heads and kv_num_heads"},
      {"Attention",
       {"f32[4,7,6,16]", "f32[4,2,6,16]", "f32[4,2,6,16]"},
       "",
       1,
       "Attention(): 7 query heads do not divide among 2 key/value heads"},
  });
}

TEST(AttentionRules, Flash) {
  ExpectAll({
      {"sbp::FlashAttention",
       {"bf16[4,2,4,6,16]", "bf16[4,2,10,16]", "bf16[4,2,10,12]"},
       "",
       2,
       "bf16[4,2,4,6,12], f32[4,2,4,6] | S(0), S(0), S(0) -> S(0), S(0); S(1), S(1), S(1) -> S(1), S(1); S(2), B, B -> "
       "S(2), S(2); S(3), B, B -> S(3), S(3); B, B, S(3) -> S(4), B; B, B, P(sum) -> P(sum), B"},
      {"sbp::FlashAttentionGrad",
       {"f32[4,2,4,6,16]", "f32[4,2,10,16]", "f32[4,2,10,12]", "f32[1,1,1,6,10]", "-", "f32[4,2,4,6,12]",
        "f32[4,2,4,6]", "f32[4,2,4,6,12]"},
       "is_causal=1",
       3,
       "f32[4,2,4,6,16], f32[4,2,10,16], f32[4,2,10,12] | S(0), S(0), S(0), B, B, S(0), S(0), S(0) -> S(0), S(0), "
       "S(0); "
       "S(1), S(1), S(1), B, B, S(1), S(1), S(1) -> S(1), S(1), S(1); S(2), B, B, B, B, S(2), S(2), S(2) -> S(2), "
       "P(sum), P(sum); S(3), B, B, S(3), B, S(3), S(3), S(3) -> S(3), P(sum), P(sum); B, B, B, B, B, B, B, P(sum) -> "
       "P(sum), P(sum), P(sum)"},
  });
}

double FlopsOf(const char* op, const std::vector<std::string>& operands,
               const std::vector<std::pair<std::string, AttributeValue>>& attributes) {
  const auto instance = testing::Ask(BuiltinRules(), {.op = op, .operands = operands, .attributes = attributes});
  EXPECT_TRUE(instance.ok()) << instance.status().message();
  return instance.ok() ? (*instance)->flops : -1;
}

// A row sees the keys before it and its own: of n positions, (n + 1) / 2 on the mean; with a cache of p, p more.
TEST(AttentionRules, CausalFlopsAreOfWhatIsSeen) {
  const std::vector<std::string> heads = {"f32[1,1,8,4]", "f32[1,1,8,4]", "f32[1,1,8,4]"};
  EXPECT_EQ(FlopsOf("Attention", heads, {}), 2 * 8 * 8 * (4 + 4));
  EXPECT_EQ(FlopsOf("Attention", heads, {{"is_causal", int64_t{1}}}), 2 * 36 * (4 + 4));
  const std::vector<std::string> next = {"f32[1,1,1,4]", "f32[1,1,1,4]", "f32[1,1,1,4]", "",
                                         "f32[1,1,7,4]", "f32[1,1,7,4]"};
  EXPECT_EQ(FlopsOf("Attention", next, {{"is_causal", int64_t{1}}}), FlopsOf("Attention", next, {}));
  const std::vector<std::string> flash = {"f32[1,1,1,8,4]", "f32[1,1,8,4]", "f32[1,1,8,4]"};
  EXPECT_EQ(FlopsOf("sbp::FlashAttention", flash, {}), 2 * 8 * 8 * (4 + 4));
  EXPECT_EQ(FlopsOf("sbp::FlashAttention", flash, {{"is_causal", int64_t{1}}}), 2 * 36 * (4 + 4));
  const std::vector<std::string> backward = {"f32[1,1,1,8,4]", "f32[1,1,8,4]", "f32[1,1,8,4]",  "", "",
                                             "f32[1,1,1,8,4]", "f32[1,1,1,8]", "f32[1,1,1,8,4]"};
  EXPECT_EQ(FlopsOf("sbp::FlashAttentionGrad", backward, {{"is_causal", int64_t{1}}}), 2 * 36 * 5 * 4);
}

// Pairs counted one by one, of 6 queries behind a cache of 3 keys.
TEST(AttentionRules, FlopsAreOfWhatWindowsShow) {
  constexpr int64_t kQueries = 6, kPast = 3, kKeys = kQueries + kPast;
  const std::vector<std::string> cached = {"f32[1,1,6,4]", "f32[1,1,6,4]", "f32[1,1,6,4]", "",
                                           "f32[1,1,3,4]", "f32[1,1,3,4]"};
  const std::vector<std::string> flash = {"f32[1,1,1,6,4]", "f32[1,1,9,4]", "f32[1,1,9,4]"};
  const std::vector<std::string> backward = {"f32[1,1,1,6,4]", "f32[1,1,9,4]", "f32[1,1,9,4]",  "", "",
                                             "f32[1,1,1,6,4]", "f32[1,1,1,6]", "f32[1,1,1,6,4]"};
  for (const int64_t causal : {0, 1}) {
    for (int64_t left = -1; left <= kKeys; ++left) {
      for (int64_t right = -1; right <= kKeys; ++right) {
        double seen = 0;
        for (int64_t query = kPast; query < kKeys; ++query) {
          for (int64_t key = 0; key < kKeys; ++key) {
            const bool hidden = (causal != 0 && key > query) || (right >= 0 && key > query + right) ||
                                (left >= 0 && key < query - left);
            seen += hidden ? 0 : 1;
          }
        }
        std::vector<std::pair<std::string, AttributeValue>> attributes = {
            {"is_causal", causal}, {"left_window_size", left}, {"right_window_size", right}};
        EXPECT_EQ(FlopsOf("Attention", cached, attributes), 2 * seen * 8) << causal << " " << left << " " << right;
        attributes.emplace_back("past", kPast);
        EXPECT_EQ(FlopsOf("sbp::FlashAttention", flash, attributes), 2 * seen * 8) << left << " " << right;
        EXPECT_EQ(FlopsOf("sbp::FlashAttentionGrad", backward, attributes), 2 * seen * 20) << left << " " << right;
      }
    }
  }
}

// Rows behind the last key see none of those that the window has left behind.
TEST(AttentionRules, FlopsOfWindowsOverFewKeysAreOfWhatThereIs) {
  constexpr int64_t kQueries = 12, kKeys = 3;
  const std::vector<std::string> few = {"f32[1,1,12,4]", "f32[1,1,3,4]", "f32[1,1,3,4]"};
  const std::vector<std::string> flash = {"f32[1,1,1,12,4]", "f32[1,1,3,4]", "f32[1,1,3,4]"};
  for (int64_t left = 0; left <= kQueries; ++left) {
    double seen = 0;
    for (int64_t query = 0; query < kQueries; ++query) {
      for (int64_t key = 0; key < kKeys; ++key) seen += key >= query - left ? 1 : 0;
    }
    EXPECT_EQ(FlopsOf("Attention", few, {{"left_window_size", left}}), 2 * seen * 8) << left;
    EXPECT_EQ(FlopsOf("sbp::FlashAttention", flash, {{"left_window_size", left}}), 2 * seen * 8) << left;
  }
}

TEST(AttentionRules, Rotary) {
  ExpectAll({
      {"RotaryEmbedding",
       {"f32[4,8,6,16]", "f32[100,8]", "f32[100,8]", "i64[4,6]"},
       "",
       1,
       "f32[4,8,6,16] | S(0), B, B, S(0) -> S(0); S(1), B, B, B -> S(1); S(2), B, B, S(1) -> S(2); P(sum), B, B, B -> "
       "P(sum); B, P(sum), P(sum), B -> P(sum)"},
      {"RotaryEmbedding",
       {"f32[4,6,128]", "f32[4,6,8]", "f32[4,6,8]"},
       "num_heads=8",
       1,
       "f32[4,6,128] | S(0), S(0), S(0) -> S(0); S(1), S(1), S(1) -> S(1); S(2), B, B -> S(2); P(sum), B, B -> P(sum); "
       "B, P(sum), P(sum) -> P(sum)"},
      {"com.microsoft::RotaryEmbedding",
       {"f32[4,6,128]", "i64[1]", "f32[100,8]", "f32[100,8]"},
       "",
       1,
       "f32[4,6,128] | S(0), B, B, B -> S(0); S(1), B, B, B -> S(1); S(2), B, B, B -> S(2); P(sum), B, B, B -> P(sum)"},
  });
}

TEST(AttentionRules, Microsoft) {
  ExpectAll({
      {"com.microsoft::Attention",
       {"f32[4,6,32]", "f32[32,96]", "f32[96]", "i32[4]"},
       "num_heads=4",
       2,
       "f32[4,6,32], f32[2,4,4,6,8] | S(0), B, B, S(0) -> S(0), S(1); B, B, B, B -> S(2), S(2)"},
      {"com.microsoft::MultiHeadAttention",
       {"f32[4,6,32]", "f32[4,10,32]", "f32[4,10,32]"},
       "num_heads=4",
       1,
       "f32[4,6,32] | S(0), S(0), S(0) -> S(0); S(1), B, B -> S(1); S(2), S(2), S(2) -> S(2); B, B, P(sum) -> P(sum)"},
      {"com.microsoft::MultiHeadAttention",
       {"f32[4,6,4,3,8]"},
       "num_heads=4",
       1,
       "f32[4,6,32] | S(0) -> S(0); S(2) -> S(2)"},
      {"com.microsoft::GroupQueryAttention",
       {"f16[8,1,128]", "f16[8,1,32]", "f16[8,1,32]", "f16[8,2,7,16]", "f16[8,2,7,16]", "i32[8]", "i32[] = 8",
        "f16[100,8]", "f16[100,8]"},
       "num_heads=8 kv_num_heads=2 do_rotary=1",
       3,
       "f16[8,1,128], f16[8,2,8,16], f16[8,2,8,16] | S(0), S(0), S(0), S(0), S(0), S(0), B, B, B -> S(0), S(0), S(0); "
       "S(2), S(2), S(2), S(1), S(1), B, B, B, B -> S(2), S(1), S(1); B, B, P(sum), B, P(sum), B, B, B, B -> P(sum), "
       "B, P(sum)"},
      {"com.microsoft::GroupQueryAttention",
       {"f16[8,4,192]", "-", "-", "-", "-", "i32[8]", "i32[]"},
       "num_heads=8 kv_num_heads=2",
       3,
       "f16[8,4,128], f16[8,2,4,16], f16[8,2,4,16] | S(0), B, B, B, B, S(0), B -> S(0), S(0), S(0); B, B, B, B, B, B, "
       "B -> S(2), S(1), S(1)"},
  });
}

TEST(AttentionRules, Recurrent) {
  ExpectAll({
      {"LSTM",
       {"f32[10,4,6]", "f32[2,32,6]", "f32[2,32,8]", "f32[2,64]", "i32[4]", "f32[2,4,8]", "f32[2,4,8]", "f32[2,24]"},
       "direction=bidirectional hidden_size=8",
       3,
       "f32[10,2,4,8], f32[2,4,8], f32[2,4,8] | B, S(0), S(0), S(0), B, S(0), S(0), S(0) -> S(1), S(0), S(0); S(1), B, "
       "B, B, S(0), S(1), S(1), B -> S(2), S(1), S(1)"},
      {"GRU",
       {"f32[4,10,6]", "f32[1,24,6]", "f32[1,24,8]"},
       "layout=1 hidden_size=8",
       2,
       "f32[4,10,1,8], f32[4,1,8] | S(0), B, B -> S(0), S(0)"},
      {"RNN", {"f32[10,4,6]", "f32[1,8,6]", "f32[1,8,8]"}, "", 1, "f32[10,1,4,8] | S(1), B, B -> S(2)"},
      {"RNN",
       {"f32[10,4,6]", "f32[1,8,5]", "f32[1,8,8]"},
       "",
       1,
       "RNN(): dimension 2 of operand 1 \"W\" must be 6 (the width of X), but it is f32[1,8,5]"},
      {"com.microsoft::DynamicQuantizeLSTM",
       {"f32[10,4,6]", "i8[2,6,32]", "i8[2,8,32]", "f32[2,64]", "-", "-", "-", "-", "f32[2]", "i8[2]", "f32[2]",
        "i8[2]"},
       "direction=bidirectional",
       1,
       "f32[10,2,4,8] | B, S(0), S(0), S(0), B, B, B, B, S(0), S(0), S(0), S(0) -> S(1)"},
  });
}

}  // namespace
}  // namespace sbp
