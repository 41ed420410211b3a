#include "huggingface/safetensors.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/status.h"
#include "base/text.h"

namespace sbp {
namespace {

using testing::HasSubstr;

std::string FileOf(const std::string& header, size_t data) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + std::string(data, '\0');
}

Result<StoredWeights> Read(const std::string& bytes) {
  return ReadSafetensorsHeader(bytes, static_cast<int64_t>(bytes.size()));
}

std::string ErrorOf(const std::string& header, size_t data) {
  const Result<StoredWeights> weights = Read(FileOf(header, data));
  return weights.ok() ? "" : weights.status().message();
}

TEST(SafetensorsTest, TensorsHaveTypesAndPlacesInTheFile) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"none":{"dtype":"I64","shape":[0],"data_offsets":[4,4]}})";
  const Result<StoredWeights> weights = Read(FileOf(header, 16));
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  ASSERT_EQ(weights->size(), 3);
  EXPECT_EQ(ToString(weights->at("b").type), "bf16[2,3]");
  EXPECT_EQ(weights->at("b").offset, static_cast<int64_t>(8 + header.size() + 4));
  EXPECT_EQ(weights->at("b").length, 12);
}

TEST(SafetensorsTest, WhatIsCutOffOrNoSafetensors) {
  EXPECT_THAT(Read("abc").status().message(), HasSubstr("no safetensors"));
  EXPECT_THAT(Read(std::string(16, '\xff')).status().message(), HasSubstr("at most 100000000"));
  const std::string whole = FileOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4);
  EXPECT_TRUE(Read(whole).ok());
  EXPECT_THAT(Read(whole.substr(0, 20)).status().message(), HasSubstr("cut off"));
  EXPECT_THAT(Read(whole.substr(0, whole.size() - 1)).status().message(), HasSubstr("it is cut off"));
  EXPECT_THAT(ErrorOf("{]", 0), HasSubstr("the header:1:2: not valid JSON"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '['), 0), HasSubstr("expected a JSON object"));
}

// As many as the experts of a checkpoint: time must grow with their number, not with its square (which took minutes).
TEST(SafetensorsTest, ManyTensors) {
  std::string header = "{";
  for (int i = 0; i < 200'000; ++i) {
    header += StrCat(i == 0 ? "" : ",", "\"n", i, R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
  }
  const auto start = std::chrono::steady_clock::now();
  const Result<StoredWeights> weights = Read(FileOf(header + "}", 0));
  ASSERT_TRUE(weights.ok()) << weights.status().message();
  EXPECT_EQ(weights->size(), 200'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

// Fewer bytes than the length of the header takes say nothing about it.
TEST(SafetensorsTest, AFileOfAFewBytesIsNone) {
  const std::string path = ::testing::TempDir() + "/few.safetensors";
  for (size_t size = 0; size < 8; ++size) {
    std::ofstream(path, std::ios::binary) << std::string(size, '\xff');
    EXPECT_THAT(ReadSafetensorsFile(path).status().message(), HasSubstr("few.safetensors")) << size;
    EXPECT_THAT(ReadSafetensorsFile(path).status().message(), HasSubstr("no safetensors")) << size;
  }
  std::remove(path.c_str());
}

TEST(SafetensorsTest, EveryByteBelongsToOneTensorOfItsSize) {
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                      R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                      8),
              HasSubstr("overlaps"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
              HasSubstr("4 bytes before \"a\""));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8), HasSubstr("4 bytes at the end"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              HasSubstr("takes 12 bytes; \"data_offsets\" give it 8"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8]}})", 8),
              HasSubstr("too many bytes"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
              HasSubstr("whole numbers of at least 0"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), HasSubstr("[BEGIN, END]"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4),
              HasSubstr("did you mean \"F32\""));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                      R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                      0),
              HasSubstr("\"a\" is given twice"));
}

}  // namespace
}  // namespace sbp
