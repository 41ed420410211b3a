// Constants of every element type, and scopes.
#include "onnx/tensor.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "onnx/reader.h"
#include "onnx/scope.h"

namespace sbp {
namespace {

std::string Decode(const std::string& text) {
  sbp_onnx::Tensor tensor;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &tensor)) << text;
  const Result<Literal> literal = ReadOnnxTensor(tensor.SerializeAsString(), "t");
  return literal.ok() ? StrCat(ToString(literal->type), " ", ToString(*literal)) : literal.status().message();
}

TEST(TensorTest, Rows) {
  struct TensorRow {
    std::string text;
    std::string expected;
  };
  const TensorRow rows[] = {
      {"data_type: 1 dims: 2 float_data: [0.5, -1]", "f32[2] [0.5, -1]"},
      {"data_type: 1 dims: 1 raw_data: '\\000\\000\\200\\077'", "f32[1] [1]"},
      {"data_type: 11 double_data: 2.5", "f64[] 2.5"},
      {"data_type: 7 dims: 2 int64_data: [5, -6]", "i64[2] [5, -6]"},
      {"data_type: 6 dims: 1 raw_data: '\\377\\377\\377\\377'", "i32[1] [-1]"},
      {"data_type: 12 dims: 1 uint64_data: 4294967295", "u32[1] [4294967295]"},
      {"data_type: 2 dims: 2 int32_data: [200, 1]", "u8[2] [200, 1]"},
      {"data_type: 3 dims: 1 raw_data: '\\200'", "i8[1] [-128]"},
      {"data_type: 9 dims: 2 raw_data: '\\001\\000'", "bool[2] [1, 0]"},
      {"data_type: 8 dims: 1 string_data: 'a b'", "string[1] [\"a b\"]"},
      {"data_type: 10 dims: 3 int32_data: [15360, 64512, 1]", "f16[3] [1, -inf, 5.960464477539063e-08]"},
      {"data_type: 16 dims: 1 raw_data: '\\200\\077'", "bf16[1] [1]"},
      {"data_type: 17 dims: 3 raw_data: '\\070\\176\\001'", "f8e4m3fn[3] [1, 448, 0.001953125]"},
      {"data_type: 18 dims: 2 raw_data: '\\100\\177'", "f8e4m3fnuz[2] [1, 240]"},
      {"data_type: 19 dims: 2 raw_data: '\\074\\174'", "f8e5m2[2] [1, inf]"},
      {"data_type: 20 dims: 1 raw_data: '\\100'", "f8e5m2fnuz[1] [1]"},
      {"data_type: 21 dims: 3 raw_data: '\\207\\001'", "u4[3] [7, 8, 1]"},
      {"data_type: 22 dims: 2 int32_data: 143", "i4[2] [-1, -8]"},
      {"data_type: 23 dims: 2 raw_data: '\\322'", "f4e2m1[2] [1, -3]"},
      {"data_type: 24 dims: 2 raw_data: '\\177\\200'", "f8e8m0[2] [1, 2]"},
      {"data_type: 25 dims: 4 raw_data: '\\344'", "u2[4] [0, 1, 2, 3]"},
      {"data_type: 26 dims: 4 raw_data: '\\344'", "i2[4] [0, 1, -2, -1]"},
      {"data_type: 14 dims: 1 float_data: [1, 2]", "c64[1] (8 bytes)"},
      {"data_type: 1 dims: 0", "f32[0] []"},
      {"data_type: 1 dims: 5", "f32[5] []"},  // no values: stripped
      {"data_type: 0 dims: 1", "t: a constant without an element type"},
      {"data_type: 22 dims: 3 int32_data: 1", "t: a constant of type i4[3] needs 2 entries of int32_data, and has 1"},
      {"data_type: 8 dims: 2 string_data: 'a'",
       "t: a constant of type string[2] needs 2 entries of string_data, and has 1"},
      {"data_type: 1 dims: 1 external_data { key: 'location' value: 'w' } external_data { key: 'offset' value: '-4' } "
       "data_location: 1",
       "t: external data: offset is \"-4\", expected a number of bytes"},
  };
  for (const TensorRow& row : rows) EXPECT_EQ(Decode(row.text), row.expected) << row.text;
}

