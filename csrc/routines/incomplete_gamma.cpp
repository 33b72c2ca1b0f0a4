// The regularised incomplete gamma functions P(a, x) and Q = 1 - P, in double (signatures in README.md).
//
// The smaller of the two is computed, the other is what is missing to 1. Of a below kLarge, or x far from a, P by its
// series (Abramowitz and Stegun 6.5.29) up to x = a + 1, and Q by its continued fraction (6.5.31) from there; where a
// and x are small and Q is, too, Q by the series for x^a - 1 and the rest of the alternating one (6.5.29, first form).
// Near x = a, where these take many terms, Temme's uniform expansion (SIAM J. Math. Anal. 10, 1979; DLMF 8.12).
#include <cmath>
#include <limits>

#include "families.h"
#include "routines.h"

namespace jitney {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kTerms = 2000;  // more than any series needs where it is used

// When a series has converged: for results in double, and for those in float.
struct Fine {
  static constexpr double kEpsilon = 0x1p-54;
};
struct Coarse {
  static constexpr double kEpsilon = 0x1p-34;
};

// One of the two functions.
struct Share {
  double value;
  bool is_upper;
};

// ---- factors ---------------------------------------------------------------------------------

// log(1 + m) - m without cancellation, |m| <= 1/2: with r = m / (2 + m), log(1 + m) = 2 artanh(r).
double log1p_less(double m) {
  if (std::fabs(m) > 0.5) return std::log1p(m) - m;
  const double r = m / (2 + m), s = r * r;
  double total = 0;
  for (int n = 35; n >= 3; n -= 2) total = total * s + 1. / n;
  return r * (2 * s * total - m);
}

// (zeta(k) - 1) / k (-1)^k from k = 2 on
constexpr double kZetas[] = {
    0.3224670334241132, -0.0673523010531981, 0.020580808427784546, -0.007385551028673986, 0.0028905103307415234,
    -0.001192753911703261, 0.0005096695247430425, -0.00022315475845357939, 9.945751278180853e-05,
    -4.492623673813314e-05, 2.050721277567069e-05, -9.439488275268397e-06, 4.374866789907488e-06,
    -2.039215753801366e-06, 9.55141213040742e-07, -4.492469198764566e-07, 2.1207184805554665e-07,
    -1.0043224823968099e-07, 4.7698101693639804e-08, -2.2711094608943164e-08, 1.0838659214896955e-08,
    -5.183475041970047e-09, 2.4836745438024785e-09, -1.1921401405860912e-09, 5.731367241678862e-10,
    -2.7595228851242334e-10, 1.330476437424449e-10, -6.4229645638381e-11, 3.1044247747322276e-11,
    -1.5021384080754142e-11, 7.275974480239079e-12, -3.527742476575915e-12};
constexpr int kZetaCount = sizeof(kZetas) / sizeof(kZetas[0]);

// log Gamma(1 + a) for 0 < a <= 1 (Abramowitz and Stegun 6.1.33).
double log_gamma_1p(double a) {
  constexpr double kOneLessEuler = 0.42278433509846713939;
  double total = 0;
  for (int k = kZetaCount - 1; k >= 0; --k) total = total * a + kZetas[k];
  return kOneLessEuler * a - std::log1p(a) + total * a * a;
}

// x^a e^-x / Gamma(a + 1).
double density(double a, double x) {
  constexpr double kMany = 10, kTwoPi = 6.28318530717958647693;
  if (a < kMany) {
    if (x > 2000) return 0;  // less than any number, but x^a may be more than any
    const double half = std::exp(-0.5 * x);  // of which e^-x would be no normal number, where x^a makes it one
    return std::pow(x, a) / std::tgamma(a + 1) * half * half;
  }
  const double r = 1 / a, s = r * r;
  const double stirling = r * (1. / 12 - s * (1. / 360 - s * (1. / 1260 - s * (1. / 1680 - s * (1. / 1188 -
                          s * (691. / 360360 - s / 156))))));
  const double m = (x - a) / a;
  const double exponent = std::fabs(m) <= 0.5 ? log1p_less(m) : std::log(x / a) - m;
  return std::exp(a * exponent - stirling) / std::sqrt(kTwoPi * a);
}

// ---- series ----------------------------------------------------------------------------------

template <class Goal>
double lower_by_series(double a, double x) {
  double total = 1, term = 1, c = a;
  for (int n = 1; n < kTerms; ++n) {
    c += 1;
    term *= x / c;
    total += term;
    if (term <= Goal::kEpsilon * total) break;
  }
  return density(a, x) * total;
}

// Q = 1 - x^a / Gamma(1 + a) (1 + a sum of (-x)^n / (n! (a + n))), a <= 1.
template <class Goal>
double upper_by_series(double a, double x) {
  double total = 0, power = 1;
  for (int n = 1; n < kTerms; ++n) {
    power *= -x / n;
    const double term = power / (a + n);
    total += term;
    if (std::fabs(term) <= Goal::kEpsilon * std::fabs(total)) break;
  }
  const double exponent = a * std::log(x) - log_gamma_1p(a);
  return -std::expm1(exponent) - std::exp(exponent) * a * total;
}

// Numerators and denominators of the continued fraction, by their recurrence.
template <class Goal>
double upper_by_fraction(double a, double x) {
  const double factor = density(a, x) * a;
  if (factor == 0) return 0;
  double y = 1 - a, z = x + 2 - a, p2 = 1, q2 = x, p1 = x + 1, q1 = z * x, value = p1 / q1;
  for (int n = 1; n < kTerms; ++n) {
    y += 1, z += 2;
    const double c = y * n, p = p1 * z - p2 * c, q = q1 * z - q2 * c;
    p2 = p1, p1 = p, q2 = q1, q1 = q;
    if (n & 1) continue;
    const double next = p / q;
    const bool settled = std::fabs(next - value) <= Goal::kEpsilon * std::fabs(next);
    value = next;
    if (settled || !std::isfinite(next)) break;
    if (std::fabs(p) > 0x1p500) {
      for (double* v : {&p2, &p1, &q2, &q1}) *v *= 0x1p-500;
    }
  }
  return factor * value;
}

// ---- the uniform expansion -------------------------------------------------------------------

constexpr double kLarge = 200, kNear = 0.3;  // a, and |x - a| / a: six powers of 1 / a are then good to 1e-17

// Coefficients of C_k(eta), by their recurrence, in fractions: with m = x / a - 1 and eta^2 / 2 = m - log(1 + m),
// C_0 = 1 / m - 1 / eta and C_k = C_(k-1)'(eta) / eta - C_(k-1)'(0) / m.
constexpr double kTemme[6][16] = {
    {-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073, 0.0003527336860670194,
     -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06,
     8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08,
     -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11},
    {-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
     0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
     -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
     1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09, 4.162792991842583e-10},
    {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
     -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
     1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07, -2.0477098421990866e-10,
     -1.409252991086752e-08, 6.228974084922022e-09, -1.3670488396617114e-09, 9.428356159014678e-13},
    {0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
     -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05, -5.6749528269915965e-06,
     1.4230900732435883e-06, -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08,
     -1.9111168485973655e-08, 2.3928620439808118e-12, 2.0620131815488797e-09, -9.460496661855133e-10},
    {-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
     6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05, 2.507497226237533e-10,
     -1.6954149536558305e-06, 8.907507532205309e-07, -2.292934834000805e-07, 2.956794137544049e-11,
     2.8865829742708783e-08, -1.4189739437803219e-08, 3.4463580499464896e-09, -2.3024517174528067e-13},
    {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392, -0.00019932570516188847,
     6.797780477937208e-05, 1.419062920643967e-07, -1.3594048189768693e-05, 8.018470256334202e-06,
     -2.291481176508095e-06, -3.252473551298454e-10, 3.4652846491085265e-07, -1.8447187191171344e-07,
     4.8240967037894184e-08, -1.7989466721743514e-14, -6.306194500013523e-09, 3.162417628774568e-09},
};

Share by_expansion(double a, double m) {
  constexpr double kTwoPi = 6.28318530717958647693;
  const double half_square = -log1p_less(m);
  const double eta = std::copysign(std::sqrt(2 * half_square), m);
  double total = 0;
  for (int k = 5; k >= 0; --k) {
    double row = 0;
    for (int n = 15; n >= 0; --n) row = row * eta + kTemme[k][n];
    total = total / a + row;
  }
  const double rest = std::exp(-a * half_square) / std::sqrt(kTwoPi * a) * total;
  const bool is_upper = m > 0;
  const double share = 0.5 * std::erfc(std::fabs(eta) * std::sqrt(0.5 * a));
  return {is_upper ? share + rest : share - rest, is_upper};
}

// ---- both functions --------------------------------------------------------------------------

template <class Goal>
Share share_of(double a, double x) {
  const double m = (x - a) / a;
  if (a >= kLarge && std::fabs(m) <= kNear) return by_expansion(a, m);
  if (x <= 1.1) {  // about where Q is below a half
    const bool is_small = x <= 0.5 ? a < -0.4 / std::log(x) : a < x / 1.1;
    if (is_small) return {upper_by_series<Goal>(a, x), true};
  }
  if (x <= a + 1) return {lower_by_series<Goal>(a, x), false};
  return {upper_by_fraction<Goal>(a, x), true};
}

template <class Goal, bool upper>
double incomplete_gamma(double a, double x) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
  if (x == 0 || std::isinf(a)) return upper;
  if (a == 0 || std::isinf(x)) return !upper;
  const Share share = share_of<Goal>(a, x);
  return share.is_upper == upper ? share.value : 1 - share.value;
}

// ptrs [a, x, out], each an element a piece
template <class Goal, bool upper>
void each(void* const* ptrs, const int64_t*, int64_t lo, int64_t hi) {
  const double *a = static_cast<const double*>(ptrs[0]), *x = static_cast<const double*>(ptrs[1]);
  double* out = static_cast<double*>(ptrs[2]);
  for (int64_t i = lo; i < hi; ++i) out[i] = incomplete_gamma<Goal, upper>(a[i], x[i]);
}

}  // namespace

void add_incomplete_gamma_routines() {
  add_routine("igamma_f64", each<Fine, false>);
  add_routine("igammac_f64", each<Fine, true>);
  add_routine("igamma_f32", each<Coarse, false>);
  add_routine("igammac_f32", each<Coarse, true>);
}

}  // namespace jitney
