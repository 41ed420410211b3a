// ByteMap: what each byte of an arena belongs to. Plain data over disjoint ranges.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace sbp {

template <typename T>
class ByteMap {
 public:
  // Visits what every range within [begin, end) belongs to, ascending, then makes [begin, end) belong to `value`.
  // Requires begin < end.
  template <typename Visit>
  void Replace(int64_t begin, int64_t end, T value, Visit visit) {
    Cut(begin);
    Cut(end);
    auto it = ranges_.lower_bound(begin);
    while (it != ranges_.end() && it->first < end) {
      visit(it->second.value);
      it = ranges_.erase(it);
    }
    ranges_[begin] = {end, std::move(value)};
  }

 private:
  struct Held {
    int64_t end = 0;
    T value{};
  };

  // Makes `at` the border of two ranges where one spans it.
  void Cut(int64_t at) {
    auto it = ranges_.upper_bound(at);
    if (it == ranges_.begin()) return;
    --it;
    if (it->first == at || it->second.end <= at) return;
    ranges_[at] = it->second;
    it->second.end = at;
  }

  std::map<int64_t, Held> ranges_;  // by their begin
};

}  // namespace sbp
