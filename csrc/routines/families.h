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
void add_bit_routines();      // bits.cpp: packbits, unpackbits, first_extreme
void add_position_routines(); // positions.cpp: true_counts, positions, compress, place, repeat, triangle
void add_repeat_routines();   // repeat_rows.cpp: every row as often
void add_inner_routines();    // inner_product.cpp: inner products of complex vectors
void add_incomplete_gamma_routines();  // incomplete_gamma.cpp
void add_special_routines(); // special.cpp: derivatives of the incomplete gamma function, zeta, polygamma
void add_fft_routines();      // fft.cpp: Fourier transforms, one of
void add_fft_routines_base();
void add_fft_routines_avx2();
void add_fft_routines_avx512();

}  // namespace jitney
