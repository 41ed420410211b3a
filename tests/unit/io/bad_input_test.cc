// Documents that do not say what they must: each with its exact message.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "io/documents.h"
#include "schemas/graph.pb.h"
#include "unit/io/samples.h"

namespace sbp {
namespace {

struct Case {
  std::string_view document;
  std::string_view message;
};

constexpr Case kGraphs[] = {
    // Syntax, with the place.
    {"{\"kind\": \"sbp_plan.graph.v1\",\n \"ops\": [}",
     "doc:2:10: not valid JSON: syntax error while parsing value - "
     "unexpected '}'; expected '[', '{', or a literal"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [",
     "doc:1:38: not valid JSON: syntax error while parsing value - "
     "unexpected end of input; expected '[', '{', or a literal"},
    {"kind: \"sbp_plan.graph.v1\"\nops { name: 3 }", "doc:2:13: Expected string, got: 3"},
    {"kind: \"sbp_plan.graph.v1\"\nops { name: \"a\"", "doc:2:16: Expected identifier, got: the end of the file"},
    // Names and types of fields.
    {"{\"kind\": \"sbp_plan.graph.v1\",\n \"ops\": [{\"nmae\": 1}]}",
     "doc:2:11: unknown field \"nmae\" of Op (did you mean \"name\"?)"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"zzzzz\": 1}",
     "doc:1:31: unknown field \"zzzzz\" of Graph; its fields: kind, name, opsets, bindings, metadata, inputs, "
     "parameters, tensors, ops, outputs, ties, assumptions, micro_batches"},
    {"kind: \"sbp_plan.graph.v1\"\nopz { }", "doc:2:5: unknown field \"opz\" of Graph (did you mean \"ops\"?)"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"name\": 3}", "doc:1:39: expected text for \"name\", found 3"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"name\": null}", "doc:1:39: expected text for \"name\", found null"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"name\": [\"a\"]}", "doc:1:39: expected text for \"name\", found a list"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"outputs\": \"y\"}",
     "doc:1:42: expected a list, each element text for \"outputs\", found the text \"y\""},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"outputs\": [1]}", "doc:1:43: expected text for \"outputs\", found 1"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": {}}",
     "doc:1:38: expected a list, each element an object (Op) for \"ops\", found an object"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [\"a\"]}",
     "doc:1:39: expected a value of Op for \"ops\", found the text \"a\""},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"opsets\": []}",
     "doc:1:41: expected an object of Opset by key for \"opsets\", found a list"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"opsets\": {\"\": 1.5}}",
     "doc:1:46: expected a value of Opset for \"opsets\", found 1.5"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"opsets\": {\"\": 99999999999999999999}}",
     "doc:1:46: expected a value of Opset for \"opsets\", found 1e+20"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"opsets\": {\"\": 18446744073709551615}}",
     "doc:1:46: expected a value of Opset for \"opsets\", found 18446744073709551615"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"name\": \"a\", \"name\": \"b\"}", "doc:1:44: field \"name\" is given twice"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"opsets\": {\"\": 1, \"\": 2}}", "doc:1:49: key \"\" is given twice"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"attributes\": {\"a\": {\"int\": 1, \"float\": 2}}}]}",
     "doc:1:71: both \"int\" and \"float\" are given"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"attributes\": {\"a\": [1, \"b\"]}}]}",
     "doc:1:64: expected an integer for \"values\", found the text \"b\""},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"attributes\": {\"a\": [{}]}}]}",
     "doc:1:61: expected a list of integers, numbers or text, found one of objects"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"attributes\": {\"a\": true}}]}",
     "doc:1:60: expected a value of Attribute for \"attributes\", found true"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"attributes\": {\"a\": {\"bytes\": \"?\"}}}]}",
     "doc:1:70: expected base64 text for \"bytes\", found the text \"?\""},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"x\", \"type\": \"f32[]\", \"data\": {\"offset\": "
     "1e3}}]}",
     "doc:1:92: expected an integer for \"offset\", found 1000"},
    // Meaning.
    {"{\"kind\": \"sbp_plan.graph.v1\", \"opsets\": {\"\": -1}}", "doc: opset \"\": -1 is negative"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"type\": \"f32[]\"}]}",
     "doc: a tensor without \"name\" among the inputs"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"x\"}]}",
     "doc: input \"x\": no \"type\" (as in \"f32[batch,16]\")"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"x\", \"type\": \"f23[1]\"}]}",
     "doc: input \"x\": type \"f23[1]\": \"f23\" is no element type (did you mean \"f32\"?)"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"x\", \"type\": \"f32[-2]\"}]}",
     "doc: input \"x\": type \"f32[-2]\": \"-2\" is no size of a dimension (a number or ?)"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"x\", \"type\": \"f32[4611686018427387904,4]\"}]}",
     "doc: tensor \"x\": the size of f32[4611686018427387904,4] in bytes does not fit 63 bits"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"x\", \"type\": \"f32[1]\", \"layout\": \"Q\"}]}",
     "doc: input \"x\": layout \"Q\": expected S(dimension), B, or P(sum)"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"parameters\": [{\"name\": \"w\", \"type\": \"i64[2]\", \"literal\": "
     "{\"ints\": "
     "[1]}}]}",
     "doc: parameter \"w\": literal of type i64[2]: expected 2 values in \"ints\", found 1"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"parameters\": [{\"name\": \"w\", \"type\": \"i64[9223372036854775807]\", "
     "\"literal\": {\"ints\": [1]}}]}",
     "doc: parameter \"w\": literal of type i64[9223372036854775807]: expected 9223372036854775807 values in \"ints\", "
     "found 1"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"parameters\": [{\"name\": \"w\", \"type\": \"i64[2]\", \"data\": "
     "{\"offset\": "
     "-1}}]}",
     "doc: parameter \"w\": data.offset -1 is negative"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"name\": \"a\"}]}",
     "doc: op \"a\": no \"type\" (as in \"MatMul\")"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"name\": \"a\", \"type\": \"T\"}, {\"name\": \"a\", \"type\": "
     "\"T\"}]}",
     "doc: two ops are called \"a\""},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"name\": \"a\", \"type\": \"T\", \"attributes\": {\"k\": {}}}]}",
     "doc: op \"a\": attribute \"k\": no value; expected one of int, float, string, bytes, ints, floats, strings, "
     "literal, graph"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"name\": \"a\", \"type\": \"T\", \"outputs\": [\"y\"], "
     "\"signature\": \"S(0) -> S(0)\"}]}",
     "doc: op \"a\": signature \"S(0) -> S(0)\": expected 0 layouts of operands, 1 of results; found 1 and 1"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"inputs\": [{\"name\": \"query\", \"type\": \"f32[1]\"}], "
     "\"ops\": [{\"name\": \"a\", \"type\": \"T\", \"inputs\": [\"qurey\"], \"outputs\": [\"y\"]}]}",
     "doc: op \"a\" reads \"qurey\", which nothing defines (did you mean \"query\"?)"},
    {"{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [{\"name\": \"a\", \"type\": \"T\", \"outputs\": [\"y\"]}], "
     "\"tensors\": [{\"name\": \"z\", \"type\": \"f32[1]\"}]}",
     "doc: tensor \"z\": is written by no op"},
};

