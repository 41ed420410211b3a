#include "onnx/adopted.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

namespace sbp::onnx {
namespace {

constexpr std::string_view kDomain = "com.microsoft::";

// `only_as`: attributes that ONNX's operator lacks, and the one value with which they mean nothing.
struct Row {
  std::string_view name;
  int64_t opset;
  std::initializer_list<std::pair<std::string_view, int64_t>> only_as = {};
};
const Row kAdopted[] = {
    {"CausalConvWithState",
     27,
     {{"channels_last", 0},
      {"dilation", 1},
      {"input_channel_offset", 0},
      {"input_channels", 0},
      {"ndim", 1},
      {"state_channels_last", -1},
      {"state_length", 0},
      {"state_update_capacity", 0},
      {"state_window", 0}}},
    {"GatherND", 12},
    {"GridSample", 16},
    {"LinearAttention", 27, {{"state_window", 0}}},
    {"Pad", 11},
    {"Range", 11},
    {"Trilu", 14},
};

}  // namespace

std::optional<int64_t> AdoptByOnnx(NodeForm& node) {
  if (!std::string_view(node.type).starts_with(kDomain)) return std::nullopt;
  const std::string_view name = std::string_view(node.type).substr(kDomain.size());
  const auto* const row =
      std::find_if(std::begin(kAdopted), std::end(kAdopted), [&](const Row& r) { return r.name == name; });
  if (row == std::end(kAdopted)) return std::nullopt;
  for (const auto& [attribute, value] : row->only_as) {
    if (node.attributes.Int(attribute, value) != value) return std::nullopt;
  }
  for (const auto& [attribute, value] : row->only_as) EraseAttribute(node, attribute);
  node.type = row->name;
  return row->opset;
}

}  // namespace sbp::onnx
