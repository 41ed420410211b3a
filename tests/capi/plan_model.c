/* A C program on top of sbp_plan.h: plan_model GRAPH. Plans a model in memory, checks the plan, runs it with arrays,
 * and asks for what must be refused. Exits with the number of what went wrong. */
#include <sbp_plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "plan_model: %s\n", what);
  ++failures;
}

static char* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  char* content = NULL;
  long length;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
    content = malloc((size_t)length + 1);
    *size = content == NULL ? 0 : fread(content, 1, (size_t)length, file);
  }
  if (file != NULL) fclose(file);
  return content;
}

static sbp_request request_of(const char* const* words, size_t count) {
  sbp_request request;
  memset(&request, 0, sizeof request);
  request.struct_size = sizeof request;
  request.words = words;
  request.num_words = count;
  return request;
}

static int count_progress(void* user, const char* what) {
  if (strlen(what) > 0) ++*(int*)user;
  return 0;
}

static int stop(void* user, const char* what) {
  (void)user;
  (void)what;
  return 1;
}

/* A call that must fail so, with a message that says so. */
static void expect_failure(const sbp_request* request, int code, const char* text) {
  sbp_answer* answer = NULL;
  const int got = sbp_call(request, &answer);
  if (answer == NULL || got != code || strstr(sbp_answer_chatter(answer, NULL), text) == NULL) {
    fprintf(stderr, "plan_model: expected %d and \"%s\", got %d and \"%s\"\n", code, text, got,
            answer == NULL ? "" : sbp_answer_chatter(answer, NULL));
    ++failures;
  }
  sbp_answer_free(answer);
}

/* The caller frees it; NULL: it failed. */
static sbp_answer* plan(const char* model, size_t size) {
  const char* words[] = {"infer",  "-",      "--dim",          "batch=8", "--dim",
                         "seq=16", "--mesh", "data=2,model=4", "-o",      "memory:plan.json"};
  sbp_request request = request_of(words, sizeof words / sizeof *words);
  sbp_answer* answer = NULL;
  int told = 0;
  request.input = model;
  request.input_size = size;
  request.progress = count_progress;
  request.user = &told;
  expect(sbp_call(&request, &answer) == SBP_OK, "the model is planned");
  if (answer == NULL) return NULL;
  expect(told > 0, "progress is told");
  expect(strstr(sbp_answer_output(answer, NULL), "mesh data=2,model=4") != NULL, "the output is the summary");
  expect(sbp_answer_num_documents(answer) == 1, "one document is returned");
  return answer;
}

static void check(const sbp_document* document) {
  const char* words[] = {"check", "memory:plan.json"};
  sbp_request request = request_of(words, 2);
  sbp_answer* answer = NULL;
  request.documents = document;
  request.num_documents = 1;
  expect(sbp_call(&request, &answer) == SBP_OK, "the plan is good");
  sbp_answer_free(answer);
}

/* A page in memory: no browser is started, and no temporary file left. */
static void view(const sbp_document* document) {
  const char* words[] = {"view", "memory:plan.json", "-o", "memory:plan.html"};
  sbp_request request = request_of(words, 4);
  sbp_answer* answer = NULL;
  request.documents = document;
  request.num_documents = 1;
  expect(sbp_call(&request, &answer) == SBP_OK, "the plan is viewed");
  expect(answer != NULL && strcmp(sbp_answer_output(answer, NULL), "memory:plan.html\n") == 0, "the page's name is as given");
  sbp_answer_free(answer);
  request = request_of(words, 2);
  request.documents = document;
  request.num_documents = 1;
  expect_failure(&request, SBP_USAGE, "expected -o FILE.html");
}

/* y = 2 x + x, as a graph of one's own. */
static const char kGraph[] =
    "{\"kind\": \"sbp_plan.graph.v1\", \"name\": \"three\", \"opsets\": {\"\": 20},"
    " \"inputs\": [{\"name\": \"x\", \"type\": \"f32[2,3]\"}], \"outputs\": [\"y\"],"
    " \"ops\": [{\"name\": \"a\", \"type\": \"Add\", \"inputs\": [\"x\", \"x\"], \"outputs\": [\"z\"]},"
    " {\"name\": \"b\", \"type\": \"Add\", \"inputs\": [\"z\", \"x\"], \"outputs\": [\"y\"]}]}";

