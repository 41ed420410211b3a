#include "runtime/mpi/world.h"

#include <algorithm>
#include <thread>

#include "base/text.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

// The exit code of a failure travels as the message's tag, its text as the data.
constexpr int kLongestNews = 4000;  // short enough for MPI to send it without waiting for the receiver

}  // namespace

Status MpiError(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return OkStatus();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return Status(Code::kRunFailed, StrCat(call, ": ", std::string_view(text, static_cast<size_t>(length))));
}

World::World() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm_dup(MPI_COMM_WORLD, &news_);
  MPI_Comm_set_errhandler(news_, MPI_ERRORS_RETURN);
}

void World::Learn(const Status& failure) {
  failure_ = failure;
  failed_.store(true, std::memory_order_release);
}

void World::Abort(const Status& failure) {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return;
  Learn(failure);
  sent_.push_back(failure.message().substr(0, kLongestNews));
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(sent_.back().data(), static_cast<int>(sent_.back().size()), MPI_CHAR, r, static_cast<int>(failure.code()),
              news_, &request);
    sends_.push_back(request);
  }
}

void World::Look() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread looks
  if (failed_.load(std::memory_order_relaxed)) return;
  int found = 0;
  MPI_Status message;
  if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, news_, &found, &message) != MPI_SUCCESS || found == 0) return;
  int length = 0;
  MPI_Get_count(&message, MPI_CHAR, &length);
  std::string text(static_cast<size_t>(std::max(length, 0)), '\0');
  if (MPI_Recv(text.data(), length, MPI_CHAR, message.MPI_SOURCE, message.MPI_TAG, news_, MPI_STATUS_IGNORE) !=
      MPI_SUCCESS) {
    return;
  }
  elsewhere_ = true;
  Learn(Status(static_cast<Code>(message.MPI_TAG), text));
}

Status World::failure_elsewhere() {
  if (status().ok()) return OkStatus();
  const std::lock_guard lock(mutex_);
  return elsewhere_ ? failure_ : OkStatus();
}

Status World::status() {
  if (!failed_.load(std::memory_order_acquire)) Look();
  if (!failed_.load(std::memory_order_acquire)) return OkStatus();
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status World::Wait(std::vector<MPI_Request>& requests, const std::vector<int>& peers,
                   std::chrono::milliseconds timeout) {
  constexpr int kEager = 1000;    // looks before the thread begins to sleep in between
  constexpr int kNewsEvery = 64;  // looks at data for one at news, while it is eager
  constexpr std::chrono::microseconds kNap{50};
  const Clock::time_point deadline = Clock::now() + timeout;
  Status failure;
  for (int64_t round = 0;; ++round) {
    int done = 0;
    failure = MpiError(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                       "MPI_Testall");
    if (!failure.ok() || done != 0) break;
    if (round < kEager) {
      std::this_thread::yield();
      if (round % kNewsEvery != 0) continue;
    } else {
      std::this_thread::sleep_for(kNap);
    }
    failure = status();
    if (!failure.ok()) break;
    if (Clock::now() < deadline) continue;
    std::vector<int> missing;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] != MPI_REQUEST_NULL) missing.push_back(peers[i]);
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    failure = Status(Code::kRunFailed, StrCat("rank ", rank_, " waited ", timeout.count(),
                                              " ms in a collective for rank ", Join(missing, ", ")));
    break;
  }
  if (failure.ok()) return failure;
  Abort(failure);
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  return status();
}

void World::Abandon(std::vector<std::byte> buffer) {
  const std::lock_guard lock(mutex_);
  abandoned_.push_back(std::move(buffer));
}

}  // namespace sbp
