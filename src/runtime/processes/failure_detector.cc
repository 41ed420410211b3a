#include "runtime/processes/failure_detector.h"

#include "base/text.h"

namespace sbp {
namespace {

int64_t Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

bool FirstFailure::Set(const Status& failure, bool elsewhere) {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) return false;
  failure_ = failure;
  elsewhere_ = elsewhere;
  failed_.store(true, std::memory_order_release);
  return true;
}

Status FirstFailure::status() const {
  if (!failed()) return OkStatus();
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status FirstFailure::elsewhere() const {
  if (!failed()) return OkStatus();
  const std::lock_guard lock(mutex_);
  return elsewhere_ ? failure_ : OkStatus();
}

bool Silence::Beat(bool heard) {
  ever_heard_ = ever_heard_ || heard;
  silent_ = heard ? 0 : silent_ + 1;
  return silent_ >= (ever_heard_ ? kBeats : beats_before_first_);
}

std::string Silence::Words() const {
  const auto silence = std::chrono::duration_cast<std::chrono::seconds>(silent_ * kBeatEvery);
  return StrCat("has given no sign of life for ", silence.count(),
                " s: it is stopped, or its machine cannot be reached");
}

void Progress::Expect(std::chrono::milliseconds patience) {
  Alive();
  patience_.store(patience.count());
}

void Progress::Alive() { last_sign_.store(Now()); }

bool Progress::Overdue() const {
  const int64_t patience = patience_.load();
  return patience != 0 && Now() - last_sign_.load() >= patience;
}

}  // namespace sbp
