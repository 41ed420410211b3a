#include <gtest/gtest.h>

#include "io/documents.h"
#include "unit/io/samples.h"

namespace sbp {
namespace {

TEST(Recognise, OurDocumentsInEveryEncoding) {
  for (const Encoding encoding : {Encoding::kJson, Encoding::kPrototxt, Encoding::kBinary}) {
    const std::pair<DocumentKind, std::string> documents[] = {
        {DocumentKind::kGraph, WriteGraph(FullGraph(), encoding)},
        {DocumentKind::kCluster, WriteCluster(FullPlan().cluster, encoding)},
        {DocumentKind::kPlan, WritePlan(FullPlan(), encoding)}};
    for (const auto& [kind, bytes] : documents) {
      const Result<DocumentInfo> info = Recognise(bytes, "doc");
      ASSERT_TRUE(info.ok()) << info.status().message();
      EXPECT_EQ(info->kind, kind);
      EXPECT_EQ(info->encoding, encoding);
    }
  }
}

struct RecogniseRow {
  std::string bytes;
  DocumentKind kind;
  Encoding encoding;
};

TEST(Recognise, ByContent) {
  const RecogniseRow rows[] = {
      {"\n {\"ops\": [{\"kind\": \"x\"}], \"kind\": \"sbp_plan.plan.v1\"", DocumentKind::kPlan, Encoding::kJson},
      {"\xef\xbb\xbf{\"kind\": \"sbp_plan.graph.v1\"}", DocumentKind::kGraph, Encoding::kJson},
      {"# comment\n\n kind : 'sbp_plan.cluster.v1'", DocumentKind::kCluster, Encoding::kPrototxt},
      {"name: \"a\"\nkind: \"sbp_plan.graph.v1\"", DocumentKind::kGraph, Encoding::kPrototxt},
      {std::string("\x08\x07\x12\x07pytorch:\x02\x0a\x00", 16), DocumentKind::kOnnx, Encoding::kBinary},
      // torch.onnx.export writes the program into the metadata.
      {std::string("\x08\x0a\x12\x07pytorch:\x02\x0a\x00 def forward(self, x): <net <layers", 48), DocumentKind::kOnnx,
       Encoding::kBinary},
      {"{\"kind\": \"sbp_plan.graph.v1\", \"metadata\": \"def forward(self, x)\"}", DocumentKind::kGraph,
       Encoding::kJson},
  };
  for (const RecogniseRow& row : rows) {
    const Result<DocumentInfo> info = Recognise(row.bytes, "doc");
    ASSERT_TRUE(info.ok()) << info.status().message();
    EXPECT_EQ(info->kind, row.kind) << row.bytes;
    EXPECT_EQ(info->encoding, row.encoding) << row.bytes;
  }
}

struct BadRecogniseRow {
  std::string_view bytes;
  std::string_view message;
};

TEST(Recognise, Errors) {
  const BadRecogniseRow rows[] = {
      {"", "doc: the file is empty"},
      {"{\"ops\": []}",
       "doc: JSON without a kind; expected a first field such as \"kind\": \"sbp_plan.graph.v1\" (or "
       "sbp_plan.cluster.v1, sbp_plan.plan.v1)"},
      {"{\"kind\": \"sbp_plan.grahp.v1\"}",
       "doc: unknown kind \"sbp_plan.grahp.v1\"; expected one of sbp_plan.graph.v1, sbp_plan.cluster.v1, "
       "sbp_plan.plan.v1 (did you mean \"sbp_plan.graph.v1\" or \"sbp_plan.plan.v1\"?)"},
      {"{\"kind\" \"a\"}",
       "doc:1:11: not valid JSON: syntax error while parsing object separator - unexpected string literal; expected "
       "':'"},
      {"ops { }\n",
       "doc: prototxt without a kind; expected a first field such as kind: \"sbp_plan.graph.v1\" (or "
       "sbp_plan.cluster.v1, sbp_plan.plan.v1)"},
      {"hello world\nmore",
       "doc: not recognised; expected ONNX, .pt2, config.json of Hugging Face, or one of our documents in JSON "
       "(\"{...\"), prototxt "
       "(\"kind: ...\") or binary; found text that starts with \"hello world\""},
      {"\x1f\x8b\x08", "doc: gzip data: unpack it and give the model in it"},
      {"PK\x03\x04", "doc: a zip archive: unpack it and give the model in it"},
  };
  for (const BadRecogniseRow& row : rows) {
    const Result<DocumentInfo> info = Recognise(row.bytes, "doc");
    ASSERT_FALSE(info.ok()) << row.bytes;
    EXPECT_EQ(info.status().message(), row.message);
  }
}

TEST(Recognise, TheWrongKindIsNamed) {
  EXPECT_EQ(ReadGraph(WritePlan(FullPlan(), Encoding::kJson), "doc").status().message(),
            "doc: this is a plan (sbp_plan.plan.v1); expected a graph (sbp_plan.graph.v1)");
  EXPECT_EQ(ReadPlan("\x08\x07\x12", "doc").status().message(),
            "doc: neither JSON nor prototxt nor one of our binary documents; expected a plan (sbp_plan.plan.v1), which "
            "infer makes of a model");
  EXPECT_EQ(ReadPlan("\x08\x07\x12", "Net.ONNX").status().message(),
            "Net.ONNX: this is an ONNX model; expected a plan (sbp_plan.plan.v1), which infer makes of a model");
}

}  // namespace
}  // namespace sbp
