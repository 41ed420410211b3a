#include "cli/caller.h"

#include <utility>

namespace sbp {
namespace {

thread_local const Caller* current_caller = nullptr;

}  // namespace

CallerScope::CallerScope(const Caller& caller) : before_(std::exchange(current_caller, &caller)) {}
CallerScope::~CallerScope() { current_caller = before_; }
const Caller* CurrentCaller() { return current_caller; }

}  // namespace sbp
