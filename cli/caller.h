// Who called a command: the user of the process, or a program that calls commands as functions, several at once from
// threads (capi/). What a command says, shows and asks goes to whoever called it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sbp {

struct Caller {
  std::function<void(std::string_view text)> chatter;     // what stderr would show: whole lines
  std::function<void(const std::string& what)> progress;  // what goes on, from any thread; null: nobody looks
  std::function<bool()> cancelled;                        // is the call to end? From any thread; never null
};

// Of this thread, from here to the end of its lifetime.
class CallerScope {
 public:
  explicit CallerScope(const Caller& caller);
  ~CallerScope();
  CallerScope(const CallerScope&) = delete;
  CallerScope& operator=(const CallerScope&) = delete;

 private:
  const Caller* before_;
};
// Null: the user of the process. It is of the thread that runs the command; for others, take it along.
const Caller* CurrentCaller();

}  // namespace sbp
