#include "page/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace sbp {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Modules, ImportsStandFirstAndOnce) {
  const std::vector<PageFile> files = {
      {"a.js", "import {c} from \"./c.js\";\nexport const a = c;\n"},
      {"c.js", "export const c = 1;\n"},
      {"main.js", "import {\n  a,\n} from \"./a.js\";\nimport {c} from \"./c.js\";\nshow(a, c);\n"},
  };
  const Result<std::string> script = JoinModules(files, "main.js");
  ASSERT_TRUE(script.ok());
  EXPECT_THAT(*script, Not(HasSubstr("import")));
  EXPECT_THAT(*script, Not(HasSubstr("export")));
  const size_t a = script->find("const a = c;"), c = script->find("const c = 1;"), shown = script->find("show(a, c);");
  EXPECT_LT(c, a);
  EXPECT_LT(a, shown);
  EXPECT_EQ(script->find("const c = 1;", c + 1), std::string::npos);
}

TEST(Modules, MissingModulesAndCyclesAreDefects) {
  const std::vector<PageFile> missing = {{"main.js", "import {x} from \"./x.js\";\n"}};
  EXPECT_EQ(JoinModules(missing, "main.js").status().code(), Code::kDefect);
  const std::vector<PageFile> cycle = {{"a.js", "import {b} from \"./main.js\";\n"},
                                       {"main.js", "import {a} from \"./a.js\";\n"}};
  EXPECT_EQ(JoinModules(cycle, "main.js").status().code(), Code::kDefect);
}

TEST(Modules, ThePagesOwnJoin) {
  const Result<std::string> script = JoinModules(PageFiles(), "main.js");
  ASSERT_TRUE(script.ok()) << script.status().message();
  EXPECT_THAT(*script, HasSubstr("class Scene"));
}

}  // namespace
}  // namespace sbp
