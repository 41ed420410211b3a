// One stage of the pipeline: announced, timed, and dumped on demand.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "pipeline/request.h"

namespace sbp {

class StageRunner {
 public:
  // `before`: the number of stages that have run.
  explicit StageRunner(const StageObserver& observer, int before = 0) : observer_(observer), number_(before) {}

  // Runs `body`; `dump` gives the stage's canonical text and is called only when somebody asks for it. A failure is
  // returned without a dump.
  Status Run(std::string_view stage, const std::function<Status()>& body, const std::function<std::string()>& dump) {
    if (observer_.cancelled && observer_.cancelled()) return NoPlan("planning was interrupted");
    return RunToTheEnd(stage, body, dump);
  }
  // Whether or not somebody asked to stop.
  Status RunToTheEnd(std::string_view stage, const std::function<Status()>& body,
                     const std::function<std::string()>& dump) {
    ++number_;
    if (observer_.begin) observer_.begin(stage);
    const auto start = std::chrono::steady_clock::now();
    Status status = body();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (observer_.end) observer_.end(stage, taken.count());
    if (status.ok() && observer_.dump) observer_.dump(number_, stage, dump);
    return status;
  }

 private:
  const StageObserver& observer_;
  int number_;
};

}  // namespace sbp
