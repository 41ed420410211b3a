#include "search/price_bundle.h"

#include <algorithm>
#include <cmath>

namespace sbp {
namespace {

constexpr size_t kMostPlanes = 24;
constexpr int kMostExchanges = 120;  // of weight between two planes, to find the best of the model
constexpr double kFirstShare = 0.2;  // of what is left up to `upper`, that the first step is to gain
constexpr double kServes = 0.05;     // of what the model promised: the centre moves
constexpr double kServesWell = 0.5;  // likewise: steps get longer
constexpr double kLonger = 2, kShorter = 0.5;
constexpr int kMisses = 2;         // in a row, before steps get shorter
constexpr double kNothing = 1e-9;  // of the bound: rounding
constexpr double kLittle = 1e-3;   // of what is left up to `upper`: not worth a step

double Product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void PriceBundle::Begin(std::span<const double> prices, double bound) {
  center_.assign(prices.begin(), prices.end());
  next_ = center_;
  bound_ = bound;
  planes_.clear();
  is_new_ = true;
  reach_ = 0;
}

bool PriceBundle::Note(double bound, std::span<const double> slope, double upper) {
  if (is_new_) {
    is_new_ = false;
    MoveCenter(bound);
  } else if (bound >= bound_ + kServes * promised_) {
    if (bound >= bound_ + kServesWell * promised_) reach_ *= kLonger;
    MoveCenter(bound);
    misses_ = 0;
  } else if (++misses_ >= kMisses || bound < bound_ - promised_) {
    reach_ *= kShorter;
    misses_ = 0;
  }
  Add(bound, slope);
  if (reach_ == 0) {
    double length = 0;  // of the part of the slope that can be followed
    for (size_t i = 0; i < slope.size(); ++i) {
      if (slope[i] > 0 || center_[i] > 0) length += slope[i] * slope[i];
    }
    if (length == 0) return false;
    reach_ = kFirstShare * std::max(upper - bound_, kNothing * std::fabs(bound_)) / length;
  }
  Weigh();
  return promised_ > std::max(kLittle * (upper - bound_), kNothing * std::fabs(bound_));
}

void PriceBundle::MoveCenter(double bound) {
  for (Plane& plane : planes_) {
    for (size_t i = 0; i < center_.size(); ++i) plane.at_center += plane.slope[i] * (next_[i] - center_[i]);
  }
  center_ = next_;
  bound_ = bound;
}

// The planes come from choices that are nearly the best for their prices only: none may say less than what is known.
void PriceBundle::Add(double bound, std::span<const double> slope) {
  if (planes_.size() == kMostPlanes) {
    planes_.erase(std::min_element(planes_.begin(), planes_.end(),
                                   [](const Plane& a, const Plane& b) { return a.weight < b.weight; }));
  }
  Plane plane{bound, {slope.begin(), slope.end()}};
  for (size_t i = 0; i < center_.size(); ++i) plane.at_center += slope[i] * (center_[i] - next_[i]);
  planes_.push_back(std::move(plane));
  for (Plane& any : planes_) any.at_center = std::max(any.at_center, bound_);
}

double PriceBundle::ValueAtNext(const Plane& plane) const {
  double value = plane.at_center;
  for (size_t i = 0; i < center_.size(); ++i) value += plane.slope[i] * (next_[i] - center_[i]);
  return value;
}

// Where the planes, weighed, lead to.
void PriceBundle::SetNext() {
  std::fill(next_.begin(), next_.end(), 0.0);
  for (const Plane& plane : planes_) {
    if (plane.weight == 0) continue;
    for (size_t i = 0; i < next_.size(); ++i) next_[i] += plane.weight * plane.slope[i];
  }
  for (size_t i = 0; i < next_.size(); ++i) next_[i] = std::max(0.0, center_[i] + reach_ * next_[i]);
}

// The best of the model less the distance, by its dual: weights of the planes. Weight moves from the plane that says
// most at next_ to the one that says least, as far as the curvature allows, until all that have some say the same.
void PriceBundle::Weigh() {
  double sum = 0;
  for (const Plane& plane : planes_) sum += plane.weight;
  if (sum <= 0)
    planes_.back().weight = 1;
  else
    for (Plane& plane : planes_) plane.weight /= sum;
  std::vector<double> difference(next_.size());
  std::vector<double> values(planes_.size());
  for (int count = 0;; ++count) {
    SetNext();
    size_t low = 0, high = 0;
    bool any = false;
    for (size_t i = 0; i < planes_.size(); ++i) {
      values[i] = ValueAtNext(planes_[i]);
      if (values[i] < values[low]) low = i;
      if (planes_[i].weight > 0 && (!any || values[i] > values[high])) {
        high = i;
        any = true;
      }
    }
    promised_ = values[low] - bound_;
    const double apart = values[high] - values[low];
    if (count == kMostExchanges || apart <= 0.05 * std::max(promised_, kNothing * std::fabs(bound_))) break;
    for (size_t i = 0; i < difference.size(); ++i) difference[i] = planes_[low].slope[i] - planes_[high].slope[i];
    const double curvature = reach_ * Product(difference, difference);
    const double moved = curvature <= 0 ? planes_[high].weight : std::min(planes_[high].weight, apart / curvature);
    planes_[high].weight -= moved;
    planes_[low].weight += moved;
  }
}

}  // namespace sbp
