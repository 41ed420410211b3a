// Document: what a view says in tables. One content, two spellings (tables.h).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"
#include "render/render.h"

namespace sbp {

struct Table {
  std::string title;
  std::vector<std::string> header;
  std::vector<bool> right;  // numbers are set to the right
  std::vector<std::vector<std::string>> rows;
  std::string note;
};

struct Document {
  std::vector<std::string> head;  // first line: the model's name
  std::vector<Table> tables;
};

// Ops (repeated layers folded, like the drawing), collectives, memory.
Result<Document> TabulateGraph(const Plan& plan, const RenderOptions& options);
// Tasks in their order, and registers. Error (kUsage): a plan without a physical part.
Result<Document> TabulateTasks(const Plan& plan, const RenderOptions& options);

}  // namespace sbp
