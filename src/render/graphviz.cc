#include "render/graphviz.h"

#include <fcntl.h>
#include <graphviz/gvc.h>
#include <graphviz/gvplugin.h>
#include <graphviz/gvplugin_textlayout.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancelled.h"
#include "base/text.h"
#include "render/svg_text.h"
#include "render/text_width.h"

namespace sbp {
namespace {

// Graphviz reports through a C callback without a context argument, so the text has to live in a static. Cleared before
// each use, which is one at a time.
std::string& Messages() {
  static std::string messages;
  return messages;
}

int Capture(char* text) {
  constexpr size_t kMost = 2000;
  if (text != nullptr && Messages().size() < kMost) Messages() += text;
  return 0;
}

// Restores what was installed before, on every way out.
class CaptureMessages {
 public:
  CaptureMessages() : previous_(agseterrf(Capture)) { Messages().clear(); }
  ~CaptureMessages() { agseterrf(previous_); }
  CaptureMessages(const CaptureMessages&) = delete;
  CaptureMessages& operator=(const CaptureMessages&) = delete;

 private:
  agusererrf previous_;
};

// What libraries below Graphviz print past it: of fonts and their configuration (Pango, fontconfig), of bitmaps
// (Cairo). While one of these holds, what the process writes to stderr, its own lines of progress too, is lost but for
// why a picture failed.
class HoldStderr {
 public:
  explicit HoldStderr(bool hold) {
    if (!hold) return;
    std::fflush(stderr);
    held_ = memfd_create("stderr", MFD_CLOEXEC);
    if (held_ < 0) return;
    before_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (before_ >= 0) dup2(held_, STDERR_FILENO);
  }
  ~HoldStderr() {
    if (before_ >= 0) {
      std::fflush(stderr);
      dup2(before_, STDERR_FILENO);
      close(before_);
    }
    if (held_ >= 0) close(held_);
  }
  HoldStderr(const HoldStderr&) = delete;
  HoldStderr& operator=(const HoldStderr&) = delete;

