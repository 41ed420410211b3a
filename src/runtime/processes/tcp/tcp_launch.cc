// Processes that reach each other by TCP: a star with rank 0 in its middle. Each has a thread that reads what comes, so
// that news of a failure, or the end of a connection, which is the end of a process, is known at once.
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/text.h"
#include "runtime/processes/failure_detector.h"
#include "runtime/processes/launch.h"
#include "runtime/processes/tcp/greeting.h"
#include "runtime/processes/tcp/socket.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenTries{50};
constexpr std::chrono::seconds kLastWords{2};  // after a failure: for every process to say how it fared
// Signs of life, for a process that is stopped or whose machine is gone: its connection says nothing. A process gives
// them when all have come together.
constexpr int kBeatsBeforeFirst = 2 * 60;
constexpr uint64_t kLongestBytes = uint64_t{1} << 40;

uint32_t Number(TcpKind kind) { return static_cast<uint32_t>(kind); }

class TcpRanks : public Launch {
 public:
  // The connections by peer: rank 0 has one to each other rank, the others have one to rank 0.
  TcpRanks(const TcpPlace& place, TcpConnections&& connections) : place_(place) {
    for (auto& [rank, socket] : connections) {
      Peer& peer = peers_.emplace_back();
      peer.rank = rank;
      peer.socket = std::move(socket);
      peer.socket.set_heard(&peer.heard);
    }
    reader_ = std::thread([this] { ReadAll(); });
    beats_ = std::thread([this] { BeatAll(); });
  }
  ~TcpRanks() override {
    {
      const std::lock_guard lock(mutex_);
      ended_.store(true);
    }
    changed_.notify_all();
    for (Peer& peer : peers_) peer.socket.Shutdown();
    reader_.join();
    beats_.join();
  }

  std::string_view name() const override { return place_.name; }
  int rank() const override { return place_.rank; }
  int size() const override { return place_.size; }

  Result<std::vector<std::string>> AllGather(std::string_view mine) override {
    if (rank() == 0) {
      SBP_ASSIGN_OR_RETURN(std::vector<std::string> all, Collect(mine));
      const std::string packed = PackStrings(all);
      for (Peer& peer : peers_) SBP_RETURN_IF_ERROR(Tell(peer, TcpKind::kAll, packed));
      return all;
    }
    SBP_RETURN_IF_ERROR(Tell(peers_[0], TcpKind::kGive, mine));
    SBP_ASSIGN_OR_RETURN(const std::string packed, TakeFrom(peers_[0]));
    return UnpackStrings(packed);
  }

  Result<std::vector<std::string>> Gather(std::string_view mine) override {
    if (rank() == 0) return Collect(mine);
    SBP_RETURN_IF_ERROR(Tell(peers_[0], TcpKind::kGive, mine));
    return std::vector<std::string>();
  }

  void Abort(const Status& failure) override {
    if (Learn(failure, false)) Spread(-1);
  }
  Status status() override { return failure_.status(); }
  Status failure_elsewhere() override { return failure_.elsewhere(); }

