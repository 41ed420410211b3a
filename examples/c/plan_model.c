/* plan_model MODEL MESH [DIM=SIZE...]: plans a model, shows what goes on, prints the summary and the size of the plan,
 * which stays in memory. Exits as the program `sbp-plan` does. */
#include <sbp_plan.h>
#include <stdio.h>
#include <stdlib.h>

static int show(void* user, const char* what) {
  (void)user;
  fprintf(stderr, "%s\n", what);
  return 0; /* other than 0 cancels the call */
}

int main(int argc, char** argv) {
  size_t count = 0;
  const char** words = malloc((6 + 2 * (size_t)argc) * sizeof *words);
  sbp_request request = {.struct_size = sizeof request, .progress = show};
  sbp_answer* answer = NULL;
  sbp_document plan;
  int code;
  if (argc < 3 || words == NULL) {
    fprintf(stderr, "usage: plan_model MODEL MESH [DIM=SIZE...]\n");
    return SBP_USAGE;
  }
  words[count++] = "infer";
  words[count++] = argv[1];
  words[count++] = "--mesh";
  words[count++] = argv[2];
  for (int i = 3; i < argc; ++i) {
    words[count++] = "--dim";
    words[count++] = argv[i];
  }
  words[count++] = "-o";
  words[count++] = "memory:plan.json";
  request.words = words;
  request.num_words = count;

  code = sbp_call(&request, &answer);
  if (answer != NULL) {
    fputs(sbp_answer_output(answer, NULL), stdout);
    fputs(sbp_answer_chatter(answer, NULL), stderr);
  }
  if (code == SBP_OK && sbp_answer_document(answer, 0, &plan)) printf("%s: %zu bytes\n", plan.name, plan.size);
  sbp_answer_free(answer);
  free(words);
  return code;
}
