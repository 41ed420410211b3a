/* A process that may start no more threads: no_threads GRAPH. A plan is made all the same, and is the one of other
 * times; a run, whose devices are threads, ends with an error, and the process goes on. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sbp_plan.h>
#include <stdio.h>
#include <string.h>

static int call(const char* const* words, size_t count, const sbp_document* document, sbp_answer** answer) {
  sbp_request request = {.struct_size = sizeof request, .words = words, .num_words = count, .documents = document};
  request.num_documents = document == NULL ? 0 : 1;
  return sbp_call(&request, answer);
}

/* The stack of a thread from now on: more than there is memory to map, or what it was. */
static void set_stack(size_t size) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size);
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

static int fail(const char* what, sbp_answer* answer) {
  fprintf(stderr, "no_threads: %s: %s", what, sbp_answer_chatter(answer, NULL));
  return 1;
}

int main(int argc, char** argv) {
  const char* plan[] = {"infer",    NULL, "--mesh", "data=2", "--dim", "batch=4",         "--dim",
                        "seq=8", "--threads", "2",  "-q",     "-o",    "memory:plan.json"};
  const char* run[] = {"run", "memory:plan.json", "--no-reference"};
  sbp_answer *with, *without, *ran;
  sbp_document before, after;
  pthread_attr_t attributes;
  size_t stack;
  if (argc < 2) return 2;
  plan[1] = argv[1];
  pthread_getattr_default_np(&attributes);
  pthread_attr_getstacksize(&attributes, &stack);
  if (call(plan, sizeof plan / sizeof *plan, NULL, &with) != SBP_OK) return fail("plan", with);
  set_stack((size_t)1 << 46);
  if (call(plan, sizeof plan / sizeof *plan, NULL, &without) != SBP_OK) return fail("plan without threads", without);
  if (!sbp_answer_document(with, 0, &before) || !sbp_answer_document(without, 0, &after)) return fail("no plan", with);
  if (before.size != after.size || memcmp(before.data, after.data, before.size) != 0) return fail("another plan", with);
  if (call(run, 3, &before, &ran) != SBP_RUN_FAILED) return fail("a run without threads", ran);
  if (strstr(sbp_answer_chatter(ran, NULL), "threads could be started") == NULL) return fail("the message", ran);
  sbp_answer_free(ran);
  set_stack(stack);
  if (call(run, 3, &before, &ran) != SBP_OK) return fail("a run afterwards", ran);
  sbp_answer_free(ran);
  sbp_answer_free(with);
  sbp_answer_free(without);
  return 0;
}
