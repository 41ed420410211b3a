// Round trips through every encoding, and the documents themselves.
#include "io/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/codec.h"
#include "io/file.h"
#include "io/graph_proto.h"
#include "unit/io/samples.h"

namespace sbp {
namespace {

constexpr Encoding kEncodings[] = {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary};

void ExpectSameAfterRoundTrip(const Graph& graph) {
  for (const Encoding encoding : kEncodings) {
    const std::string document = WriteGraph(graph, encoding);
    const Result<Graph> read = ReadGraph(document, "doc");
    ASSERT_TRUE(read.ok()) << read.status().message() << "\n" << document;
    EXPECT_EQ(Dump(*read), Dump(graph));
    EXPECT_EQ(WriteGraph(*read, encoding), document);
  }
}

// What a dump does not show.
void ExpectSameTensors(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor& x = a.tensors[i];
    const Tensor& y = b.tensors[i];
    EXPECT_EQ(x.type, y.type) << x.name;
    EXPECT_EQ(x.symbols, y.symbols) << x.name;
    EXPECT_EQ(x.data, y.data) << x.name;
    EXPECT_EQ(x.layout_pin, y.layout_pin) << x.name;
    ASSERT_EQ(x.literal == nullptr, y.literal == nullptr) << x.name;
    if (x.literal != nullptr) {
      EXPECT_EQ(*x.literal, *y.literal) << x.name;
    }
  }
}

void ExpectSameAttributes(const Attributes& a, const Attributes& b) {
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (size_t i = 0; i < a.entries().size(); ++i) {
    const auto& [name, x] = a.entries()[i];
    const auto& [other_name, y] = b.entries()[i];
    EXPECT_EQ(name, other_name);
    ASSERT_EQ(x.index(), y.index()) << name;
    if (const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&x)) {
      EXPECT_EQ(Dump(**graph), Dump(*std::get<std::shared_ptr<const Graph>>(y)));
    } else if (const auto* literal = std::get_if<LiteralRef>(&x)) {
      EXPECT_EQ(**literal, *std::get<LiteralRef>(y)) << name;
    } else {
      EXPECT_EQ(x, y) << name;
    }
  }
}

TEST(Documents, FullGraphKeepsEveryField) {
  const Graph graph = FullGraph();
  ExpectSameAfterRoundTrip(graph);
  for (const Encoding encoding : kEncodings) {
    const Graph read = ReadGraph(WriteGraph(graph, encoding), "doc").value();
    ExpectSameTensors(graph, read);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      EXPECT_EQ(graph.ops[i].signature_pin, read.ops[i].signature_pin);
      ExpectSameAttributes(*graph.ops[i].attributes, *read.ops[i].attributes);
    }
    EXPECT_TRUE(std::signbit(read.ops[0].attributes->Float("minus_zero", 1)));
  }
}

TEST(Documents, RandomGraphsSurviveEveryEncoding) {
  for (uint32_t seed = 0; seed < 60; ++seed) ExpectSameAfterRoundTrip(RandomGraph(seed, 1 + static_cast<int>(seed)));
}

TEST(Documents, EncodingsSayTheSame) {
  const Graph graph = RandomGraph(7, 40);
  const std::string json = WriteGraph(graph, Encoding::kJson);
  for (const Encoding encoding : kEncodings) {
    EXPECT_EQ(WriteGraph(ReadGraph(WriteGraph(graph, encoding), "doc").value(), Encoding::kJson), json);
  }
}

TEST(Documents, ClusterSurvivesEveryEncoding) {
  for (const PresetRow& row : AllPresets()) {
    const Cluster cluster = row.make();
    for (const Encoding encoding : kEncodings) {
      const std::string document = WriteCluster(cluster, encoding);
      const Result<Cluster> read = ReadCluster(document, "doc");
      ASSERT_TRUE(read.ok()) << read.status().message() << "\n" << document;
      EXPECT_EQ(Dump(*read), Dump(cluster));
      EXPECT_EQ(WriteCluster(*read, encoding), document);
    }
  }
}

void ExpectSameTransition(const Transition& a, const Transition& b) {
  EXPECT_EQ(a.tensor, b.tensor);
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.wire_bytes, b.wire_bytes);
  EXPECT_EQ(a.reason, b.reason);
  ASSERT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.steps[0].seconds, b.steps[0].seconds);
  EXPECT_EQ(a.steps[0].tensor_bytes, b.steps[0].tensor_bytes);
  EXPECT_EQ(a.steps[0].wire_bytes, b.steps[0].wire_bytes);
  ASSERT_EQ(a.consumers.size(), b.consumers.size());
  EXPECT_EQ(a.consumers[0].op, b.consumers[0].op);
  EXPECT_EQ(a.consumers[0].operand, b.consumers[0].operand);
}

