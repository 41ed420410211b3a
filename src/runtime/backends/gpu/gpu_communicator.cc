#include "runtime/backends/gpu/gpu_communicator.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "gpu/gpu.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

// The run that `part` makes in a dense buffer that holds `box`; nothing: there are several.
std::optional<Range> OneRun(const Box& part, const Box& box) {
  std::optional<Range> run;
  bool several = false;
  EachRun(part, box, part, [&](const ElementRun& r) {
    several = several || run.has_value();
    run = Range{r.a, r.a + r.count};
  });
  return several ? std::nullopt : run;
}

bool AllEqual(const std::vector<Box>& boxes) {
  return std::all_of(boxes.begin(), boxes.end(), [&](const Box& box) { return box == boxes[0]; });
}

// Do the boxes hold equally many elements, each of `whole` once?
bool AreEvenPartsOf(const Box& whole, const std::vector<Box>& boxes) {
  int64_t sum = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (Elements(boxes[i]) != Elements(boxes[0]) || !Contains(whole, boxes[i])) return false;
    for (size_t j = 0; j < i; ++j) {
      if (Elements(Intersect(boxes[i], boxes[j])) > 0) return false;
    }
    sum += Elements(boxes[i]);
  }
  return sum == Elements(whole) && sum > 0;
}

// Do they lie one after the other in a dense buffer of `whole`?
bool AreConcatenatedIn(const Box& whole, const std::vector<Box>& boxes) {
  int64_t at = 0;
  for (const Box& box : boxes) {
    const std::optional<Range> run = OneRun(box, whole);
    if (!run || run->begin != at) return false;
    at = run->end;
  }
  return true;
}

}  // namespace

Status GpuCommunicator::Begin() {
  stream_.ResetScratch();
  return status();
}

Status GpuCommunicator::Checked(const Status& status) { return status.ok() ? status : device_.news->Explain(status); }

Status GpuCommunicator::CanReduceOrAbort(DType dtype, ReduceKind kind) {
  Status can = CanReduce(dtype, kind);
  if (!can.ok()) Abort(can);
  return can;
}

Status GpuCommunicator::CopyBox(DType dtype, const Box& part, const std::byte* source, const Box& source_box,
                                std::byte* target, const Box& target_box) {
  return device_.kernels->movement.copy_box(stream_, dtype, part, source, source_box, target, target_box);
}

GpuCommunicator::Part GpuCommunicator::PartOf(DType dtype, int peer, const Box& piece, const Box& buffer) const {
  const int64_t bits = DTypeBits(dtype), elements = Elements(piece);
  Part part{peer, piece, false, 0, TensorView::StorageBytes(dtype, elements)};
  const std::optional<Range> run = OneRun(piece, buffer);
  part.direct = run && run->begin * bits % 8 == 0 && elements * bits % 8 == 0;
  if (part.direct) part.offset = run->begin * bits / 8;
  return part;
}

GpuCommunicator::Route GpuCommunicator::MakeRoute(DType dtype, const std::vector<Box>& from,
                                                  const std::vector<Box>& to) const {
  Route route;
  if (AllEqual(to) && AreEvenPartsOf(to[0], from) && Elements(from[0]) * DTypeBits(dtype) % 8 == 0) {
    route.gathers = true;
    route.concatenated = AreConcatenatedIn(to[0], from);
    route.part_bytes = TensorView::StorageBytes(dtype, Elements(from[0]));
    return route;
  }
  int64_t found = 0;
  for (const Piece& piece : PiecesFor(rank(), to[rank()], from)) {
    found += Elements(piece.box);
    if (piece.source == rank()) {
      route.own.push_back(piece.box);
    } else {
      route.receives.push_back(PartOf(dtype, piece.source, piece.box, to[rank()]));
    }
  }
  if (found != Elements(to[rank()])) {
    route.problem =
        Defect(StrCat("rank ", rank(), " of a group wants ", ToString(to[rank()]), ", part of which nobody holds"));
  }
  for (int r = 0; r < size(); ++r) {
    if (r == rank()) continue;
    for (const Piece& piece : PiecesFor(r, to[r], from)) {
      if (piece.source == rank()) route.sends.push_back(PartOf(dtype, r, piece.box, from[rank()]));
    }
  }
  return route;
}

const GpuCommunicator::Route& GpuCommunicator::RouteFor(DType dtype, const std::vector<Box>& from,
                                                        const std::vector<Box>& to) {
  RouteKey key{static_cast<int64_t>(dtype)};
  for (const std::vector<Box>* boxes : {&from, &to}) {
    for (const Box& box : *boxes) {
      key.push_back(static_cast<int64_t>(box.size()));
      for (const Range& range : box) {
        key.push_back(range.begin);
        key.push_back(range.end);
      }
    }
  }
  const auto known = routes_.find(key);
  if (known != routes_.end()) return known->second;
  return routes_.emplace(std::move(key), MakeRoute(dtype, from, to)).first->second;
}

