#include "gpu/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace sbp::gpu::cuda {
namespace {

#define SBP_TEXT_INNER(text) #text
#define SBP_TEXT(text) SBP_TEXT_INNER(text)

Result<CublasLt> Load() {
  // Where the loader looks, else where the build found it.
  void* library = dlopen("libcublasLt.so." SBP_TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen(SBP_CUBLAS_LT, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return RunFailed(std::string("cuBLASLt cannot be loaded: ") + dlerror());
  CublasLt functions;
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) missing = name;
  };
#define SBP_FIND(Name) find("cublasLt" #Name, functions.Name);
  SBP_CUBLAS_LT_FUNCTIONS(SBP_FIND)
#undef SBP_FIND
  if (missing != nullptr) return RunFailed(std::string("cuBLASLt lacks ") + missing);
  return functions;
}

}  // namespace

Status CublasLt::Checked(cublasStatus_t status, const char* what) const {
  if (status == CUBLAS_STATUS_SUCCESS) return OkStatus();
  return RunFailed(std::string(what) + ": " + GetStatusString(status));
}

Result<const CublasLt*> LoadCublasLt() {
  static const Result<CublasLt> loaded = Load();
  if (!loaded.ok()) return loaded.status();
  return &loaded.value();
}

}  // namespace sbp::gpu::cuda