TEST(BadInput, GraphDocuments) {
  for (const Case& row : kGraphs) {
    const Result<Graph> graph = ReadGraph(row.document, "doc");
    ASSERT_FALSE(graph.ok()) << row.document;
    EXPECT_EQ(graph.status().code(), Code::kBadInput);
    EXPECT_EQ(graph.status().message(), row.message) << row.document;
  }
}

// The full plan as JSON with one text replaced.
struct Edit {
  std::string_view from, to, message;
};
constexpr Edit kPlans[] = {
    {"data=2,model=4@[0,1,2,3,4,6,5,7]", "data=0",
     "doc: mesh \"data=0\": axis \"data\" has size \"0\", expected a whole "
     "number of at least 1 (as in data=2,model=4)"},
    {"\"axis\": \"model\"", "\"axis\": \"modle\"",
     "doc: transitions[0]: \"modle\" is no axis of the mesh data=2,model=4@[0,1,2,3,4,6,5,7] (did you mean "
     "\"model\"?)"},
    {"\"all-gather\"", "\"gather\"", "doc: transitions[0]: \"gather\" is no collective (as in \"all-reduce\")"},
    {"\"tensor\": \"z\", \"from\"", "\"tensor\": \"fz\", \"from\"",
     "doc: transitions[0]: the graph has no tensor \"fz\" (did you mean \"z\"?)"},
    {"\"consumers\": [{\"op\": \"relu\"}]", "\"consumers\": [{\"op\": \"relu\", \"operand\": 1}]",
     "doc: transitions[0]: consumer op \"relu\" has 1 operands, none of number 1"},
    {"\"ops\": [\"relu\", \"relu2\"]", "\"ops\": [\"relu\"]", "doc: op \"relu2\" stands in no decision"},
    {"\"ops\": [\"relu\", \"relu2\"]", "\"ops\": [\"relu\", \"relu2\", \"fc\"]",
     "doc: decisions[1]: op \"fc\" stands in decisions[0] too"},
    {"\"ops\": [\"relu\", \"relu2\"]", "\"ops\": [\"relu\", \"relu3\"]",
     "doc: decisions[1]: the graph has no op \"relu3\" (did you mean \"relu\" or \"relu2\"?)"},
    {"\"signature\": \"(S(0), S(1)) -> (S(0), S(1))\"", "\"signature\": \"-> (S(0), S(1))\"",
     "doc: decisions[1]: op \"relu\" has 1 operands and 1 results, its signature -> (S(0), S(1)) has 0 and 1"},
    {"\"signature\": \"(S(0), S(1)) -> (S(0), S(1))\"", "\"signature\": \"(S(0), S(9)) -> (S(0), S(1))\"",
     "doc: decisions[1]: op \"relu\": layout (S(0), S(9)) splits dimension 9 of tensor \"h\", which is f32[8,32]"},
    {"{\"layout\": \"(B, S(1))\", \"tensors\": [\"w\"]}", "{\"layout\": \"(B, S(1))\"}",
     "doc: layouts: tensor \"w\" has none"},
    {"\"layout\": \"(B, S(1))\"", "\"layout\": \"S(1)\"",
     "doc: layouts[1]: layout \"S(1)\" has 1 entries for a mesh of 2 axes"},
    {"\"wire_bytes\": 1024", "\"wire_bytes\": -1",
     "doc: transitions[0]: \"wire_bytes\": expected a finite number >= 0, found -1"},
    {"\"wire_bytes\": 1024", "\"wire_bytes\": \"nan\"",
     "doc: transitions[0]: \"wire_bytes\": expected a finite number >= 0, found nan"},
    {"\"peak_bytes\": 100", "\"peak_bytes\": -5",
     "doc: memory: \"peak_bytes\": expected a finite number >= 0, found -5"},
    {"f32[8,32]", "f32[batch,32]", "doc: graph: tensor \"h\" is f32[?,32]; in a plan every size is a number"},
    {"\"memory_limit\": 80000000000", "\"memory_limit\": -1", "doc: options: \"memory_limit\" -1 is negative"},
    {"\"num_candidates\": 36", "\"num_candidates\": 4294967296",
     "doc:42:280: expected an integer from 0 to 4294967295 for \"num_candidates\", found 4294967296"},
};