  Status Finish(const Status& status, const LastWords&) override {
    if (!status.ok()) Abort(status);
    for (Peer& peer : peers_) (void)Tell(peer, TcpKind::kBye, "");  // who has gone has gone
    std::unique_lock lock(mutex_);
    const auto all_ended = [&] {
      return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) { return peer.bye || peer.gone; });
    };
    changed_.wait(lock, [&] { return all_ended() || failure_.failed(); });
    changed_.wait_for(lock, kLastWords, all_ended);
    return status.ok() ? failure_.status() : status;
  }

 private:
  struct Peer {
    int rank = 0;
    Socket socket;
    std::mutex sending;
    bool told = false;                 // of the failure; under `sending`
    std::deque<std::string> received;  // under mutex_, like the next two
    bool bye = false, gone = false;
    std::atomic<bool> heard{false};      // since the last beat
    Silence silence{kBeatsBeforeFirst};  // the beats'
  };

  // The bytes of all ranks, at rank 0.
  Result<std::vector<std::string>> Collect(std::string_view mine) {
    std::vector<std::string> all{std::string(mine)};
    for (Peer& peer : peers_) {
      SBP_ASSIGN_OR_RETURN(std::string theirs, TakeFrom(peer));
      all.push_back(std::move(theirs));
    }
    return all;
  }

  Result<std::string> TakeFrom(Peer& peer) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !peer.received.empty() || failure_.failed(); });
    if (peer.received.empty()) return failure_.status();  // what came before a failure counts
    std::string bytes = std::move(peer.received.front());
    peer.received.pop_front();
    return bytes;
  }

  // A connection that breaks is the reader's to judge: it may still hold the peer's last words.
  Status Tell(Peer& peer, TcpKind kind, std::string_view bytes) {
    const std::lock_guard lock(peer.sending);
    TellOfFailure(peer);
    if (peer.socket.Send(Number(kind), bytes).ok()) return OkStatus();
    std::unique_lock waiting(mutex_);
    changed_.wait_for(waiting, kLastWords, [&] { return failure_.failed(); });
    return failure_.failed() ? failure_.status() : RunFailed(StrCat("rank ", peer.rank, " does not listen"));
  }

  // Is it the first failure?
  bool Learn(const Status& failure, bool elsewhere) {
    if (!failure_.Set(failure, elsewhere)) return false;
    const std::lock_guard lock(mutex_);  // who waits has seen it, or is woken
    changed_.notify_all();
    return true;
  }
  // Tells everybody but one of the failure. Waits for nobody: where something is on its way, whoever sends next tells.
  void Spread(int but) {
    for (Peer& peer : peers_) {
      if (peer.rank == but) continue;
      const std::unique_lock lock(peer.sending, std::try_to_lock);
      if (lock.owns_lock() && peer.socket.takes_bytes()) TellOfFailure(peer);
    }
  }
  // Once. Under peer.sending.
  void TellOfFailure(Peer& peer) {
    const Status failure = status();
    if (failure.ok() || peer.told) return;
    peer.told = true;
    // Who has gone needs no news.
    (void)peer.socket.Send(Number(TcpKind::kFailure), FailureBytes(failure));
  }

  void ReadAll() {
    std::vector<pollfd> entries;
    for (const Peer& peer : peers_) entries.push_back({peer.socket.descriptor(), POLLIN, 0});
    while (!ended_.load()) {
      poll(entries.data(), entries.size(), static_cast<int>(kBetweenTries.count()));
      for (size_t i = 0; i < entries.size(); ++i) {
        if (entries[i].revents == 0 || entries[i].fd < 0) continue;
        auto message = peers_[i].socket.Receive(kLongestBytes);
        if (message.ok()) {
          Take(peers_[i], std::move(message).value());
        } else {
          entries[i].fd = -1;
          Lose(peers_[i], "ended without a word");
        }
      }
    }
  }

  // A thread of its own, which never waits for a peer: the reader may be within a long message.
  void BeatAll() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kBeatEvery, [&] { return ended_.load(); })) {
      lock.unlock();
      for (Peer& peer : peers_) Beat(peer);
      lock.lock();
    }
  }

  void Beat(Peer& peer) {
    {
      const std::lock_guard lock(mutex_);
      if (peer.gone) return;
    }
    const bool heard = peer.heard.exchange(false) || peer.socket.has_unread();
    if (peer.silence.Beat(heard)) {
      Lose(peer, peer.silence.Words());
      return;
    }
    const std::unique_lock lock(peer.sending, std::try_to_lock);  // else something is being sent, which is a sign too
    if (!lock.owns_lock() || !peer.socket.takes_bytes()) return;
    TellOfFailure(peer);
    (void)peer.socket.Send(Number(TcpKind::kBeat), "");
  }

  void Take(Peer& peer, Socket::Message message) {
    if (message.kind == Number(TcpKind::kFailure) && !message.bytes.empty()) {
      const Status failure(static_cast<Code>(message.bytes[0]), message.bytes.substr(1));
      if (Learn(failure, true)) Spread(peer.rank);
      return;
    }
    const std::lock_guard lock(mutex_);
    if (message.kind == Number(TcpKind::kBye)) peer.bye = true;
    if (message.kind == Number(TcpKind::kGive) || message.kind == Number(TcpKind::kAll))
      peer.received.push_back(std::move(message.bytes));
    changed_.notify_all();
  }

  void Lose(Peer& peer, std::string_view how) {
    bool expected;
    {
      const std::lock_guard lock(mutex_);
      peer.gone = true;
      expected = peer.bye || ended_.load();
      changed_.notify_all();
    }
    const bool first = !expected && Learn(RunFailed(StrCat("rank ", peer.rank, " ", how)), true);
    peer.socket.Shutdown();  // whoever waits for it to take or to say something need wait no longer
    if (first) Spread(peer.rank);
  }

  const TcpPlace place_;
  std::deque<Peer> peers_;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  FirstFailure failure_;
  std::thread reader_, beats_;
};

}  // namespace

Result<std::unique_ptr<Launch>> TcpLaunch(const TcpPlace& place) {
  SBP_ASSIGN_OR_RETURN(auto connections, place.rank == 0 ? AcceptRanks(place) : ConnectToFirstRank(place));
  return std::unique_ptr<Launch>(std::make_unique<TcpRanks>(place, std::move(connections)));
}

}  // namespace sbp
