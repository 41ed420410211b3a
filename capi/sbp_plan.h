/* sbp-plan as C functions: every command of the program `sbp-plan`, in this process, documents in and out by pointer.
 *
 *   const char* words[] = {"infer", "-", "--mesh", "data=2,model=4", "-o", "memory:plan.json"};
 *   sbp_request request = {.struct_size = sizeof request, .words = words, .num_words = 6,
 *                          .input = model, .input_size = model_size};
 *   sbp_answer* answer;
 *   if (sbp_call(&request, &answer) == SBP_OK) puts(sbp_answer_output(answer, NULL));   the summary
 *   else fputs(sbp_answer_chatter(answer, NULL), stderr);                               "error: ..."
 *   sbp_answer_free(answer);
 *
 * Words: those of the command line; `sbp-plan help COMMAND` says which there are. What the program reads and writes as
 * whole files may be names of files, and
 *   -             the request's `input`, or the answer's output, in the place of stdin and stdout;
 *   memory:NAME   a document of the request, or one that the answer returns (the name's ending is its form, as ever);
 *   arrays:       of `run`: `--inputs arrays:` takes the request's arrays by the names of inputs (and weights),
 *                 `--outputs arrays:` returns the outputs. `arrays:PREFIX` takes, or returns, those with PREFIX in
 *                 front of their names, where a call has several sets of them.
 * Of a model's weights beside it, and of a plan's model, the files are read. Of a model that is a document they are in
 * it, or in documents beside it, as files would be: those of "memory:m/model.onnx" that it calls "model.data" in
 * "memory:m/model.data". `--weights memory:w.safetensors`, or an index of several, are documents as well. `run` finds
 * the model of a plan made from a document where the request has it, by the same name or as MODEL. Weights that are not
 * there it fills at random, and says how many; arrays of the request come first.
 *
 * Ownership: the request and all it points to is the caller's, and is only read, during the call alone. The answer and
 * all it points to is the library's, unchanged until sbp_answer_free.
 *
 * Threads: calls from several threads at once are independent of each other (drawing a picture waits for its turn,
 * since Graphviz draws one at a time; its library keeps some memory of each drawing). A call may start threads of its
 * own, which have ended when it returns. It changes no signal handler, no locale, no folder and no stream of the
 * process; numbers are written and read as in the C locale, whatever setlocale or std::locale::global say
 * (but for ranges that `help` shows).
 *
 * Errors: the exit code of the program, and its message in the chatter. Nothing ends the process and no C++ exception
 * comes out. Backends that are processes or GPUs (`--backend mpi`, `cuda`) are refused with SBP_USAGE: the program has
 * them. */
#ifndef SBP_PLAN_H
#define SBP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SBP_EXPORT __attribute__((visibility("default")))
#else
#define SBP_EXPORT
#endif

/* What a call returns. */
enum {
  SBP_OK = 0,
  SBP_MISMATCH = 1,   /* a difference, violation or mismatch: what `check` and `diff` found is the output */
  SBP_USAGE = 2,      /* words that do not make a command; a request that is not one */
  SBP_BAD_INPUT = 3,  /* a document or a value that does not say what it must; memory is out */
  SBP_NO_PLAN = 4,    /* no plan satisfies the pins and limits */
  SBP_RUN_FAILED = 5, /* an execution failed */
  SBP_DEFECT = 70,    /* a defect of sbp-plan */
  SBP_CANCELLED = 130 /* `cancel` was set, or `progress` said so */
};

/* The layout of these structures and the meaning of these functions: 1. Never NULL: the version, "0.1.0". */
SBP_EXPORT int sbp_abi(void);
SBP_EXPORT const char* sbp_version(void);

typedef struct sbp_document {
  const char* name; /* "memory:plan.json" */
  const void* data;
  size_t size; /* bytes */
} sbp_document;

typedef struct sbp_array {
  const char* name;
  const char* dtype;    /* "f32", "bf16", "i64", "bool", ...; NumPy's and ONNX's names are taken, too */
  const int64_t* shape; /* `rank` of them; NULL where rank is 0 */
  size_t rank;
  const void* data; /* row-major, little-endian; types of less than 8 bits packed, the first in the low bits */
  size_t size;      /* bytes: those of the shape */
} sbp_array;

/* What goes on: "planning: strategy" ("" where that is not known, as with --quiet); during a search or run some times a
 * second again. From any thread of the call, one at a time; must return soon. Not begun any more
 * once `cancel` is set. Other than 0: the call ends soon, as by `cancel` (a picture
 * when Graphviz has laid it out, which asks nobody: `--max-nodes` bounds it). */
typedef int (*sbp_progress)(void* user, const char* what);

/* All but `words` may be 0. */
typedef struct sbp_request {
  size_t struct_size; /* sizeof(sbp_request) */
  const char* const* words;
  size_t num_words;
  const void* input;
  size_t input_size;
  const sbp_document* documents;
  size_t num_documents;
  const sbp_array* arrays;
  size_t num_arrays;
  sbp_progress progress;
  void* user;                     /* passed to `progress` */
  const volatile int32_t* cancel; /* another thread sets it to other than 0: the call ends soon, with SBP_CANCELLED */
} sbp_request;

typedef struct sbp_answer sbp_answer;

/* Runs a command; returns one of the codes above. *answer: never NULL but where memory is out (then SBP_BAD_INPUT), or
 * with SBP_DEFECT; to be freed. Of NULL the functions below give no output and "error: out of memory". */
SBP_EXPORT int sbp_call(const sbp_request* request, sbp_answer** answer);

/* What the program prints on stdout, and on stderr (notes, warnings, the error): with a 0 behind, and its size without
 * it where `size` is not NULL. */
SBP_EXPORT const char* sbp_answer_output(const sbp_answer* answer, size_t* size);
SBP_EXPORT const char* sbp_answer_chatter(const sbp_answer* answer, size_t* size);
/* Documents that were written to memory, by name; arrays, in the order of the graph's outputs. Returns 0 and leaves
 * *out where there is no such one. */
SBP_EXPORT size_t sbp_answer_num_documents(const sbp_answer* answer);
SBP_EXPORT int sbp_answer_document(const sbp_answer* answer, size_t index, sbp_document* out);
SBP_EXPORT size_t sbp_answer_num_arrays(const sbp_answer* answer);
SBP_EXPORT int sbp_answer_array(const sbp_answer* answer, size_t index, sbp_array* out);
/* NULL is let be. */
SBP_EXPORT void sbp_answer_free(sbp_answer* answer);

#ifdef __cplusplus
}
#endif

#endif
