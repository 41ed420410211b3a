// gather and scatter.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "graph/graph.h"
#include "graph/literal.h"
#include "graph/tensor_type.h"
#include "sbp/shard_math.h"
#include "stablehlo/dims.h"
#include "stablehlo/forms.h"
#include "stablehlo/syntax.h"
#include "stablehlo/values.h"

namespace sbp::stablehlo {
namespace {

// What gather and scatter have in common: slices of the operand, one element long along the dimensions that are
// indexed and whole along the others, and where they stand in `slices`: gather's result, scatter's updates.
struct Indexing {
  Dims map;         // dimensions of the operand that the index vector's entries are for
  Dims batch;       // dimensions of the operand that go with ...
  Dims with_batch;  // ... these of the indices
  Dims dropped;     // dimensions of the operand that slices do not have, beside `batch`
  Dims windows;     // dimensions of `slices` that are the slices' own
  int64_t vector = 0;
};

Status CheckDimsAre(const Dims& dims, int64_t rank, std::string_view what) {
  for (const int64_t dim : dims) {
    if (dim < 0 || dim >= rank || std::ranges::count(dims, dim) > 1) {
      return BadInput(StrCat("dimension ", dim, " of ", what, " is not one of ", rank, ", or named twice"));
    }
  }
  return OkStatus();
}

Status CheckIndexing(const Indexing& at, const TensorType& data, const TensorType& indices, const TensorType& slices) {
  SBP_RETURN_IF_ERROR(CheckDimsAre(Joined(at.batch, at.map), data.rank(), "the operand"));
  SBP_RETURN_IF_ERROR(CheckDimsAre(Joined(at.batch, at.dropped), data.rank(), "the operand"));
  SBP_RETURN_IF_ERROR(CheckDimsAre(at.windows, slices.rank(), "the slices"));
  Dims named = at.with_batch;
  if (at.vector < indices.rank()) named.push_back(at.vector);
  SBP_RETURN_IF_ERROR(CheckDimsAre(named, indices.rank(), "the indices"));
  if (at.vector < 0 || at.vector > indices.rank()) return BadInput("the indices have no dimension index_vector_dim");
  const int64_t entries = at.vector < indices.rank() ? indices.shape[static_cast<size_t>(at.vector)] : 1;
  const bool is_right = at.batch.size() == at.with_batch.size() && entries == static_cast<int64_t>(at.map.size()) &&
                        at.windows.size() + at.batch.size() + at.dropped.size() == data.shape.size();
  if (!is_right || at.map.empty()) return BadInput("the dimension numbers do not fit the operands");
  if (std::ranges::any_of(at.dropped, [&](int64_t dim) { return !Has(at.map, dim); })) {
    return BadInput("slices without a dimension that is not indexed are not read");
  }
  if (Picked(data.shape, at.batch) != Picked(indices.shape, at.with_batch)) {
    return BadInput("batching dimensions differ in size");
  }
  const Dims kept = Others(data.rank(), Joined(at.batch, at.dropped));
  for (size_t i = 0; i < kept.size(); ++i) {
    const int64_t size = slices.shape[static_cast<size_t>(at.windows[i])];
    if (size != (Has(at.map, kept[i]) ? 1 : data.shape[static_cast<size_t>(kept[i])])) {
      return BadInput("only slices that are whole, or one element long where they are indexed, are read");
    }
  }
  const Dims counted = at.vector < indices.rank() ? Dims{at.vector} : Dims{};
  if (Picked(indices.shape, Others(indices.rank(), counted)) !=
      Picked(slices.shape, Others(slices.rank(), at.windows))) {
    return BadInput("the indices do not fit the slices");
  }
  return OkStatus();
}

// Indices with their vector last, and before its entries those along the batch.
ValueRef PlacesOf(const FormCall& call, const Indexing& at, const ValueRef& indices) {
  const int64_t rank = indices->type.rank();
  Shape shape = indices->type.shape;
  ValueRef places = indices;
  if (at.vector == rank) {
    shape.push_back(1);
    places = call.writer.Reshaped(indices, shape);
  } else {
    places = call.writer.Transposed(indices, Joined(Others(rank, {at.vector}), {at.vector}));
    shape = places->type.shape;
  }
  if (at.batch.empty()) return places;
  std::vector<NamedOperand> parts;
  for (const int64_t dim : at.with_batch) {
    TensorType type = places->type;
    type.shape.back() = 1;
    const int64_t own = dim > at.vector ? dim - 1 : dim;
    TensorType line = type;
    line.shape = {type.shape[static_cast<size_t>(own)]};
    const ValueRef counts = call.writer.AddOne("iota", {}, {}, line);
    parts.push_back({"inputs", call.writer.Full(call.writer.Broadcast(counts, {own}, type))});
  }
  parts.push_back({"inputs", call.writer.Full(places)});
  TensorType type = places->type;
  type.shape.back() += static_cast<int64_t>(at.batch.size());
  Attributes attributes;
  attributes.Set("dimension", static_cast<int64_t>(type.rank() - 1));
  return call.writer.AddOne("concatenate", parts, std::move(attributes), type);
}

// The greatest index of each entry of a place.
Dims LimitsOf(const Indexing& at, const TensorType& data) {
  Dims limits = Picked(data.shape, Joined(at.batch, at.map));
  for (int64_t& limit : limits) --limit;
  return limits;
}

// Indices along one dimension, all others going with them in their order: how take_along_axis is lowered. Their shape
// is then that of the operand but for `axis`.
bool IsAlong(const Indexing& at, const TensorType& data, const TensorType& indices) {
  if (at.map.size() != 1 || at.dropped != at.map || !at.windows.empty() || at.vector != indices.rank() - 1)
    return false;
  if (!std::ranges::is_sorted(at.batch) || static_cast<int>(at.batch.size()) != data.rank() - 1) return false;
  return indices.rank() == data.rank() + 1 && at.with_batch == at.batch;
}

// What ScatterND calls the region's op: "none" where the update takes the place; "": it has no name for it.
std::string ReductionOf(const Region& region) {
  const bool is_update = region.arguments.size() == 2 && region.operations.size() == 1 &&
                         region.operations[0].operands.size() == 1 &&
                         region.operations[0].operands[0].name == region.arguments[1].name;
  if (is_update) return "none";
  const std::string reducer = ReducerOf(region);
  if (reducer == "add") return "add";
  if (reducer == "multiply") return "mul";
  if (reducer == "maximum") return "max";
  return reducer == "minimum" ? "min" : "";
}

ValueRef WithoutVector(const FormCall& call, const ValueRef& indices) {
  Shape shape = indices->type.shape;
  shape.pop_back();
  return call.writer.Reshaped(indices, shape);
}

}  // namespace

Result<std::vector<ValueRef>> WriteGather(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const DimensionNumbers numbers, DimensionNumbersOf(call, "dimension_numbers"));
  const ValueRef &data = call.operands[0], &indices = call.operands[1];
  const Indexing at = {
      numbers["start_index_map"],      numbers["operand_batching_dims"], numbers["start_indices_batching_dims"],
      numbers["collapsed_slice_dims"], numbers["offset_dims"],           numbers.Number("index_vector_dim", 0)};
  const TensorType& result = call.results[0];
  SBP_RETURN_IF_ERROR(CheckIndexing(at, data->type, indices->type, result));
  Attributes attributes;
  if (IsAlong(at, data->type, indices->type)) {
    attributes.Set("axis", at.map[0]);
    const ValueRef places = WithoutVector(call, indices);
    return call.writer.Add("gather_along", {{"operand", call.Full(0)}, {"indices", call.writer.Full(places)}},
                           std::move(attributes), call.results);
  }
  const Dims batches = Others(result.rank(), at.windows);
  const bool is_rows =
      at.map.size() == 1 && at.dropped == at.map && at.batch.empty() && at.vector == indices->type.rank() - 1;
  if (is_rows) {  // Gather puts the dimensions of the indices where the axis was
    Dims order(at.windows.begin(), at.windows.begin() + at.map[0]);
    order = Joined(Joined(order, batches), Dims(at.windows.begin() + at.map[0], at.windows.end()));
    attributes.Set("axis", at.map[0]);
    const ValueRef places = WithoutVector(call, indices);
    const ValueRef rows =
        call.writer.AddOne("gather", {{"operand", call.Full(0)}, {"indices", call.writer.Full(places)}},
                           std::move(attributes), {result.dtype, Picked(result.shape, order)});
    return std::vector{call.writer.Transposed(rows, Inverse(order))};
  }
  const Dims first = Joined(at.batch, at.map);
  const Dims rest = Others(data->type.rank(), first);
  const ValueRef places = PlacesOf(call, at, indices);
  const ValueRef turned = call.writer.Transposed(data, Joined(first, rest));
  attributes.Set("limits", LimitsOf(at, data->type));
  TensorType type = result;
  type.shape = Joined(Picked(result.shape, batches), Picked(data->type.shape, rest));
  const ValueRef slices =
      call.writer.AddOne("gather_nd", {{"operand", call.writer.Full(turned)}, {"indices", call.writer.Full(places)}},
                         std::move(attributes), type);
  const Dims order = Joined(batches, at.windows);
  return std::vector{call.writer.Transposed(call.writer.Reshaped(slices, Picked(result.shape, order)), Inverse(order))};
}

