#include "runtime/fake/simulate.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

#include "base/text.h"
#include "runtime/device_firings.h"

namespace sbp {
namespace {

class Simulation {
 public:
  Simulation(const ActorGraph& graph, const Mesh& mesh, const FiringSeconds& seconds)
      : graph_(graph), mesh_(mesh), seconds_(seconds), table_(graph) {
    const auto devices = static_cast<size_t>(mesh.num_devices());
    for (size_t d = 0; d < devices; ++d) devices_.emplace_back(table_);
    busy_.assign(devices, {});
    FindGroups();
  }

  Result<Timeline> Run() {
    StartAll();
    while (!running_.empty()) {
      now_ = running_.top().end;
      // Everything that ends now ends before anything starts.
      while (!running_.empty() && running_.top().end == now_) {
        const Running ended = running_.top();
        running_.pop();
        devices_[ended.device].Finish(ended.firing);
        busy_[ended.device][StreamOf(ended.firing)] = false;
        timeline_.seconds = now_;
      }
      StartAll();
    }
    for (uint32_t d = 0; d < devices_.size(); ++d) {
      if (devices_[d].started_all(Stream::kCompute) && devices_[d].started_all(Stream::kCommunication)) continue;
      return Defect(StrCat("deadlock on device ", d, ": ", devices_[d].Blocked()));
    }
    if (!meetings_.empty()) return Defect(StrCat("deadlock: devices wait for each other in ", MeetingNames()));
    return std::move(timeline_);
  }

 private:
  struct Running {
    double end;
    uint32_t device;
    Firing firing;
    bool operator>(const Running& other) const {
      return std::tie(end, device, firing.micro_batch, firing.actor) >
             std::tie(other.end, other.device, other.firing.micro_batch, other.firing.actor);
    }
  };
  // Who has come, as indices of spans, to one firing of one group.
  struct Meeting {
    std::vector<size_t> spans;
    double seconds = 0;  // of the slowest
  };
  using MeetingKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // micro-batch, actor, the group's first device

  size_t StreamOf(Firing firing) const { return static_cast<size_t>(graph_.actors[firing.actor].stream); }

  // Per axis and device: the first device and the size of its group.
  void FindGroups() {
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      std::vector<uint32_t>& first = first_of_group_.emplace_back(devices_.size());
      for (const std::vector<int64_t>& group : mesh_.Groups(axis)) {
        for (const int64_t device : group) first[device] = static_cast<uint32_t>(group[0]);
      }
    }
  }

  void StartAll() {
    for (uint32_t d = 0; d < devices_.size(); ++d) {
      for (const Stream stream : {Stream::kCompute, Stream::kCommunication}) {
        if (busy_[d][static_cast<size_t>(stream)]) continue;
        const std::optional<Firing> firing = devices_[d].Start(stream);
        if (!firing) continue;
        busy_[d][static_cast<size_t>(stream)] = true;
        timeline_.spans.push_back({d, *firing, now_, now_});
        const double seconds = seconds_ ? seconds_(d, *firing) : graph_.actors[firing->actor].seconds;
        if (graph_.actors[firing->actor].meets == kMeetsNobody) {
          End(timeline_.spans.size() - 1, now_ + seconds);
        } else {
          Meet(d, *firing, seconds);
        }
      }
    }
  }

  void Meet(uint32_t device, Firing firing, double seconds) {
    const int axis = graph_.actors[firing.actor].meets;
    const MeetingKey key{firing.micro_batch, firing.actor, axis == kMeetsEverybody ? 0 : first_of_group_[axis][device]};
    Meeting& meeting = meetings_[key];
    meeting.spans.push_back(timeline_.spans.size() - 1);
    meeting.seconds = std::max(meeting.seconds, seconds);
    const size_t expected = axis == kMeetsEverybody ? devices_.size() : static_cast<size_t>(mesh_.size(axis));
    if (meeting.spans.size() < expected) return;
    for (const size_t span : meeting.spans) End(span, now_ + meeting.seconds);
    meetings_.erase(key);
  }

  void End(size_t span, double end) {
    timeline_.spans[span].end = end;
    running_.push({end, timeline_.spans[span].device, timeline_.spans[span].firing});
  }

  std::string MeetingNames() const {
    std::vector<std::string> names;
    for (const auto& [key, meeting] : meetings_) names.push_back(graph_.actors[std::get<1>(key)].name);
    return Join(names, ", ");
  }

  const ActorGraph& graph_;
  const Mesh& mesh_;
  const FiringSeconds& seconds_;
  const FiringTable table_;
  std::deque<DeviceFirings> devices_;
  std::vector<std::array<bool, kNumStreams>> busy_;
  std::vector<std::vector<uint32_t>> first_of_group_;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
  std::map<MeetingKey, Meeting> meetings_;
  double now_ = 0;
  Timeline timeline_;
};

}  // namespace

Result<Timeline> Simulate(const ActorGraph& graph, const Mesh& mesh, const FiringSeconds& seconds) {
  return Simulation(graph, mesh, seconds).Run();
}

}  // namespace sbp
