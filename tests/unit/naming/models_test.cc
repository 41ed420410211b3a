// How many weights of real models can be named by scope and role, before (their own names) and after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/text.h"
#include "fold/resolve.h"
#include "io/pins.h"
#include "naming/module_index.h"
#include "naming/own_name.h"
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

// The op that multiplies by a parameter, through what only changes its form.
const Op* ProductOf(const Graph& graph, const UseTable& uses, TensorId id) {
  const std::set<std::string> products = {"MatMul",
                                          "Gemm",
                                          "Conv",
                                          "ConvTranspose",
                                          "MatMulInteger",
                                          "com.microsoft::MatMulNBits",
                                          "com.microsoft::Attention"};
  const std::set<std::string> forms = {"Transpose", "Cast", "DequantizeLinear", "Reshape"};
  for (int i = 0; i < 8; ++i) {
    const auto [begin, end] = uses.of(id);
    if (begin == end || begin->operand > 1) return nullptr;
    const Op& op = graph.op(begin->op);
    if (products.contains(graph.type_of(op))) return &op;
    if (!forms.contains(graph.type_of(op)) || begin->operand != 0) return nullptr;
    id = op.outputs[0];
  }
  return nullptr;
}

struct Share {
  int weights = 0, own = 0, named = 0, by_module = 0;
};

Share Count(const Graph& graph, bool print) {
  const ModuleIndex index(graph);
  const UseTable uses = BuildUses(graph);
  Share share;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (tensor.role != TensorRole::kParameter || tensor.type.rank() < 2) continue;
    const Op* product = ProductOf(graph, uses, TensorId(t));
    if (product == nullptr) continue;
    ++share.weights;
    const OwnName own = ReadOwnName(tensor.name);
    share.own += !own.anonymous && !own.scope.empty();
    const ModuleName* name = index.names().Find(TensorId(t));
    if (print) std::cout << "  " << index.names().Label(graph, TensorId(t)) << "\n";
    if (name == nullptr) continue;
    // Usable: the text names this tensor and no other.
    const auto scoped = ReadScopedName(name->Text());
    const std::vector<TensorId> found = scoped ? index.Match(*scoped).tensors : std::vector<TensorId>{};
    share.named += found == std::vector<TensorId>{TensorId(t)};
    share.by_module += name->place.empty() && name->scope != product->name;
  }
  return share;
}

void CountFolder(const std::filesystem::path& folder, Share& all) {
  Result<RuleSet> rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok());
  const char* print = std::getenv("SBP_PRINT_NAMES");  // a part of a file's name
  nlohmann::json models = nlohmann::json::parse(ReadAll(folder / "index.json"));
  if (models.is_object()) models = models["models"];
  for (const nlohmann::json& model : models) {
    const std::string file = model["file"];
    const Result<Graph> graph = ReadOnnx(ReadAll(folder / file), file);
    ASSERT_TRUE(graph.ok()) << file << ": " << graph.status().message();
    ResolveOptions options;
    for (const auto& [symbol, size] : model["binding"].items()) options.bindings[symbol] = size;
    const Result<Resolved> resolved = Resolve(*graph, *rules, options);
    ASSERT_TRUE(resolved.ok()) << file << ": " << resolved.status().message();
    const Share share = Count(resolved->graph, print != nullptr && file.find(print) != std::string::npos);
    if (print != nullptr) {
      std::cout << file << ": " << share.weights << " weights, by own name " << share.own << ", named " << share.named
                << ", without a number beside it " << share.by_module << "\n";
    }
    EXPECT_EQ(share.named, share.weights) << file;
    all.weights += share.weights;
    all.own += share.own;
    all.named += share.named;
    all.by_module += share.by_module;
  }
}

TEST(NamesOfModels, NearlyAllWeightsHaveOne) {
  if (!std::filesystem::exists(kModels)) GTEST_SKIP() << kModels << " is absent";
  Share all;
  CountFolder(kModels, all);
  CountFolder(kModels / "tiny", all);
  std::cout << all.weights << " weights of products and convolutions: " << all.own << " by their own names, "
            << all.named << " by scope and role, " << all.by_module << " of these without a number\n";
  EXPECT_GT(all.weights, 3000);
}

// The pins files of examples/pins name every projection of the models that they are for, once a layer.
TEST(NamesOfModels, PinsByScope) {
  if (!std::filesystem::exists(kModels)) GTEST_SKIP() << kModels << " is absent";
  Result<RuleSet> rules = RuleSet::Builtin();
  ASSERT_TRUE(rules.ok());
  const Mesh mesh = ParseMesh("data=2,model=4").value();
  struct Case {
    std::string model, pins;
    std::vector<int64_t> counts;  // per line: at least so many, more where a fused weight was cut apart
  };
  for (const Case& c :
       {Case{"llama3-8b-bf16", "llama", {32, 32, 32, 32, 32, 32, 32}},
        Case{"llama3-8b-decode-kv-bf16", "llama", {32, 32, 32, 32, 32, 32, 32}},
        Case{"gpt2-124m-dynamo", "gpt2", {12, 12, 12, 12, 12, 12}},
        Case{"gpt2-124m-torchscript", "gpt2", {12, 12, 12, 12, 12, 12}},
        Case{"gpt2-124m-train-step", "gpt2", {12, 12, 12, 12, 12, 12}},
        Case{"bert-base-mlm", "bert", {36, 36, 12, 12, 12, 12}}, Case{"vit-b16", "vit", {12, 12, 12, 12, 12, 12}}}) {
    SCOPED_TRACE(c.model);
    const Result<Graph> graph = ReadOnnx(ReadAll(kModels / (c.model + ".onnx")), c.model);
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ResolveOptions options;
    options.bindings = {{"batch", 8}, {"seq", 128}, {"past_seq", 127}};
    std::erase_if(options.bindings, [&](const auto& binding) {
      return c.model == "vit-b16"                          ? binding.first != "batch"
             : c.model.find("decode") == std::string::npos ? binding.first == "past_seq"
                                                           : binding.first == "seq";
    });
    if (c.model.find("train") != std::string::npos) options.bindings.clear();
    const Result<Resolved> resolved = Resolve(*graph, *rules, options);
    ASSERT_TRUE(resolved.ok()) << resolved.status().message();
    const std::string file = std::string(SBP_SOURCE_DIR) + "/examples/pins/" + c.pins + ".pins";
    const auto texts = ReadPinsFile(ReadAll(file), file);
    ASSERT_TRUE(texts.ok()) << texts.status().message();
    Pins pins;
    const Status status = ApplyPins(*texts, resolved->graph, mesh, *rules, pins);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(pins.matches.size(), c.counts.size());
    for (size_t i = 0; i < c.counts.size(); ++i) {
      EXPECT_TRUE(pins.matches[i].count == c.counts[i] || pins.matches[i].count == 3 * c.counts[i])
          << pins.matches[i].text << " matches " << pins.matches[i].count;
    }
    EXPECT_THAT(pins.warnings, testing::IsEmpty());
  }
}

}  // namespace
}  // namespace sbp