void ExpectSameOptions(const PlanOptions& a, const PlanOptions& b) {
  EXPECT_EQ(a.strategy, b.strategy);
  EXPECT_EQ(a.criterion, b.criterion);
  EXPECT_EQ(a.pins, b.pins);
  EXPECT_EQ(a.ties, b.ties);
  EXPECT_EQ(a.ties_by_name, b.ties_by_name);
  EXPECT_EQ(a.even_only, b.even_only);
  EXPECT_EQ(a.strict, b.strict);
  EXPECT_EQ(a.memory_limit, b.memory_limit);
  EXPECT_EQ(a.rule_files, b.rule_files);
}

TEST(Documents, StridesOfLargeIndices) {
  const std::string text = R"({"kind": "sbp_plan.graph.v1",
      "parameters": [{"name": "places", "type": "i64[60,100]", "strided": {"offset": 7, "strides": [300, 1]}}]})";
  const Result<Graph> graph = ReadGraph(text, "g.json");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  for (const Encoding encoding : kEncodings) {
    const Result<Graph> read = ReadGraph(WriteGraph(*graph, encoding), "doc");
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_NE(read->tensors[0].strided, nullptr);
    EXPECT_EQ(*read->tensors[0].strided, (StridedInts{7, {300, 1}}));
  }
  std::string few = text, floats = text;
  few.replace(few.find("[300, 1]"), 8, "[300]");
  floats.replace(floats.find("i64"), 3, "f32");
  for (const std::string& bad : {few, floats})
    EXPECT_THAT(ReadGraph(bad, "g.json").status().message(),
                testing::HasSubstr("strides, but it is a parameter of type"));
}

TEST(Documents, AssumptionWithoutElementsIsOfAll) {
  const Result<Graph> graph = ReadGraph(R"({"kind": "sbp_plan.graph.v1",
      "inputs": [{"name": "sizes", "type": "i64[3]"}],
      "assumptions": {"sizes": {"literal": {"type": "i64[3]", "ints": [9, 1, 4]}}}})",
                                        "g.json");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_EQ(graph->assumptions.size(), 1);
  EXPECT_THAT(graph->assumptions[0].elements, testing::ElementsAre(0, 1, 2));
  EXPECT_FALSE(Agrees(graph->assumptions[0], Literal::Ints({9, 1, 5})));
}

TEST(Documents, PlanKeepsEveryField) {
  const Plan plan = FullPlan();
  for (const Encoding encoding : kEncodings) {
    const std::string document = WritePlan(plan, encoding);
    const Result<Plan> result = ReadPlan(document, "doc");
    ASSERT_TRUE(result.ok()) << result.status().message() << "\n" << document;
    const Plan& read = *result;
    EXPECT_EQ(WritePlan(read, encoding), document);
    EXPECT_EQ(read.version, plan.version);
    EXPECT_EQ(read.model_path, plan.model_path);
    EXPECT_EQ(read.model_fingerprint, plan.model_fingerprint);
    EXPECT_EQ(read.mesh, plan.mesh);
    EXPECT_EQ(Dump(read.graph), Dump(plan.graph));
    EXPECT_EQ(Dump(read.cluster), Dump(plan.cluster));
    EXPECT_EQ(read.records, plan.records);
    EXPECT_EQ(read.op_records, plan.op_records);
    EXPECT_EQ(read.source_layouts, plan.source_layouts);
    ASSERT_EQ(read.transitions.size(), 1U);
    ExpectSameTransition(plan.transitions[0], read.transitions[0]);
    EXPECT_EQ(read.total.compute_seconds, 0.1);
    EXPECT_EQ(read.total.collective_seconds, 0.2);
    EXPECT_EQ(read.total.bytes_moved, 1024);
    EXPECT_EQ(read.memory.peak_bytes, 100);
    EXPECT_EQ(read.memory.boxing_bytes, 10);
    EXPECT_EQ(read.memory.peak_op, OpId(1));
    ASSERT_EQ(read.memory.holders.size(), 1U);
    EXPECT_EQ(read.memory.holders[0].name, "w");
    EXPECT_EQ(read.memory.holders[0].kind, "parameter");
    EXPECT_TRUE(read.has_bound);
    ASSERT_EQ(read.replicated.size(), 1U);
    EXPECT_EQ(read.replicated[0].tensor, TensorId(0));
    EXPECT_EQ(read.replicated[0].reason, "no legal split");
    ASSERT_EQ(read.conflicts.size(), 1U);
    EXPECT_EQ(read.conflicts[0].used, "B");
    EXPECT_EQ(read.warnings, plan.warnings);
    ExpectSameOptions(plan.options, read.options);
  }
}

