#include "runtime/processes/tcp/greeting.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <thread>

#include "base/text.h"
#include "runtime/processes/tcp/mac.h"

namespace sbp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGathering{60};        // for all processes to start
constexpr std::chrono::milliseconds kGreeting{2000};  // for one that has connected to say who it is
constexpr std::chrono::milliseconds kBetweenTries{50};
constexpr size_t kMostGuests = 64;           // that are heard at once; the one who came first must go
constexpr uint64_t kLongestGreeting = 4096;  // bytes
constexpr size_t kNonceBytes = 16;

uint32_t Number(TcpKind kind) { return static_cast<uint32_t>(kind); }

// What was said, under the run's key. The port that was told to all, too: two runs of one secret are two.
std::string CodeOf(const TcpPlace& place, const std::vector<std::string>& said) {
  const std::string key = HmacSha256(place.secret, StrCat("sbp-plan run at port ", place.port));
  return HmacSha256(key, PackStrings(said));
}

struct Hello {
  int rank = 0, size = 0;
  std::string version, plan, nonce;
};
std::string HelloCode(const TcpPlace& place, const Hello& hello, const std::string& challenge) {
  return CodeOf(place,
                {"hello", challenge, hello.nonce, StrCat(hello.rank), StrCat(hello.size), hello.version, hello.plan});
}
std::string HelloBytes(const TcpPlace& place, const Hello& hello, const std::string& challenge) {
  return PackStrings({StrCat(hello.rank), StrCat(hello.size), hello.version, hello.plan, hello.nonce,
                      HelloCode(place, hello, challenge)});
}
// Nothing: it does not know the key.
std::optional<Hello> ReadHello(const TcpPlace& place, const std::string& bytes, const std::string& challenge) {
  const std::vector<std::string> parts = UnpackStrings(bytes);
  if (parts.size() != 6) return std::nullopt;
  const std::optional<int64_t> rank = ParseInt(parts[0]), size = ParseInt(parts[1]);
  if (!rank || !size || parts[4].size() != kNonceBytes) return std::nullopt;
  Hello hello{static_cast<int>(*rank), static_cast<int>(*size), parts[2], parts[3], parts[4]};
  if (!SameBytes(HelloCode(place, hello, challenge), parts[5])) return std::nullopt;
  return hello;
}
std::string WelcomeCode(const TcpPlace& place, const std::string& nonce) { return CodeOf(place, {"welcome", nonce}); }
std::string RefusalCode(const TcpPlace& place, const std::string& nonce, const std::string& why) {
  return CodeOf(place, {"refused", nonce, why});
}

std::string PlanName(const std::string& plan) { return plan.empty() ? "nothing" : plan; }

// Why a process that knows the key cannot take part; "": it can.
std::string Objection(const TcpPlace& place, const Hello& hello) {
  if (hello.version != place.version) {
    return StrCat("it is sbp-plan ", hello.version, ", and rank 0 is ", place.version);
  }
  if (hello.size != place.size) {
    return StrCat("it was started for a run of ", hello.size, " processes, and rank 0 for one of ", place.size);
  }
  if (hello.rank <= 0 || hello.rank >= place.size) return StrCat("there is no such rank among ", place.size);
  if (hello.plan != place.plan) {
    return StrCat("it runs another plan (", PlanName(hello.plan), ") than rank 0 (", PlanName(place.plan), ")");
  }
  return "";
}

