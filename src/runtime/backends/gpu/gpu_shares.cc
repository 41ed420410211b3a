#include "runtime/backends/gpu/gpu_shares.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace sbp {

std::string VisibleGpus::ToText() const {
  std::vector<std::string> lines{host};
  lines.insert(lines.end(), ids.begin(), ids.end());
  return Join(lines, "\n");
}

VisibleGpus VisibleGpus::FromText(const std::string& text) {
  VisibleGpus gpus;
  size_t line = 0, begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line++ == 0) {
      gpus.host = word;
    } else {
      gpus.ids.push_back(word);
    }
    begin = end + 1;
  }
  return gpus;
}

Result<int> ChooseGpu(std::span<const VisibleGpus> processes, int rank, int ranks_per_gpu) {
  const std::string& host = processes[static_cast<size_t>(rank)].host;
  std::map<std::string, int> taken;  // of all machines: containers of one may have other names
  std::set<std::string> visible;     // on this one
  int chosen = -1, local_ranks = 0;
  bool enough = true;
  for (size_t r = 0; r < processes.size(); ++r) {
    const std::vector<std::string>& ids = processes[r].ids;
    const auto free =
        std::find_if(ids.begin(), ids.end(), [&](const std::string& id) { return taken[id] < ranks_per_gpu; });
    if (free != ids.end()) ++taken[*free];
    if (processes[r].host != host) continue;
    ++local_ranks;
    visible.insert(ids.begin(), ids.end());
    enough = enough && free != ids.end();
    if (enough && r == static_cast<size_t>(rank)) chosen = static_cast<int>(free - ids.begin());
  }
  if (enough) return chosen;
  const auto gpus = static_cast<int>(visible.size());
  const std::string have = StrCat(local_ranks, " devices are to run on this machine (", host, "), where they see ",
                                  gpus, gpus == 1 ? " GPU" : " GPUs");
  if (gpus == 0 || local_ranks <= gpus * ranks_per_gpu) {
    return UsageError(StrCat(have, ", but not every process sees one that is free; check CUDA_VISIBLE_DEVICES"));
  }
  return UsageError(StrCat(have, "; --ranks-per-gpu ", (local_ranks + gpus - 1) / gpus, " runs several on one"));
}

}  // namespace sbp
