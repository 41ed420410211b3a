// Prices of memory by a proximal bundle method (Lemarechal 1975; Kiwiel 1990): the concave bound as a function of the
// prices is modelled by the least of the planes seen so far, and the next prices are the best of the model near the
// best ones known. It needs some tens of evaluations where plain subgradients need hundreds, and never runs away; each
// evaluation should be a settled one.
#pragma once

#include <span>
#include <vector>

namespace sbp {

class PriceBundle {
 public:
  // Begins at `prices` (>= 0 each), all of them 0 by default.
  explicit PriceBundle(size_t size) : center_(size, 0), next_(size, 0) {}
  void Begin(std::span<const double> prices, double bound);

  // The bound found at next(), and its slope there: what is held beyond the limit, per price. `upper`: no bound is
  // above. Chooses the next prices; false: nothing near the centre promises more.
  bool Note(double bound, std::span<const double> slope, double upper);

  std::span<const double> next() const { return next_; }      // prices to evaluate
  std::span<const double> center() const { return center_; }  // the best ones
  double bound() const { return bound_; }                     // at the centre

 private:
  struct Plane {
    double at_center;  // its value there
    std::vector<double> slope;
    double weight = 0;
  };

  void MoveCenter(double bound);
  void Add(double bound, std::span<const double> slope);
  void Weigh();
  double ValueAtNext(const Plane& plane) const;
  void SetNext();

  std::vector<double> center_, next_;
  std::vector<Plane> planes_;
  double bound_ = 0;
  double promised_ = 0;  // by the model at next_, above bound_
  double reach_ = 0;     // of a step, by slope: how far the model is trusted
  bool is_new_ = true;   // nothing was evaluated yet
  int misses_ = 0;
};

}  // namespace sbp
