// Every legal step between layouts of small tensors, carried out by threads and compared with the values it must leave.
#include "runtime/boxing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "base/text.h"
#include "runtime/reduce.h"
#include "runtime/threads/thread_communicator.h"
#include "unit/boxing/simulate.h"
#include "unit/runtime/device_threads.h"
#include "unit/runtime/values.h"

namespace sbp {
namespace {

// A step with the parts of all devices.
struct Case {
  BoxingStep step;
  DType dtype;
  Shape shape;
  Block whole;
  std::deque<OwnedPart> sources, targets;
};

// All layouts without nesting errors, one partial kind at a time. Parts may be empty.
std::vector<NdSbp> Layouts(size_t rank, int axes, const std::vector<ReduceKind>& kinds) {
  std::vector<Sbp> choices = {Sbp::Broadcast()};
  for (const ReduceKind kind : kinds) choices.push_back(Sbp::Partial(kind));
  for (size_t d = 0; d < rank; ++d) choices.push_back(Sbp::Split(static_cast<int>(d)));
  std::vector<NdSbp> layouts = {NdSbp()};
  for (int axis = 0; axis < axes; ++axis) {
    std::vector<NdSbp> longer;
    for (const NdSbp& layout : layouts) {
      for (const Sbp choice : choices) {
        longer.push_back(layout);
        longer.back().push_back(choice);
      }
    }
    layouts = std::move(longer);
  }
  std::erase_if(layouts, [](const NdSbp& layout) {
    std::optional<Sbp> partial;
    for (const Sbp sbp : layout) {
      if (!sbp.is_partial()) continue;
      if (partial && *partial != sbp) return true;
      partial = sbp;
    }
    return false;
  });
  return layouts;
}

Block SmallValues(const Shape& shape, DType dtype, std::mt19937& random) {
  Block whole;
  for (const int64_t size : shape) whole.box.push_back({0, size});
  // At least 9 where the simulation takes up to 8 away: unsigned types have maxima too.
  const unsigned least = DTypeBits(dtype) < 8 || dtype == DType::kBool ? 0 : 9;
  const unsigned count = dtype == DType::kBool ? 2 : DTypeBits(dtype) == 2 ? 4 : 13;
  for (int64_t i = 0; i < Elements(whole.box); ++i) whole.values.push_back(least + random() % count);
  return whole;
}

// Addends may be negative, which unsigned types hold modulo their size: read them as signed ones.
DType ReadAs(DType dtype, const NdSbp& layout) {
  const bool sum = std::count(layout.begin(), layout.end(), Sbp::Partial(ReduceKind::kSum)) > 0;
  const auto number = static_cast<uint8_t>(dtype);
  switch (dtype) {
    case DType::kU8:
    case DType::kU16:
      return sum ? static_cast<DType>(number + 1) : dtype;
    case DType::kU32:
    case DType::kU64:
      return sum ? static_cast<DType>(number - 6) : dtype;
    default:
      return dtype;
  }
}

class Steps {
 public:
  Steps(const Mesh& mesh, uint32_t seed) : mesh_(mesh), random_(seed) {}

  // Every legal step of such tensors.
  void Add(const Shape& shape, DType dtype, const std::vector<ReduceKind>& kinds) {
    const std::vector<NdSbp> layouts = Layouts(shape.size(), mesh_.num_axes(), kinds);
    for (const NdSbp& from : layouts) {
      for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
        for (const NdSbp& to : layouts) {
          NdSbp elsewhere = to;
          elsewhere[axis] = from[axis];
          if (elsewhere != from || to == from) continue;
          for (const CollectiveRow& row : AllCollectives()) {
            if (row.legal(from, to, axis)) AddStep({row.kind, axis, from, to}, shape, dtype);
          }
        }
      }
    }
  }

  void Run() {
    std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh_, {});
    const std::vector<Status> results = OnDevices(mesh_.num_devices(), [&](int64_t device) {
      for (Case& c : cases_) {
        SBP_RETURN_IF_ERROR(RunBoxingStep(c.step, mesh_, device, communicators[device], c.sources[device].view,
                                          c.targets[device].view));
      }
      return OkStatus();
    });
    for (const Status& status : results) ASSERT_TRUE(status.ok()) << status.message();
    for (const Case& c : cases_) {
      std::vector<Block> blocks;
      for (const OwnedPart& part : c.targets) {
        blocks.push_back({part.view.ranges, Decode(ReadAs(c.dtype, c.step.to), part.view.data, part.view.elements())});
      }
      ASSERT_EQ(Compare(blocks, c.whole, c.shape, c.step.to, mesh_), "")
          << CollectiveKindName(c.step.kind) << " on " << c.step.axis << " of " << DTypeName(c.dtype) << " ["
          << Join(c.shape, ",") << "] from " << ToString(c.step.from) << " to " << ToString(c.step.to);
    }
  }

