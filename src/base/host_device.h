// Marks functions that run on the host and, when compiled as CUDA, on a GPU too.
#pragma once

#if defined(__CUDACC__)
#define SBP_HD __host__ __device__
#else
#define SBP_HD
#endif
