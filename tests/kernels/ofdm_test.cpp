#include "kernels/ofdm.hpp"

#include <cmath>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/fourier.hpp"
#include "kernels/images.hpp"

namespace {

namespace ofdm = penstock::kernels::ofdm;
using ofdm::Sample;
using ofdm::side;

std::vector<Sample> random_samples(std::size_t count, unsigned seed) {
    std::mt19937 random{seed};
    std::normal_distribution<float> normal;
    std::vector<Sample> made;
    for (std::size_t i = 0; i < count; ++i) {
        const float real = normal(random);
        made.emplace_back(real, normal(random));
    }
    return made;
}

/// What a kernel makes, with each instruction set, must be the same.
template <class T, class Make>
std::vector<T> the_same_with_each(Make make) {
    std::vector<std::vector<T>> all;
    images::with_each_instruction_set([&] { all.push_back(make()); });
    for (const auto& each : all) EXPECT_EQ(each, all.front());
    return all.front();
}

TEST(OfdmKernels, eight_transforms_side_by_side_agree_with_their_definition) {
    for (const std::size_t n : {4u, 16u, 64u, 256u}) {
        for (const std::size_t count : {1u, 3u, 8u}) {
            const std::size_t pitch = n + 5;
            const auto samples = random_samples(count * pitch, 1), rotation = random_samples(n, 2);
            std::vector<Sample> roots(n);
            penstock::kernels::fourier_roots<float>(roots, n);
            const auto made = the_same_with_each<float>([&] {
                std::vector<float> re(n * side, 9), im(re), other_re(re), other_im(re);
                ofdm::lay_side_by_side(samples.data(), pitch, count, rotation, {re.data(), im.data()});
                const auto result = ofdm::fourier(n, roots, {re.data(), im.data()}, {other_re.data(), other_im.data()});
                std::vector<float> both(result.re, result.re + n * side);
                both.insert(both.end(), result.im, result.im + n * side);
                return both;
            });
            for (std::size_t s = 0; s < side; ++s) {
                for (std::size_t k = 0; k < n; ++k) {
                    std::complex<double> sum;
                    for (std::size_t i = 0; s < count && i < n; ++i)
                        sum += std::complex<double>{samples[s * pitch + i]} * std::complex<double>{rotation[i]} *
                               std::polar(1.0, -2 * M_PI * static_cast<double>(i * k % n) / static_cast<double>(n));
                    ASSERT_NEAR(made[k * side + s], sum.real(), 2e-5 * std::sqrt(n) + 1e-5)
                        << n << ' ' << s << ' ' << k;
                    ASSERT_NEAR(made[(n + k) * side + s], sum.imag(), 2e-5 * std::sqrt(n) + 1e-5);
                }
            }
        }
    }
}

TEST(OfdmKernels, the_equaliser_multiplies_each_carrier_and_turns_each_symbol) {
    const std::size_t rows = 7;
    const auto values = random_samples(rows * side, 3), factors = random_samples(rows, 4);
    std::vector<float> re, im;
    for (const auto value : values) {
        re.push_back(value.real());
        im.push_back(value.imag());
    }
    std::array<Sample, side> turn, step;
    for (std::size_t s = 0; s < side; ++s) {
        turn[s] = std::polar(1.0f, 0.3f * static_cast<float>(s));
        step[s] = std::polar(1.0f, -0.01f * static_cast<float>(s));
    }
    std::vector<ofdm::Carrier> carriers;
    for (std::uint16_t i = 0; i < rows; ++i)
        carriers.push_back({static_cast<std::uint16_t>(rows - 1 - i), static_cast<std::uint16_t>((i + 2) % rows),
                            factors[i].real(), factors[i].imag()});
    const auto made = the_same_with_each<float>([&] {
        std::vector<float> to(2 * rows * side);
        ofdm::equalise({re.data(), im.data()}, carriers, turn, step, {to.data(), to.data() + rows * side});
        return to;
    });
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t s = 0; s < side; ++s) {
            const Sample wanted = values[(rows - 1 - i) * side + s] * factors[i] * turn[s] *
                                  Sample{std::pow(std::complex<double>{step[s]}, static_cast<double>(i))};
            const std::size_t at = (i + 2) % rows * side + s;
            ASSERT_NEAR(made[at], wanted.real(), 2e-5);
            ASSERT_NEAR(made[rows * side + at], wanted.imag(), 2e-5);
        }
    }
}

/// Of all points, by the Gray code: how much nearer the nearest one with the bit set is than the nearest without it.
double soft_by_distance(double value, std::size_t bits_of_axis, std::size_t bit) {
    double nearest[2] = {1e9, 1e9};
    for (unsigned place = 0; place < 1u << bits_of_axis; ++place) {
        const unsigned gray = place ^ place >> 1;  // from the left
        const double point = 2.0 * place - ((1u << bits_of_axis) - 1);
        const unsigned set = gray >> (bits_of_axis - 1 - bit) & 1;
        nearest[set] = std::min(nearest[set], (value - point) * (value - point));
    }
    return (nearest[0] - nearest[1]) / 4;
}

