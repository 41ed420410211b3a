#include "onnx/adopted.h"

#include <gtest/gtest.h>

namespace sbp::onnx {
namespace {

NodeForm Node(std::string type, Attributes attributes = {}) {
  NodeForm node;
  node.type = std::move(type);
  node.attributes = std::move(attributes);
  return node;
}

TEST(AdoptByOnnx, TakesOnnxsName) {
  NodeForm node = Node("com.microsoft::GridSample");
  EXPECT_EQ(AdoptByOnnx(node), 16);  // with the modes that ONNX renamed afterwards
  EXPECT_EQ(node.type, "GridSample");
}

TEST(AdoptByOnnx, OthersStayAsTheyAre) {
  for (const char* type : {"com.microsoft::Attention", "Trilu", "acme::Trilu"}) {
    NodeForm node = Node(type);
    EXPECT_EQ(AdoptByOnnx(node), std::nullopt);
    EXPECT_EQ(node.type, type);
  }
}

TEST(AdoptByOnnx, AttributesThatOnnxLacksMustMeanNothing) {
  Attributes plain;
  plain.Set("state_window", int64_t{0});
  plain.Set("update_rule", std::string("delta"));
  NodeForm node = Node("com.microsoft::LinearAttention", plain);
  EXPECT_TRUE(AdoptByOnnx(node).has_value());
  EXPECT_EQ(node.attributes.Find("state_window"), nullptr);
  EXPECT_EQ(node.attributes.String("update_rule", ""), "delta");

  plain.Set("state_window", int64_t{4});
  NodeForm windowed = Node("com.microsoft::LinearAttention", plain);
  EXPECT_EQ(AdoptByOnnx(windowed), std::nullopt);
  EXPECT_EQ(windowed.type, "com.microsoft::LinearAttention");
  EXPECT_EQ(windowed.attributes.Int("state_window", 0), 4);
}

}  // namespace
}  // namespace sbp::onnx