TEST(BadInput, PlanDocuments) {
  const std::string good = WritePlan(FullPlan(), Encoding::kJson);
  for (const Edit& row : kPlans) {
    std::string document = good;
    const size_t at = document.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from << " in\n" << good;
    document.replace(at, row.from.size(), row.to);
    const Result<Plan> plan = ReadPlan(document, "doc");
    ASSERT_FALSE(plan.ok()) << row.to;
    EXPECT_EQ(plan.status().code(), Code::kBadInput);
    EXPECT_EQ(plan.status().message(), row.message);
  }
}

constexpr Edit kClusters[] = {
    {"\"num_nodes\": 1", "\"num_nodes\": 0", ""},
    {"\"bf16\":", "\"bf17\":", "doc: device: flops: \"bf17\" is no element type"},
    {"\"shape\": \"tree\"", "\"shape\": \"star\"", "doc: protocols[2]: shape is \"star\", expected ring or tree"},
    {"\"inter_step_seconds\":", "\"inter_steps\":", "unknown field \"inter_steps\" of CollectiveProtocol"},
    {"\"launch_seconds\":", "\"launch_secs\":", "unknown field \"launch_secs\" of Device"},
    {"\"memory_bandwidth\": {", "\"memory_bandwidth\": {\"value\": \"fast\"}, \"x\": {",
     "expected a number for \"value\", found the text \"fast\""},
};

TEST(BadInput, ClusterDocuments) {
  const std::string good = WriteCluster(FindPreset("8xH100").value(), Encoding::kJson);
  for (const Edit& row : kClusters) {
    std::string document = good;
    const size_t at = document.find(row.from);
    ASSERT_NE(at, std::string::npos) << row.from << " in\n" << good;
    document.replace(at, row.from.size(), row.to);
    const Result<Cluster> cluster = ReadCluster(document, "doc");
    ASSERT_FALSE(cluster.ok()) << row.to;
    EXPECT_EQ(cluster.status().code(), Code::kBadInput);
    EXPECT_THAT(cluster.status().message(), testing::HasSubstr(std::string(row.message)));
  }
  EXPECT_EQ(ReadCluster("{\"kind\": \"sbp_plan.cluster.v1\"}", "doc").status().message(),
            "doc: device: \"memory_bytes\" is missing");
}

