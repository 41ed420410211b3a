#include "huggingface/safetensors.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "base/status.h"

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
  EXPECT_THAT(ErrorOf("{]", 0), HasSubstr("no JSON object"));
  EXPECT_THAT(ErrorOf(std::string(100'000, '['), 0), HasSubstr("no JSON object"));
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
              HasSubstr("12 bytes, and has 8"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,8]}})", 8),
              HasSubstr("too many bytes"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4), HasSubstr("what is no size"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), HasSubstr("[BEGIN, END]"));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})", 4),
              HasSubstr("did you mean \"F32\""));
  EXPECT_THAT(ErrorOf(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                      R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                      0),
              HasSubstr("\"a\" twice"));
}

}  // namespace
}  // namespace sbp
