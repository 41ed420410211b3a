#include "runtime/backends/mpi/mpi_communicator.h"

#include <algorithm>
#include <cstdint>

#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "kernel/view.h"
#include "runtime/data/box.h"
#include "runtime/data/reduce.h"
#include "sbp/sbp.h"
#include "sbp/shard_math.h"

namespace sbp {
namespace {

constexpr int kTag = 0;  // messages of a pair arrive in the order in which they were sent
constexpr int64_t kBufferAlignment = 64;
constexpr int64_t kLongestMessage = int64_t{1} << 30;  // bytes: MPI counts in int

int64_t TotalElements(const std::vector<Piece>& pieces) {
  int64_t elements = 0;
  for (const Piece& piece : pieces) elements += Elements(piece.box);
  return elements;
}

// The pieces of `source`, one after the other.
void Pack(const TensorView& source, const std::vector<Piece>& pieces, std::byte* packed) {
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    EachRun(piece.box, source.ranges, piece.box, [&](const ElementRun& run) {
      CopyElements(source.dtype, run.count, source.data, run.a, packed, at + run.b);
    });
    at += Elements(piece.box);
  }
}

void Unpack(const std::byte* packed, const std::vector<Piece>& pieces, const TensorView& target) {
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    EachRun(piece.box, piece.box, target.ranges, [&](const ElementRun& run) {
      CopyElements(target.dtype, run.count, packed, at + run.a, target.data, run.b);
    });
    at += Elements(piece.box);
  }
}

// So that what is combined is aligned.
int64_t Padded(int64_t bytes) { return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

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
  if (!status.ok() && buffer_ != nullptr) {
    world_->Abandon(std::move(buffer_));
    buffer_bytes_ = 0;
  }
  return status;
}

std::byte* MpiCommunicator::Reserve(int64_t bytes) {
  if (bytes > buffer_bytes_) {
    buffer_.reset();
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes + kBufferAlignment));
    buffer_bytes_ = bytes;
  }
  const auto beyond = reinterpret_cast<uintptr_t>(buffer_.get()) % kBufferAlignment;
  return buffer_.get() + (kBufferAlignment - beyond);
}

MpiCommunicator::Message MpiCommunicator::MessageOf(std::vector<Piece> pieces, const TensorView& view) {
  Message message;
  message.bytes = TensorView::StorageBytes(view.dtype, TotalElements(pieces));
  const int64_t bits = DTypeBits(view.dtype);
  if (pieces.size() == 1 && bits >= 8) {
    message.at = OnlyRunAt(pieces[0].box, view.ranges);
    if (message.at) *message.at *= bits / 8;
  }
  message.pieces = std::move(pieces);
  return message;
}

Status MpiCommunicator::Exchange(const TensorView& source, const TensorView& target, const std::vector<Box>& from,
                                 const std::vector<Box>& to) {
  SBP_RETURN_IF_ERROR(status());
  const std::vector<Piece> wanted = PiecesFor(rank_, to[rank_], from);
  if (TotalElements(wanted) != Elements(to[rank_])) {
    Abort(Defect(StrCat("rank ", rank_, " of a group wants ", ToString(to[rank_]), ", part of which nobody holds")));
    return status();
  }
  std::vector<Message> incoming, outgoing;  // by rank
  int64_t packed = 0;
  for (std::vector<Piece>& pieces : BySource(wanted, size())) incoming.push_back(MessageOf(std::move(pieces), target));
  for (int r = 0; r < size(); ++r) {
    outgoing.push_back(MessageOf(BySource(PiecesFor(r, to[r], from), size())[rank_], source));
    if (r == rank_) continue;
    for (const Message* message : {&incoming[r], &outgoing[r]}) packed += message->at ? 0 : Padded(message->bytes);
  }
  std::byte* buffer = Reserve(packed);
  std::vector<const std::byte*> received(static_cast<size_t>(size()));
  Pending pending;
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    std::byte* to_place = incoming[r].at ? target.data + *incoming[r].at : buffer;
    received[r] = to_place;
    if (!incoming[r].at) buffer += Padded(incoming[r].bytes);
    SBP_RETURN_IF_ERROR(Receive(r, to_place, incoming[r].bytes, pending));
  }
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    const std::byte* data = outgoing[r].at ? source.data + *outgoing[r].at : buffer;
    if (!outgoing[r].at) {
      Pack(source, outgoing[r].pieces, buffer);
      buffer += Padded(outgoing[r].bytes);
    }
    SBP_RETURN_IF_ERROR(Send(r, data, outgoing[r].bytes, pending));
  }
  for (const Piece& piece : incoming[rank_].pieces) {
    CopyBox(source.dtype, piece.box, source.data, source.ranges, target.data, target.ranges);
  }
  SBP_RETURN_IF_ERROR(Wait(pending));
  for (int r = 0; r < size(); ++r) {
    if (r != rank_ && !incoming[r].at) Unpack(received[r], incoming[r].pieces, target);
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
  std::byte* buffer = Reserve(Padded(mine.size()) * (size() - 1));
  Pending pending;
  std::vector<const std::byte*> sources(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) {
    sources[r] = source.data + mine.begin;
    if (r == rank_) continue;
    sources[r] = buffer;
    SBP_RETURN_IF_ERROR(Receive(r, buffer, mine.size(), pending));
    buffer += Padded(mine.size());
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
  const int64_t bytes = target.bytes();
  std::vector<Message> parts;  // of `source`, by rank
  int64_t packed = Padded(bytes) * (size() - 1);
  for (int r = 0; r < size(); ++r) {
    parts.push_back(MessageOf({{rank_, to[r]}}, source));
    if (!parts[r].at) packed += Padded(parts[r].bytes);
  }
  std::byte* buffer = Reserve(packed);
  Pending pending;
  std::vector<const std::byte*> sources(static_cast<size_t>(size()));
  for (int r = 0; r < size(); ++r) {
    if (r == rank_) continue;
    sources[r] = buffer;
    SBP_RETURN_IF_ERROR(Receive(r, buffer, bytes, pending));
    buffer += Padded(bytes);
  }
  for (int r = 0; r < size(); ++r) {
    const std::byte* part = parts[r].at ? source.data + *parts[r].at : buffer;
    if (!parts[r].at) {
      Pack(source, parts[r].pieces, buffer);
      buffer += Padded(parts[r].bytes);
    }
    if (r == rank_)
      sources[r] = part;  // what this rank adds to its own part
    else
      SBP_RETURN_IF_ERROR(Send(r, part, parts[r].bytes, pending));
  }
  SBP_RETURN_IF_ERROR(Wait(pending));
  ReduceElements(source.dtype, kind, sources, target.data, target.elements());
  return OkStatus();
}

Status MpiCommunicator::Barrier() {
  SBP_RETURN_IF_ERROR(status());
  // A byte from and to everybody: unlike MPI_Ibarrier it tells who is missing.
  Pending pending;
  std::byte* bytes = Reserve(size() + 1);
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