TEST(TensorTest, AllValuesAsBytes) {
  struct DataRow {
    std::string text, expected;  // name, type and bytes, or the error
  };
  const DataRow rows[] = {
      {"name: 'a' data_type: 1 dims: 2 float_data: [1, -2]", "a f32[2] 0 0 128 63 0 0 0 192"},
      {"data_type: 1 dims: 1 raw_data: '\\000\\000\\200\\077'", " f32[1] 0 0 128 63"},
      {"data_type: 11 double_data: 1", " f64[] 0 0 0 0 0 0 240 63"},
      {"data_type: 7 dims: 1 int64_data: -2", " i64[1] 254 255 255 255 255 255 255 255"},
      {"data_type: 6 dims: 1 int32_data: -2", " i32[1] 254 255 255 255"},
      {"data_type: 5 dims: 2 int32_data: [-2, 3]", " i16[2] 254 255 3 0"},
      {"data_type: 3 dims: 1 int32_data: -1", " i8[1] 255"},
      {"data_type: 9 dims: 2 int32_data: [1, 0]", " bool[2] 1 0"},
      {"data_type: 10 dims: 1 int32_data: 15360", " f16[1] 0 60"},
      {"data_type: 12 dims: 1 uint64_data: 4294967295", " u32[1] 255 255 255 255"},
      {"data_type: 13 dims: 1 uint64_data: 258", " u64[1] 2 1 0 0 0 0 0 0"},
      {"data_type: 14 dims: 1 float_data: [1, 0]", " c64[1] 0 0 128 63 0 0 0 0"},
      {"data_type: 21 dims: 3 int32_data: [135, 1]", " u4[3] 135 1"},
      {"data_type: 1 dims: 0", " f32[0]"},
      {"data_type: 8 dims: 1 string_data: 'a'", "t: a tensor of string; expected numbers"},
      {"data_type: 1 dims: 3 float_data: [1, 2]", "t: 8 bytes of values for f32[3]"},
      {"data_type: 1 dims: -1 float_data: 1", "t: 4 bytes of values for f32[?]"},
      {"data_type: 1 dims: 1 data_location: 1", "t: its values are in another file"},
  };
  for (const DataRow& row : rows) {
    sbp_onnx::Tensor tensor;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(row.text, &tensor)) << row.text;
    const Result<TensorData> data = ReadOnnxData(tensor.SerializeAsString(), "t");
    std::string found = data.status().message();
    if (data.ok()) {
      found = StrCat(data->name, " ", ToString(data->type));
      for (const char c : data->bytes) found += StrCat(" ", static_cast<int>(static_cast<unsigned char>(c)));
    }
    EXPECT_EQ(found, row.expected) << row.text;
  }
  EXPECT_EQ(ReadOnnxData("\xff\xff", "t").status().message(), "t: not a serialised TensorProto");
}

std::string ShowData(const TensorData& data) {
  std::string text = StrCat(data.name, data.name.empty() ? "" : " ", ToString(data.type));
  for (const TensorData& entry : data.entries) text += StrCat(" {", ShowData(entry), "}");
  return text;
}

template <typename Message>
std::string ShowData(const std::string& proto, ValueKind kind) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(proto, &message)) << proto;
  const Result<TensorData> data = ReadOnnxData(message.SerializeAsString(), "t", kind);
  return data.ok() ? ShowData(*data) : data.status().message();
}

