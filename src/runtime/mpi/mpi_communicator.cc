#include "runtime/mpi/mpi_communicator.h"

#include <algorithm>

#include "base/text.h"
#include "runtime/reduce.h"

namespace sbp {
namespace {

constexpr int kTag = 0;                                // messages of a pair arrive in the order in which they were sent
constexpr int64_t kLongestMessage = int64_t{1} << 30;  // bytes: MPI counts in int

int64_t TotalElements(const std::vector<Piece>& pieces) {
  int64_t elements = 0;
  for (const Piece& piece : pieces) elements += Elements(piece.box);
  return elements;
}

// The pieces of `source`, one after the other.
std::vector<std::byte> Pack(const TensorView& source, const std::vector<Piece>& pieces) {
  std::vector<std::byte> packed(static_cast<size_t>(TensorView::StorageBytes(source.dtype, TotalElements(pieces))));
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    EachRun(piece.box, source.ranges, piece.box, [&](const ElementRun& run) {
      CopyElements(source.dtype, run.count, source.data, run.a, packed.data(), at + run.b);
    });
    at += Elements(piece.box);
  }
  return packed;
}

void Unpack(const std::vector<std::byte>& packed, const std::vector<Piece>& pieces, const TensorView& target) {
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    EachRun(piece.box, piece.box, target.ranges, [&](const ElementRun& run) {
      CopyElements(target.dtype, run.count, packed.data(), at + run.a, target.data, run.b);
    });
    at += Elements(piece.box);
  }
}

// The pieces by the rank that they come from.
std::vector<std::vector<Piece>> BySource(const std::vector<Piece>& pieces, int size) {
  std::vector<std::vector<Piece>> result(static_cast<size_t>(size));
  for (const Piece& piece : pieces) result[piece.source].push_back(piece);
  return result;
}

}  // namespace

MpiCommunicator::MpiCommunicator(std::shared_ptr<World> world, MPI_Comm group, std::vector<int> members,
                                 const CommunicatorOptions& options)
    : world_(std::move(world)), group_(group), members_(std::move(members)), timeout_(options.timeout) {
  MPI_Comm_set_errhandler(group_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(group_, &rank_);
}

Status MpiCommunicator::Send(int to, const std::byte* data, int64_t bytes, Pending& pending) {
  for (int64_t at = 0; at < bytes; at += kLongestMessage) {
    pending.peers.push_back(members_[to]);
    SBP_RETURN_IF_ERROR(MpiError(MPI_Isend(data + at, static_cast<int>(std::min(kLongestMessage, bytes - at)), MPI_BYTE,
                                           to, kTag, group_, &pending.requests.emplace_back(MPI_REQUEST_NULL)),
                                 "MPI_Isend"));
  }
  return OkStatus();
}

Status MpiCommunicator::Receive(int from, std::byte* data, int64_t bytes, Pending& pending) {
  for (int64_t at = 0; at < bytes; at += kLongestMessage) {
    pending.peers.push_back(members_[from]);
    SBP_RETURN_IF_ERROR(MpiError(MPI_Irecv(data + at, static_cast<int>(std::min(kLongestMessage, bytes - at)), MPI_BYTE,
                                           from, kTag, group_, &pending.requests.emplace_back(MPI_REQUEST_NULL)),
                                 "MPI_Irecv"));
  }
  return OkStatus();
}

Status MpiCommunicator::Wait(Pending& pending) {
  Status status = world_->Wait(pending.requests, pending.peers, timeout_);
  if (!status.ok()) {
    for (std::vector<std::byte>& buffer : pending.buffers) world_->Abandon(std::move(buffer));
  }
  return status;
}

Status MpiCommunicator::Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                                 const std::vector<Box>& to) {
  SBP_RETURN_IF_ERROR(status());
  const std::vector<Piece> wanted = PiecesFor(rank_, to[rank_], from);
  if (TotalElements(wanted) != Elements(to[rank_])) {
    Abort(Defect(StrCat("rank ", rank_, " of a group wants ", ToString(to[rank_]), ", part of which nobody holds")));
    return status();
  }
  const std::vector<std::vector<Piece>> incoming = BySource(wanted, size());
  std::vector<std::vector<std::byte>> received(static_cast<size_t>(size()));
  Pending pending;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    received[r].resize(static_cast<size_t>(TensorView::StorageBytes(source.dtype, TotalElements(incoming[r]))));
    SBP_RETURN_IF_ERROR(Receive(r, received[r].data(), static_cast<int64_t>(received[r].size()), pending));
    const std::vector<Piece> outgoing = BySource(PiecesFor(r, to[r], from), size())[rank_];
    const std::vector<std::byte>& packed = pending.buffers.emplace_back(Pack(source, outgoing));
    SBP_RETURN_IF_ERROR(Send(r, packed.data(), static_cast<int64_t>(packed.size()), pending));
  }
  for (const Piece& piece : incoming[rank_]) {
    CopyBox(source.dtype, piece.box, source.data, source.ranges, target.data, target.ranges);
  }
  if (Status waited = Wait(pending); !waited.ok()) {
    for (std::vector<std::byte>& buffer : received) world_->Abandon(std::move(buffer));
    return waited;
  }
  for (int r = 0; r < size(); ++r) {
    if (r != rank_) Unpack(received[r], incoming[r], target);
  }
  return OkStatus();
}

