#include "runtime/backends/mpi/world.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string_view>
#if __has_include(<sys/prctl.h>)
#include <sys/prctl.h>
#endif

#include "base/text.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSilence = std::chrono::duration_cast<std::chrono::seconds>(Silence::kBeats * kBeatEvery);
constexpr std::chrono::seconds kOwnEnd{2};  // for a process to end by itself
enum Sign { kAlive, kLast };                // tags of signs of life

// The exit code of a failure travels as the message's tag, its text as the data.
constexpr int kLongestNews = 4000;  // short enough for MPI to send it without waiting for the receiver

// How a thread waits for others: first it looks again and again, then it sleeps between looks, so long as it has waited
// for 1/8 as much, that others may use its core. Whoever comes late finds the others awake soon.
class Patience {
 public:
  // Is it time to look at other news?
  bool Pause() {
    if (++looks_ % kNewsEvery != 0 && !sleeps_) {
      std::this_thread::yield();
      return false;
    }
    const Clock::duration waited = Clock::now() - start_;
    sleeps_ = waited > kEager;
    if (sleeps_) Nap(std::min<Clock::duration>(waited / 8, kLongestNap));
    return true;
  }

 private:
  static constexpr int kNewsEvery = 64;  // looks, while it does not sleep
  static constexpr std::chrono::microseconds kEager{200}, kLongestNap{50};

  static void Nap(Clock::duration time) {
#ifdef PR_SET_TIMERSLACK
    // Linux wakes a thread up to 50 us too late unless it asks for better.
    thread_local const bool punctual = prctl(PR_SET_TIMERSLACK, 1000UL) == 0;
    static_cast<void>(punctual);
#endif
    std::this_thread::sleep_for(time);
  }

  Clock::time_point start_ = Clock::now();
  int64_t looks_ = 0;
  bool sleeps_ = false;
};

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
  if (size_ == 1) return;
  MPI_Comm_dup(MPI_COMM_WORLD, &life_);
  MPI_Comm_set_errhandler(life_, MPI_ERRORS_RETURN);
  pulse_ = std::thread([this] { Pulse(); });
}

World::~World() { StopPulse(); }

void World::StopPulse() {
  if (!pulse_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  pulse_.join();
}

bool World::HearPulse() {
  const int before = (rank_ + size_ - 1) % size_;
  bool heard = false;
  for (int found = 1; found != 0;) {
    if (MPI_Iprobe(before, kAlive, life_, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS || found == 0) break;
    if (MPI_Recv(nullptr, 0, MPI_CHAR, before, kAlive, life_, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    heard = true;
  }
  return heard;
}

// A rank that has failed goes on, so that nobody takes it for the one that is silent.
void World::Pulse() {
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  Silence silence;
  Clock::time_point accused = Clock::time_point::max();
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, kBeatEvery, [&] { return ended_; })) {
    lock.unlock();
    int sent = 1;
    if (beat_ != MPI_REQUEST_NULL) MPI_Test(&beat_, &sent, MPI_STATUS_IGNORE);
    if (sent != 0) MPI_Isend(nullptr, 0, MPI_CHAR, next, kAlive, life_, &beat_);
    Look();
    if (silence.Beat(HearPulse()) && failure_.Set(RunFailed(StrCat("rank ", before, " ", silence.Words())), true)) {
      Tell();
      accused = Clock::now();
    }
    if (accused != Clock::time_point::max() && Clock::now() > accused + kOwnEnd && !finishing_.load()) {
      EndAll(status());  // what this process is at may take long
    }
    lock.lock();
  }
}

void World::EndAll(const Status& failure) {
  const std::string words = "error: " + failure.message() + "\n";
  std::cerr << words;
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(failure.code()));
}

// Nothing may be on its way when MPI ends: the last sign says that no other follows.
void World::EndPulse() {
  if (!pulse_.joinable()) return;
  StopPulse();
  const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
  MPI_Request last = MPI_REQUEST_NULL;
  MPI_Isend(nullptr, 0, MPI_CHAR, next, kLast, life_, &last);
  const Clock::time_point deadline = Clock::now() + kSilence;
  MPI_Status sign;
  for (sign.MPI_TAG = kAlive; sign.MPI_TAG != kLast;) {
    int found = 0;
    if (MPI_Iprobe(before, MPI_ANY_TAG, life_, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (found != 0) {
      if (MPI_Recv(nullptr, 0, MPI_CHAR, before, MPI_ANY_TAG, life_, &sign) != MPI_SUCCESS) return;
      continue;
    }
    if (Clock::now() > deadline) EndAll(RunFailed(StrCat("rank ", before, " has not come to its end")));
    std::this_thread::yield();
  }
  MPI_Request sends[] = {beat_, last};
  MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
}

void World::Abort(const Status& failure) {
  if (failure_.Set(failure)) Tell();
}

void World::Tell() {
  const Status failure = failure_.status();
  const std::lock_guard lock(mutex_);
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
  if (failure_.failed()) return;
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
  (void)failure_.Set(Status(static_cast<Code>(message.MPI_TAG), text), true);
}

Status World::failure_elsewhere() {
  if (status().ok()) return OkStatus();
  return failure_.elsewhere();
}

Status World::status() {
  if (!failure_.failed()) Look();
  return failure_.status();
}

Status World::Wait(std::vector<MPI_Request>& requests, const std::vector<int>& peers,
                   std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::vector<int> indices(requests.size());
  Status failure;
  Patience patience;
  while (true) {
    int done = 0;  // since the last look; MPI_UNDEFINED: all were done before
    failure = MpiError(
        MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    if (!failure.ok() || done == MPI_UNDEFINED) break;
    if (done > 0) {  // others are at it: what is missing comes soon
      patience = Patience();
      continue;
    }
    if (!patience.Pause()) continue;
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

void World::Abandon(std::unique_ptr<std::byte[]> buffer) {
  const std::lock_guard lock(mutex_);
  abandoned_.push_back(std::move(buffer));
}

}  // namespace sbp
