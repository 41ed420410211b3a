#include <gtest/gtest.h>

#include "unit/plan/small_plan.h"

namespace sbp {
namespace {

TEST(Plan, Dumps) {
  Plan plan = SmallPlan();
  for (BoxingStep& step : plan.transitions[0].steps) step.seconds = 0;
  plan.warnings = {"nothing to warn of"};
  EXPECT_EQ(Dump(plan),
            "plan \"small.json\" fnv1a64:0123456789abcdef mesh model=4 cluster \"8xH100\"\n"
            "options strategy=greedy cost=bytes\n"
            "tensor \"x\" S(1)\n"
            "tensor \"w\" S(0)\n"
            "tensor \"h\" P(sum)\n"
            "tensor \"y\" B\n"
            "op \"fc\" record 0\n"
            "op \"act\" record 1\n"
            "record 0 S(1), S(0) -> P(sum) seconds=0 candidates=0\n"
            "  reason: pinned; price 0 \n"
            "record 1 B -> B seconds=0 candidates=0\n"
            "  reason: only one left; price 0 \n"
            "transition \"h\" P(sum) to B bytes=1536 seconds=0\n"
            "  all-reduce on model P(sum) to B tensor=256 wire=1536 seconds=0\n"
            "  for \"act\" operand 0\n"
            "  reason: fc reduces k over model\n"
            "total compute=0 collectives=0 bytes=1536\n"
            "memory peak=0 parameters=0 activations=0 boxing=0\n"
            "warning nothing to warn of\n");
}

}  // namespace
}  // namespace sbp
