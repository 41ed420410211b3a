#include "runtime/communicator.h"

#include <cstring>

namespace sbp {
namespace {

TensorView BytesView(std::byte* data, const Range& range) {
  TensorView view = WholeView(DType::kU8, {range.size()}, data);
  view.ranges = {range};
  return view;
}

}  // namespace

Status Communicator::AllGather(const TensorView& source, const TensorView& target, const std::vector<Box>& parts) {
  return Exchange(source, target, parts, std::vector<Box>(parts.size(), target.ranges));
}

Status Communicator::AllToAll(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                              const std::vector<Box>& to) {
  return Exchange(source, target, from, to);
}

Result<std::vector<std::string>> Communicator::AllGatherBytes(std::string_view mine) {
  const auto ranks = static_cast<int64_t>(size());
  constexpr int64_t kWidth = sizeof(int64_t);
  auto own = static_cast<int64_t>(mine.size());
  std::vector<int64_t> sizes(static_cast<size_t>(ranks));
  std::vector<Box> parts;
  for (int64_t r = 0; r < ranks; ++r) parts.push_back({{r * kWidth, (r + 1) * kWidth}});
  SBP_RETURN_IF_ERROR(AllGather(BytesView(reinterpret_cast<std::byte*>(&own), parts[rank()][0]),
                                BytesView(reinterpret_cast<std::byte*>(sizes.data()), {0, ranks * kWidth}), parts));
  int64_t end = 0;
  for (int64_t r = 0; r < ranks; ++r) {
    parts[r] = {{end, end + sizes[r]}};
    end += sizes[r];
  }
  std::string source(mine), all(static_cast<size_t>(end), '\0');
  SBP_RETURN_IF_ERROR(AllGather(BytesView(reinterpret_cast<std::byte*>(source.data()), parts[rank()][0]),
                                BytesView(reinterpret_cast<std::byte*>(all.data()), {0, end}), parts));
  std::vector<std::string> result;
  for (const Box& part : parts) {
    result.push_back(all.substr(static_cast<size_t>(part[0].begin), static_cast<size_t>(part[0].size())));
  }
  return result;
}

}  // namespace sbp
