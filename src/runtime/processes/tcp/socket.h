// Socket: one end of a TCP connection, and messages on it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sbp {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { Close(); }
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_), patience_(other.patience_), heard_(other.heard_) {
    other.descriptor_ = -1;
  }
  Socket& operator=(Socket&& other) noexcept;

  // Errors (kRunFailed) say what the system says.
  // On the one address of this machine by which `host`, an address or a name, is reached: a loopback one where that is.
  static Result<Socket> Listen(const std::string& host, int port);
  // Is every address of it one of this machine alone?
  static bool IsLoopback(const std::string& host);
  static Result<Socket> Connect(const std::string& host, int port, std::chrono::milliseconds patience);
  // Nothing: nobody came.
  Result<std::optional<Socket>> Accept(std::chrono::milliseconds patience);

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void Close();
  // Both ends find the connection closed; a thread that waits for a message wakes up.
  void Shutdown();
  // How long one read or write waits for the other end, from now on; negative: for ever.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // Has something come that nobody has read? Would a short message be sent at once?
  bool has_unread() const;
  bool takes_bytes() const;
  // Is set whenever something comes, also in the middle of a message; outlives the socket's reads.
  void set_heard(std::atomic<bool>* heard) { heard_ = heard; }

  // A message is a kind and bytes. Send blocks until the system has taken them. Receive errors: the connection is
  // closed, the time is over, what comes is no message, or one of more than `most` bytes.
  Status Send(uint32_t kind, std::string_view bytes);
  struct Message {
    uint32_t kind = 0;
    std::string bytes;
  };
  Result<Message> Receive(uint64_t most);
  // The message that `bytes` begin with; nothing: it is not whole yet. Error: no message, or one of more than `most`.
  static Result<std::optional<Message>> MessageIn(std::string_view bytes, uint64_t most);
  int port() const;  // of this end; 0: unknown

 private:
  Status Read(char* data, size_t bytes);
  Status Write(const char* data, size_t bytes);

  int descriptor_ = -1;  // does not block: waiting is by poll
  std::chrono::milliseconds patience_{-1};
  std::atomic<bool>* heard_ = nullptr;
};

}  // namespace sbp
