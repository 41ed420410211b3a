#include "onnx/annotate.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "onnx/annotations.h"

namespace sbp {
namespace {

using std::string_view_literals::operator""sv;
using testing::HasSubstr;

constexpr std::string_view kEmptyGraph = "\x3a\x00"sv;  // field 7 of a model

TEST(AnnotateTest, AModelWithoutAVersionGetsTheFirstOneThatHasAnnotations) {
  const Result<std::string> model = Annotate(kEmptyGraph, {.name = "mesh", .num_devices = 2}, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(*model, HasSubstr("\x08\x0b"sv));  // ir_version: 11
  EXPECT_TRUE(HasDeviceConfigurations(*model));
}

TEST(AnnotateTest, ALaterVersionStays) {
  const Result<std::string> model = Annotate("\x08\x0d\x3a\x00"sv, {.name = "mesh", .num_devices = 2}, {});
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_THAT(*model, HasSubstr("\x08\x0d"sv));
}

TEST(AnnotateTest, AGraphInPartsIsRefused) {
  const Result<std::string> model = Annotate(std::string(kEmptyGraph) + std::string(kEmptyGraph), {.name = "m"}, {});
  EXPECT_THAT(model.status().message(), HasSubstr("several parts"));
}

}  // namespace
}  // namespace sbp
