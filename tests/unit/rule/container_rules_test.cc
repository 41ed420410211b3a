// Signals, strings, sequences, optionals, subgraphs.
#include <gtest/gtest.h>

#include "unit/rule/builtin_case.h"

namespace sbp {
namespace {

TEST(ContainerRules, Signals) {
  ExpectAll({
      {"DFT",
       {"f32[4,16,6,1]", "-", "i64[] = 1"},
       "onesided=1",
       1,
       "f32[4,9,6,2] | S(0), B, B -> S(0); S(2), B, B -> S(2); P(sum), B, B -> P(sum)"},
      {"DFT", {"f32[4,9,2]"}, "inverse=1 onesided=1", 1, "f32[4,16,1] | S(0) -> S(0); P(sum) -> P(sum)"},
      {"DFT", {"f32[4,16,1]"}, "axis=1 onesided=1", 1, "f32[4,9,2] | S(0) -> S(0); P(sum) -> P(sum)"},
      {"STFT",
       {"f32[4,64,1]", "i64[] = 8", "f32[16]"},
       "",
       1,
       "f32[4,7,9,2] | S(0), B, B -> S(0); P(sum), B, B -> P(sum); B, B, P(sum) -> P(sum)"},
      {"STFT",
       {"f32[4,64,1]", "i64[]", "f32[16]"},
       "",
       1,
       "STFT(): the value of 'frame_step' (operand 1) must be known, and is not"},
      {"Det", {"f32[4,8,8]"}, "", 1, "f32[4] | S(0) -> S(0)"},
      {"Det", {"f32[8,8]"}, "", 1, "f32[] | "},
      {"com.microsoft::Inverse", {"f32[4,8,8]"}, "", 1, "f32[4,8,8] | S(0) -> S(0)"},
      {"Det",
       {"f32[4,8,6]"},
       "",
       1,
       "Det(): sizes of i differ: 8 in 'X' (dimension 1 of f32[4,8,6]), 6 in 'X' (dimension 2 of f32[4,8,6])"},
  });
}

TEST(ContainerRules, Strings) {
  ExpectAll({
      {"StringConcat", {"string[4]", "string[2,1]"}, "", 1, "string[2,4] | B, S(0) -> S(0); S(0), B -> S(1)"},
      {"RegexFullMatch", {"string[4]"}, "pattern=a*", 1, "bool[4] | S(0) -> S(0)"},
      {"StringNormalizer", {"string[4]"}, "", 1, "string[4] | S(0) -> S(0)"},
      {"StringSplit", {"string[4]"}, "maxsplit=2", 2, "string[4,3], i64[4] | "},
      {"TfIdfVectorizer",
       {"i64[4,9]"},
       "max_gram_length=1 max_skip_count=0 min_gram_length=1 mode=TF ngram_counts=[0] ngram_indexes=[0,5]",
       1,
       "f32[4,6] | S(0) -> S(0)"},
      {"ImageDecoder",
       {"u8[100]"},
       "",
       1,
       "ImageDecoder(): the shape of result 0 depends on values; the model must state it (value_info)"},
  });
}

TEST(ContainerRules, Sequences) {
  ExpectAll({
      {"SequenceConstruct", {"f32[4,6]", "f32[2,6]"}, "", 1, "sequence(f32[2,4,6]) | "},
      {"SequenceEmpty", {}, "dtype=7", 1, "sequence(i64[0]) | "},
      {"SplitToSequence", {"f32[4,6]"}, "keepdims=0", 1, "sequence(f32[4,6]) | "},
      {"SplitToSequence", {"f32[4,6]", "i64[2] = 1 3"}, "", 1, "sequence(f32[2,3,6]) | "},
      {"Optional", {"f32[4]"}, "", 1, "optional(f32[4]) | "},
      {"OptionalHasElement", {"f32[4]"}, "", 1, "bool[] | "},
      {"OptionalGetElement", {"f32[4]"}, "", 1, "f32[4] | "},
  });
}

}  // namespace
}  // namespace sbp
