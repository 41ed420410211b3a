#include "boxing/op_seconds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "graph/graph.h"
#include "graph/kernel_groups.h"
#include "rule/candidates.h"
#include "rule/rule_set.h"

namespace sbp {
namespace {

// A product of 512 x 256 by 256 x 1024.
RuleInstanceRef Product() {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  static const Attributes* const none = new Attributes();
  OpQuery query;
  query.type = "MatMul";
  query.operands = {{.present = true, .type = {DType::kBF16, {512, 256}}},
                    {.present = true, .type = {DType::kBF16, {256, 1024}}}};
  query.attributes = none;
  query.wanted = {true};
  return *rules->Instantiate(query);
}

OpFusion InAttention() {
  return {.operands = {OpFusion::End::kInside, OpFusion::End::kOutside},
          .results = {OpFusion::End::kInside},
          .anchor = true,
          .in_attention = true};
}

TEST(OpSeconds, OfAnOpInAGroupWithAllItsCutsAreAtMostThoseOfItAlone) {
  const Mesh mesh = *ParseMesh("a=2,b=2");
  const RuleInstanceRef product = Product();
  for (const double rate : {0.1, 0.36, 0.95}) {
    Cluster cluster = *FindPreset("8xH100");
    cluster.device.compute_efficiency.value = rate;
    for (const bool in_attention : {true, false}) {
      OpFusion fusion = InAttention();
      fusion.in_attention = in_attention;
      for (const Candidate& candidate : MakeCandidates(product, mesh).candidates) {
        double fused = OpSeconds(*product, candidate, mesh, cluster, &fusion);
        fused += CutSeconds(*product, candidate, mesh, cluster, fusion, false, 0);
        fused += CutSeconds(*product, candidate, mesh, cluster, fusion, true, 0);
        EXPECT_LE(fused, OpSeconds(*product, candidate, mesh, cluster) * (1 + 1e-12));
        EXPECT_EQ(CutSeconds(*product, candidate, mesh, cluster, fusion, false, 1), 0);  // outside anyhow
      }
    }
  }
}

RuleInstanceRef Move(const char* type, const Attributes& attributes, std::vector<OperandInfo> operands) {
  static const RuleSet* const rules = new RuleSet(*RuleSet::Builtin());
  OpQuery query;
  query.type = type;
  query.operands = std::move(operands);
  query.attributes = &attributes;
  query.wanted = {true};
  return *rules->Instantiate(query);
}

// Of a sum of three branches the kernel is made of, and one that another brings along.
TEST(OpSeconds, EveryBranchThatIsCutOffIsAKernel) {
  const Mesh mesh = *ParseMesh("a=2");
  const Cluster cluster = *FindPreset("8xH100");
  const OperandInfo operand{.present = true, .type = {DType::kBF16, {512, 1024}}};
  const Attributes none;
  const RuleInstanceRef sum = Move("Sum", none, {operand, operand, operand});
  const OpFusion::End inside = OpFusion::End::kInside;
  const OpFusion fusion{
      .operands = {inside, inside, inside}, .results = {inside}, .launches = false, .joins = {true, true, false}};
  const Candidate candidate = MakeCandidates(sum, mesh).candidates.front();
  const auto cut = [&](size_t slot) { return CutSeconds(*sum, candidate, mesh, cluster, fusion, false, slot); };
  EXPECT_EQ(cut(0), cut(1));
  EXPECT_GT(cut(2), 0);
  EXPECT_NEAR(cut(1) - cut(2), cluster.device.queued_launch_seconds->value, 1e-12);
}

// A transpose between two light ops runs no kernel; boxed in front of it or behind it, its neighbours write and read.
TEST(OpSeconds, BesideAMoveWithoutKernelACutIsWrittenAndRead) {
  const Mesh mesh = *ParseMesh("a=2");
  const Cluster cluster = *FindPreset("8xH100");
  Attributes turned;
  turned.Set("perm", std::vector<int64_t>{1, 0});
  const RuleInstanceRef move = Move("Transpose", turned, {{.present = true, .type = {DType::kBF16, {512, 1024}}}});
  OpFusion fusion{
      .operands = {OpFusion::End::kInside}, .results = {OpFusion::End::kInside}, .no_kernel = true, .launches = false};
  for (const Candidate& candidate : MakeCandidates(move, mesh).candidates) {
    EXPECT_EQ(OpSeconds(*move, candidate, mesh, cluster, &fusion), 0);
    const double front = CutSeconds(*move, candidate, mesh, cluster, fusion, false, 0);
    const double behind = CutSeconds(*move, candidate, mesh, cluster, fusion, true, 0);
    EXPECT_DOUBLE_EQ(front, behind + cluster.device.queued_launch_seconds->value);
    EXPECT_GE(behind, ByteSeconds(cluster.device, 512 * 1024));  // half of 2 bytes each
    EXPECT_LE(front + behind, OpSeconds(*move, candidate, mesh, cluster));
  }
  // What nobody in the group reads is in memory anyhow, and lies as it does.
  fusion.results = {OpFusion::End::kOutside};
  const Candidate first = MakeCandidates(move, mesh).candidates.front();
  EXPECT_EQ(CutSeconds(*move, first, mesh, cluster, fusion, false, 0), 0);
}

TEST(OpSeconds, WhatHandsOnTheSameMemoryTakesNothingCutOrNot) {
  const Mesh mesh = *ParseMesh("a=2");
  const Cluster cluster = *FindPreset("8xH100");
  const Attributes none;
  const RuleInstanceRef view = Move("sbp::Refetch", none, {{.present = true, .type = {DType::kBF16, {512, 1024}}}});
  const OpFusion fusion{
      .operands = {OpFusion::End::kInside}, .results = {OpFusion::End::kInside}, .no_kernel = true, .launches = false};
  for (const Candidate& candidate : MakeCandidates(view, mesh).candidates) {
    EXPECT_EQ(CutSeconds(*view, candidate, mesh, cluster, fusion, false, 0), 0);
    EXPECT_EQ(CutSeconds(*view, candidate, mesh, cluster, fusion, true, 0), 0);
  }
}

// Also where attention kernels are faster than products.
// A convolution sums over its window too: what no factor stands for, its flops do. (The gradient of a weight is one
// whose window is a whole picture.)
TEST(OpSeconds, OfAConvolutionAreThoseOfAProductWithItsWindowInTheSums) {
  const Mesh mesh = *ParseMesh("a=1");
  const Cluster cluster = *FindPreset("8xH100");
  const Attributes none;
  const RuleInstanceRef conv = Move("Conv", none,
                                    {{.present = true, .type = {DType::kBF16, {64, 128, 30, 30}}},
                                     {.present = true, .type = {DType::kBF16, {256, 128, 7, 7}}}});
  const Work work = WorkOf(*conv, MakeCandidates(conv, mesh).candidates.front(), mesh);
  ASSERT_TRUE(work.contraction.has_value());
  const ContractionShape& shape = *work.contraction;
  EXPECT_EQ(shape.k, 128 * 7 * 7);
  EXPECT_EQ(shape.batch * shape.m * shape.n, 64.0 * 256 * 24 * 24);
  EXPECT_EQ(2 * shape.batch * shape.m * shape.n * shape.k, work.flops);
  const RuleInstanceRef product = Product();
  const Work of_product = WorkOf(*product, MakeCandidates(product, mesh).candidates.front(), mesh);
  EXPECT_EQ(of_product.contraction->k, 256);
  EXPECT_GT(ContractionEfficiency(cluster.device, DType::kBF16, *work.contraction), 0.5);
  EXPECT_EQ(shape.window, 7 * 7);
  EXPECT_EQ(of_product.contraction->window, 0);
}

// One channel a group: nothing is summed over but the window.
TEST(OpSeconds, OfADepthwiseConvolutionAreThoseOfVectorUnits) {
  const Mesh mesh = *ParseMesh("a=1");
  const Cluster cluster = *FindPreset("8xA100-80G");
  Attributes depthwise;
  depthwise.Set("group", int64_t{256});
  const auto seconds = [&](int64_t side) {
    const RuleInstanceRef conv = Move("Conv", depthwise,
                                      {{.present = true, .type = {DType::kF16, {64, 256, 55 + side, 55 + side}}},
                                       {.present = true, .type = {DType::kF16, {256, 1, side, side}}}});
    const Work work = WorkOf(*conv, MakeCandidates(conv, mesh).candidates.front(), mesh);
    return FlopSeconds(cluster.device, work) / work.flops;
  };
  EXPECT_DOUBLE_EQ(1 / seconds(31), 19.5e12 * 0.9);
  EXPECT_DOUBLE_EQ(seconds(7), seconds(31));
}

// Its window is a picture, and what would be channels are samples: one on a device takes no longer than one of eight.
TEST(OpSeconds, OfAWeightGradientDoNotWaitForMoreSamples) {
  const Mesh mesh = *ParseMesh("a=1");
  const Cluster cluster = *FindPreset("8xA100-80G");
  const Attributes none;
  const auto seconds = [&](int64_t samples) {
    const RuleInstanceRef conv = Move("Conv", none,
                                      {{.present = true, .type = {DType::kF16, {256, samples, 58, 58}}},
                                       {.present = true, .type = {DType::kF16, {256, samples, 56, 56}}}});
    const Work work = WorkOf(*conv, MakeCandidates(conv, mesh).candidates.front(), mesh);
    return FlopSeconds(cluster.device, work) / static_cast<double>(samples);
  };
  EXPECT_NEAR(seconds(1), seconds(8), 0.05 * seconds(8));
}

// Whatever its channels, on every device.
TEST(OpSeconds, OfAConvolutionAreAtLeastTheLeast) {
  const Mesh mesh = *ParseMesh("a=1");
  for (const PresetRow& preset : AllPresets()) {
    const Cluster cluster = preset.make();
    for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
      for (const int64_t channels : {1, 3, 64}) {
        for (const int64_t outputs : {1, 4, 256}) {
          Attributes grouped;
          grouped.Set("group", int64_t{32});
          const RuleInstanceRef conv = Move("Conv", grouped,
                                            {{.present = true, .type = {dtype, {64, 32 * channels, 64, 64}}},
                                             {.present = true, .type = {dtype, {32 * outputs, channels, 31, 31}}}});
          const double least = LeastOpSeconds(*conv, mesh, cluster, nullptr);
          const double seconds = OpSeconds(*conv, MakeCandidates(conv, mesh).candidates.front(), mesh, cluster);
          EXPECT_LE(least, seconds * (1 + 1e-9)) << preset.name << " " << channels << " " << outputs;
        }
      }
    }
  }
}

// Of 8 bits whatever the scales are.
TEST(OpSeconds, OfAQuantisedConvolutionAreThoseOfIntegers) {
  const Mesh mesh = *ParseMesh("a=1");
  const OperandInfo scale{.present = true, .type = {DType::kF32, {}}}, zero{.present = true, .type = {DType::kU8, {}}};
  const Attributes none;
  const RuleInstanceRef conv = Move("QLinearConv", none,
                                    {{.present = true, .type = {DType::kU8, {8, 16, 30, 30}}},
                                     scale,
                                     zero,
                                     {.present = true, .type = {DType::kU8, {32, 16, 3, 3}}},
                                     scale,
                                     zero,
                                     scale,
                                     zero});
  EXPECT_EQ(WorkOf(*conv, MakeCandidates(conv, mesh).candidates.front(), mesh).dtype, DType::kU8);
}

// Four rows of a table of 1,000 are read, by a rank that holds half of it, too; a small table is read once, however
// often its rows are wanted.
TEST(OpSeconds, OfATableThoseOfTheRowsThatAreWanted) {
  const Mesh mesh = *ParseMesh("a=2");
  const Cluster cluster = *FindPreset("8xH100");
  const Attributes none;
  const auto rows = [&](int64_t table, int64_t wanted) {
    return Move(
        "Gather", none,
        {{.present = true, .type = {DType::kBF16, {table, 64}}}, {.present = true, .type = {DType::kI64, {wanted}}}});
  };
  const auto bytes = [&](const RuleInstanceRef& gather, const Candidate& candidate) {
    return WorkOf(*gather, candidate, mesh).bytes;
  };
  const RuleInstanceRef few = rows(1000, 4), all = rows(2, 1000);
  for (const Candidate& candidate : MakeCandidates(few, mesh).candidates) {
    const bool shares = candidate.signature.inputs[1][0].is_split() || candidate.signature.outputs[0][0].is_split();
    EXPECT_EQ(bytes(few, candidate),
              2 * (4 * 64 * 2) / (shares ? 2 : 1) + 4 * 8 / (candidate.signature.inputs[1][0].is_split() ? 2 : 1));
    EXPECT_LE(LeastOpSeconds(*few, mesh, cluster, nullptr), OpSeconds(*few, candidate, mesh, cluster, nullptr));
  }
  for (const Candidate& candidate : MakeCandidates(all, mesh).candidates) {
    const CandidateSignature& signature = candidate.signature;
    if (!signature.inputs[0][0].is_broadcast() || !signature.inputs[1][0].is_broadcast()) continue;
    EXPECT_EQ(bytes(all, candidate), 2 * 64 * 2 + 1000 * 64 * 2 + 1000 * 8);
  }
}

TEST(OpSeconds, OfGroupedProductsAreThoseOfAProductAnExpert) {
  constexpr int64_t kRows = 4096, kExperts = 16, kWidth = 512, kHidden = 256;
  const Cluster cluster = *FindPreset("8xH100");
  const Attributes none;
  const auto shape_on = [&](const char* mesh_text, const RuleInstanceRef& op, size_t operand) {
    const Mesh mesh = *ParseMesh(mesh_text);
    for (const Candidate& candidate : MakeCandidates(op, mesh).candidates) {
      const Sbp layout = candidate.signature.inputs[operand][0];
      if (mesh.num_devices() == 1 || layout.is_split(0)) return *WorkOf(*op, candidate, mesh).contraction;
    }
    ADD_FAILURE() << "no such candidate";
    return ContractionShape{};
  };
  const RuleInstanceRef product = Move("sbp::GroupedMatMul", none,
                                       {{.present = true, .type = {DType::kBF16, {kRows, kHidden}}},
                                        {.present = true, .type = {DType::kBF16, {kExperts, kHidden, kWidth}}},
                                        {.present = true, .type = {DType::kI64, {kRows}}}});
  const ContractionShape whole = shape_on("a=1", product, 0);
  EXPECT_TRUE(whole.uneven);
  EXPECT_EQ(whole.batch, kExperts);
  EXPECT_EQ(whole.m, kRows / kExperts);
  EXPECT_EQ(whole.n, kWidth);
  EXPECT_EQ(whole.k, kHidden);
  const ContractionShape rows = shape_on("a=4", product, 0);  // fewer rows of each expert
  EXPECT_EQ(rows.batch, kExperts);
  EXPECT_EQ(rows.m, kRows / kExperts / 4);
  const ContractionShape experts = shape_on("a=4", product, 1);  // fewer experts
  EXPECT_EQ(experts.batch, kExperts / 4);
  EXPECT_EQ(experts.m, kRows / kExperts);
  ContractionShape even = whole;
  even.uneven = false;
  EXPECT_LT(ContractionEfficiency(cluster.device, DType::kBF16, whole),
            ContractionEfficiency(cluster.device, DType::kBF16, even));

  Attributes of_experts;
  of_experts.Set("experts", kExperts);
  const RuleInstanceRef gradient = Move("sbp::GroupedOuter", of_experts,
                                        {{.present = true, .type = {DType::kBF16, {kRows, kHidden}}},
                                         {.present = true, .type = {DType::kBF16, {kRows, kWidth}}},
                                         {.present = true, .type = {DType::kI64, {kRows}}}});
  const ContractionShape summed = shape_on("a=1", gradient, 0);
  EXPECT_EQ(summed.batch, kExperts);
  EXPECT_EQ(summed.m, kHidden);
  EXPECT_EQ(summed.n, kWidth);
  EXPECT_EQ(summed.k, kRows / kExperts);
}

// Weights of four bits are read as they are packed, once: a row waits for them alone, and many rows for the units of
// the type of the activations.
TEST(OpSeconds, OfPackedWeightsAreThoseOfTheirBytesWhereRowsAreFew) {
  constexpr int64_t kWidth = 4096, kColumns = 131072, kBlocks = kWidth / 32;
  const Cluster cluster = *FindPreset("8xH100");
  Attributes attributes;
  attributes.Set("K", kWidth);
  attributes.Set("N", kColumns);
  attributes.Set("block_size", int64_t{32});
  for (const DType type : {DType::kF16, DType::kF32}) {
    const auto product = [&](int64_t rows) {
      return Move("com.microsoft::MatMulNBits", attributes,
                  {{.present = true, .type = {type, {rows, kWidth}}},
                   {.present = true, .type = {DType::kU8, {kColumns, kBlocks, 16}}},
                   {.present = true, .type = {type, {kColumns, kBlocks}}}});
    };
    const Mesh alone = *ParseMesh("a=1");
    const RuleInstanceRef row = product(1), rows = product(4096);
    const Work of_row = WorkOf(*row, MakeCandidates(row, alone).candidates.front(), alone);
    const int64_t bytes = type == DType::kF16 ? 2 : 4;
    EXPECT_EQ(of_row.bytes, kColumns * kBlocks * (16 + bytes) + (kWidth + kColumns) * bytes);
    EXPECT_EQ(of_row.dtype, type);
    ASSERT_TRUE(of_row.contraction.has_value());
    EXPECT_EQ(of_row.contraction->m, 1);
    EXPECT_EQ(of_row.contraction->n, kColumns);
    EXPECT_EQ(of_row.contraction->k, kWidth);
    EXPECT_LT(FlopSeconds(cluster.device, of_row), ByteSeconds(cluster.device, of_row.bytes));
    const Work of_rows = WorkOf(*rows, MakeCandidates(rows, alone).candidates.front(), alone);
    EXPECT_GT(FlopSeconds(cluster.device, of_rows), ByteSeconds(cluster.device, of_rows.bytes));

    const Mesh mesh = *ParseMesh("a=2,b=2");
    const OpFusion fusion{.anchor = true};
    for (const RuleInstanceRef& op : {row, rows, product(64)}) {
      for (const Candidate& candidate : MakeCandidates(op, mesh).candidates) {
        const double eager = OpSeconds(*op, candidate, mesh, cluster);
        EXPECT_LE(OpSeconds(*op, candidate, mesh, cluster, &fusion), eager);
        EXPECT_LE(LeastOpSeconds(*op, mesh, cluster), eager * (1 + 1e-12));
        EXPECT_LE(LeastOpSeconds(*op, mesh, cluster, &fusion),
                  OpSeconds(*op, candidate, mesh, cluster, &fusion) * (1 + 1e-12));
      }
    }
  }
}

// Of the matrices of experts no more are read than there are rows, and no more computed; of many rows all are.
TEST(OpSeconds, OfExpertsThoseThatRowsReach) {
  constexpr int64_t kExperts = 8, kWidth = 4096, kColumns = 14336;
  const Cluster cluster = *FindPreset("8xH100");
  const Mesh alone = *ParseMesh("a=1"), mesh = *ParseMesh("a=2,b=2");
  const Attributes none;
  double before = 0;
  for (const int64_t rows : {1, 2, 5, 8, 64, 4096}) {
    const RuleInstanceRef op = Move("sbp::GroupedMatMul", none,
                                    {{.present = true, .type = {DType::kBF16, {rows, kWidth}}},
                                     {.present = true, .type = {DType::kBF16, {kExperts, kWidth, kColumns}}},
                                     {.present = true, .type = {DType::kI64, {rows}}}});
    const Candidate whole = MakeCandidates(op, alone).candidates.front();
    const Work work = WorkOf(*op, whole, alone);
    EXPECT_EQ(work.bytes, std::min(rows, kExperts) * kWidth * kColumns * 2 + rows * (kWidth + kColumns) * 2 + rows * 8);
    ASSERT_TRUE(work.contraction.has_value());
    EXPECT_EQ(work.contraction->batch * work.contraction->m, rows);
    EXPECT_EQ(work.contraction->batch, std::min(rows, kExperts));
    const double seconds = OpSeconds(*op, whole, alone, cluster);
    EXPECT_GE(seconds, before);
    before = seconds;
    if (rows <= kExperts) EXPECT_LT(FlopSeconds(cluster.device, work), ByteSeconds(cluster.device, work.bytes));
    for (const Candidate& candidate : MakeCandidates(op, mesh).candidates) {
      EXPECT_LE(LeastOpSeconds(*op, mesh, cluster), OpSeconds(*op, candidate, mesh, cluster) * (1 + 1e-12));
      // Experts on two devices: one of these has the matrix of an only row.
      if (rows == 1) {
        EXPECT_GE(WorkOf(*op, candidate, mesh).bytes, kWidth * kColumns * 2 / 4);
      }
    }
  }
}

// Of a table of packed rows no more is read than of a table of others.
TEST(OpSeconds, OfAPackedTableThoseOfTheRowsThatAreWanted) {
  const Mesh mesh = *ParseMesh("a=1");
  Attributes attributes;
  attributes.Set("block_size", int64_t{32});
  const RuleInstanceRef gather = Move("com.microsoft::GatherBlockQuantized", attributes,
                                      {{.present = true, .type = {DType::kU8, {100000, 1024}}},
                                       {.present = true, .type = {DType::kI64, {1}}},
                                       {.present = true, .type = {DType::kF16, {100000, 64}}}});
  for (const Candidate& candidate : MakeCandidates(gather, mesh).candidates)
    EXPECT_LE(WorkOf(*gather, candidate, mesh).bytes, 4 * 2048 * 2 + 8);
}

// One kernel, whether it is one op or products and a softmax that were found to be one.
TEST(OpSeconds, AttentionIsPricedByItsHeadsPassAndMaskHoweverItIsSpelled) {
  const Mesh mesh = *ParseMesh("a=1");
  const Cluster cluster = *FindPreset("8xH100");
  const auto operand = [](const char* type) { return OperandInfo{.present = true, .type = *ParseTensorType(type)}; };
  const auto seconds = [&](const RuleInstanceRef& instance) {
    return FlopSeconds(cluster.device, WorkOf(*instance, MakeCandidates(instance, mesh).candidates.front(), mesh));
  };
  const Attributes none;
  const auto attention = [&](const char* q, const char* k, bool masked) {
    std::vector<OperandInfo> operands = {operand(q), operand(k), operand(k)};
    if (masked) operands.push_back(operand("bool[1,1,1,4096,4096]"));
    return Move("sbp::FlashAttention", none, operands);
  };
  const RuleInstanceRef wide = attention("bf16[8,8,1,4096,128]", "bf16[8,8,4096,128]", false);
  const RuleInstanceRef narrow = attention("bf16[8,16,1,4096,64]", "bf16[8,16,4096,64]", false);
  const RuleInstanceRef masked = attention("bf16[8,8,1,4096,128]", "bf16[8,8,4096,128]", true);
  EXPECT_EQ(wide->flops, narrow->flops);
  // As profiles of steps on H200 have them, by heads of 128: 0.42 and, with a mask, 0.29 and 0.23 of the peak, of 0.52.
  EXPECT_NEAR(seconds(wide) / seconds(narrow), 0.42 / 0.52, 1e-9);
  EXPECT_NEAR(seconds(wide) / seconds(masked), 0.29 / 0.52, 1e-9);
  const RuleInstanceRef product = Move("MatMul", none, {operand("bf16[64,4096,64]"), operand("bf16[64,64,4096]")});
  const Candidate whole = MakeCandidates(product, mesh).candidates.front();
  OpFusion fusion = InAttention();
  fusion.launches = false;
  fusion.operands = {OpFusion::End::kInside, OpFusion::End::kInside};
  const double forward = OpSeconds(*product, whole, mesh, cluster, &fusion);
  EXPECT_NEAR(forward, product->flops / (989.5e12 * 0.42), 1e-9);
  fusion.in_masked = true;
  EXPECT_NEAR(forward / OpSeconds(*product, whole, mesh, cluster, &fusion), 0.23 / 0.42, 1e-9);
}

TEST(OpSeconds, NoCandidateTakesLessThanTheLeast) {
  const Mesh mesh = *ParseMesh("a=2,b=2");
  const RuleInstanceRef product = Product();
  const OpFusion fusion = InAttention();
  for (const double rate : {0.1, 0.36, 0.95}) {
    Cluster cluster = *FindPreset("8xH100");
    cluster.device.compute_efficiency.value = rate;
    for (const OpFusion* spared : {&fusion, static_cast<const OpFusion*>(nullptr)}) {
      const double least = LeastOpSeconds(*product, mesh, cluster, spared);
      EXPECT_GT(least, 0);
      for (const Candidate& candidate : MakeCandidates(product, mesh).candidates)
        EXPECT_LE(least, OpSeconds(*product, candidate, mesh, cluster, spared) * (1 + 1e-12)) << rate;
    }
  }
}

}  // namespace
}  // namespace sbp