// Every rank combines its share of the elements, then all get the shares of all.
Status MpiCommunicator::AllReduce(ReduceKind kind, const TensorView& source, const TensorView& target) {
  SBP_RETURN_IF_ERROR(status());
  SBP_RETURN_IF_ERROR(CanReduceOrAbort(source.dtype, kind));
  const int64_t width = DTypeBits(source.dtype) / 8;
  std::vector<Range> shares;  // in bytes
  for (int r = 0; r < size(); ++r) {
    const Range share = BalancedPart({0, source.elements()}, size(), r);
    shares.push_back({share.begin * width, share.end * width});
  }
  const Range mine = shares[rank_];
  Pending pending;
  std::vector<const std::byte*> sources(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) {
    sources[r] = source.data + mine.begin;
    if (r == rank_) continue;
    std::byte* buffer = pending.buffers.emplace_back(static_cast<size_t>(mine.size())).data();
    sources[r] = buffer;
    SBP_RETURN_IF_ERROR(Receive(r, buffer, mine.size(), pending));
    SBP_RETURN_IF_ERROR(Send(r, source.data + shares[r].begin, shares[r].size(), pending));
  }
  SBP_RETURN_IF_ERROR(Wait(pending));
  ReduceElements(source.dtype, kind, sources, target.data + mine.begin, mine.size() / width);
  Pending gather;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    SBP_RETURN_IF_ERROR(Receive(r, target.data + shares[r].begin, shares[r].size(), gather));
    SBP_RETURN_IF_ERROR(Send(r, target.data + mine.begin, mine.size(), gather));
  }
  return Wait(gather);
}

Status MpiCommunicator::ReduceScatter(ReduceKind kind, const TensorView& source, const TensorView& target,
                                      const std::vector<Box>& to) {
  SBP_RETURN_IF_ERROR(status());
  SBP_RETURN_IF_ERROR(CanReduceOrAbort(source.dtype, kind));
  Pending pending;
  std::vector<const std::byte*> sources(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) {
    const std::byte* packed = pending.buffers.emplace_back(Pack(source, {{rank_, to[r]}})).data();
    sources[r] = packed;  // what this rank adds to its own part; the others' are received
    if (r == rank_) continue;
    SBP_RETURN_IF_ERROR(Send(r, packed, static_cast<int64_t>(pending.buffers.back().size()), pending));
    std::byte* buffer = pending.buffers.emplace_back(static_cast<size_t>(target.bytes())).data();
    sources[r] = buffer;
    SBP_RETURN_IF_ERROR(Receive(r, buffer, target.bytes(), pending));
  }
  SBP_RETURN_IF_ERROR(Wait(pending));
  ReduceElements(source.dtype, kind, sources, target.data, target.elements());
  return OkStatus();
}

Status MpiCommunicator::Barrier() {
  SBP_RETURN_IF_ERROR(status());
  // A byte from and to everybody: unlike MPI_Ibarrier it tells who is missing.
  Pending pending;
  std::byte* bytes = pending.buffers.emplace_back(static_cast<size_t>(size()) + 1).data();
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    SBP_RETURN_IF_ERROR(Receive(r, bytes + r, 1, pending));
    SBP_RETURN_IF_ERROR(Send(r, bytes + size(), 1, pending));
  }
  return Wait(pending);
}

Status MpiCommunicator::CanReduceOrAbort(DType dtype, ReduceKind kind) {
  Status can = CanReduce(dtype, kind);
  if (!can.ok()) Abort(can);
  return can;
}

}  // namespace sbp
