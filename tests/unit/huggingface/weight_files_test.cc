#include "huggingface/weight_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/text.h"
#include "graph/builder.h"
#include "graph/graph.h"
#include "io/file.h"

namespace sbp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file of u8 tensors, each filled with its own byte.
struct Entry {
  std::string name, shape;
  size_t size;
  char fill;
};
std::string FileOf(const std::vector<Entry>& entries) {
  std::string header = "{", data;
  for (const Entry& entry : entries) {
    header += StrCat(header.size() > 1 ? "," : "", "\"", entry.name, "\":{\"dtype\":\"U8\",\"shape\":", entry.shape,
                     ",\"data_offsets\":[", data.size(), ",", data.size() + entry.size, "]}");
    data += std::string(entry.size, entry.fill);
  }
  header += "}";
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  return length + header + data;
}

Graph GraphOf(const std::vector<std::pair<std::string, Shape>>& parameters) {
  GraphBuilder builder;
  for (const auto& [name, shape] : parameters) {
    builder.AddParameter(name, {DType::kU8, shape});
    builder.AddOp("Identity", "copy/" + name, {name}, {"copied/" + name});
    builder.AddOutput("copied/" + name);
  }
  return *builder.Build("test");
}

class WeightFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& bytes) {
    ASSERT_TRUE(WriteFile((folder_ / name).string(), bytes).ok());
  }
  std::filesystem::path folder_;
};

TEST_F(WeightFilesTest, AFolderOfSeveralFilesIsReadByItsIndex) {
  Write("one.safetensors", FileOf({{"a", "[2]", 2, 'a'}}));
  Write("two.safetensors", FileOf({{"b", "[3]", 3, 'b'}, {"extra", "[1]", 1, 'x'}}));
  Write("model.safetensors.index.json",
        R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","extra":"two.safetensors"}})");
  const Result<WeightFiles> files = WeightFiles::Open(folder_.string());
  ASSERT_TRUE(files.ok()) << files.status().message();
  const Graph graph = GraphOf({{"a", {2}}, {"b", {3}}});
  EXPECT_THAT(files->FitTo(graph).unexpected, ElementsAre("extra"));
  const Result<std::vector<TensorData>> tensors = files->ReadFor(graph);
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  ASSERT_EQ(tensors->size(), 2);
  EXPECT_EQ((*tensors)[1].bytes, "bbb");
}

TEST_F(WeightFilesTest, ExpertsAreJoinedInTheirOrder) {
  std::vector<Entry> entries;
  for (int expert = 0; expert < 2; ++expert) {
    const std::string module = StrCat("m.mlp.experts.", expert, ".");
    entries.push_back({module + "gate_proj.weight", "[1,2]", 2, static_cast<char>('a' + 2 * expert)});
    entries.push_back({module + "up_proj.weight", "[1,2]", 2, static_cast<char>('b' + 2 * expert)});
  }
  Write("model.safetensors", FileOf(entries));
  const Result<WeightFiles> files = WeightFiles::Open(folder_.string());
  ASSERT_TRUE(files.ok()) << files.status().message();
  const Result<std::vector<TensorData>> tensors = files->ReadFor(GraphOf({{"m.mlp.experts.gate_up_proj", {2, 2, 2}}}));
  ASSERT_TRUE(tensors.ok()) << tensors.status().message();
  EXPECT_EQ((*tensors)[0].bytes, "aabbccdd");
}

TEST_F(WeightFilesTest, WhatIsMissingOrOfAnotherShapeIsNamed) {
  Write("model.safetensors", FileOf({{"a", "[2]", 2, 'a'}, {"c", "[1]", 1, 'c'}}));
  const Result<WeightFiles> files = WeightFiles::Open(folder_.string());
  ASSERT_TRUE(files.ok());
  const std::string error = files->ReadFor(GraphOf({{"a", {3}}, {"b", {1}}})).status().message();
  EXPECT_THAT(error, HasSubstr("1 of 2 parameters are missing: b"));
  EXPECT_THAT(error, HasSubstr("a is u8[2], the graph has u8[3]"));
  EXPECT_THAT(error, HasSubstr("tensors that no parameter takes: c"));
}

TEST_F(WeightFilesTest, AnIndexStaysInItsFolderAndSaysWhatIsTrue) {
  Write("one.safetensors", FileOf({{"a", "[2]", 2, 'a'}}));
  const auto error_of = [&](const std::string& map) {
    Write("model.safetensors.index.json", map);
    return WeightFiles::Open(folder_.string()).status().message();
  };
  EXPECT_THAT(error_of(R"({"weight_map":{"a":"../one.safetensors"}})"), HasSubstr("in no file of this folder"));
  EXPECT_THAT(error_of(R"({"weight_map":{"b":"one.safetensors"}})"), HasSubstr("\"b\" is not in one.safetensors"));
  EXPECT_THAT(error_of(R"({"weight_map":3})"), HasSubstr("weight_map"));
  EXPECT_THAT(error_of(R"({"weight_map":{"a":"none.safetensors"}})"), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace sbp
