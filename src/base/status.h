// Status and Result<T>: how every function of this project reports failure. No exceptions cross our API; asserts are
// for programmer errors only.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace sbp {

// The kind of a failure. The numeric value is the exit code of the command line (the only list of exit codes).
enum class Code : int {
  kOk = 0,
  kMismatch = 1,   // a difference, a violation, an error above tolerance
  kUsage = 2,      // wrong command line
  kBadInput = 3,   // a file or an argument value that does not say what it must
  kNoPlan = 4,     // no plan satisfies the pins and limits
  kRunFailed = 5,  // an execution failed
  kDefect = 70,    // a defect of ours
};

// A code and, unless kOk, a message for the user: the place, what was expected, the nearest valid name.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, bool lacks_memory = false)
      : code_(code), lacks_memory_(lacks_memory), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // kNoPlan: it is the memory limit that plans do not keep.
  bool lacks_memory() const { return lacks_memory_; }

  // The same failure seen from further out: "context: message".
  Status WithContext(std::string_view context) const {
    if (ok()) return *this;
    return Status(code_, std::string(context) + ": " + message_, lacks_memory_);
  }

 private:
  Code code_ = Code::kOk;
  bool lacks_memory_ = false;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
inline Status UsageError(std::string message) { return Status(Code::kUsage, std::move(message)); }
inline Status BadInput(std::string message) { return Status(Code::kBadInput, std::move(message)); }
inline Status NoPlan(std::string message) { return Status(Code::kNoPlan, std::move(message)); }
inline Status NoPlanFits(std::string message) { return Status(Code::kNoPlan, std::move(message), true); }
inline Status RunFailed(std::string message) { return Status(Code::kRunFailed, std::move(message)); }
inline Status Defect(std::string message) { return Status(Code::kDefect, std::move(message)); }

// A value or a failure. value() may be called only when ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` is the use
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!std::get<Status>(state_).ok());
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status() : std::get<Status>(state_); }
  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace sbp

// Leaves the enclosing function with the failure of EXPR, if it failed.
#define SBP_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                             \
    if (::sbp::Status sbp_status_ = (expr); !sbp_status_.ok()) return sbp_status_; \
  } while (0)

#define SBP_CONCAT_INNER_(a, b) a##b
#define SBP_CONCAT_(a, b) SBP_CONCAT_INNER_(a, b)
// Defines or assigns LHS from a Result, or leaves the enclosing function with its failure.
#define SBP_ASSIGN_OR_RETURN(lhs, expr)                                                             \
  auto SBP_CONCAT_(sbp_result_, __LINE__) = (expr);                                                 \
  if (!SBP_CONCAT_(sbp_result_, __LINE__).ok()) return SBP_CONCAT_(sbp_result_, __LINE__).status(); \
  lhs = std::move(SBP_CONCAT_(sbp_result_, __LINE__)).value()
