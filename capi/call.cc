// One call: the request checked, the command run with the request's streams, what came of it as an answer.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked_math.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "capi/answer.h"
#include "capi/sbp_plan.h"
#include "cli/caller.h"
#include "cli/program.h"
#include "graph/tensor_data.h"
#include "graph/tensor_type.h"
#include "io/call_files.h"

namespace sbp {
namespace {

static_assert(SBP_CANCELLED == kInterrupted && SBP_DEFECT == static_cast<int>(Code::kDefect));

Status CheckRequest(const sbp_request* request) {
  if (request == nullptr) return UsageError("the request is NULL");
  if (request->struct_size != sizeof(sbp_request)) {
    return UsageError(StrCat("struct_size is ", request->struct_size, "; expected ", sizeof(sbp_request),
                             ": the header and the library are of two versions"));
  }
  const std::pair<bool, std::string_view> missing[] = {
      {request->num_words > 0 && request->words == nullptr, "words"},
      {request->input_size > 0 && request->input == nullptr, "input"},
      {request->num_documents > 0 && request->documents == nullptr, "documents"},
      {request->num_arrays > 0 && request->arrays == nullptr, "arrays"}};
  for (const auto& [is_missing, name] : missing) {
    if (is_missing) return UsageError(StrCat(name, " is NULL and their number is not 0"));
  }
  for (size_t i = 0; i < request->num_words; ++i) {
    if (request->words[i] == nullptr) return UsageError(StrCat("words[", i, "] is NULL"));
  }
  return OkStatus();
}

Status TakeDocuments(const sbp_request& request, CallFiles& files) {
  for (size_t i = 0; i < request.num_documents; ++i) {
    const sbp_document& document = request.documents[i];
    const std::string place = StrCat("documents[", i, "]");
    if (document.name == nullptr) return UsageError(place + ": its name is NULL");
    if (document.data == nullptr && document.size > 0) return UsageError(place + ": its data is NULL");
    const std::string_view name = document.name;
    if (!name.starts_with(kMemoryPrefix)) {
      return UsageError(
          StrCat(place, ": expected a name that begins with \"", kMemoryPrefix, "\", found ", Quote(name)));
    }
    const std::string_view content(static_cast<const char*>(document.data), document.size);
    if (!files.given.emplace(name, content).second) return UsageError(StrCat(place, ": a second ", Quote(name)));
  }
  return OkStatus();
}

// The array's type, where its bytes are those of its shape.
Result<TensorType> TypeOf(const sbp_array& array) {
  if (array.dtype == nullptr) return BadInput("its dtype is NULL");
  if (array.rank > 0 && array.shape == nullptr) return BadInput("its shape is NULL");
  TensorType type;
  const std::optional<DType> dtype = ParseDType(array.dtype);
  if (!dtype || DTypeBits(*dtype) == 0) {
    return BadInput(StrCat("no element type ", Quote(array.dtype), DidYouMean(array.dtype, DTypeNames())));
  }
  type.dtype = *dtype;
  int64_t elements = 1;
  for (size_t d = 0; d < array.rank; ++d) {
    if (array.shape[d] < 0) return BadInput(StrCat("dimension ", d, " is ", array.shape[d], "; expected at least 0"));
    type.shape.push_back(array.shape[d]);
    elements = SaturatingMul(elements, array.shape[d]);
  }
  const int64_t bytes = BytesOf(type.dtype, elements);
  if (bytes == kInt64Max || static_cast<uint64_t>(bytes) != array.size) {
    return BadInput(StrCat(ToString(type), " has ", bytes, " bytes; found ", array.size));
  }
  if (array.data == nullptr && array.size > 0) return BadInput("its data is NULL");
  return type;
}

Status TakeArrays(const sbp_request& request, CallFiles& files) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < request.num_arrays; ++i) {
    const sbp_array& array = request.arrays[i];
    if (array.name == nullptr) return UsageError(StrCat("arrays[", i, "]: its name is NULL"));
    if (!names.insert(array.name).second) return UsageError(StrCat("a second array ", Quote(array.name)));
    const Result<TensorType> type = TypeOf(array);
    if (!type.ok()) return type.status().WithContext(StrCat("array ", Quote(array.name)));
    TensorData tensor{.name = array.name, .type = *type};
    if (array.size > 0) tensor.bytes.assign(static_cast<const char*>(array.data), array.size);
    files.arrays.push_back(std::move(tensor));
  }
  return OkStatus();
}

