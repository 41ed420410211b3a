#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "boxing/boxing.h"
#include "boxing/search.h"

namespace sbp {
namespace {

TEST(CopyCost, ByDefinition) {
  const Sbp s0 = Sbp::Split(0), s1 = Sbp::Split(1), b = Sbp::Broadcast(), p = Sbp::Partial();
  const struct {
    Sbp from, to;
    int64_t cost;
  } kRows[] = {{s0, s0, 0},
               {p, p, 0},
               {s0, s1, 100},
               {s0, b, 100},
               {p, b, 100},
               {p, s0, 100},
               {b, s0, kBroadcastToSplitPrice},
               {b, p, kToPartialPrice},
               {s0, p, kToPartialPrice},
               {p, Sbp::Partial(ReduceKind::kMax), kToPartialPrice}};
  for (const auto& row : kRows)
    EXPECT_EQ(CopyCost(row.from, row.to, 100), row.cost) << ToString(row.from) << ToString(row.to);
}

TEST(BytesPrice, ByDefinition) {
  const Sbp s0 = Sbp::Split(0), s1 = Sbp::Split(1), b = Sbp::Broadcast(), p = Sbp::Partial();
  const struct {
    Sbp from, to;
    double price;
  } kRows[] = {{s0, s0, 0},
               {b, b, 0},
               {p, p, 0},
               {s0, s1, 75},
               {s0, b, 300},
               {p, s1, 300},
               {p, b, 600},
               {b, s0, 1},
               {b, p, 1},
               {s0, p, 1},
               {p, Sbp::Partial(ReduceKind::kMax), 301}};
  for (const auto& row : kRows) {
    EXPECT_EQ(BytesPriceOneAxis(row.from, row.to, 4, 100), row.price) << ToString(row.from) << ToString(row.to);
  }
}

// What a change of one axis costs is the bytes that its collective moves: all ranks together.
TEST(BytesPrice, EqualsTheBytesOfOneStep) {
  const Mesh mesh = *ParseMesh("2,3");
  const Cluster cluster = *FindPreset("cpu");
  const std::vector<GroupShape> groups = {{1, 2}, {1, 3}};
  const TensorType type{DType::kF32, {13, 17}};
  for (const char* text : {"(S0,B)", "(B,S0)", "(S0,S1)", "(P,S1)", "(S1,P)", "(P,B)", "(B,P)"}) {
    const NdSbp from = *ParseNdSbp(text);
    for (int axis = 0; axis < 2; ++axis) {
      for (Sbp target : {Sbp::Broadcast(), Sbp::Split(0), Sbp::Split(1)}) {
        NdSbp to = from;
        to[axis] = target;
        const auto step = FindStep({mesh, cluster, groups}, type, from, to, axis);
        if (!step || step->kind == CollectiveKind::kSlice) continue;
        EXPECT_NEAR(BytesPrice(type, from, to, mesh), step->wire_bytes, 1e-9) << text << " " << ToString(to);
      }
    }
  }
}

// Recorded prices of OneFlow: its price of one hop is ours plus 16500, except into P (which it forbids by a penalty).
class RecordedPrices : public ::testing::Test {
 protected:
  static constexpr double kPerHop = 16500;

  void SetUp() override {
    std::ifstream file(std::string(SBP_SHARED_DIR) + "/data/oracles/oneflow_boxing_costs.json");
    if (!file) GTEST_SKIP() << "no recorded cases";
    recorded_ = nlohmann::json::parse(file)["nccl_use_compute_stream_off"];
  }
  static NdSbp Layout(const nlohmann::json& text) { return *ParseNdSbp(text.get<std::string>()); }
  nlohmann::json recorded_;
};

TEST_F(RecordedPrices, OneHopOnTheSameDevices) {
  const std::map<std::string, std::pair<const char*, Shape>> kCases = {{"1d_same_4", {"4", {64, 64}}},
                                                                       {"2d_same_2x2", {"2,2", {64, 64}}},
                                                                       {"2d_same_2x4", {"2,4", {64, 64}}},
                                                                       {"2d_same_2x2_shape_6x4", {"2,2", {6, 4}}}};
  size_t prices = 0, reached = 0;
  for (const nlohmann::json& row : recorded_) {
    const auto found = kCases.find(row["case"].get<std::string>());
    if (found == kCases.end()) continue;
    const Mesh mesh = *ParseMesh(found->second.first);
    const TensorType type{DType::kF32, found->second.second};
    const NdSbp from = Layout(row["from"]), to = Layout(row["to"]);
    BoxingTable table(mesh, *FindPreset("8xH100"));
    if (!row["total"].is_null()) {
      EXPECT_TRUE(table.Path(type, from, to).reachable) << row;
      ++reached;
    }
    int differ = 0;
    bool into_partial = false;
    for (int axis = 0; axis < mesh.num_axes(); ++axis) {
      if (from[axis] == to[axis]) continue;
      ++differ;
      into_partial |= to[axis].is_partial();
    }
    // Where both axes change alike, OneFlow takes the mesh for one axis.
    if (row["direct"].is_null() || into_partial || differ != 1) continue;
    EXPECT_EQ(BytesPrice(type, from, to, mesh), row["direct"].get<double>() - kPerHop) << row;
    ++prices;
  }
  EXPECT_GT(reached, 700u);
  EXPECT_GT(prices, 100u);
}

TEST_F(RecordedPrices, OtherDevices) {
  size_t prices = 0;
  for (const nlohmann::json& row : recorded_) {
    const std::string name = row["case"];
    if (!name.starts_with("1d_diff_placement_4_to_") || row["direct"].is_null()) continue;
    const Sbp from = Layout(row["from"])[0], to = Layout(row["to"])[0];
    if (to.is_partial()) continue;
    const int64_t n_to = name.back() - '0';
    EXPECT_EQ(BytesPriceOtherDevices(from, to, 4, n_to, 16384), row["direct"].get<double>() - kPerHop) << row;
    ++prices;
  }
  EXPECT_EQ(prices, 24u);
}

}  // namespace
}  // namespace sbp