  size_t size() const { return cases_.size(); }

 private:
  void AddStep(const BoxingStep& step, const Shape& shape, DType dtype) {
    Case& c = cases_.emplace_back(Case{step, dtype, shape, SmallValues(shape, dtype, random_), {}, {}});
    const std::vector<Block> blocks = Distribute(c.whole, shape, step.from, mesh_, random_);
    for (int64_t d = 0; d < mesh_.num_devices(); ++d) {
      OwnedPart& source = c.sources.emplace_back();
      MakePart(dtype, shape, blocks[d].box, source);
      source.bytes = Encode(dtype, blocks[d].values);
      source.view.data = source.bytes.data();
      MakePart(dtype, shape, LocalSlice(shape, step.to, mesh_, mesh_.Coordinates(d)), c.targets.emplace_back());
    }
  }

  const Mesh mesh_;
  std::mt19937 random_;
  std::deque<Case> cases_;
};

const std::vector<ReduceKind> kAllKinds = {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd};

class BoxingOnThreads : public ::testing::TestWithParam<const char*> {};

TEST_P(BoxingOnThreads, EveryLegalStep) {
  Steps steps(*ParseMesh(GetParam()), 3);
  for (const Shape& shape : {Shape{}, Shape{8}, Shape{7}, Shape{3}, Shape{5, 4}, Shape{6, 12}, Shape{7, 3, 5}}) {
    steps.Add(shape, DType::kF32, kAllKinds);
  }
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                            DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
    steps.Add({5, 6}, dtype, kAllKinds);
  }
  for (const DType dtype : {DType::kC64, DType::kC128}) {
    steps.Add({5, 6}, dtype, {ReduceKind::kSum, ReduceKind::kProd});
  }
  steps.Add({5, 6}, DType::kBool, {ReduceKind::kMax, ReduceKind::kMin});
  for (const DType dtype : {DType::kU4, DType::kU2, DType::kF8E8M0}) {
    steps.Add({5, 7}, dtype, {});
    steps.Add({4, 3, 5}, dtype, {});
  }
  EXPECT_GT(steps.size(), 100U);
  steps.Run();
}

INSTANTIATE_TEST_SUITE_P(Meshes, BoxingOnThreads, ::testing::Values("2", "3", "4", "2,2", "2,3", "3,1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), ',', 'x');
                           return name;
                         });

TEST(BoxingOnThreads, TypesWithoutArithmeticCannotBePartial) {
  const Mesh mesh = *ParseMesh("2");
  OwnedPart source, target;
  MakePart(DType::kU4, {4}, {{0, 4}}, source);
  MakePart(DType::kU4, {4}, {{0, 4}}, target);
  for (const auto& [kind, from, to] :
       {std::tuple{CollectiveKind::kAllReduce, "P", "B"}, {CollectiveKind::kFill, "B", "P"}}) {
    std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
    const BoxingStep step{kind, 0, *ParseNdSbp(from), *ParseNdSbp(to)};
    const Status status = RunBoxingStep(step, mesh, 0, communicators[0], source.view, target.view);
    EXPECT_EQ(status.code(), Code::kRunFailed);
    EXPECT_EQ(status.message(), "partial values of type u4 cannot be combined by sum");
  }
}

TEST(BoxingOnThreads, PartsThatDoNotFitTheLayout) {
  const Mesh mesh = *ParseMesh("2");
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh, {});
  OwnedPart source, target;
  MakePart(DType::kF32, {5}, {{0, 2}}, source);
  MakePart(DType::kF32, {5}, {{0, 5}}, target);
  const BoxingStep step{CollectiveKind::kAllGather, 0, *ParseNdSbp("S(0)"), *ParseNdSbp("B")};
  EXPECT_EQ(RunBoxingStep(step, mesh, 0, communicators[0], source.view, target.view).message(),
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
  const std::vector<NdSbp> layouts = Layouts(shape.size(), 2, {});
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