Status TakeRequest(const sbp_request* request, CallFiles& files) {
  SBP_RETURN_IF_ERROR(CheckRequest(request));
  if (request->input_size > 0) files.input = {static_cast<const char*>(request->input), request->input_size};
  SBP_RETURN_IF_ERROR(TakeDocuments(*request, files));
  return TakeArrays(*request, files);
}

// The caller's callback, which is told what goes on, and by being told again and again can end the call. From any
// thread.
class Listener {
 public:
  explicit Listener(const sbp_request& request) : request_(request) {}

  void Tell(const std::string& what) {
    if (IsCancelled()) return;  // who has cancelled may not be there to be told
    const std::lock_guard lock(mutex_);
    what_ = what;
    Call();
  }
  bool Cancelled() {
    if (IsCancelled()) return true;
    if (request_.progress == nullptr) return false;
    if (Clock::now().time_since_epoch().count() >= next_.load(std::memory_order_relaxed)) {
      if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) Call();
    }
    return refused_.load(std::memory_order_relaxed);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kTick = std::chrono::milliseconds(200);

  bool IsCancelled() const {
    const volatile int32_t* const cancel = request_.cancel;
    return cancel != nullptr && __atomic_load_n(cancel, __ATOMIC_ACQUIRE) != 0;
  }
  void Call() {
    if (request_.progress(request_.user, what_.c_str()) != 0) refused_.store(true, std::memory_order_relaxed);
    next_.store((Clock::now() + kTick).time_since_epoch().count(), std::memory_order_relaxed);
  }

  const sbp_request& request_;
  std::mutex mutex_;
  std::string what_;
  std::atomic<Clock::rep> next_ = 0;
  std::atomic<bool> refused_ = false;
};

// The calling thread reads and writes numbers as the program does, whatever the locale of its process.
class PlainLocale {
 public:
  PlainLocale() : plain_(newlocale(LC_ALL_MASK, "C", nullptr)) {
    if (plain_ != nullptr) before_ = uselocale(plain_);
  }
  ~PlainLocale() {
    if (plain_ == nullptr) return;
    uselocale(before_);
    freelocale(plain_);
  }
  PlainLocale(const PlainLocale&) = delete;
  PlainLocale& operator=(const PlainLocale&) = delete;

 private:
  locale_t plain_, before_ = nullptr;
};

int RunRequest(const sbp_request& request, CallFiles& files, sbp_answer& answer) {
  std::mutex one_at_a_time;  // chatter comes from any thread
  Listener listener(request);
  Caller caller;
  caller.chatter = [&](std::string_view text) {
    const std::lock_guard lock(one_at_a_time);
    answer.chatter += text;
  };
  if (request.progress != nullptr) caller.progress = [&](const std::string& what) { listener.Tell(what); };
  caller.cancelled = [&] { return listener.Cancelled(); };
  std::vector<const char*> words = {"sbp-plan"};
  words.insert(words.end(), request.words, request.words + request.num_words);
  const PlainLocale plain;
  const CallerScope called(caller);
  const CallFilesScope reading(files);
  return RunCommandLine(static_cast<int>(words.size()), words.data());
}

int Call(const sbp_request* request, sbp_answer& answer) {
  CallFiles files;
  if (const Status status = TakeRequest(request, files); !status.ok()) {
    answer.chatter = StrCat("error: ", status.message(), "\n");
    return static_cast<int>(status.code());
  }
  const int code = RunRequest(*request, files, answer);
  answer.output = std::move(files.output);
  for (auto& [name, content] : files.written) answer.documents.emplace_back(name, std::move(content));
  answer.arrays = std::move(files.arrays_written);
  return code;
}

}  // namespace
}  // namespace sbp

int sbp_abi(void) { return 1; }
const char* sbp_version(void) { return SBP_VERSION; }

int sbp_call(const sbp_request* request, sbp_answer** answer) {
  if (answer == nullptr) return SBP_USAGE;
  *answer = nullptr;
  // RunCommandLine lets nothing out; what is around it may run out of memory.
  try {
    auto made = std::make_unique<sbp_answer>();
    const int code = sbp::Call(request, *made);
    *answer = made.release();
    return code;
  } catch (const std::bad_alloc&) {
    return SBP_BAD_INPUT;
  } catch (const std::exception&) {
    return SBP_DEFECT;
  }
}
