// Special functions of two numbers whose series end when they have converged, in double (signatures in README.md).
//
// Sources: the series and the continued fraction of the incomplete gamma function (Abramowitz and Stegun 6.5.29,
// 6.5.31), each with its derivative with respect to a, term by term; the zeta function of Hurwitz by Euler's and
// Maclaurin's formula (23.2); digamma and log-gamma by Stirling's series after the recurrence (6.1.40, 6.3.18).
#include <array>
#include <cmath>
#include <limits>

#include "families.h"
#include "routines.h"

namespace jitney {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = 0x1p-53;
constexpr double kLarge = 1e8;  // from here on the formula needs three terms, and q^-s may be 0 where the sum is not
constexpr int kTerms = 1 << 20;  // six times the root of a are needed
constexpr double kStirling = 10;  // from here on eight terms of the series are good to 1e-17

struct Logs {
  double log_gamma, digamma;
};

// Both for x > 0.
Logs logs_of(double x) {
  double product = 1, sum = 0;
  for (; x < kStirling; x += 1) product *= x, sum += 1 / x;
  const double r = 1 / x, s = r * r, log_x = std::log(x);
  const double series = r * (1. / 12 - s * (1. / 360 - s * (1. / 1260 - s * (1. / 1680 - s * (1. / 1188 -
                        s * (691. / 360360 - s / 156))))));
  const double slope = s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (1. / 240 - s * (1. / 132 -
                       s * (691. / 32760 - s / 12))))));
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return {(x - 0.5) * log_x - x + kHalfLogTwoPi + series - std::log(product), log_x - 0.5 * r - slope - sum};
}

// dP/da of the incomplete gamma function as `factor` times exp(`exponent`), inside x > 0.
struct Slope {
  double factor, exponent;
};

// x <= a + 1: P = x^a e^-x / Gamma(a + 1) times the sum of x^n / ((a + 1) ... (a + n)).
Slope slope_by_series(double a, double x) {
  double total = 1, term = 1, d_total = 0, d_term = 0;
  for (int n = 1; n < kTerms; ++n) {
    const double r = 1 / (a + n), ratio = x * r;
    d_term = ratio * (d_term - term * r);
    term *= ratio;
    total += term, d_total += d_term;
    if (std::fabs(d_term) <= kEpsilon * std::fabs(d_total) || !std::isfinite(d_total)) break;
  }
  const Logs logs = logs_of(a + 1);
  const double log_x = std::log(x);
  return {(log_x - logs.digamma) * total + d_total, a * log_x - x - logs.log_gamma};
}

// x > a + 1: Q = x^a e^-x / Gamma(a) times a continued fraction, whose numerators and denominators are p and q.
Slope slope_by_fraction(double a, double x) {
  double y = 1 - a, z = x + 2 - a;
  double p2 = 1, q2 = x, p1 = x + 1, q1 = z * x, dp2 = 0, dq2 = 0, dp1 = 0, dq1 = -x;
  double value = p1 / q1, d_value = (dp1 - value * dq1) / q1;
  for (int n = 1; n < kTerms; ++n) {
    y += 1, z += 2;
    const double c = y * n;
    double p = p1 * z - p2 * c, q = q1 * z - q2 * c;
    double dp = dp1 * z - p1 - dp2 * c + p2 * n, dq = dq1 * z - q1 - dq2 * c + q2 * n;
    const double next = p / q, d_next = (dp - next * dq) / q;
    const bool settled = std::fabs(d_next - d_value) <= kEpsilon * std::fabs(d_next);
    value = next, d_value = d_next;
    if (settled || !std::isfinite(d_next)) break;
    p2 = p1, p1 = p, q2 = q1, q1 = q, dp2 = dp1, dp1 = dp, dq2 = dq1, dq1 = dq;
    if (std::fabs(p) > 1e150) {
      for (double* v : {&p2, &p1, &q2, &q1, &dp2, &dp1, &dq2, &dq1}) *v *= 1e-150;
    }
  }
  const Logs logs = logs_of(a);
  const double log_x = std::log(x);
  return {-((log_x - logs.digamma) * value + d_value), a * log_x - x - logs.log_gamma};
}

bool is_outside(double a, double x) { return !(a > 0) || !(x >= 0); }

double igamma_grad_a(double a, double x) {
  if (is_outside(a, x)) return kNaN;
  if (std::isinf(a)) return kNaN;
  if (x == 0 || std::isinf(x)) return 0;
  const Slope slope = x <= a + 1 ? slope_by_series(a, x) : slope_by_fraction(a, x);
  return slope.factor * std::exp(slope.exponent);
}

// How a sample x of the gamma distribution moves with a: -dP/da over the density x^(a-1) e^-x / Gamma(a), whose
// exponentials cancel.
double random_gamma_grad(double a, double x) {
  if (is_outside(a, x) || std::isinf(x) || std::isinf(a)) return kNaN;
  if (x == 0) return 0;
  return x <= a + 1 ? -slope_by_series(a, x).factor * x / a : -slope_by_fraction(a, x).factor * x;
}

