#include "unit/runtime/boxing_steps.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/text.h"
#include "runtime/backends/threads/thread_communicator.h"
#include "runtime/exchange/boxing.h"
#include "unit/runtime/device_threads.h"

namespace sbp {
namespace {

const std::vector<ReduceKind> kAllKinds = {ReduceKind::kSum, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd};

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

}  // namespace

std::vector<NdSbp> LayoutsOf(size_t rank, int axes, const std::vector<ReduceKind>& kinds) {
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

void BoxingSteps::Add(const Shape& shape, DType dtype, const std::vector<ReduceKind>& kinds) {
  const std::vector<NdSbp> layouts = LayoutsOf(shape.size(), mesh_.num_axes(), kinds);
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

void BoxingSteps::AddAll() {
  for (const Shape& shape : {Shape{}, Shape{8}, Shape{7}, Shape{3}, Shape{5, 4}, Shape{6, 12}, Shape{7, 3, 5}}) {
    Add(shape, DType::kF32, kAllKinds);
  }
  for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kU8, DType::kI16, DType::kU16,
                            DType::kI32, DType::kU32, DType::kI64, DType::kU64}) {
    Add({5, 6}, dtype, kAllKinds);
  }
  for (const DType dtype : {DType::kC64, DType::kC128}) {
    Add({5, 6}, dtype, {ReduceKind::kSum, ReduceKind::kProd});
  }
  Add({5, 6}, DType::kBool, {ReduceKind::kMax, ReduceKind::kMin});
  for (const DType dtype : {DType::kU4, DType::kU2, DType::kF8E8M0}) {
    Add({5, 7}, dtype, {});
    Add({4, 3, 5}, dtype, {});
  }
}

void BoxingSteps::AddStep(const BoxingStep& step, const Shape& shape, DType dtype) {
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

Status BoxingSteps::RunDevice(int64_t device, DeviceCommunicators& communicators) {
  HostSpace here;
  return RunDevice(device, communicators, here);
}

Status BoxingSteps::RunDevice(int64_t device, DeviceCommunicators& communicators, Space& space) {
  for (Case& c : cases_) {
    SBP_RETURN_IF_ERROR(
        RunBoxingStep(c.step, mesh_, device, communicators, space, c.sources[device].view, c.targets[device].view));
  }
  return OkStatus();
}

void BoxingSteps::RunOnThreads() {
  std::vector<DeviceCommunicators> communicators = MakeThreadCommunicators(mesh_, {});
  for (const Status& status :
       OnDevices(mesh_.num_devices(), [&](int64_t device) { return RunDevice(device, communicators[device]); })) {
    ASSERT_TRUE(status.ok()) << status.message();
  }
}

std::string BoxingSteps::TargetBytes(int64_t device) const {
  std::string bytes;
  for (const Case& c : cases_) {
    const std::vector<std::byte>& target = c.targets[device].bytes;
    bytes.append(reinterpret_cast<const char*>(target.data()), target.size());
  }
  return bytes;
}

void BoxingSteps::Check() const {
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

}  // namespace sbp
