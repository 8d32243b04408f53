#include "apps/synthetic/job.hpp"

#include <cstddef>

namespace penstock::apps::synthetic {
namespace {

// `next(state, word)` for each word of the input, its results into `out`.
template <class Next>
void each_word(ConstWords table, ConstWords rest, Words out, Next next) {
    std::uint32_t state = first_state;
    const auto part = [&](ConstWords from, Words to) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = state = next(state, from[i]);
    };
    part(table, out.first(table.size()));
    part(rest, out.subspan(table.size()));
}

}  // namespace

void job(ConstWords table, ConstWords rest, Words out, std::uint32_t cycles) {
    each_word(table, rest, out, [cycles](std::uint32_t state, std::uint32_t word) {
        for (std::uint32_t round = 0; round < cycles; ++round) {
            state = state * multiplier + word;
            asm volatile("" : "+r"(state));  // no round is computed before it is its turn, and none left out
        }
        return state;
    });
}

Rounds rounds(std::uint64_t count) noexcept {
    Rounds all, some{multiplier, 1};  // `some`: 1, 2, 4 ... rounds
    for (; count != 0; count /= 2) {
        if (count % 2 != 0) all = {all.factor * some.factor, all.weight * some.factor + some.weight};
        some = {some.factor * some.factor, some.weight * some.factor + some.weight};
    }
    return all;
}

void job_in_closed_form(ConstWords table, ConstWords rest, Words out, std::uint32_t cycles) {
    const Rounds step = rounds(cycles);
    each_word(table, rest, out,
              [step](std::uint32_t state, std::uint32_t word) { return step.factor * state + step.weight * word; });
}

}  // namespace penstock::apps::synthetic