TEST(TensorTest, SequencesAndOptionals) {
  const auto sequence = [](const std::string& proto) {
    return ShowData<sbp_onnx::SequenceValue>(proto, ValueKind::kSequence);
  };
  const auto optional = [](const std::string& proto) {
    return ShowData<sbp_onnx::OptionalValue>(proto, ValueKind::kOptional);
  };
  const std::string one = "{ data_type: 1 dims: 1 float_data: 1 }", two = "{ data_type: 1 dims: 2 float_data: [1, 2] }";
  EXPECT_EQ(sequence("name: 's' elem_type: 1 tensor_values: [" + one + ", " + two + "]"),
            "s sequence(f32[2,2]) {f32[1]} {f32[2]}");
  EXPECT_EQ(sequence("elem_type: 1"), "sequence(undefined[0])");
  EXPECT_EQ(sequence("elem_type: 4"), "t: a sequence of map values; expected tensors");
  EXPECT_EQ(sequence("elem_type: 1 tensor_values: [" + one + ", { data_type: 7 int64_data: 1 }]"),
            "t: a sequence of f32 with an entry of i64");
  EXPECT_EQ(sequence("elem_type: 1 tensor_values: { data_type: 1 dims: 3 float_data: 1 }"),
            "t: entry 0: 4 bytes of values for f32[3]");
  EXPECT_EQ(optional("name: 'o' elem_type: 1 tensor_value: " + two), "o optional(f32[2]) {f32[2]}");
  EXPECT_EQ(optional("elem_type: 3 sequence_value: { elem_type: 1 tensor_values: " + one + " }"),
            "optional(f32[1,1]) {sequence(f32[1,1]) {f32[1]}}");
  EXPECT_EQ(optional("elem_type: 0"), "optional(undefined[])");
  EXPECT_EQ(optional("elem_type: 2"), "t: an optional sparse tensor value; expected a tensor or a sequence of them");
  EXPECT_EQ(ReadOnnxData("\xff\xff", "t", ValueKind::kSequence).status().message(),
            "t: not a serialised SequenceProto");
  EXPECT_EQ(ReadOnnxData("", "t", ValueKind::kMap).status().message(), "t: a map; expected tensors");
}

TEST(TensorTest, MalformedSparseTensors) {
  for (const std::string_view indices :
       {"dims: 1 data_type: 7 int64_data: 4", "dims: 1 data_type: 7 int64_data: -1",
        "dims: [1, 2] data_type: 7 int64_data: [0, 2]", "dims: 2 data_type: 7 int64_data: [0, 1]",
        "dims: 1 data_type: 1 float_data: 1"}) {
    sbp_onnx::SparseTensor sparse;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "dims: [2, 2] values { dims: 1 data_type: 1 float_data: 3 } indices { " + std::string(indices) + " }",
        &sparse));
    EXPECT_FALSE(onnx::DecodeSparse(sparse, "").ok()) << indices;
  }
}

TEST(ScopeTest, Rows) {
  EXPECT_EQ(onnx::ScopeFromNameScopes("['', 'm', 'm.layers.0', 'm.layers.0.attn', 'view_3']"), "m/layers.0/attn");
  EXPECT_EQ(onnx::ScopeFromNameScopes("['', 'view']"), "");
  EXPECT_EQ(onnx::ScopeFromNameScopes("['a', \"it's\", 'op']"), "a/it's");
  EXPECT_EQ(onnx::ScopeFromNameScopes("nonsense"), std::nullopt);
  EXPECT_EQ(onnx::ScopeFromNameScopes("['a"), std::nullopt);
  EXPECT_EQ(onnx::ScopeFromNamespace(": pkg.Model/m: pkg.Inner/m.layers.0: pkg.Layer/view_3: aten.view"), "m/layers.0");
  EXPECT_EQ(onnx::ScopeFromNodeName("/model/layers.0/attn/MatMul"), "model/layers.0/attn");
  EXPECT_EQ(onnx::ScopeFromNodeName("model.layers.0.attn.MatMul"), "model/layers.0/attn");
  EXPECT_EQ(onnx::ScopeFromNodeName("a/b;c/d"), "a");
  EXPECT_EQ(onnx::ScopeFromNodeName("MatMul_7"), "");
  EXPECT_EQ(onnx::ScopeFromNodeName(""), "");
}

}  // namespace
}  // namespace sbp