// Has the other end gone?
bool HasEnded(const Socket& socket) {
  char byte;
  const ssize_t got = recv(socket.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

// Rank 0 at the door.
class Door {
 public:
  explicit Door(const TcpPlace& place) : place_(place), missing_(place.size - 1) {
    for (int r = 1; r < place.size; ++r) ranks_.emplace_back(r, Socket());
  }

  Result<TcpConnections> Run() {
    Status status = Open();
    const Clock::time_point deadline = Clock::now() + kGathering;
    while (status.ok() && missing_ > 0 && Clock::now() < deadline) status = Look();
    if (status.ok() && missing_ > 0) status = Absent();
    if (status.ok()) return std::move(ranks_);
    for (auto& [rank, socket] : ranks_) {  // those who have come wait for the others
      if (socket.open()) (void)socket.Send(Number(TcpKind::kFailure), FailureBytes(status));
    }
    return status;
  }

 private:
  // Somebody of whom nothing is known yet.
  struct Guest {
    Socket socket;
    std::string challenge, received;
    Clock::time_point until;
  };

  Status Open() {
    if (place_.listener >= 0) {
      listener_ = Socket(place_.listener);
      return OkStatus();
    }
    Status failure;
    for (int p = 1; p <= kTcpPorts && !listener_.open(); ++p) {
      Result<Socket> own = Socket::Listen(place_.host, place_.port + p);
      failure = own.status();
      if (own.ok()) listener_ = std::move(own).value();
    }
    if (listener_.open()) return OkStatus();
    return failure.WithContext(
        StrCat("no port from ", place_.port + 1, " to ", place_.port + kTcpPorts, " of ", place_.host, " is free"));
  }

  Status Look() {
    std::vector<pollfd> entries{{listener_.descriptor(), POLLIN, 0}};
    for (const Guest& guest : guests_) entries.push_back({guest.socket.descriptor(), POLLIN, 0});
    poll(entries.data(), entries.size(), static_cast<int>(kBetweenTries.count()));
    for (size_t i = 0; i < guests_.size(); ++i) {
      if (entries[i + 1].revents != 0) SBP_RETURN_IF_ERROR(Hear(guests_[i]));
    }
    const Clock::time_point now = Clock::now();
    for (Guest& guest : guests_) {
      if (guest.socket.open() && guest.until < now) Drop(guest);
    }
    std::erase_if(guests_, [](const Guest& guest) { return !guest.socket.open(); });
    return entries[0].revents != 0 ? LetIn() : OkStatus();
  }

  Status LetIn() {
    for (size_t i = 0; i < kMostGuests; ++i) {
      SBP_ASSIGN_OR_RETURN(std::optional<Socket> socket, listener_.Accept(std::chrono::milliseconds(0)));
      if (!socket) break;
      if (guests_.size() == kMostGuests) {
        guests_.pop_front();
        ++strangers_;
      }
      SBP_ASSIGN_OR_RETURN(std::string challenge, RandomBytes(kNonceBytes));
      socket->set_patience(std::chrono::milliseconds(0));  // few bytes: they fit, or it is not worth it
      if (!socket->Send(Number(TcpKind::kChallenge), challenge).ok()) continue;
      guests_.push_back({std::move(*socket), std::move(challenge), "", Clock::now() + kGreeting});
    }
    return OkStatus();
  }

  void Drop(Guest& guest) {
    guest.socket.Close();
    ++strangers_;
  }

  // As much as has come.
  Status Hear(Guest& guest) {
    char bytes[kLongestGreeting];
    const ssize_t got = recv(guest.socket.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return OkStatus();
    if (got > 0) guest.received.append(bytes, static_cast<size_t>(got));
    Result<std::optional<Socket::Message>> message = Socket::MessageIn(guest.received, kLongestGreeting);
    const bool nothing = got > 0 && message.ok() && !message->has_value();
    if (nothing) return OkStatus();
    const bool said = got > 0 && message.ok() && (*message)->kind == Number(TcpKind::kHello);
    const std::optional<Hello> hello =
        said ? ReadHello(place_, (*message)->bytes, guest.challenge) : std::optional<Hello>();
    if (hello) return Judge(guest, *hello);
    Drop(guest);
    return OkStatus();
  }

  Status Judge(Guest& guest, const Hello& hello) {
    std::string why = Objection(place_, hello);
    const bool fits = why.empty();
    if (fits) {
      Socket& own = ranks_[static_cast<size_t>(hello.rank) - 1].second;
      if (own.open() && HasEnded(own)) {  // it comes again
        own.Close();
        ++missing_;
      }
      if (!own.open()) {
        if (!guest.socket.Send(Number(TcpKind::kWelcome), WelcomeCode(place_, hello.nonce)).ok()) return OkStatus();
        own = std::move(guest.socket);
        own.set_patience(std::chrono::milliseconds(-1));
        --missing_;
        return OkStatus();
      }
      why = StrCat("another process is rank ", hello.rank);
      twice_.push_back(hello.rank);
    }
    (void)guest.socket.Send(Number(TcpKind::kRefused), PackStrings({why, RefusalCode(place_, hello.nonce, why)}));
    guest.socket.Close();
    return fits ? OkStatus() : RunFailed(StrCat("rank ", hello.rank, " is refused: ", why));
  }

  Status Absent() const {
    std::vector<int> absent;
    for (const auto& [rank, socket] : ranks_) {
      if (!socket.open()) absent.push_back(rank);
    }
    std::string text = StrCat("rank ", Join(absent, ", "), " did not come within ", kGathering.count(), " s");
    if (!twice_.empty()) text += StrCat("; rank ", Join(twice_, ", "), " came twice");
    if (strangers_ > 0) {
      text += StrCat("; ", strangers_, " connections were dropped of who did not know the secret of this run ",
                     "(SBP_RUN_SECRET must be the same everywhere)");
    }
    return RunFailed(text);
  }

  const TcpPlace& place_;
  Socket listener_;
  TcpConnections ranks_;
  int missing_;
  std::deque<Guest> guests_;
  std::vector<int> twice_;
  int64_t strangers_ = 0;
};

// The connection, where rank 0 of this run answers; nothing: somebody else does, or nobody. Error: it refuses us.
Result<std::optional<Socket>> Knock(const TcpPlace& place, int port, Status& last) {
  Result<Socket> connected = Socket::Connect(place.host, port, kGreeting);
  last = connected.status();
  if (!connected.ok()) return std::optional<Socket>();
  Socket socket = std::move(connected).value();
  socket.set_patience(kGreeting);
  const Result<Socket::Message> challenge = socket.Receive(kLongestGreeting);
  if (!challenge.ok() || challenge->kind != Number(TcpKind::kChallenge)) return std::optional<Socket>();
  SBP_ASSIGN_OR_RETURN(const std::string nonce, RandomBytes(kNonceBytes));
  const Hello hello{place.rank, place.size, place.version, place.plan, nonce};
  if (!socket.Send(Number(TcpKind::kHello), HelloBytes(place, hello, challenge->bytes)).ok()) {
    return std::optional<Socket>();
  }
  const Result<Socket::Message> answer = socket.Receive(kLongestGreeting);
  if (!answer.ok()) return std::optional<Socket>();
  if (answer->kind == Number(TcpKind::kRefused)) {
    const std::vector<std::string> parts = UnpackStrings(answer->bytes);
    if (parts.size() == 2 && SameBytes(parts[1], RefusalCode(place, nonce, parts[0]))) {
      return RunFailed(StrCat("rank ", place.rank, " is refused: ", parts[0]));
    }
  }
  const bool welcome = answer->kind == Number(TcpKind::kWelcome) && SameBytes(answer->bytes, WelcomeCode(place, nonce));
  if (!welcome) return std::optional<Socket>();
  socket.set_patience(std::chrono::milliseconds(-1));
  return std::optional<Socket>(std::move(socket));
}

}  // namespace

std::string PackStrings(const std::vector<std::string>& parts) {
  std::string bytes;
  for (const std::string& part : parts) {
    const uint64_t size = part.size();
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(part);
  }
  return bytes;
}

std::vector<std::string> UnpackStrings(std::string_view bytes) {
  std::vector<std::string> parts;
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t size;
    std::memcpy(&size, bytes.data(), sizeof size);
    parts.emplace_back(bytes.substr(sizeof size, size));
    bytes.remove_prefix(std::min(bytes.size(), sizeof size + parts.back().size()));
  }
  return parts;
}

std::string FailureBytes(const Status& failure) {
  return StrCat(std::string(1, static_cast<char>(failure.code())), failure.message());
}

Result<TcpConnections> AcceptRanks(const TcpPlace& place) { return Door(place).Run(); }

Result<TcpConnections> ConnectToFirstRank(const TcpPlace& place) {
  const Clock::time_point deadline = Clock::now() + kGathering;
  Status last;
  while (Clock::now() < deadline) {
    const int first = place.only_port ? 0 : 1, end = place.only_port ? 0 : kTcpPorts;
    for (int p = first; p <= end; ++p) {
      SBP_ASSIGN_OR_RETURN(std::optional<Socket> socket, Knock(place, place.port + p, last));
      if (!socket) continue;
      TcpConnections connections;
      connections.emplace_back(0, std::move(*socket));
      return connections;
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
  return RunFailed(StrCat("rank ", place.rank, " found no rank 0 that knows the secret of this run at ", place.host,
                          place.only_port ? StrCat(", port ", place.port)
                                          : StrCat(", ports ", place.port + 1, " to ", place.port + kTcpPorts),
                          ", within ", kGathering.count(), " s", last.ok() ? "" : StrCat(" (", last.message(), ")")));
}

}  // namespace sbp
