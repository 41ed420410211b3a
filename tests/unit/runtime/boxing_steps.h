// Boxing steps between the layouts of small tensors, with the parts of all devices.
#pragma once

#include <deque>
#include <random>
#include <vector>

#include "boxing/boxing.h"
#include "runtime/data/space.h"
#include "runtime/exchange/communicator.h"
#include "unit/boxing/simulate.h"
#include "unit/runtime/values.h"

namespace sbp {

// All layouts of a tensor of `rank` dimensions on so many axes, one partial kind at a time. Parts may be empty.
std::vector<NdSbp> LayoutsOf(size_t rank, int axes, const std::vector<ReduceKind>& kinds);

class BoxingSteps {
 public:
  BoxingSteps(const Mesh& mesh, uint32_t seed) : mesh_(mesh), random_(seed) {}

  // Every legal step of such tensors.
  void Add(const Shape& shape, DType dtype, const std::vector<ReduceKind>& kinds);
  // Every legal step of even and uneven shapes and all element types.
  void AddAll();
  size_t size() const { return cases_.size(); }

  // One device's part of every step, in order.
  Status RunDevice(int64_t device, DeviceCommunicators& communicators);
  Status RunDevice(int64_t device, DeviceCommunicators& communicators, Space& space);
  // All devices. Fails the test where one fails.
  void RunOnThreads();
  // Do the targets hold what the steps' layouts say? Fails the test.
  void Check() const;

  // What one device's targets hold, one after the other.
  std::string TargetBytes(int64_t device) const;

 private:
  struct Case {
    BoxingStep step;
    DType dtype;
    Shape shape;
    Block whole;
    std::deque<OwnedPart> sources, targets;
  };
  void AddStep(const BoxingStep& step, const Shape& shape, DType dtype);

  const Mesh mesh_;
  std::mt19937 random_;
  std::deque<Case> cases_;
};

}  // namespace sbp