// a^-s; products where s is a small whole number.
double inverse_power(double a, double s) {
  if (s > 32 || s != std::floor(s)) return std::pow(a, -s);
  double result = 1, square = 1 / a;
  for (int n = static_cast<int>(s); n; n >>= 1, square *= square) {
    if (n & 1) result *= square;
  }
  return result;
}

// Where nine terms and the formula are good for all digits: the caller has its value.
bool is_ordinary(double s, double q) { return s > 1 && s <= 64 && q > 0 && q <= kLarge; }

// The sum of (q + n)^-s over n >= 0.
double zeta(double s, double q) {
  if (std::isnan(s) || std::isnan(q) || s < 1) return kNaN;
  if (s == 1) return kInf;
  if (q <= 0) {
    if (q == std::floor(q)) return std::fmod(s, 2) == 0 ? kInf : kNaN;
    if (s != std::floor(s)) return kNaN;  // powers of a negative number
  }
  if (std::isinf(q) || std::isinf(s)) return std::isinf(q) ? 0 : q > 1 ? 0 : q == 1 ? 1 : kInf;
  if (q > kLarge) return (1 / (s - 1) + (0.5 + s / 12 / q) / q) * std::pow(q, 1 - s);
  constexpr double kDirect = 9;  // terms, and where the others begin at least
  double total = 0, a = q;
  for (int n = 0; n < kDirect || a < kDirect; ++n) {
    const double term = a < 0 ? (std::fmod(s, 2) == 0 ? 1 : -1) * inverse_power(-a, s) : inverse_power(a, s);
    total += term;
    a += 1;
    if (a > 1 && std::fabs(term) < kEpsilon * std::fabs(total)) return total;
  }
  const double power = inverse_power(a, s);
  total += a * power / (s - 1) + 0.5 * power;
  // B_2k / (2k)! of the formula's terms, as in lower/zeta.py
  constexpr double kBernoulli[] = {1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160,
                                   -691. / 1307674368000, 1. / 74724249600, -3617. / 10670622842880000,
                                   43867. / 5109094217170944000.};
  double factor = s * power / a;
  for (int k = 0; k < 9; ++k) {
    const double term = kBernoulli[k] * factor;
    total += term;
    if (std::fabs(term) < kEpsilon * std::fabs(total)) break;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a);
  }
  return total;
}

double digamma(double x) {
  if (std::isnan(x) || x == -kInf) return kNaN;
  if (x == kInf) return kInf;
  if (x > 0) return logs_of(x).digamma;
  if (x == 0) return std::copysign(kInf, -x);
  if (x == std::floor(x)) return kNaN;
  constexpr double kPi = 3.14159265358979323846;
  return logs_of(1 - x).digamma - kPi / std::tan(kPi * (x - std::floor(x)));
}

// m! with the sign of the derivative m of digamma.
double signed_factorial(double m) {
  const double factorial = m <= 170 ? std::tgamma(m + 1) : kInf;
  return std::fmod(m, 2) == 0 ? -factorial : factorial;
}

double polygamma(double m, double x) {
  if (!(m >= 0) || m != std::floor(m) || std::isinf(m)) return kNaN;
  return m == 0 ? digamma(x) : signed_factorial(m) * zeta(m + 1, x);
}

double zeta_from(double s, double q, double near) { return is_ordinary(s, q) ? near : zeta(s, q); }

double polygamma_from(double m, double x, double near) {
  static const auto factorials = [] {
    std::array<double, 64> found;
    for (int n = 0; n < 64; ++n) found[n] = signed_factorial(n);
    return found;
  }();
  if (!is_ordinary(m + 1, x) || m != std::floor(m)) return polygamma(m, x);
  return factorials[static_cast<int>(m)] * near;
}

// ptrs [first, second, out], each an element a piece
template <double (*function)(double, double)>
void each(void* const* ptrs, const int64_t*, int64_t lo, int64_t hi) {
  const double *first = static_cast<const double*>(ptrs[0]), *second = static_cast<const double*>(ptrs[1]);
  double* out = static_cast<double*>(ptrs[2]);
  for (int64_t i = lo; i < hi; ++i) out[i] = function(first[i], second[i]);
}

// ptrs [first, second, the formula's value, out], each an element a piece
template <double (*function)(double, double, double)>
void each_from(void* const* ptrs, const int64_t*, int64_t lo, int64_t hi) {
  const double *first = static_cast<const double*>(ptrs[0]), *second = static_cast<const double*>(ptrs[1]);
  const double* near = static_cast<const double*>(ptrs[2]);
  double* out = static_cast<double*>(ptrs[3]);
  for (int64_t i = lo; i < hi; ++i) out[i] = function(first[i], second[i], near[i]);
}

}  // namespace

void add_special_routines() {
  add_routine("igamma_grad_a", each<igamma_grad_a>);
  add_routine("random_gamma_grad", each<random_gamma_grad>);
  add_routine("zeta", each_from<zeta_from>);
  add_routine("polygamma", each_from<polygamma_from>);
}

}  // namespace jitney