TEST(Documents, NamesThatAreNotUtf8AreEscaped) {
  Graph graph = RandomGraph(1, 1);
  graph.ops[0].name = "op\xff";
  for (const Encoding encoding : kEncodings) {
    const Result<Graph> read = ReadGraph(WriteGraph(graph, encoding), "doc");
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->ops[0].name, "op\\xff");
  }
}

// What a person writes, and what we write of it.
constexpr std::string_view kByHand = R"_({"kind": "sbp_plan.graph.v1",
 "opsets": {"": 17},
 "inputs": [{"name": "x", "type": "f32[batch,16]"}],
 "parameters": [
   {"name": "w", "type": "f32[16,32]", "layout": "(B, S(1))"},
   {"name": "axes", "type": "i64[1]", "literal": {"ints": [-1]}}],
 "ops": [
   {"type": "MatMul", "inputs": ["x", "w"], "outputs": ["y"],
    "attributes": {"alpha": 0.5, "mode": "a", "perm": [1, 0]}},
   {"name": "sum", "type": "ReduceSum", "inputs": ["y", "axes"], "outputs": ["z"], "attributes": {"mixed": [1, 2.5]}}],
 "outputs": ["z"]})_";

constexpr std::string_view kWritten = R"_({
 "kind": "sbp_plan.graph.v1",
 "opsets": {
  "": 17
 },
 "inputs": [
  {"name": "x", "type": "f32[batch,16]"}
 ],
 "parameters": [
  {"name": "w", "type": "f32[16,32]", "layout": "(B, S(1))"},
  {"name": "axes", "type": "i64[1]", "literal": {"ints": [-1]}}
 ],
 "ops": [
  {"name": "MatMul_0", "type": "MatMul", "inputs": ["x", "w"], "outputs": ["y"], "attributes": {"alpha": 0.5, "mode": "a", "perm": [1, 0]}},
  {"name": "sum", "type": "ReduceSum", "inputs": ["y", "axes"], "outputs": ["z"], "attributes": {"mixed": [1.0, 2.5]}}
 ],
 "outputs": ["z"]
}
)_";

constexpr std::string_view kPrototxt = R"_(# the same
kind: "sbp_plan.graph.v1"
opsets { key: "" value: 17 }
inputs { name: "x" type: "f32[batch,16]" }
parameters { name: "w" type: "f32[16,32]" layout: "(B, S(1))" }
parameters { name: "axes" type: "i64[1]" literal { ints: -1 } }
ops {
  type: "MatMul" inputs: ["x", "w"] outputs: "y"
  attributes { key: "alpha" float: 0.5 }
  attributes { key: "mode" string: "a" }
  attributes { key: "perm" ints { values: [1, 0] } }
}
ops {
  name: "sum" type: "ReduceSum" inputs: "y" inputs: "axes" outputs: "z"
  attributes { key: "mixed" floats { values: [1, 2.5] } }
}
outputs: "z"
)_";

TEST(Documents, GoldenGraphs) {
  for (const std::string_view text : {kByHand, kWritten, kPrototxt}) {
    const Result<Graph> graph = ReadGraph(text, "doc");
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_EQ(WriteGraph(*graph, Encoding::kJson), kWritten);
  }
}

constexpr std::string_view kClusterByHand = R"({"kind": "sbp_plan.cluster.v1", "name": "box", "devices_per_node": 4,
 "device": {"name": "toy", "memory_bytes": 16000000000, "memory_bandwidth": {"value": 1e12, "source": "data sheet"},
            "memory_efficiency": 0.8, "flops": {"bf16": 1e14, "f32": {"value": 2e13, "source": "measured"}},
            "compute_efficiency": 0.7, "launch_seconds": 5e-6},
 "intra_node": {"name": "PCIe", "bandwidth": 25e9, "latency_seconds": 1e-5, "efficiency": 0.9},
 "samples": [{"collective": "all-reduce", "nodes": 1, "ranks_per_node": 4, "bytes": 1e6, "seconds": 1e-4}]})";

