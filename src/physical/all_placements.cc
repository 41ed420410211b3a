// The table of placement orders. Ties keep the order of the registers, which is that of the tasks.
#include <cstdint>
#include <span>

#include "physical/physical.h"
#include "plan/physical_plan.h"

namespace sbp {
namespace {

uint32_t Duration(const Register& r) { return r.last - r.first; }

// Bytes times positions, as a double: the order needs no more than that.
double Area(const Register& r) { return static_cast<double>(r.footprint()) * (Duration(r) + 1.0); }

constexpr PlacementRow kRows[] = {
    {"by-size", "the largest register first",
     [](const Register& a, const Register& b) { return a.footprint() > b.footprint(); }},
    {"by-area", "the register of most bytes times positions first",
     [](const Register& a, const Register& b) { return Area(a) > Area(b); }},
    {"by-duration", "the longest-lived register first, of equal ones the largest",
     [](const Register& a, const Register& b) {
       return Duration(a) != Duration(b) ? Duration(a) > Duration(b) : a.footprint() > b.footprint();
     }},
};

}  // namespace

std::span<const PlacementRow> AllPlacements() { return kRows; }

}  // namespace sbp
