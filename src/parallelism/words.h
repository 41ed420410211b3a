// The words of training frameworks in which a plan is told (fold.h): which mesh axis is data, tensor, context or expert
// parallelism, how each parameter is split, ZeRO's stage, sequence parallelism, recomputation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "sbp/mesh.h"

namespace sbp {

enum class AxisUse : uint8_t {
  kIdle,     // splits nothing, or has one rank
  kData,     // splits the batch of the inputs
  kContext,  // splits their sequence, dimension 1
  kTensor,   // splits matrices, not the inputs
  kExpert,   // splits the batch, and stacked experts
};
std::string_view AxisUseName(AxisUse use);  // "data"

// Of a parameter over one axis, as the forward pass uses it.
enum class ParameterStyle : uint8_t {
  kWhole,
  kColumn,      // the product is split as the parameter is; a vector: with what it is added to
  kRow,         // the product is a sum in parts
  kVocabulary,  // a table by rows; each device looks up its own
  kExpert,      // whole matrices of a stack
  kOther,       // listed in Fold::unfolded
};
std::string_view ParameterStyleName(ParameterStyle style);  // "column"

// How the sums that one layer hands to the next lie over a tensor axis.
enum class ResidualUse : uint8_t { kWhole, kSequence, kOther };

// Of one layer, most to least kept. kLight: what has no products; kSelective: attention, too; kAlternate: some of the
// products with parameters, too; kFull: all of them but perhaps the last.
enum class Recomputation : uint8_t { kNone, kLight, kSelective, kAlternate, kFull };
std::string_view RecomputationName(Recomputation recomputation);

struct FoldedAxis {
  AxisUse use = AxisUse::kIdle;
  // Over data, context and expert axes: what is split of what a step holds, as ZeRO numbers it. 0: nothing, 1: states,
  // 2: gradients, too, 3: parameters, too. Without sums over micro-batches 1 and 2 are told apart by the collective.
  int zero = 0;
  bool regathers = false;  // stage 3: gathered anew for the backward pass
  // Stage 3: 1 or 2 where what is split are masters alone (graph/families.h), of which both passes read copies that are
  // gathered once a step. Whoever counts masters among the states calls it so. Else as `zero`.
  int zero_of_copies = 0;
  ResidualUse residual = ResidualUse::kWhole;  // tensor axes
};

struct FoldedParameter {
  TensorId id;
  std::string name;          // for people: "layers.0/mlp/fc1:weight"
  std::string module, role;  // "model.layers.0.mlp.fc1", "weight"; module is "" where the parameter has no name
  int rank = 0;              // its dimensions
  bool is_part = false;      // of a fused parameter, which the module has whole
  bool looked_up = false;    // a table, of which the forward pass reads rows
  // Over tensor axes: split by columns, and the product is made whole before another product reads it, or is what the
  // model gives; and: read with an activation whose sequence is split, as a norm's scale is.
  bool gathered = false, along_sequence = false;
  std::vector<ParameterStyle> styles;  // per mesh axis
};

struct Unfolded {
  std::string name, reason;
};

struct Fold {
  std::vector<FoldedAxis> axes;  // per mesh axis
  std::vector<FoldedParameter> parameters;
  // Layers, stack by stack and in each by number: what they recompute, and their paths, "encoder.layers.0". A stack is
  // what stands in front of the numbers, "encoder.layers", in the order of the graph.
  std::vector<Recomputation> layers;
  std::vector<std::string> layer_paths, stacks;
  bool trains = false;  // has a backward pass
  int64_t micro_batches = 1;
  // Dimensions 0 and 1 of the inputs, whole, of a micro-batch; 0: they differ.
  int64_t batch = 0, sequence = 0;
  std::vector<Unfolded> unfolded;
  // Parameters that lie whole over a tensor axis where tensor parallelism splits them: forms that list modules say so.
  std::vector<Unfolded> whole;
  // Transitions of the backward pass, of the loss and of integers that are inputs, which the forward pass does not
  // imply: frameworks derive theirs.
  std::vector<Unfolded> derived;
  bool follows_nearest = false;  // was the plan made by the pins of NearestRecipe?
};

// For tests: a line an axis, then parameters that are not whole everywhere, layers, and what has no word.
std::string Dump(const Fold& fold, const Mesh& mesh);

// The value of --recipe whose plans fold as near to this one as recipes say: "data=fsdp,model=sp".
std::string NearestRecipe(const Fold& fold, const Mesh& mesh);

// The product of the sizes of the axes of a use.
int64_t RanksOf(const Fold& fold, const Mesh& mesh, AxisUse use);

// "a.layers.12.b", '/' or '.' between levels: 12, the first number; -1: none.
int LayerOfPath(std::string_view path);

// What stands in front of that number, '.' between levels: "a.layers".
std::string StackOfPath(std::string_view path);

}  // namespace sbp