TEST(OfdmKernels, soft_bits_have_the_sign_and_near_the_border_the_size_of_the_exact_ones) {
    std::mt19937 random{5};
    for (const std::size_t bits : {1u, 2u, 4u, 6u}) {
        const std::size_t of_axis = bits == 1 ? 1 : bits / 2;
        std::vector<float> re(3 * side), im(re), unit{0.5f, 1.0f, 0.25f};
        for (std::size_t i = 0; i < re.size(); ++i) {
            const auto place = [&] { return std::uniform_real_distribution<float>{-9, 9}(random)*unit[i / side]; };
            re[i] = place();
            im[i] = place();
        }
        const float scale = 16;
        const auto made = the_same_with_each<std::int8_t>([&] {
            std::vector<std::int8_t> soft(3 * bits * side);
            ofdm::soft_bits({re.data(), im.data()}, unit, bits, scale, soft.data());
            return soft;
        });
        for (std::size_t i = 0; i < re.size(); ++i) {
            for (std::size_t b = 0; b < bits; ++b) {
                const double value = (b < of_axis ? re : im)[i] / unit[i / side];
                const double exact = soft_by_distance(value, of_axis, b % of_axis) * unit[i / side] * scale;
                const int found = made[(i / side * bits + b) * side + i % side];
                if (std::abs(exact) > 0.6) {
                    ASSERT_EQ(found > 0, exact > 0) << bits << ' ' << b << ' ' << value;
                }
                if (std::abs(exact) < unit[i / side] * scale) {
                    ASSERT_NEAR(found, exact, 0.51) << bits << ' ' << b << ' ' << value;
                }
            }
        }
    }
}

TEST(OfdmKernels, soft_bits_beyond_the_range_stay_at_its_end) {
    std::vector<float> re(side, 1e30f), im(side, -300), unit{1};
    std::vector<std::int8_t> soft(2 * side);
    images::with_each_instruction_set([&] {
        ofdm::soft_bits({re.data(), im.data()}, unit, 2, 1, soft.data());
        EXPECT_EQ(soft[0], 127);
        EXPECT_EQ(soft[side], -127);
    });
}

TEST(OfdmKernels, correlations_agree_with_their_definition) {
    const auto x = random_samples(400, 6), pattern = random_samples(64, 7);
    std::vector<float> re, im;
    for (const auto value : x) {
        re.push_back(value.real());
        im.push_back(value.imag());
    }
    const auto shape = the_same_with_each<Sample>([&] {
        std::vector<Sample> to(48);
        ofdm::correlate({re.data(), im.data()}, pattern, to);
        return to;
    });
    for (std::size_t p = 0; p < shape.size(); ++p) {
        std::complex<double> sum;
        for (std::size_t n = 0; n < pattern.size(); ++n)
            sum += std::complex<double>{x[p + n]} * std::conj(std::complex<double>{pattern[n]});
        EXPECT_NEAR(std::abs(std::complex<double>{shape[p]} - sum), 0, 1e-4);
    }
    const auto period = the_same_with_each<float>([&] {
        const auto found = ofdm::correlate_with_later(x.data() + 3, 16, 64);
        return std::vector{found.product.real(), found.product.imag(), found.power};
    });
    std::complex<double> product;
    double power = 0;
    for (std::size_t i = 3; i < 67; ++i) {
        product += std::conj(std::complex<double>{x[i]}) * std::complex<double>{x[i + 16]};
        power += std::norm(std::complex<double>{x[i + 16]});
    }
    EXPECT_NEAR(period[0], product.real(), 1e-4);
    EXPECT_NEAR(period[1], product.imag(), 1e-4);
    EXPECT_NEAR(period[2], power, 1e-4);
}

TEST(OfdmKernels, refuse_what_does_not_fit) {
    std::vector<Sample> some(64);
    std::vector<float> floats(1024);
    const ofdm::Block block{floats.data(), floats.data()};
    EXPECT_THROW(ofdm::lay_side_by_side(some.data(), 1, 9, some, block), std::invalid_argument);
    EXPECT_THROW(ofdm::lay_side_by_side(some.data(), 1, 8, std::span(some).first(3), block), std::invalid_argument);
    EXPECT_THROW(ofdm::fourier(32, std::span(some).first(32), block, block), std::invalid_argument);
    EXPECT_THROW(ofdm::fourier(64, std::span(some).first(16), block, block), std::invalid_argument);
    EXPECT_THROW(ofdm::soft_bits(block, {}, 3, 1, nullptr), std::invalid_argument);
    EXPECT_THROW(ofdm::correlate(block, some, std::span(some).first(7)), std::invalid_argument);
    EXPECT_THROW(ofdm::correlate_with_later(some.data(), 1, 7), std::invalid_argument);
}

}  // namespace