TEST(Documents, ClusterByHand) {
  const Result<Cluster> cluster = ReadCluster(kClusterByHand, "doc");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  EXPECT_EQ(cluster->num_nodes, 1);
  EXPECT_EQ(cluster->devices_per_node, 4);
  EXPECT_FALSE(cluster->growable);
  EXPECT_EQ(cluster->device.flops.at(DType::kBF16).value, 1e14);
  EXPECT_EQ(cluster->device.flops.at(DType::kF32).source, "measured");
  EXPECT_EQ(cluster->inter_node.name, "PCIe");
  EXPECT_EQ(cluster->samples.at(0).kind, CollectiveKind::kAllReduce);
}

// The worked examples of schemas/README.md are documents.
TEST(Documents, ExamplesOfTheReadme) {
  const std::string readme = ReadFile(SBP_SOURCE_DIR "/schemas/README.md").value();
  std::vector<std::string> examples;
  constexpr std::string_view kOpen = "```json\n";
  for (size_t at = readme.find(kOpen); at != std::string::npos; at = readme.find(kOpen, at + 1)) {
    const size_t begin = at + kOpen.size();
    examples.push_back(readme.substr(begin, readme.find("```", begin) - begin));
  }
  ASSERT_EQ(examples.size(), 3U);
  const Result<Graph> graph = ReadGraph(examples[0], "graph");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  const Result<Cluster> cluster = ReadCluster(examples[1], "cluster");
  EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  // Shortened: all of its fields exist, and what it lacks is the cluster.
  EXPECT_EQ(ReadPlan(examples[2], "plan").status().message(), "plan: \"cluster\" is missing");
}

struct ExtensionCase {
  std::string_view path;
  std::optional<Encoding> encoding;
};
TEST(Documents, ExtensionNamesTheEncoding) {
  const ExtensionCase cases[] = {{"a.json", Encoding::kJson},
                                 {"a/b.prototxt", Encoding::kPrototxt},
                                 {"a.pbtxt", Encoding::kPrototxt},
                                 {"a.txtpb", Encoding::kPrototxt},
                                 {"a.pb", Encoding::kBinary},
                                 {"a.bin", Encoding::kBinary},
                                 {"-", Encoding::kJson},
                                 {"a.onnx", std::nullopt},
                                 {"json", std::nullopt}};
  for (const ExtensionCase& row : cases) {
    const Result<Encoding> encoding = EncodingForPath(row.path);
    ASSERT_EQ(encoding.ok(), row.encoding.has_value()) << row.path;
    if (encoding.ok()) {
      EXPECT_EQ(*encoding, *row.encoding) << row.path;
    }
  }
}

// Written op by op, a binary graph is what one message of it would be, and is read so in either case.
TEST(Documents, BinaryGraphsAreOneMessage) {
  for (const Graph& graph : {FullGraph(), RandomGraph(3, 40)}) {
    sbp_plan::v1::Graph message;
    message.set_kind("sbp_plan.graph.v1");
    GraphToMessage(graph, message);
    const std::string bytes = WriteGraph(graph, Encoding::kBinary);
    EXPECT_EQ(bytes, EncodeBinary(message));
    sbp_plan::v1::Graph read;
    ASSERT_TRUE(DecodeBinary(bytes, "doc", read).ok());
    EXPECT_EQ(Dump(GraphFromMessage(read, "doc").value()), Dump(ReadGraph(bytes, "doc").value()));
  }
}

// Fields may come in any order.
TEST(Documents, BinaryFieldsInAnyOrder) {
  const Graph graph = FullGraph();
  sbp_plan::v1::Graph all, tensors, rest;
  GraphToMessage(graph, all);
  rest = all;
  rest.clear_tensors();
  tensors.mutable_tensors()->CopyFrom(all.tensors());
  sbp_plan::v1::Graph kind;
  kind.set_kind("sbp_plan.graph.v1");
  const std::string bytes = EncodeBinary(kind) + EncodeBinary(tensors) + EncodeBinary(rest);
  EXPECT_EQ(Dump(ReadGraph(bytes, "doc").value()), Dump(graph));
}

// A sink that takes no more is asked no more.
TEST(Documents, PiecesEndWhereTheSinkFails) {
  Graph graph = RandomGraph(1, 9);
  for (Op& op : graph.ops) op.metadata = {{"note", std::string(3'000'000, 'n')}};
  const std::string bytes = WriteGraph(graph, Encoding::kBinary);
  int pieces = 0;
  std::string first;
  WriteGraph(graph, Encoding::kBinary, [&](std::string_view piece) {
    first += piece;
    return ++pieces < 2;
  });
  EXPECT_EQ(pieces, 2);
  EXPECT_TRUE(bytes.starts_with(first) && first.size() < bytes.size());
}

}  // namespace
}  // namespace sbp
