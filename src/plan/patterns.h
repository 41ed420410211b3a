// How a training step spreads its parameters, in the words of the field: data parallelism, ZeRO, tensor parallelism.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "graph/families.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace sbp {

// Of one parameter, over one mesh axis. ZeRO's stages as Rajbhandari et al. 2020 number them.
enum class SpreadPattern : uint8_t {
  kReplicated,      // lies whole, and so does its gradient from the start: the axis splits nothing that it meets
  kDataParallel,    // lies whole with its states; the gradient is summed over the axis
  kZero1,           // states are split, and masters (graph/families.h), whose copies are gathered once; the gradient
                    // is summed whole
  kZero2,           // likewise, and the gradient is split as it is summed (reduce-scatter)
  kZero3,           // lies split, and is gathered for its readers
  kTensorParallel,  // lies split, and is used so
  kExpertParallel,  // the same by whole matrices: dimension 0 of three or more
};
std::string_view PatternName(SpreadPattern pattern);  // "ZeRO-3"

struct AxisPattern {
  int axis = 0;
  SpreadPattern pattern = SpreadPattern::kReplicated;
  int dim = -1;      // of the parameter, or of its states, that is split; -1: none
  std::string text;  // "ZeRO-3: split along dimension 0, gathered before use in both passes (1.2 ms), ..., because ..."
};

// Reads patterns off a plan, which outlives it.
class PatternReader {
 public:
  explicit PatternReader(const Plan& plan);

  // Parameters that the step updates and whose gradients have names, in the graph's order.
  const std::vector<TensorId>& updated() const { return updated_; }
  bool IsUpdated(TensorId parameter) const { return of_.contains(parameter); }
  // One entry per mesh axis of more than one rank; empty for what is not updated.
  std::vector<AxisPattern> Of(TensorId parameter) const;

 private:
  // How the forward and the backward pass read a parameter over an axis.
  struct Uses {
    bool split = false, whole = false;
    bool forward_gathers = false, backward_gathers = false;
    double seconds = 0;
    int64_t gathers = 0;
  };
  void Collect(TensorId tensor, int axis, Uses& uses) const;
  double SecondsOver(TensorId tensor, int axis, std::map<std::string_view, int64_t>* kinds) const;
  bool IsSummedWhole(TensorId tensor, int axis) const;
  // ZeRO-1 or 2.
  SpreadPattern StageOfStates(const ParameterFamily& family, int axis) const;
  // What the backward pass reads of a parameter, or of what hands it on, where it may be gathered once more.
  struct Anew {
    bool may = false, is = false;
  };
  Anew FetchedAnew(TensorId tensor, int axis) const;
  // Is the parameter a master whose copies are gathered once? One that nothing fetches anew is as most others are.
  bool KeepsCopies(TensorId parameter, int axis) const;
  std::string GradientText(const ParameterFamily& family, int axis) const;
  AxisPattern Classify(TensorId parameter, const ParameterFamily& family, int axis) const;
  int64_t BytesSaved(TensorId parameter, const ParameterFamily& family, int axis) const;
  std::string Because(SpreadPattern pattern, int64_t saved, TensorId parameter, const ParameterFamily& family,
                      int axis) const;

  const Plan& plan_;
  UseTable uses_;
  std::vector<int64_t> runs_;     // per transition, in a step
  std::set<std::string> pinned_;  // names of tensors
  std::vector<int64_t> saved_;    // per mesh axis, of all parameters: as BytesSaved
  std::vector<bool> fetches_;     // per mesh axis: are masters fetched anew?
  std::vector<TensorId> updated_;
  std::map<TensorId, ParameterFamily> of_;
  std::map<TensorId, std::vector<uint32_t>> transitions_;  // by tensor
};

}  // namespace sbp