Result<std::vector<ValueRef>> WriteScatter(const FormCall& call) {
  SBP_ASSIGN_OR_RETURN(const DimensionNumbers numbers, DimensionNumbersOf(call, "scatter_dimension_numbers"));
  const std::string reduction = call.op.regions.size() == 1 ? ReductionOf(call.op.regions[0]) : "";
  if (call.operands.size() != 3 || reduction.empty()) {
    return BadInput("only scatters of one operand, by add, multiply, maximum, minimum or the update itself, are read");
  }
  const ValueRef &data = call.operands[0], &indices = call.operands[1], &updates = call.operands[2];
  const Indexing at = {
      numbers["scatter_dims_to_operand_dims"], numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"],
      numbers["inserted_window_dims"],         numbers["update_window_dims"],  numbers.Number("index_vector_dim", 0)};
  SBP_RETURN_IF_ERROR(CheckIndexing(at, data->type, indices->type, updates->type));
  Attributes attributes;
  attributes.Set("reduction", reduction);
  if (IsAlong(at, data->type, indices->type)) {
    attributes.Set("axis", at.map[0]);
    const ValueRef places = WithoutVector(call, indices);
    return call.writer.Add(
        "scatter_along", {{"operand", call.Full(0)}, {"indices", call.writer.Full(places)}, {"updates", call.Full(2)}},
        std::move(attributes), call.results);
  }
  const Dims first = Joined(at.batch, at.map);
  const Dims rest = Others(data->type.rank(), first);
  const Dims order = Joined(first, rest);
  const Dims batches = Others(updates->type.rank(), at.windows);
  const ValueRef places = PlacesOf(call, at, indices);
  const ValueRef turned = call.writer.Transposed(data, order);
  const ValueRef slices =
      call.writer.Reshaped(call.writer.Transposed(updates, Joined(batches, at.windows)),
                           Joined(Picked(updates->type.shape, batches), Picked(data->type.shape, rest)));
  attributes.Set("limits", LimitsOf(at, data->type));
  const ValueRef sums = call.writer.AddOne("scatter",
                                           {{"operand", call.writer.Full(turned)},
                                            {"indices", call.writer.Full(places)},
                                            {"updates", call.writer.Full(slices)}},
                                           std::move(attributes), turned->type);
  return std::vector{call.writer.Transposed(sums, Inverse(order))};
}

}  // namespace sbp::stablehlo
