// Dimensions whose sizes only running decides, as an attribute of ops of resolved graphs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rule/factor_map.h"

namespace sbp {

// Ints in pairs: operand, dimension. fold/ sets it on ops for which it changes something.
inline constexpr std::string_view kAssumedDims = "_assumed_dims";

// Marks as whole what splits evenly at the assumed sizes only: the factors of a dimension made of several of them (or
// with a granularity), where one belongs to an assumed dimension. True: there are such factors.
bool KeepAssumedWhole(const std::vector<int64_t>& assumed, FactorMap& map);

}  // namespace sbp
