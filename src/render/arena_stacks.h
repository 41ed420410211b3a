// Registers that lie directly above each other, each too thin for a name: what the map of an arena names together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "render/canvas.h"

namespace sbp {

struct Stack {
  std::vector<uint32_t> members;  // indices into `places`, the lowest first; two or more
  Rectangle place;                // from the lowest's bottom to the highest's top, while all of them are there
};
// Each place is in one stack at most; those of less than the least width (while all are there) or height are left out.
// `places` are in points; equal input gives equal stacks, the lowest first.
std::vector<Stack> FindStacks(std::span<const Rectangle> places, double least_width, double least_height);

struct NamedBytes {
  std::string name;
  double bytes = 0;
};
// What holds most of them, names that differ in numbers alone taken together: "64 x layers.*/x and 2 others". `all` is
// not empty.
std::string NamesTogether(std::span<const NamedBytes> all);

}  // namespace sbp