Status GpuCommunicator::Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                                 const std::vector<Box>& to) {
  SBP_RETURN_IF_ERROR(Begin());
  const Route& route = RouteFor(source.dtype, from, to);
  if (!route.problem.ok()) {
    Abort(route.problem);
    return status();
  }
  if (route.gathers) return Gather(route, source, target, from);
  for (const Box& box : route.own) {
    SBP_RETURN_IF_ERROR(CopyBox(source.dtype, box, source.data, source.ranges, target.data, target.ranges));
  }
  return SendAndReceive(route, source, target);
}

Status GpuCommunicator::Gather(const Route& route, const TensorView& source, const TensorView& target,
                               const std::vector<Box>& from) {
  if (collectives_ == nullptr) return stream_.Copy(source.data, target.data, route.part_bytes);
  if (route.concatenated) return Checked(collectives_->AllGather(source.data, target.data, route.part_bytes, stream_));
  SBP_ASSIGN_OR_RETURN(std::byte* const gathered, stream_.Scratch(route.part_bytes * size()));
  SBP_RETURN_IF_ERROR(Checked(collectives_->AllGather(source.data, gathered, route.part_bytes, stream_)));
  for (int r = 0; r < size(); ++r) {
    SBP_RETURN_IF_ERROR(
        CopyBox(source.dtype, from[r], gathered + r * route.part_bytes, from[r], target.data, target.ranges));
  }
  return OkStatus();
}

Status GpuCommunicator::SendAndReceive(const Route& route, const TensorView& source, const TensorView& target) {
  if (collectives_ == nullptr) return OkStatus();
  std::vector<gpu::Send> sends;
  for (const Part& part : route.sends) {
    sends.push_back({part.peer, source.data + part.offset, part.bytes});
    if (part.direct) continue;
    SBP_ASSIGN_OR_RETURN(std::byte* const packed, stream_.Scratch(part.bytes));
    SBP_RETURN_IF_ERROR(CopyBox(source.dtype, part.box, source.data, source.ranges, packed, part.box));
    sends.back().data = packed;
  }
  std::vector<gpu::Receive> receives;
  for (const Part& part : route.receives) {
    receives.push_back({part.peer, target.data + part.offset, part.bytes});
    if (part.direct) continue;
    SBP_ASSIGN_OR_RETURN(receives.back().data, stream_.Scratch(part.bytes));
  }
  SBP_RETURN_IF_ERROR(Checked(collectives_->Exchange(sends, receives, stream_)));
  for (size_t i = 0; i < receives.size(); ++i) {
    const Part& part = route.receives[i];
    if (part.direct) continue;
    SBP_RETURN_IF_ERROR(CopyBox(target.dtype, part.box, receives[i].data, part.box, target.data, target.ranges));
  }
  return OkStatus();
}

Status GpuCommunicator::AllReduce(ReduceKind kind, const TensorView& source, const TensorView& target) {
  SBP_RETURN_IF_ERROR(Begin());
  SBP_RETURN_IF_ERROR(CanReduceOrAbort(source.dtype, kind));
  if (source.elements() == 0) return OkStatus();
  if (collectives_ == nullptr) return stream_.Copy(source.data, target.data, source.bytes());
  const auto native = gpu::NativeReductionFor(source.dtype, kind);
  if (!native) return CombineGathered(kind, source, target);
  return Checked(
      collectives_->AllReduce(*native, source.data, target.data, source.elements() * native->per_element, stream_));
}

// Every rank combines everything; a piece at a time, so that little memory holds what all ranks have.
Status GpuCommunicator::CombineGathered(ReduceKind kind, const TensorView& source, const TensorView& target) {
  constexpr int64_t kPiece = int64_t{64} << 20;  // bytes of all ranks
  const int64_t width = DTypeBits(source.dtype) / 8, count = source.elements();
  const int64_t step = std::min(count, std::max<int64_t>(1, kPiece / (size() * width)));
  SBP_ASSIGN_OR_RETURN(std::byte* const gathered, stream_.Scratch(step * width * size()));
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t elements = std::min(step, count - begin);
    const int64_t bytes = elements * width;
    SBP_RETURN_IF_ERROR(Checked(collectives_->AllGather(source.data + begin * width, gathered, bytes, stream_)));
    std::vector<const std::byte*> sources;
    for (int r = 0; r < size(); ++r) sources.push_back(gathered + r * bytes);
    SBP_RETURN_IF_ERROR(
        device_.kernels->movement.combine(stream_, source.dtype, kind, sources, target.data + begin * width, elements));
  }
  return OkStatus();
}

