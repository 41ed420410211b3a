#include "cli/planning_observer.h"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>

#include "base/text.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "io/call_files.h"
#include "io/file.h"
#include "pipeline/request.h"

namespace sbp {

Status MakeDumpDir(const std::string& path) {
  if (path.empty()) return OkStatus();
  std::error_code failed;
  if (!IsOfCall(path)) std::filesystem::create_directories(path, failed);
  if (failed) return BadInput(StrCat("--dump-dir: cannot make folder ", Quote(path), ": ", failed.message()));
  return CheckWritable(path + "/00").WithContext("--dump-dir");
}

StageObserver MakeObserver(const std::string& dump_dir, Timings& timings) {
  StageObserver observer;
  observer.cancelled = InterruptAsker();
  observer.begin = [tell = ProgressTeller()](std::string_view stage) { tell(StrCat("planning: ", stage)); };
  observer.end = [&timings](std::string_view stage, double seconds) { timings[std::string(stage)] += seconds; };
  if (!dump_dir.empty()) {
    observer.dump = [dir = dump_dir](int number, std::string_view stage, const std::function<std::string()>& dump) {
      char prefix[8];
      std::snprintf(prefix, sizeof prefix, "%02d-", number);
      const Status status = WriteFile(StrCat(dir, "/", prefix, stage, ".txt"), dump());
      if (!status.ok()) Note(StrCat("warning: --dump-dir: ", status.message()));
    };
  }
  return observer;
}

}  // namespace sbp