TEST(BadInput, NestingIsLimited) {
  std::string json = "{\"kind\": \"sbp_plan.graph.v1\", \"ops\": [";
  std::string prototxt = "kind: \"sbp_plan.graph.v1\" ";
  for (int i = 0; i < 100'000; ++i) {
    json += "{\"attributes\": {\"a\": {\"graph\": {\"ops\": [";
    prototxt += "ops { attributes { graph { ";
  }
  EXPECT_THAT(ReadGraph(json, "doc").status().message(), testing::HasSubstr("nested deeper than 200 objects"));
  EXPECT_THAT(ReadGraph(prototxt, "doc").status().message(),
              testing::HasSubstr("exceeded the configured recursion limit of 200"));
  EXPECT_FALSE(ReadGraph("{\"kind\": " + std::string(1'000'000, '['), "doc").ok());
}

// Cut off anywhere, a document is an error or (prototxt between two fields) a smaller document; never a crash.
TEST(BadInput, EveryPrefixIsHandled) {
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    const std::string plan = WritePlan(FullPlan(), encoding);
    for (size_t length = 0; length < plan.size(); length += 7) {
      const Result<Plan> read = ReadPlan(std::string_view(plan).substr(0, length), "doc");
      ASSERT_FALSE(read.ok() && encoding == Encoding::kJson && length + 1 < plan.size()) << length;
      if (!read.ok()) {
        EXPECT_LT(read.status().message().size(), 2000U);
      }
    }
  }
}

TEST(BadInput, FlippedBytesAreHandled) {
  std::mt19937 random(1);
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    for (const std::string& good : {WritePlan(FullPlan(), encoding), WriteGraph(FullGraph(), encoding)}) {
      for (int i = 0; i < 400; ++i) {
        std::string bad = good;
        bad[random() % bad.size()] = static_cast<char>(random());
        (void)ReadPlan(bad, "doc").ok();
        (void)ReadGraph(bad, "doc").ok();
      }
    }
  }
}

TEST(BadInput, UnknownBinaryFields) {
  std::string graph = WriteGraph(RandomGraph(1, 2), Encoding::kBinary);
  graph += std::string("\xf8\x07\x01", 3);  // field 127, a varint
  EXPECT_EQ(ReadGraph(graph, "doc").status().message(), "doc: unknown field number 127 of Graph");
  EXPECT_THAT(ReadGraph(graph.substr(0, graph.size() - 5), "doc").status().message(),
              testing::HasSubstr("truncated or corrupt: not a binary sbp_plan.v1.Graph"));
}

// Ops and tensors are read one by one.
TEST(BadInput, BinaryEntriesOfGraphs) {
  const std::string kind("\x0a\x11sbp_plan.graph.v1", 19);
  const auto error = [&](std::string_view entries) {
    return ReadGraph(StrCat(kind, entries), "doc").status().message();
  };
  // Field 9 (ops) of 3 bytes, of which field 127 is a varint.
  EXPECT_EQ(error(std::string_view("\x4a\x03\xf8\x07\x01", 5)), "doc: ops[0] > unknown field number 127 of Op");
  EXPECT_EQ(error(std::string_view("\x4a\x05\xf8\x07\x01", 5)),
            "doc: truncated or corrupt: not a binary sbp_plan.v1.Graph (stopped at byte 21 of 24)");
  EXPECT_EQ(error(std::string_view("\x4a\x03\x0a\x05Z", 5)),
            "doc: truncated or corrupt: not a binary sbp_plan.v1.Graph (stopped at byte 24 of 24)");
  EXPECT_EQ(error(std::string_view("\x42\x03\x0a\x01t", 5)), "doc: tensor \"t\": is written by no op");
  // A subgraph within an op within an op ... is nested as deep as elsewhere.
  sbp_plan::v1::Graph nested;
  for (int i = 0; i < 300; ++i) {
    sbp_plan::v1::Graph around;
    around.add_ops()->add_attributes()->mutable_graph()->Swap(&nested);
    nested.Swap(&around);
  }
  EXPECT_THAT(error(nested.SerializeAsString()), testing::HasSubstr("truncated or corrupt"));
}

}  // namespace
}  // namespace sbp
