// sbp-plan as a library: load, resolve, differentiate, plan, explain, export, run, train.
// examples/library shows it whole.
//
//   SBP_ASSIGN_OR_RETURN(const RuleSet rules, LoadRules());
//   PlanningInput input{.model = "model.onnx", .resolve = {.bindings = {{"batch", 8}}}};
//   SBP_ASSIGN_OR_RETURN(input.mesh, ParseMesh("data=2,model=4"));
//   SBP_ASSIGN_OR_RETURN(PlanRequest request, PreparePlan(std::move(input), rules));
//   SBP_ASSIGN_OR_RETURN(const Plan plan, MakePlan(std::move(request)));
//   SBP_RETURN_IF_ERROR(WriteFile("plan.json", WritePlan(plan, Encoding::kJson)));
//
// Nothing prints, exits or throws: failures come back as Status, whose message is for the user and whose code is the
// command line's exit code. An option is named in messages as the command line spells it ("--dim"). Calls share no
// state; what the comment of a function does not say otherwise may run on several threads at once.
#pragma once

#include "api/annotations.h"
#include "api/assignment.h"
#include "api/bounds.h"
#include "api/cluster.h"
#include "api/explain.h"
#include "api/export.h"
#include "api/grad.h"
#include "api/meshes.h"
#include "api/model.h"
#include "api/plan_file.h"
#include "api/plan_inputs.h"
#include "api/planning.h"
#include "api/run.h"
#include "api/tensors.h"
#include "api/train.h"
#include "check/check.h"
#include "export/exporter.h"
#include "io/documents.h"
#include "io/file.h"
#include "physical/physical.h"
#include "pipeline/pipeline.h"
#include "render/render.h"
#include "report/report.h"