static void run(void) {
  const char* words[] = {"run", "--unsharded", "-", "--inputs", "arrays:", "--outputs", "arrays:"};
  const float x[6] = {0, 1, 2, 3, 4, 5};
  const int64_t shape[2] = {2, 3};
  sbp_array in = {"x", "float32", NULL, 2, NULL, sizeof x}, out;
  sbp_request request = request_of(words, 7);
  sbp_answer* answer = NULL;
  in.shape = shape;
  in.data = x;
  request.input = kGraph;
  request.input_size = sizeof kGraph - 1;
  request.arrays = &in;
  request.num_arrays = 1;
  expect(sbp_call(&request, &answer) == SBP_OK, "the graph runs");
  if (answer != NULL && sbp_answer_num_arrays(answer) == 1 && sbp_answer_array(answer, 0, &out)) {
    float y[6] = {0};
    expect(strcmp(out.name, "y") == 0 && strcmp(out.dtype, "f32") == 0 && out.size == sizeof y, "y is as it should be");
    if (out.size == sizeof y) memcpy(y, out.data, sizeof y);
    expect(y[1] == 3 && y[5] == 15, "y is 3 x");
    expect(!sbp_answer_array(answer, 1, &out), "there is no second output");
  } else {
    expect(0, "one array is returned");
  }
  sbp_answer_free(answer);
  in.size = 7;
  expect_failure(&request, SBP_BAD_INPUT, "array \"x\": f32[2,3] has 24 bytes; found 7");
  in.dtype = "flat32";
  expect_failure(&request, SBP_BAD_INPUT, "no element type \"flat32\"");
}

static void refuse(const char* model, size_t size) {
  const volatile int32_t cancel = 1;
  const char* words[] = {"infer", "-", "--mesh", "8", "--dim", "batch=8", "--dim", "seq=16"};
  const char* unknown[] = {"infre", "-"};
  const char* gpus[] = {"run", "-", "--backend", "cuda"};
  const char* missing[] = {"check", "memory:plam.json"};
  const sbp_document document = {"memory:plan.json", "{}", 2}, file = {"plan.json", "{}", 2};
  sbp_request request = request_of(unknown, 2);
  expect_failure(&request, SBP_USAGE, "has no command \"infre\" (did you mean \"infer\"?)");
  request.struct_size = 8;
  expect_failure(&request, SBP_USAGE, "struct_size is 8");
  expect_failure(NULL, SBP_USAGE, "NULL");
  request = request_of(gpus, 4);
  expect_failure(&request, SBP_USAGE, "--backend cuda: this backend is of the program");
  request = request_of(missing, 2);
  request.documents = &document;
  request.num_documents = 1;
  expect_failure(&request, SBP_BAD_INPUT, "the call has no such document (did you mean \"memory:plan.json\"?)");
  request.documents = &file;
  expect_failure(&request, SBP_USAGE, "expected a name that begins with \"memory:\"");
  request = request_of(words, 8);
  request.input = model;
  request.input_size = size;
  request.cancel = &cancel;
  expect_failure(&request, SBP_CANCELLED, "interrupted");
  request.cancel = NULL;
  request.progress = stop;
  expect_failure(&request, SBP_CANCELLED, "interrupted");
  request = request_of(NULL, 0);
  expect_failure(&request, SBP_USAGE, "");
}

int main(int argc, char** argv) {
  size_t size = 0;
  char* model = argc == 2 ? read_file(argv[1], &size) : NULL;
  sbp_answer* answer;
  sbp_document document;
  if (model == NULL) {
    fprintf(stderr, "usage: plan_model GRAPH\n");
    return 2;
  }
  expect(sbp_abi() == 1 && strlen(sbp_version()) > 0, "the library has a version");
  expect(strcmp(sbp_answer_chatter(NULL, NULL), "error: out of memory\n") == 0 && sbp_answer_output(NULL, NULL)[0] == 0 &&
             sbp_answer_num_documents(NULL) == 0 && sbp_answer_num_arrays(NULL) == 0 &&
             !sbp_answer_document(NULL, 0, &document),
         "where memory is out there is no answer, and its functions say so");
  answer = plan(model, size);
  if (answer != NULL && sbp_answer_document(answer, 0, &document)) {
    expect(strcmp(document.name, "memory:plan.json") == 0 && ((const char*)document.data)[0] == '{', "it is the plan");
    check(&document);
    view(&document);
  }
  sbp_answer_free(answer);
  run();
  refuse(model, size);
  free(model);
  printf("%d failures\n", failures);
  return failures;
}
