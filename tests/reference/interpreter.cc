#include "reference/interpreter.h"

namespace sbp::reference {
namespace {

const KernelTable& Table() {
  static const KernelTable table = [] {
    KernelTable t;
    AddElementwise(t);
    AddMovement(t);
    AddReductions(t);
    AddLinear(t);
    AddIndexing(t);
    AddNormalisation(t);
    AddSources(t);
    AddAttention(t);
    AddMicrosoftAttention(t);
    AddMicrosoftFused(t);
    AddImages(t);
    AddSignal(t);
    AddTraining(t);
    AddRecurrent(t);
    AddQuantization(t);
    return t;
  }();
  return table;
}

}  // namespace

Kernel FindKernel(std::string_view op) {
  const auto it = Table().find(op);
  return it == Table().end() ? nullptr : it->second;
}

std::vector<std::string> KernelNames() {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : Table()) names.push_back(name);
  return names;
}

}  // namespace sbp::reference
