// Every legal step between layouts of small tensors, carried out by threads and compared with the values it must leave.
#include "runtime/exchange/boxing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <numeric>

#include "base/text.h"
#include "runtime/backends/threads/thread_communicator.h"
#include "runtime/data/reduce.h"
#include "unit/runtime/boxing_steps.h"
#include "unit/runtime/device_threads.h"
#include "unit/runtime/values.h"

namespace sbp {
namespace {

class BoxingOnThreads : public ::testing::TestWithParam<const char*> {};

TEST_P(BoxingOnThreads, EveryLegalStep) {
  BoxingSteps steps(*ParseMesh(GetParam()), 3);
  steps.AddAll();
  EXPECT_GT(steps.size(), 100U);
  steps.RunOnThreads();
  steps.Check();
}

INSTANTIATE_TEST_SUITE_P(Meshes, BoxingOnThreads, ::testing::Values("2", "3", "4", "2,2", "2,3", "3,1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ',', 'x');
                           return name;
                         });

// More than is combined at once, in rows that are cut into short runs and into long ones.
TEST(BoxingOnThreads, ShortAndLongRuns) {
  BoxingSteps steps(*ParseMesh("3"), 5);
  steps.Add({9000, 7}, DType::kF32, {ReduceKind::kSum});
  steps.Add({7, 9000}, DType::kF64, {ReduceKind::kMax});
  steps.RunOnThreads();
  steps.Check();
}

TEST(BoxingOnThreads, TypesWithoutArithmeticCannotBePartial) {
  HostSpace here;
  const Mesh mesh = *ParseMesh("2");
  OwnedPart source, target;
  MakePart(DType::kU4, {4}, {{0, 4}}, source);
  MakePart(DType::kU4, {4}, {{0, 4}}, target);
  for (const auto& [kind, from, to] :
       {std::tuple{CollectiveKind::kAllReduce, "P", "B"}, {CollectiveKind::kFill, "B", "P"}}) {
    std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
    const BoxingStep step{kind, 0, *ParseNdSbp(from), *ParseNdSbp(to)};
    const Status status = RunBoxingStep(step, mesh, 0, communicators[0], here, source.view, target.view);
    EXPECT_EQ(status.code(), Code::kRunFailed);
    EXPECT_EQ(status.message(), "partial values of type u4 cannot be combined by sum");
  }
}

TEST(BoxingOnThreads, PartsThatDoNotFitTheLayout) {
  HostSpace here;
  const Mesh mesh = *ParseMesh("2");
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
  OwnedPart source, target;
  MakePart(DType::kF32, {5}, {{0, 2}}, source);
  MakePart(DType::kF32, {5}, {{0, 5}}, target);
  const BoxingStep step{CollectiveKind::kAllGather, 0, *ParseNdSbp("S(0)"), *ParseNdSbp("B")};
  EXPECT_EQ(RunBoxingStep(step, mesh, 0, communicators[0], here, source.view, target.view).message(),
            "the source holds [0:2], its layout says [0:3]");
}

// Fills the parts of a layout of iota, runs, and expects iota in the targets.
void CheckMove(const Mesh& mesh, const Shape& shape, const NdSbp& from, const std::vector<Box>& wanted,
               const std::function<Status(int64_t, Communicator&, const TensorView&, const TensorView&)>& move) {
  std::vector<double> iota(static_cast<size_t>(WholeView(DType::kI32, shape, nullptr).elements()));
  std::iota(iota.begin(), iota.end(), 0);
  OwnedPart whole;
  MakePart(DType::kI32, shape, BoxesOfMesh(shape, NdSbp(mesh.num_axes()), mesh)[0], whole);
  whole.bytes = Encode(DType::kI32, iota);
  const std::vector<Box> held = BoxesOfMesh(shape, from, mesh);
  std::deque<OwnedPart> sources(held.size()), targets(held.size());
  for (size_t d = 0; d < held.size(); ++d) {
    MakePart(DType::kI32, shape, held[d], sources[d]);
    MakePart(DType::kI32, shape, wanted[d], targets[d]);
    CopyBox(DType::kI32, held[d], whole.bytes.data(), whole.view.ranges, sources[d].bytes.data(), held[d]);
  }
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
  for (const Status& status : OnDevices(mesh.num_devices(), [&](int64_t d) {
         return move(d, *communicators[d].all, sources[d].view, targets[d].view);
       })) {
    ASSERT_TRUE(status.ok()) << status.message();
  }
  for (size_t d = 0; d < held.size(); ++d) {
    std::vector<std::byte> expected(targets[d].bytes.size());
    CopyBox(DType::kI32, wanted[d], whole.bytes.data(), whole.view.ranges, expected.data(), wanted[d]);
    EXPECT_EQ(targets[d].bytes, expected) << "device " << d << ", " << ToString(wanted[d]);
  }
}

TEST(Halo, WindowsReachIntoNeighbours) {
  const struct {
    const char *mesh, *layout;
    Shape shape;
    int64_t before, after;
  } kRows[] = {
      {"2", "S(1)", {2, 7}, 1, 1},           {"4", "S(0)", {9, 3}, 2, 1},
      {"4", "S(0)", {5, 2}, 3, 3},  // further than the next neighbour
      {"2,2", "(S(0), S(1))", {6, 5}, 1, 2}, {"2,3", "(S(1), S(1))", {2, 13}, 0, 1},
      {"2,2", "(B, S(0))", {6, 5}, 1, 1},
  };
  for (const auto& row : kRows) {
    const Mesh mesh = *ParseMesh(row.mesh);
    const NdSbp layout = *ParseNdSbp(row.layout);
    std::vector<Box> wanted = BoxesOfMesh(row.shape, layout, mesh);
    for (Box& box : wanted) {
      for (size_t d = 0; d < box.size(); ++d) {
        box[d] = {std::max<int64_t>(0, box[d].begin - row.before), std::min(row.shape[d], box[d].end + row.after)};
      }
    }
    CheckMove(mesh, row.shape, layout, wanted,
              [&](int64_t, Communicator& all, const TensorView& source, const TensorView& target) {
                return ExchangeHalo(layout, mesh, wanted, all, source, target);
              });
  }
}

TEST(Redistribute, AnyLayoutToAnyOther) {
  const Mesh mesh = *ParseMesh("2,2");
  const Shape shape = {5, 6};
  const std::vector<NdSbp> layouts = LayoutsOf(shape.size(), 2, {});
  for (const NdSbp& from : layouts) {
    for (const NdSbp& to : layouts) {
      CheckMove(mesh, shape, from, BoxesOfMesh(shape, to, mesh),
                [&](int64_t d, Communicator& all, const TensorView& source, const TensorView& target) {
                  return Redistribute(from, to, mesh, d, all, source, target);
                });
    }
  }
}

}  // namespace
}  // namespace sbp
