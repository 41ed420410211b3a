// A slow simulation of boxing on real arrays: every rank holds its values, each step is carried out group by group.
#pragma once

#include <random>
#include <vector>

#include "boxing/boxing.h"
#include "sbp/shard_math.h"

namespace sbp {

// What one rank holds: the values of a box of the tensor, row-major.
struct Block {
  std::vector<Range> box;
  std::vector<double> values;
};

// The unsharded tensor: value i at place i of `values`.
Block WholeTensor(const Shape& shape, std::mt19937& random);

// One block a position of the mesh, as `sbp` says; partial values are drawn so that they combine to the tensor.
std::vector<Block> Distribute(const Block& whole, const Shape& shape, const NdSbp& sbp, const Mesh& mesh,
                              std::mt19937& random);

// Carries out one step. Knows the collectives' meaning only: boxes follow from what the ranks of a group hold, not from
// the layouts. "" or what is impossible about it.
std::string Execute(const BoxingStep& step, const Mesh& mesh, std::vector<Block>& blocks);

// "" if the blocks are the tensor in layout `sbp`: the right boxes, and values that combine to the tensor's.
std::string Compare(const std::vector<Block>& blocks, const Block& whole, const Shape& shape, const NdSbp& sbp,
                    const Mesh& mesh);

}  // namespace sbp
