#include "runtime/exchange/communicator.h"

#include <cstdint>

#include "base/dtype.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

TensorView BytesView(std::byte* data, const Range& range) {
  TensorView view = WholeView(DType::kU8, {range.size()}, data);
  view.ranges = {range};
  return view;
}

std::vector<Box> BoxesOf(const std::vector<Range>& places) {
  std::vector<Box> boxes;
  for (const Range& place : places) boxes.push_back({place});
  return boxes;
}

std::vector<std::string> Cut(const std::string& all, const std::vector<Range>& places) {
  std::vector<std::string> pieces;
  for (const Range& place : places) {
    pieces.push_back(all.substr(static_cast<size_t>(place.begin), static_cast<size_t>(place.size())));
  }
  return pieces;
}

}  // namespace

Status Communicator::AllGather(const TensorView& source, const TensorView& target, const std::vector<Box>& parts) {
  return Exchange(source, target, parts, std::vector<Box>(parts.size(), target.ranges));
}

Status Communicator::AllToAll(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                              const std::vector<Box>& to) {
  return Exchange(source, target, from, to);
}

// Where the bytes of each rank lie, one after the other.
Result<std::vector<Range>> Communicator::PlacesOf(std::string_view mine) {
  const auto ranks = static_cast<int64_t>(size());
  constexpr int64_t kWidth = sizeof(int64_t);
  auto own = static_cast<int64_t>(mine.size());
  std::vector<int64_t> sizes(static_cast<size_t>(ranks));
  std::vector<Box> parts;
  for (int64_t r = 0; r < ranks; ++r) parts.push_back({{r * kWidth, (r + 1) * kWidth}});
  SBP_RETURN_IF_ERROR(AllGather(BytesView(reinterpret_cast<std::byte*>(&own), parts[rank()][0]),
                                BytesView(reinterpret_cast<std::byte*>(sizes.data()), {0, ranks * kWidth}), parts));
  std::vector<Range> places;
  int64_t end = 0;
  for (const int64_t bytes : sizes) {
    places.push_back({end, end + bytes});
    end += bytes;
  }
  return places;
}

Result<std::vector<std::string>> Communicator::AllGatherBytes(std::string_view mine) {
  SBP_ASSIGN_OR_RETURN(const std::vector<Range> places, PlacesOf(mine));
  const Range everything{0, places.back().end};
  std::string source(mine), all(static_cast<size_t>(everything.end), '\0');
  SBP_RETURN_IF_ERROR(AllGather(BytesView(reinterpret_cast<std::byte*>(source.data()), places[rank()]),
                                BytesView(reinterpret_cast<std::byte*>(all.data()), everything), BoxesOf(places)));
  return Cut(all, places);
}

Result<std::vector<std::string>> Communicator::GatherBytes(std::string_view mine) {
  SBP_ASSIGN_OR_RETURN(const std::vector<Range> places, PlacesOf(mine));
  std::vector<Box> wanted(places.size(), Box{{0, 0}});
  wanted[0] = {{0, places.back().end}};
  const Range own = wanted[rank()][0];
  std::string source(mine), all(static_cast<size_t>(own.size()), '\0');
  SBP_RETURN_IF_ERROR(Exchange(BytesView(reinterpret_cast<std::byte*>(source.data()), places[rank()]),
                               BytesView(reinterpret_cast<std::byte*>(all.data()), own), BoxesOf(places), wanted));
  return rank() == 0 ? Cut(all, places) : std::vector<std::string>();
}

}  // namespace sbp
