// Every model of the shared data resolves, with the sizes that its exporter states and that running it gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "fold/bind.h"
#include "fold/resolve.h"
#include "onnx/reader.h"

namespace sbp {
namespace {

const std::filesystem::path kModels = std::filesystem::path(SBP_SHARED_DIR) / "data" / "models";

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

nlohmann::json Index(const std::filesystem::path& folder) {
  nlohmann::json index = nlohmann::json::parse(ReadAll(folder / "index.json"));
  return index.is_object() ? index["models"] : index;
}

// Tensors whose statement in the file is wrong: the ops that lead to it say so.
bool StatedWrongly(const std::string& file, const std::string& tensor) {
  return file == "shipped-plcmos-v2.onnx" && tensor == "plcmos";  // says rank 0; it is one score per batch entry
}

void ExpectStatedSizes(const std::string& file, const Graph& before, const Graph& after) {
  std::map<std::string, const Tensor*> stated;
  for (const Tensor& tensor : before.tensors) stated[tensor.name] = &tensor;
  for (const Tensor& tensor : after.tensors) {
    const auto found = stated.find(tensor.name);
    if (found == stated.end() || StatedWrongly(file, tensor.name)) continue;
    const TensorType type = WithBindings(found->second->type, found->second->symbols, after.bindings);
    if (type.dtype != DType::kUndefined) {
      EXPECT_EQ(DTypeName(type.dtype), DTypeName(tensor.type.dtype)) << tensor.name;
    }
    if (!type.has_rank || type.kind != tensor.type.kind) continue;
    ASSERT_EQ(type.rank(), tensor.type.rank()) << tensor.name;
    for (size_t d = 0; d < type.shape.size(); ++d) {
      if (type.shape[d] == kUnknownDim) continue;
      EXPECT_EQ(type.shape[d], tensor.type.shape[d]) << tensor.name << " dimension " << d;
    }
  }
}

void CheckFolder(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
  Result<RuleSet> rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  for (const nlohmann::json& model : Index(folder)) {
    const std::string file = model["file"];
    SCOPED_TRACE(file);
    const std::string bytes = ReadAll(folder / file);
    EXPECT_TRUE(LooksLikeOnnx(bytes));
    const Result<Graph> graph = ReadOnnx(bytes, file);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ResolveOptions options;
    for (const auto& [symbol, size] : model["binding"].items()) options.bindings[symbol] = size;
    const Result<Resolved> resolved = Resolve(*graph, *rules, options);
    ASSERT_TRUE(resolved.ok()) << resolved.status().message();
    EXPECT_EQ(Verify(resolved->graph, file).message(), "");
    for (const Tensor& tensor : resolved->graph.tensors) EXPECT_TRUE(tensor.type.is_static()) << tensor.name;
    ExpectStatedSizes(file, *graph, resolved->graph);
    if (!model.contains("io_shapes")) continue;
    for (const TensorId id : resolved->graph.outputs) {
      const Tensor& tensor = resolved->graph.tensor(id);
      if (!model["io_shapes"].contains(tensor.name)) continue;
      EXPECT_EQ(Join(tensor.type.shape, ","), Join(model["io_shapes"][tensor.name].get<Shape>(), ",")) << tensor.name;
    }
    // Resolving again changes nothing: a resolved graph needs no bindings.
    const Result<Resolved> again = Resolve(resolved->graph, *rules, {});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(Dump(again->graph), Dump(resolved->graph));
  }
}

TEST(ModelsTest, FullSize) { CheckFolder(kModels); }
TEST(ModelsTest, Tiny) { CheckFolder(kModels / "tiny"); }

// A symbol left out is reported with the inputs that use it and the flag.
TEST(ModelsTest, UnboundSymbols) {
  if (!std::filesystem::exists(kModels)) GTEST_SKIP();
  Result<RuleSet> rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok());
  const Result<Graph> graph = ReadOnnx(ReadAll(kModels / "llama3-8b-decode-kv-bf16.onnx"), "m");
  ASSERT_TRUE(graph.ok());
  ResolveOptions options;
  options.bindings["batch"] = 2;
  const Result<Resolved> resolved = Resolve(*graph, *rules, options);
  ASSERT_FALSE(resolved.ok());
  EXPECT_THAT(resolved.status().message(), testing::HasSubstr("--dim past_seq=N"));
  options.bindings["past_seq + 1"] = 5;  // solved for past_seq
  const Result<Resolved> solved = Resolve(*graph, *rules, options);
  ASSERT_TRUE(solved.ok()) << solved.status().message();
  EXPECT_EQ(solved->graph.bindings.at("past_seq"), 4);
}

}  // namespace
}  // namespace sbp
