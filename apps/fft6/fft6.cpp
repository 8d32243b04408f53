#include "apps/fft6/fft6.hpp"

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "apps/compare.hpp"
#include "apps/random.hpp"
#include "kernels/fourier.hpp"
#include "penstock/error.hpp"
#include "penstock/machine.hpp"
#include "penstock/transpose.hpp"

namespace penstock::apps::fft6 {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t checked_side(std::size_t points) {
    if (points < 4 || points > largest_side || !std::has_single_bit(points) || std::countr_zero(points) % 2 != 0)
        throw UsageError("fft6: the number of points must be a power of four, from 4 to 2^28, not " +
                         std::to_string(points));
    return std::size_t{1} << (std::countr_zero(points) / 2);
}

std::size_t checked_block(std::size_t rows, std::size_t side) {
    if (rows < 1) throw UsageError("fft6: a task needs at least one row");
    return std::min(rows, side);
}

/// to(j, i) := from(i, j).
template <class T>
void transpose(view<const Complex<T>, 2> from, view<Complex<T>, 2> to) {
    store_transposed({.to = reinterpret_cast<std::byte*>(to.data()),
                      .from = reinterpret_cast<const std::byte*>(from.data()),
                      .rows = to.extent(0),
                      .columns = to.extent(1),
                      .to_pitch = static_cast<std::size_t>(to.stride(0)),
                      .from_pitch = static_cast<std::size_t>(from.stride(0)),
                      .element = sizeof(Complex<T>)},
                     StoreWay::plain);
}

template <class T>
std::span<Complex<T>> scratch(std::size_t size) {
    thread_local std::vector<Complex<T>> memory;
    if (memory.size() < size) memory.resize(size);
    return std::span(memory).first(size);
}

template <class T>
void transform_row(std::span<Complex<T>> row, std::span<const Complex<T>> coarse) {
    kernels::fourier<T>(row, coarse, scratch<T>(row.size()));
}

/// Transforms row j and multiplies its element k by exp(-2 pi i j k / points), from two short tables instead of one
/// long one.
template <class T>
void transform_and_turn_row(std::span<Complex<T>> row, std::span<const Complex<T>> coarse,
                            std::span<const Complex<T>> fine, std::uint64_t j) {
    transform_row<T>(row, coarse);
    const std::size_t side = row.size();
    for (std::size_t k = 0, turns = 0; k < side; ++k, turns += static_cast<std::size_t>(j)) {
        const Complex<T> a = coarse[turns / side], b = fine[turns % side], x = row[k];
        const Complex<T> root{a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
        row[k] = {x.real() * root.real() - x.imag() * root.imag(), x.real() * root.imag() + x.imag() * root.real()};
    }
}

template <class T>
void transform(view<Complex<T>, 2> rows, std::span<const Complex<T>> coarse) {
    for (std::size_t i = 0; i < rows.extent(0); ++i) transform_row<T>({&rows(i, 0), rows.extent(1)}, coarse);
}

template <class T>
void transform_and_turn(view<Complex<T>, 2> rows, std::span<const Complex<T>> coarse, std::span<const Complex<T>> fine,
                        std::uint64_t first) {
    for (std::size_t i = 0; i < rows.extent(0); ++i)
        transform_and_turn_row<T>({&rows(i, 0), rows.extent(1)}, coarse, fine, first + i);
}

/// The tile turned over, in memory next to whoever asks.
template <class T>
view<Complex<T>, 2> turned_over(view<Complex<T>, 2> tile) {
    const view<Complex<T>, 2> to{scratch<T>(tile.size()).data(), {tile.extent(1), tile.extent(0)}};
    transpose<T>(tile, to);
    return to;
}

template <class T>
void copy(view<Complex<T>, 2> from, view<Complex<T>, 2> to) {
    for (std::size_t i = 0; i < to.extent(0); ++i) std::copy_n(&from(i, 0), to.extent(1), &to(i, 0));
}

template <class T>
void transpose_in_place(view<Complex<T>, 2> tile) {
    copy<T>(turned_over<T>(tile), tile);
}

/// Two tiles on either side of the diagonal, each of which goes, turned over, where the other is.
template <class T>
void exchange(view<Complex<T>, 2> right, view<Complex<T>, 2> below) {
    const auto from_right = turned_over<T>(right);
    transpose<T>(below, right);
    copy<T>(from_right, below);
}

/// Where a tile goes.
Tile mirrored(const Tile& tile) noexcept { return {tile.column, tile.row, tile.columns, tile.rows}; }

template <class T>
void transpose_tile(const Square<T>& from, const Square<T>& to, const Tile& tile) {
    transpose<T>(part<const Complex<T>>(from.whole(), tile), part(to.whole(), mirrored(tile)));
}

template <class T>
view<Complex<T>, 2> strip(const Problem<T>& problem, const Square<T>& matrix, std::size_t number) {
    const std::size_t first = number * problem.block;
    return matrix.rows(first, std::min(problem.block, problem.side - first));
}

/// The five phases, each timed: `transposes(number)` and `rows(turned)` do one each.
template <class Transposes, class Rows>
Seconds in_phases(Transposes transposes, Rows rows) {
    Seconds seconds;
    const auto timed = [](double& into, const auto& phase) {
        const auto start = Clock::now();
        phase();
        into += std::chrono::duration<double>(Clock::now() - start).count();
    };
    timed(seconds.transposes, [&] { transposes(0); });
    timed(seconds.rows, [&] { rows(true); });
    timed(seconds.transposes, [&] { transposes(1); });
    timed(seconds.rows, [&] { rows(false); });
    timed(seconds.transposes, [&] { transposes(2); });
    return seconds;
}

/// From one matrix to another: `transposes(from, to)` and `rows(matrix, turned)`.
template <class T, class Transposes, class Rows>
Seconds between_matrices(const Problem<T>& problem, Work<T>& work, Transposes transposes, Rows rows) {
    const Square<T>* const places[] = {&problem.input, &work.result, &work.between, &work.result};
    return in_phases([&](int number) { transposes(*places[number], *places[number + 1]); },
                     [&](bool turned) { rows(*places[turned ? 1 : 2], turned); });
}

template <class T>
void transform_strip(const Problem<T>& problem, const Square<T>& matrix, std::size_t number, bool turned) {
    const auto rows = strip(problem, matrix, number);
    if (turned) transform_and_turn<T>(rows, problem.coarse, problem.fine, number * problem.block);
    else transform<T>(rows, problem.coarse);
}

}  // namespace

template <class T>
Problem<T>::Problem(std::size_t count, std::size_t rows_of_a_task)
    : points{count}, side{checked_side(count)}, block{checked_block(rows_of_a_task, side)}, input{side}, coarse(side),
      fine(side) {
    kernels::fourier_roots<T>(coarse, side);
    kernels::fourier_roots<T>(fine, points);
}

template <class T>
void generate(Problem<T>& problem, std::uint32_t seed) {
    Random random{seed};
    for (std::size_t j = 0; j < problem.points; ++j) {
        const double real = random.real();
        problem.input.row(j / problem.side)[j % problem.side] = {static_cast<T>(real), static_cast<T>(random.real())};
    }
}

template <class T>
Seconds serial(const Problem<T>& problem, Work<T>& work) {
    const Tiling tiling = problem.tiling();
    return between_matrices(
        problem, work,
        [&](const Square<T>& from, const Square<T>& to) {
            for (std::size_t t = 0; t < tiling.count(); ++t) transpose_tile(from, to, tiling[t]);
        },
        [&](const Square<T>& matrix, bool turned) {
            for (std::size_t s = 0; s < problem.strips(); ++s) transform_strip(problem, matrix, s, turned);
        });
}

template <class T>
Seconds hand(const Problem<T>& problem, Work<T>& work, Team& team) {
    const Tiling tiling = problem.tiling();
    Seconds seconds;
    team.run([&](int rank) {
        team.barrier(rank);  // all are awake before the first phase is timed
        const Range tiles = team.share(rank, tiling.count()), strips = team.share(rank, problem.strips());
        const Seconds mine = between_matrices(
            problem, work,
            [&](const Square<T>& from, const Square<T>& to) {
                for (std::size_t t = tiles.begin; t < tiles.end; ++t) transpose_tile(from, to, tiling[t]);
                team.barrier(rank);
            },
            [&](const Square<T>& matrix, bool turned) {
                for (std::size_t s = strips.begin; s < strips.end; ++s) transform_strip(problem, matrix, s, turned);
                team.barrier(rank);
            });
        if (rank == 0) seconds = mine;
    });
    return seconds;
}

template <class T>
Seconds tagged(const Problem<T>& problem, Work<T>& work, Machine& machine) {
    const Tiling tiling = problem.tiling();
    return between_matrices(
        problem, work,
        [&](const Square<T>& from, const Square<T>& to) {
            for (std::size_t t = 0; t < tiling.count(); ++t)
                machine.call<transpose<T>>(in(part<const Complex<T>>(from.whole(), tiling[t])),
                                           out(part(to.whole(), mirrored(tiling[t]))));
            machine.barrier();
        },
        [&](const Square<T>& matrix, bool turned) {
            for (std::size_t s = 0; s < problem.strips(); ++s) {
                const auto rows = strip(problem, matrix, s);
                if (turned)
                    machine.call<transform_and_turn<T>>(inout(rows), in(problem.coarse), in(problem.fine),
                                                        std::uint64_t{s * problem.block});
                else machine.call<transform<T>>(inout(rows), in(problem.coarse));
            }
            machine.barrier();
        });
}

template <class T>
Seconds called(const Problem<T>& problem, const Square<T>& matrix, Machine& machine) {
    const Tiling tiling = problem.tiling();
    const auto tile = [&](std::size_t i, std::size_t j) {
        return part(matrix.whole(), tiling[i * problem.strips() + j]);
    };
    return in_phases(
        [&](int) {
            for (std::size_t i = 0; i < problem.strips(); ++i) {
                machine.call<transpose_in_place<T>>(inout(tile(i, i)));
                for (std::size_t j = i + 1; j < problem.strips(); ++j)
                    machine.call<exchange<T>>(inout(tile(i, j)), inout(tile(j, i)));
            }
            machine.barrier();
        },
        [&](bool turned) {
            for (std::size_t j = 0; j < problem.side; ++j) {
                const std::span row{matrix.row(j), problem.side};
                if (turned)
                    machine.call<transform_and_turn_row<T>>(inout(row), in(problem.coarse), in(problem.fine),
                                                            std::uint64_t{j});
                else machine.call<transform_row<T>>(inout(row), in(problem.coarse));
            }
            machine.barrier();
        });
}

template <class T>
double relative_error(const Problem<T>& problem, const Square<T>& result, std::size_t samples) {
    using Exact = std::complex<long double>;
    const std::size_t side = problem.side;
    std::vector<Exact> coarse(side), fine(side), turned(side);
    kernels::fourier_roots<long double>(coarse, side);
    kernels::fourier_roots<long double>(fine, problem.points);
    long double squares = 0;
    for (std::size_t k = 0; k < problem.points; ++k) squares += std::norm(Exact{result.row(k / side)[k % side]});
    long double errors = 0;
    std::size_t taken = 0;
    const std::size_t step = std::max<std::size_t>(1, problem.points / samples);
    for (std::size_t k = 1 + step / 3; k < problem.points; k += step, ++taken) {
        for (std::size_t j = 0; j < side; ++j) turned[j] = coarse[j * k % problem.points / side] * fine[j * k % side];
        Exact exact;
        for (std::size_t row = 0; row < side; ++row) {
            long double real = 0, imaginary = 0;  // std::complex would look for infinities in every product
            for (std::size_t j = 0; j < side; ++j) {
                const Complex<T> x = problem.input.row(row)[j];
                real += x.real() * turned[j].real() - x.imag() * turned[j].imag();
                imaginary += x.real() * turned[j].imag() + x.imag() * turned[j].real();
            }
            exact += Exact{real, imaginary} * coarse[row * k % side];
        }
        errors += std::norm(exact - Exact{result.row(k / side)[k % side]});
    }
    if (squares == 0) return errors == 0 ? 0 : std::numeric_limits<double>::infinity();
    return static_cast<double>(
        std::sqrt(errors / static_cast<long double>(taken) / (squares / static_cast<long double>(problem.points))));
}

template struct Problem<float>;
template struct Problem<double>;
template void generate(Problem<float>&, std::uint32_t);
template void generate(Problem<double>&, std::uint32_t);
template Seconds serial(const Problem<float>&, Work<float>&);
template Seconds serial(const Problem<double>&, Work<double>&);
template Seconds hand(const Problem<float>&, Work<float>&, Team&);
template Seconds hand(const Problem<double>&, Work<double>&, Team&);
template Seconds tagged(const Problem<float>&, Work<float>&, Machine&);
template Seconds tagged(const Problem<double>&, Work<double>&, Machine&);
template Seconds called(const Problem<float>&, const Square<float>&, Machine&);
template Seconds called(const Problem<double>&, const Square<double>&, Machine&);
template double relative_error(const Problem<float>&, const Square<float>&, std::size_t);
template double relative_error(const Problem<double>&, const Square<double>&, std::size_t);

}  // namespace penstock::apps::fft6
