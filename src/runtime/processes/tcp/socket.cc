#include "runtime/processes/tcp/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/text.h"

namespace sbp {
namespace {

constexpr uint32_t kMagic = 0x53425031;  // before every message

struct Header {
  uint32_t magic = kMagic;
  uint32_t kind = 0;
  uint64_t bytes = 0;
};

Status SystemError(std::string_view what) { return RunFailed(StrCat(what, ": ", std::strerror(errno))); }

bool WaitFor(int descriptor, short what, std::chrono::milliseconds patience) {
  pollfd entry{descriptor, what, 0};
  return poll(&entry, 1, static_cast<int>(patience.count())) > 0;
}

void SetOption(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof value);
}

// The end of a process is noticed at once, a machine that is gone by who talks over the connection: a limit on data
// that nobody confirms would also end one whose other side is slow to read.
void Prepare(int descriptor) {
  SetOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  SetOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  SetOption(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Status ConnectTo(const addrinfo& address, std::chrono::milliseconds patience, Socket& socket) {
  socket = Socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket.open()) return SystemError("socket");
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return SystemError("connect");
    if (!WaitFor(socket.descriptor(), POLLOUT, patience)) return RunFailed("connect: no answer");
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    if (error != 0) return SystemError("connect");
  }
  Prepare(socket.descriptor());
  return OkStatus();
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;
Result<Addresses> Resolve(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return RunFailed(StrCat("no address of ", Quote(host), ": ", gai_strerror(error)));
  return Addresses(found, freeaddrinfo);
}

// From which address this machine would send there: to connect a socket without connections sends nothing.
Status OwnAddressTowards(const addrinfo& there, sockaddr_storage& own, socklen_t& size) {
  const Socket probe(::socket(there.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.open()) return SystemError("socket");
  sockaddr_storage target{};
  std::memcpy(&target, there.ai_addr, there.ai_addrlen);
  constexpr uint16_t kAnyPort = 9;  // that of "discard"; a port must be named
  if (there.ai_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(target).sin6_port = htons(kAnyPort);
  } else {
    reinterpret_cast<sockaddr_in&>(target).sin_port = htons(kAnyPort);
  }
  if (connect(probe.descriptor(), reinterpret_cast<const sockaddr*>(&target), there.ai_addrlen) != 0 ||
      getsockname(probe.descriptor(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return SystemError("no way to the host");
  return OkStatus();
}

void SetPort(int port, sockaddr_storage& address) {
  const auto bytes = htons(static_cast<uint16_t>(port));
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = bytes;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = bytes;
  }
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  patience_ = other.patience_;
  heard_ = other.heard_;
  return *this;
}

void Socket::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

bool Socket::has_unread() const { return WaitFor(descriptor_, POLLIN, std::chrono::milliseconds(0)); }
bool Socket::takes_bytes() const { return WaitFor(descriptor_, POLLOUT, std::chrono::milliseconds(0)); }

void Socket::Shutdown() {
  if (descriptor_ >= 0) shutdown(descriptor_, SHUT_RDWR);
}

Result<Socket> Socket::Listen(const std::string& host, int port) {
  SBP_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port));
  Status last = RunFailed(StrCat("no address of ", Quote(host)));
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    last = OwnAddressTowards(*address, own, size);
    if (!last.ok()) continue;
    SetPort(port, own);
    Socket socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.open()) return SystemError("socket");
    SetOption(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (address->ai_family == AF_INET6) SetOption(socket.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    // A port that is taken is not looked for at the host's other addresses: others would find there who has it here.
    if (bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&own), size) != 0) return SystemError("bind");
    if (listen(socket.descriptor(), SOMAXCONN) != 0) return SystemError("listen");
    return socket;
  }
  return last;
}

bool Socket::IsLoopback(const std::string& host) {
  const Result<Addresses> addresses = Resolve(host, 0);
  if (!addresses.ok()) return false;
  for (const addrinfo* address = addresses->get(); address != nullptr; address = address->ai_next) {
    if (address->ai_family == AF_INET) {
      const auto* old = reinterpret_cast<const sockaddr_in*>(address->ai_addr);
      if (ntohl(old->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) return false;
    } else if (address->ai_family != AF_INET6 ||
               !IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address->ai_addr)->sin6_addr)) {
      return false;
    }
  }
  return true;
}

int Socket::port() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                         : reinterpret_cast<sockaddr_in&>(own).sin_port);
}

Result<Socket> Socket::Connect(const std::string& host, int port, std::chrono::milliseconds patience) {
  SBP_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(host, port));
  Status last = RunFailed(StrCat("no address of ", Quote(host)));
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Socket socket;
    last = ConnectTo(*address, patience, socket);
    if (last.ok()) return socket;
  }
  return last;
}

Result<std::optional<Socket>> Socket::Accept(std::chrono::milliseconds patience) {
  if (!WaitFor(descriptor_, POLLIN, patience)) return std::optional<Socket>();
  Socket socket(accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.open()) return std::optional<Socket>();  // has gone again
  Prepare(socket.descriptor());
  return std::optional<Socket>(std::move(socket));
}

Status Socket::Write(const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t sent = send(descriptor_, data, bytes, MSG_NOSIGNAL);
    if (sent > 0) {
      data += sent;
      bytes -= static_cast<size_t>(sent);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return SystemError("send");
    if (!WaitFor(descriptor_, POLLOUT, patience_)) return RunFailed("send: no answer");
  }
  return OkStatus();
}

Status Socket::Read(char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = recv(descriptor_, data, bytes, 0);
    if (got > 0) {
      if (heard_ != nullptr) heard_->store(true);
      data += got;
      bytes -= static_cast<size_t>(got);
      continue;
    }
    if (got == 0) return RunFailed("the connection was closed");
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return SystemError("recv");
    if (!WaitFor(descriptor_, POLLIN, patience_)) return RunFailed("recv: no answer");
  }
  return OkStatus();
}

Status Socket::Send(uint32_t kind, std::string_view bytes) {
  Header header;
  header.kind = kind;
  header.bytes = bytes.size();
  SBP_RETURN_IF_ERROR(Write(reinterpret_cast<const char*>(&header), sizeof header));
  return Write(bytes.data(), bytes.size());
}

Result<std::optional<Socket::Message>> Socket::MessageIn(std::string_view bytes, uint64_t most) {
  Header header;
  if (bytes.size() < sizeof header) return std::optional<Message>();
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kMagic || header.bytes > most) return RunFailed("recv: no message of ours");
  if (bytes.size() - sizeof header < header.bytes) return std::optional<Message>();
  return std::optional<Message>({header.kind, std::string(bytes.substr(sizeof header, header.bytes))});
}

Result<Socket::Message> Socket::Receive(uint64_t most) {
  Header header;
  SBP_RETURN_IF_ERROR(Read(reinterpret_cast<char*>(&header), sizeof header));
  if (header.magic != kMagic || header.bytes > most) return RunFailed("recv: no message of ours");
  Message message{header.kind, std::string(header.bytes, '\0')};
  SBP_RETURN_IF_ERROR(Read(message.bytes.data(), message.bytes.size()));
  return message;
}

}  // namespace sbp
