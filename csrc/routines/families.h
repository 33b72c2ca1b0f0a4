// One registration function per file of this folder; routines.cpp calls them all.
#pragma once

namespace jitney {

void add_sort_routines();     // sort.cpp: sort, argsort, sort_pairs
void add_top_k_routines();    // top_k.cpp
void add_select_routines();   // select.cpp: partition, argpartition
void add_scan_routines();     // scan.cpp: cumulative sum, product, maximum, minimum, logsumexp
void add_gather_routines();   // gather.cpp: take_rows
void add_scatter_routines();  // scatter.cpp
void add_count_routines();    // count.cpp: searchsorted, bincount
void add_lapack_routines();   // lapack.cpp: factorings of matrices and systems of equations
void add_fft_routines();      // fft.cpp: Fourier transforms

}  // namespace jitney
