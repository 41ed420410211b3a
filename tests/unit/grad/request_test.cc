#include "grad/request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sbp {
namespace {

using Flags = std::vector<std::pair<std::string, std::string>>;

// Every flag that `grad` and `infer --train` take, away from its default.
const Flags kAll = {{"loss", "mse:y"},        {"wrt", "w*"},           {"wrt", "b"},
                    {"freeze", "w2"},         {"wrt-inputs", "x"},     {"optimizer", "adamw"},
                    {"weight-decay", "0.25"}, {"no-decay", "b*"},      {"clip-norm", "1.5"},
                    {"compute", "bf16"},      {"state-dtype", "bf16"}, {"loss-scale", "1024"},
                    {"accumulate", "4"},      {"custom-vjp", "none"},  {"train-mode", "true"},
                    {"decompose", "true"},    {"hvp", "true"},         {"expanded", "Softmax"}};

TEST(GradRequest, PlansRecordEveryFlag) {
  const Result<GradRequest> request = ReadFlags(kAll);
  ASSERT_TRUE(request.ok()) << request.status().message();
  EXPECT_TRUE(request->train_mode && request->decompose && request->hvp);
  EXPECT_EQ(request->custom_vjp, "none");
  EXPECT_EQ(request->update.accumulate, 4);
  EXPECT_EQ(FlagsOf(*request), kAll);
}

TEST(GradRequest, DefaultsAreLeftOut) { EXPECT_EQ(FlagsOf(GradRequest()), Flags()); }

TEST(GradRequest, RefusesUnknownFlagsAndOtherKindsOfValues) {
  const auto message = [](const Flags& flags) { return ReadFlags(flags).status().message(); };
  EXPECT_EQ(message({{"los", "y"}}), "unknown training flag \"los\" (did you mean \"loss\"?)");
  EXPECT_EQ(message({{"accumulate", "many"}}), "training flag accumulate: \"many\" is no value");
  EXPECT_EQ(message({{"train-mode", "yes"}}), "training flag train-mode: \"yes\" is no value");
}

}  // namespace
}  // namespace sbp
