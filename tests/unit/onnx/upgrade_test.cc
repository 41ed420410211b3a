// Old operator forms: the node as an old file has it, and the graph that is read.
#include <gmock/gmock.h>

#include "base/text.h"
#include "onnx/reader.h"
#include "unit/onnx/model_text.h"

namespace sbp {
namespace {

struct UpgradeRow {
  int opset;
  std::string node;                   // fields of the node; operand x
  std::vector<std::string> expected;  // lines of the dump, or parts of them
};

std::string Ints(std::string_view name, std::string_view values) {
  return StrCat("attribute { name: '", name, "' type: 7 ints: [", values, "] } ");
}

const std::vector<UpgradeRow> kRows = {
    {12,
     "op_type: 'ReduceSum' input: 'x' output: 'y' " + Ints("axes", "1"),
     {"value=[1]", "ReduceSum(x, y/axes) -> (y)\n"}},
    {13, "op_type: 'ReduceMean' input: 'x' output: 'y' " + Ints("axes", "-1"), {"ReduceMean(x, y/axes) -> (y)\n"}},
    {18, "op_type: 'ReduceMean' input: ['x', 'x'] output: 'y'", {"ReduceMean(x, x) -> (y)\n"}},
    {12, "op_type: 'Squeeze' input: 'x' output: 'y'", {"Squeeze(x) -> (y)\n"}},
    {12,
     "op_type: 'Unsqueeze' input: 'x' output: 'y' " + Ints("axes", "0, 2"),
     {"value=[0, 2]", "Unsqueeze(x, y/axes)"}},
    {9,
     "op_type: 'Slice' input: 'x' output: 'y' " + Ints("starts", "1") + Ints("ends", "2") + Ints("axes", "0"),
     {"Slice(x, y/starts, y/ends, y/axes) -> (y)\n"}},
    {10,
     "op_type: 'Clip' input: 'x' output: 'y' attribute { name: 'max' f: 6 type: 1 }",
     {"parameter y/max f32[] value=6", "Clip(x, _, y/max) -> (y)\n"}},
    {10,
     "op_type: 'Pad' input: 'x' output: 'y' " + Ints("pads", "1, 1, 0, 0") + "attribute { name: 'value' f: 2 type: 1 }",
     {"Pad(x, y/pads, y/value) -> (y)\n"}},
    {9,
     "op_type: 'Upsample' input: ['x', 'x'] output: 'y' attribute { name: 'mode' s: 'nearest' type: 3 }",
     {"Resize(x, _, x) -> (y)", "coordinate_transformation_mode=\"asymmetric\"", "nearest_mode=\"floor\""}},
    {7,
     "op_type: 'Upsample' input: 'x' output: 'y' attribute { name: 'scales' floats: [1, 2] type: 6 }",
     {"value=[1, 2]", "Resize(x, _, y/scales) -> (y)"}},
    {11,
     "op_type: 'Dropout' input: 'x' output: 'y' attribute { name: 'ratio' f: 0.5 type: 1 }",
     {"Dropout(x, y/ratio) -> (y)\n"}},
    {9,
     "op_type: 'TopK' input: 'x' output: ['y', 'z'] attribute { name: 'k' i: 5 type: 2 }",
     {"value=[5]", "TopK(x, y/k) -> (y, z)\n"}},
    {12, "op_type: 'Split' input: 'x' output: ['y', 'z'] " + Ints("split", "1, 1"), {"Split(x, y/split) -> (y, z)\n"}},
    {13, "op_type: 'Split' input: 'x' output: ['y', 'z']", {"Split(x) -> (y, z) num_outputs=2\n"}},
    {9,
     "op_type: 'BatchNormalization' input: ['x', 'x', 'x', 'x', 'x'] output: ['y', 'z', 'v', 'p', 'q']",
     {"-> (y, z, v, p, q) training_mode=1\n"}},
    {9, "op_type: 'BatchNormalization' input: ['x', 'x', 'x', 'x', 'x'] output: 'y'", {"-> (y)\n"}},
    {10, "op_type: 'Scatter' input: ['x', 'x', 'x'] output: 'y'", {"ScatterElements(x, x, x) -> (y)\n"}},
    {12, "op_type: 'Softmax' input: 'x' output: 'y'", {"axis=1", "flatten_from=1"}},
    {12,
     "op_type: 'LogSoftmax' input: 'x' output: 'y' attribute { name: 'axis' i: -1 type: 2 }",
     {"LogSoftmax(x) -> (y) axis=-1\n"}},
    {13, "op_type: 'Softmax' input: 'x' output: 'y'", {"Softmax(x) -> (y)\n"}},
    {12,
     "op_type: 'RoiAlign' input: ['x', 'x', 'x'] output: 'y'",
     {"coordinate_transformation_mode=\"output_half_pixel\""}},
    {16, "op_type: 'GridSample' input: ['x', 'x'] output: 'y'", {"mode=\"linear\""}},
    {17,
     "op_type: 'DFT' input: 'x' output: 'y' attribute { name: 'axis' i: 2 type: 2 }",
     {"DFT(x, _, y/axis) -> (y)\n"}},
    {18,
     "op_type: 'GroupNormalization' input: ['x', 'x', 'x'] output: 'y' attribute { name: 'num_groups' i: 2 type: 2 }",
     {"Div(y/channels, y/groups)", "Expand(y/scale_column, y/expanded_shape)",
      "GroupNormalization(x, y/scale_per_channel, y/bias_per_channel)"}},
    {6, "op_type: 'Elu' input: 'x' output: 'y' " + Ints("consumed_inputs", "0"), {"Elu(x) -> (y)\n"}},
    {1, "op_type: 'Not' input: 'x' output: 'y'", {"Not(x) -> (y)\n"}},
    {6,
     "op_type: 'Add' input: ['x', 'x'] output: 'y' attribute { name: 'broadcast' i: 1 type: 2 } "
     "attribute { name: 'axis' i: 0 type: 2 }",
     {"Add(x, x) -> (y)\n"}},
    {6,
     "op_type: 'BatchNormalization' input: ['x', 'x', 'x', 'x', 'x'] output: 'y' "
     "attribute { name: 'spatial' i: 0 type: 2 }",
     {"statistics per position (spatial = 0) are not read"}},
    {3, "op_type: 'Concat' input: ['x', 'x'] output: 'y'", {"Concat(x, x) -> (y) axis=1\n"}},
    {6, "op_type: 'Upsample' input: 'x' output: 'y'", {"Upsample of opset 6 is too old"}},
    {8, "op_type: 'Scan' input: 'x' output: 'y'", {"Scan of opset 8 with lengths per sample"}},
    {8, "op_type: 'Scan' input: ['', 'x'] output: 'y'", {"needs operands and a body"}},
    {8,
     "op_type: 'Scan' input: ['', 'x'] output: 'y' attribute { name: 'num_scan_inputs' i: 1 type: 2 } "
     "attribute { name: 'directions' ints: 1 type: 7 } attribute { name: 'body' type: 5 g { "
     "node { op_type: 'Add' input: ['e', 'x'] output: 'r' } input { name: 'e' } output { name: 'r' } } }",
     {"Scan(x) -> (y)", "num_scan_inputs=1"}},
    {9, "op_type: 'TopK' input: 'x' output: 'y'", {"TopK without k"}},
};

TEST(UpgradeTest, Rows) {
  for (const UpgradeRow& row : kRows) {
    SCOPED_TRACE(row.node);
    const std::string bytes = ModelBytes(
        InputText("x", {"dim_value: 2", "dim_value: 3"}) + "node { name: 'n' " + row.node + " } " + OutputText("y"),
        StrCat("opset_import { version: ", row.opset, " }"));
    const Result<Graph> graph = ReadOnnx(bytes, "m");
    const std::string text = graph.ok() ? Dump(*graph) : graph.status().message();
    for (const std::string& expected : row.expected) EXPECT_THAT(text, testing::HasSubstr(expected));
  }
}

}  // namespace
}  // namespace sbp