  // The beginning of it.
  std::string Text() const {
    std::array<char, 2000> buffer;
    if (held_ >= 0) std::fflush(stderr);
    const ssize_t length = held_ < 0 ? 0 : pread(held_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
  }

 private:
  int held_ = -1, before_ = -1;
};

Status Failed(std::string_view what, const HoldStderr& printed) {
  const std::string said = Messages() + printed.Text();
  return Defect(StrCat("Graphviz cannot ", what, ": ", said.empty() ? "no reason given" : Trim(said)));
}

// Graphviz's text layout for SVG: the widths of text_width.h in the place of those of a font that is or is not here, so
// that boxes have room wherever the picture is looked at, and equal drawings are equal everywhere.
boolean MeasureSpan(textspan_t* span, char** /*fontpath*/) {
  const double size = span->font->size;
  const std::string_view font = span->font->name == nullptr ? "" : span->font->name;
  span->size.x = RoomFor(span->str, size, (span->font->flags & HTML_BF) != 0 || font.ends_with(kBoldSuffix));
  span->size.y = size * 1.2;
  span->yoffset_layout = 0;
  span->yoffset_centerline = 0.1 * size;
  return TRUE;
}
gvtextlayout_engine_t measure_engine = {MeasureSpan};
constexpr int kAboveOthers = 1000;  // Pango's has 8
gvplugin_installed_t measure_types[] = {{0, "textlayout", kAboveOthers, &measure_engine, nullptr},
                                        {0, nullptr, 0, nullptr, nullptr}};
gvplugin_api_t measure_apis[] = {{API_textlayout, measure_types}, {static_cast<api_t>(0), nullptr}};
char measure_name[] = "sbp_text_width";
gvplugin_library_t measure_library = {measure_name, measure_apis};
const lt_symlist_t measure_symbols[] = {{"gvplugin_sbp_text_width_LTX_library", &measure_library}, {nullptr, nullptr}};

constexpr int kFindOthers = 1;  // plugins that are installed
GVC_t* NewContext(bool measured) { return measured ? gvContextPlugins(measure_symbols, kFindOthers) : gvContext(); }

// Graphviz walks clusters in the order of their ids, which by default are the addresses of their names: in a process
// that has drawn before, equal drawings would differ. So ids are counted; odd ones are of objects without a name.
struct Ids {
  std::map<std::string, IDTYPE, std::less<>> of_names;
  std::deque<std::string> names;  // which Graphviz points to
  IDTYPE unnamed = 1;
};
void* OpenIds(Agraph_t* /*graph*/, Agdisc_t* /*disc*/) { return new Ids; }
long MapToId(void* state, int /*objtype*/, char* name, IDTYPE* id, int create) {
  Ids& ids = *static_cast<Ids*>(state);
  if (name == nullptr) {
    *id = std::exchange(ids.unnamed, ids.unnamed + 2);
    return 1;
  }
  if (const auto known = ids.of_names.find(name); known != ids.of_names.end()) {
    *id = known->second;
    return 1;
  }
  if (create == 0) return 0;
  ids.names.emplace_back(name);
  *id = 2 * ids.names.size();
  ids.of_names.emplace(name, *id);
  return 1;
}
long TakeId(void* /*state*/, int /*objtype*/, IDTYPE /*id*/) { return 0; }
void FreeId(void* /*state*/, int /*objtype*/, IDTYPE /*id*/) {}
char* NameOfId(void* state, int /*objtype*/, IDTYPE id) {
  Ids& ids = *static_cast<Ids*>(state);
  return id % 2 == 0 && id > 0 && id / 2 <= ids.names.size() ? ids.names[id / 2 - 1].data() : nullptr;
}
void CloseIds(void* state) { delete static_cast<Ids*>(state); }
void RegisterId(void* /*state*/, int /*objtype*/, void* /*object*/) {}
Agiddisc_t counted_ids = {OpenIds, MapToId, TakeId, FreeId, NameOfId, CloseIds, RegisterId};

int ReadText(void* text, char* buffer, int size) {
  std::string_view& left = *static_cast<std::string_view*>(text);
  const size_t taken = left.copy(buffer, static_cast<size_t>(std::max(size, 0)));
  left.remove_prefix(taken);
  return static_cast<int>(taken);
}
Agraph_t* ReadDot(std::string_view dot) {
  static Agiodisc_t reading = {ReadText, AgIoDisc.putstr, AgIoDisc.flush};
  Agdisc_t disc = {&AgMemDisc, &counted_ids, &reading};
  return agread(&dot, &disc);
}

// Cairo refuses bitmaps beyond 32767 pixels a side, and nobody can open 500 megapixels: large drawings get fewer dots
// per inch. A drawing is in points, 72 to the inch.
void LimitBitmap(graph_t* graph) {
  constexpr double kDpi = 110, kMaxSide = 30000, kMaxPixels = 40e6;
  const double width = std::max(1.0, GD_bb(graph).UR.x / 72), height = std::max(1.0, GD_bb(graph).UR.y / 72);
  double dpi = std::min(kDpi, kMaxSide / (std::max(width, height) + 2));
  dpi = std::min(dpi, std::sqrt(kMaxPixels / (width * height)));
  GD_drawing(graph)->dpi = std::max(dpi, 1.0);
}

// Graphviz 2.42's clean-up after a dot layout (gvFreeLayout) frees some virtual edges twice and aborts; its own program
// leaves layouts to the end of the process. So do we: a command draws once. Kept reachable, so that leak checkers know.
struct Drawing {
  GVC_t* context;
  Agraph_t* graph;
};
constexpr std::chrono::milliseconds kAskedEvery{50};

void KeepUntilExit(Drawing drawing) {
  static std::vector<Drawing>* const kept = new std::vector<Drawing>();
  kept->push_back(drawing);
}

}  // namespace

Result<std::string> LayOut(const std::string& dot, const std::string& format, const char* engine,
                           const std::function<bool()>& cancelled, bool hold_stderr) {
  static std::timed_mutex one_at_a_time;  // Graphviz keeps much in variables of its own
  std::unique_lock lock(one_at_a_time, std::defer_lock);
  do {
    SBP_RETURN_IF_ERROR(RefuseCancelled(cancelled));
  } while (!lock.try_lock_for(kAskedEvery));
  const CaptureMessages capture;
  const HoldStderr printed(hold_stderr);
  const bool is_svg = format == "svg";  // bitmaps and PDF are set with this machine's fonts, and measured with them
  GVC_t* const context = NewContext(is_svg);
  if (context == nullptr) return Failed("start", printed);
  Agraph_t* const graph = ReadDot(dot);
  if (graph == nullptr) {
    gvFreeContext(context);
    return Failed("read the drawing", printed);
  }
  KeepUntilExit({context, graph});
  if (gvLayout(context, graph, engine) != 0) return Failed("lay the drawing out", printed);
  SBP_RETURN_IF_ERROR(RefuseCancelled(cancelled));
  if (format == "png") LimitBitmap(graph);
  char* data = nullptr;
  unsigned int length = 0;
  const int failed = gvRenderData(context, graph, format.c_str(), &data, &length);
  std::string picture = data == nullptr ? std::string() : std::string(data, length);
  gvFreeRenderData(data);
  if (failed != 0 || picture.empty()) return Failed(StrCat("write ", format), printed);
  return is_svg ? FixTextLengths(picture, std::string_view(engine) == "dot") : picture;
}

}  // namespace sbp