Status GpuCommunicator::ReduceScatter(ReduceKind kind, const TensorView& source, const TensorView& target,
                                      const std::vector<Box>& to) {
  SBP_RETURN_IF_ERROR(Begin());
  SBP_RETURN_IF_ERROR(CanReduceOrAbort(source.dtype, kind));
  if (collectives_ == nullptr) {
    return CopyBox(source.dtype, to[0], source.data, source.ranges, target.data, target.ranges);
  }
  const auto native = gpu::NativeReductionFor(source.dtype, kind);
  if (native && AreEvenPartsOf(source.ranges, to)) return ScatterEvenly(*native, source, target, to);
  return ScatterPieces(kind, source, target, to);
}

Status GpuCommunicator::ScatterEvenly(const gpu::NativeReduction& how, const TensorView& source,
                                      const TensorView& target, const std::vector<Box>& to) {
  const int64_t count = target.elements() * how.per_element;
  if (AreConcatenatedIn(source.ranges, to)) {
    return Checked(collectives_->ReduceScatter(how, source.data, target.data, count, stream_));
  }
  SBP_ASSIGN_OR_RETURN(std::byte* const packed, stream_.Scratch(source.bytes()));
  for (int r = 0; r < size(); ++r) {
    SBP_RETURN_IF_ERROR(CopyBox(source.dtype, to[r], source.data, source.ranges, packed + r * target.bytes(), to[r]));
  }
  return Checked(collectives_->ReduceScatter(how, packed, target.data, count, stream_));
}

// Every rank gets its piece of all others' values and combines them.
Status GpuCommunicator::ScatterPieces(ReduceKind kind, const TensorView& source, const TensorView& target,
                                      const std::vector<Box>& to) {
  std::vector<gpu::Send> sends;
  std::vector<gpu::Receive> receives;
  std::vector<const std::byte*> sources(static_cast<size_t>(size()), nullptr);
  for (int r = 0; r < size(); ++r) {
    const int64_t bytes = TensorView::StorageBytes(source.dtype, Elements(to[r]));
    if (bytes > 0) {
      SBP_ASSIGN_OR_RETURN(std::byte* const packed, stream_.Scratch(bytes));
      SBP_RETURN_IF_ERROR(CopyBox(source.dtype, to[r], source.data, source.ranges, packed, to[r]));
      if (r == rank()) sources[r] = packed;
      if (r != rank()) sends.push_back({r, packed, bytes});
    }
    if (r == rank() || target.bytes() == 0) continue;
    SBP_ASSIGN_OR_RETURN(std::byte* const theirs, stream_.Scratch(target.bytes()));
    sources[r] = theirs;
    receives.push_back({r, theirs, target.bytes()});
  }
  SBP_RETURN_IF_ERROR(Checked(collectives_->Exchange(sends, receives, stream_)));
  if (target.elements() == 0) return OkStatus();
  return device_.kernels->movement.combine(stream_, source.dtype, kind, sources, target.data, target.elements());
}

Status GpuCommunicator::Warm() {
  if (collectives_ != nullptr) {
    SBP_RETURN_IF_ERROR(Begin());
    SBP_ASSIGN_OR_RETURN(std::byte* const bytes, stream_.Scratch(2 * size()));
    SBP_RETURN_IF_ERROR(stream_.Zero(bytes, 2 * size()));
    const gpu::NativeReduction sum{DType::kU8, ReduceKind::kSum, 1};
    SBP_RETURN_IF_ERROR(Checked(collectives_->AllReduce(sum, bytes, bytes, 1, stream_)));
    SBP_RETURN_IF_ERROR(Checked(collectives_->ReduceScatter(sum, bytes, bytes + size(), 1, stream_)));
    std::vector<gpu::Send> sends;
    std::vector<gpu::Receive> receives;
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      sends.push_back({r, bytes + rank(), 1});
      receives.push_back({r, bytes + size() + r, 1});
    }
    SBP_RETURN_IF_ERROR(Checked(collectives_->Exchange(sends, receives, stream_)));
  }
  return Barrier();
}

Status GpuCommunicator::Barrier() {
  SBP_RETURN_IF_ERROR(Begin());
  if (collectives_ != nullptr) {
    SBP_ASSIGN_OR_RETURN(std::byte* const bytes, stream_.Scratch(size() + 1));
    SBP_RETURN_IF_ERROR(Checked(collectives_->AllGather(bytes + size(), bytes, 1, stream_)));
  }
  SBP_ASSIGN_OR_RETURN(const std::unique_ptr<gpu::Event> reached, stream_.MakeEvent(false));
  SBP_RETURN_IF_ERROR(stream_.Record(*reached));
  return device_.Await(*reached);
}

}  // namespace sbp
