#include "runtime/actors/simulate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>

#include "base/status.h"
#include "base/text.h"
#include "runtime/actors/device_firings.h"

namespace sbp {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Simulation {
 public:
  Simulation(const ActorGraph& graph, const Mesh& mesh, const FiringSeconds& seconds)
      : graph_(graph), mesh_(mesh), seconds_(seconds), table_(graph) {
    const auto devices = static_cast<size_t>(mesh.num_devices());
    for (size_t d = 0; d < devices; ++d) devices_.emplace_back(table_);
    busy_.assign(devices, {});
    computing_.resize(devices);
    collectives_.assign(devices, 0);
    FindGroups();
  }

  Result<Timeline> Run() {
    StartAll();
    while (DropOutdated(), !running_.empty()) {
      now_ = running_.top().end;
      // Everything that ends now ends before anything starts.
      while (DropOutdated(), !running_.empty() && running_.top().end == now_) {
        const Running ended = running_.top();
        running_.pop();
        Finish(ended);
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
    size_t span;
    bool operator>(const Running& other) const {
      return std::tie(end, device, firing.micro_batch, firing.actor) >
             std::tie(other.end, other.device, other.firing.micro_batch, other.firing.actor);
    }
  };
  // What a device computes now.
  struct Computing {
    size_t span = kNothing;
    double left = 0;  // seconds at full speed
    double since = 0;
  };
  static constexpr size_t kNothing = static_cast<size_t>(-1);
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

  bool Slows(Firing firing) const {
    const Actor& actor = graph_.actors[firing.actor];
    return graph_.overlap < 1 && actor.stream == Stream::kCommunication && actor.meets != kMeetsNobody;
  }

  // A span whose end has been moved stands in the queue with its former ends too.
  void DropOutdated() {
    const auto outdated = [this](const Running& entry) {
      return ended_[entry.span] || entry.end != timeline_.spans[entry.span].end;
    };
    while (!running_.empty() && outdated(running_.top())) running_.pop();
  }

  void Finish(const Running& ended) {
    devices_[ended.device].Finish(ended.firing);
    busy_[ended.device][StreamOf(ended.firing)] = false;
    timeline_.seconds = now_;
    ended_[ended.span] = true;
    if (computing_[ended.device].span == ended.span) computing_[ended.device] = {};
    if (!slows_[ended.span]) return;
    Account(ended.device);
    --collectives_[ended.device];
    Reschedule(ended.device);
  }

  double Speed(uint32_t device) const { return collectives_[device] > 0 ? graph_.overlap : 1; }
  void Account(uint32_t device) {
    Computing& computing = computing_[device];
    computing.left = std::max(0.0, computing.left - (now_ - computing.since) * Speed(device));
    computing.since = now_;
  }
  void Reschedule(uint32_t device) {
    const Computing& computing = computing_[device];
    if (computing.span == kNothing) return;
    const double speed = Speed(device);
    if (computing.left <= 0) {
      End(computing.span, now_);
    } else if (speed > 0) {
      End(computing.span, now_ + computing.left / speed);
    } else {
      timeline_.spans[computing.span].end = kNever;
    }
  }

  void StartAll() {
    for (uint32_t d = 0; d < devices_.size(); ++d) {
      for (const Stream stream : {Stream::kCompute, Stream::kCommunication}) {
        if (busy_[d][static_cast<size_t>(stream)]) continue;
        const std::optional<Firing> firing = devices_[d].Start(stream);
        if (!firing) continue;
        busy_[d][static_cast<size_t>(stream)] = true;
        timeline_.spans.push_back({d, *firing, now_, kNever});
        ended_.push_back(false);
        slows_.push_back(false);
        const double seconds = seconds_ ? seconds_(d, *firing) : graph_.actors[firing->actor].seconds;
        if (graph_.actors[firing->actor].meets == kMeetsNobody) {
          const size_t span = timeline_.spans.size() - 1;
          if (stream == Stream::kCompute) {
            computing_[d] = {span, seconds, now_};
            Reschedule(d);
          } else {
            End(span, now_ + seconds);
          }
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
    for (const size_t span : meeting.spans) {
      End(span, now_ + meeting.seconds);
      if (!Slows(firing) || meeting.seconds <= 0) continue;
      slows_[span] = true;
      const uint32_t member = timeline_.spans[span].device;
      Account(member);
      ++collectives_[member];
      Reschedule(member);
    }
    meetings_.erase(key);
  }

  void End(size_t span, double end) {
    if (timeline_.spans[span].end == end) return;  // stands in the queue
    timeline_.spans[span].end = end;
    running_.push({end, timeline_.spans[span].device, timeline_.spans[span].firing, span});
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
  std::vector<bool> ended_, slows_;   // per span: has ended; slows its device's compute while it runs
  std::vector<Computing> computing_;  // per device
  std::vector<int> collectives_;      // per device: that slow its compute now
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
