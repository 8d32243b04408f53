// task layer: one call as several, each on its own part of the arguments. The runtime chooses the parts: few, large,
// each in one piece of memory, and the same ones for the same target at each call, whose cache then holds them still.
//
//     void add(view<const float, 2> a, view<const float, 2> b, view<float, 2> sum);
//     split<add>(machine, in(a), in(b), out(sum));                      // the rows, among the targets and the caller
//     split<gemv>(machine, in(matrix), whole(in(x)), inout(y));         // every part reads all of x
//     split<blur>(machine, overlapping(in(padded), 4), out(blurred));   // rows of a part, and the four behind them
//
// Tagged Procedure Calls cut arrays into the tiles that a local store holds; that is what a loop of calls does. A cache
// fetches by itself what is read in order, so there the longest pieces are the best (`./bench kernels`).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "penstock/error.hpp"
#include "penstock/machine.hpp"

namespace penstock {

/// An argument that each part gets as a whole.
template <class Argument>
struct Whole {
    Argument argument;  ///< in(...)
};
template <class Argument>
Whole<Argument> whole(Argument argument) {
    static_assert(tagging::is_tagged<Argument>, "penstock: whole() takes a tagged argument, whole(in(x))");
    static_assert(Argument::access == Access::in,
                  "penstock: parts that run at the same time may only read what they share");
    return {argument};
}

/// An argument of which each part reads `more` items behind its own, which are the next part's.
template <class Argument>
struct Overlapping {
    Argument argument;  ///< in(...)
    std::size_t more;   ///< items
};
template <class Argument>
Overlapping<Argument> overlapping(Argument argument, std::size_t more) {
    static_assert(tagging::is_tagged<Argument>,
                  "penstock: overlapping() takes a tagged argument, overlapping(in(x), 2)");
    static_assert(Argument::access == Access::in,
                  "penstock: parts that run at the same time may only read what they share");
    return {argument, more};
}

namespace splitting {

template <class T>
inline constexpr bool is_overlapping = false;
template <class T>
inline constexpr bool is_overlapping<Overlapping<T>> = true;
template <class T>
inline constexpr bool is_whole = false;
template <class T>
inline constexpr bool is_whole<Whole<T>> = true;

/// Items from `begin` to before `end`.
struct Part {
    std::size_t begin;  ///< the first
    std::size_t end;    ///< behind the last
};

template <class T>
std::size_t extent(std::span<T> values) {
    return values.size();
}
template <class T, std::size_t Rank>
std::size_t extent(const view<T, Rank>& values) {
    return values.extent(0);
}
template <class T>
std::span<T> cut(std::span<T> values, Part part) {
    return values.subspan(part.begin, part.end - part.begin);
}
template <class T, std::size_t Rank>
view<T, Rank> cut(const view<T, Rank>& values, Part part) {
    typename view<T, Rank>::Extents offset{}, extents = values.extents();
    offset[0] = part.begin;
    extents[0] = part.end - part.begin;
    return values.part(offset, extents);
}

/// What is known of all arguments before they are cut.
struct Split {
    std::size_t items = ~std::size_t{0};  ///< the least of the extents
    std::size_t bytes = 0;                ///< of all that is cut

    /// Takes note of an argument.
    template <class Argument>
    void count(const Argument& argument) {
        if constexpr (tagging::is_tagged<Argument>) {
            static_assert(!tagging::is_pieces<typename Argument::shape_type>,
                          "penstock: a list of pieces cannot be split; issue a call for each piece");
            items = std::min(items, extent(argument.value));
            bytes += argument.value.size() * sizeof(*argument.value.data());
        }
    }
    /// Throws UsageError where its extent does not fit.
    template <class Argument>
    void check(const Argument& argument, int number) const {
        if constexpr (tagging::is_tagged<Argument>) check_extent(extent(argument.value), 0, number);
        else if constexpr (is_overlapping<Argument>)
            check_extent(extent(argument.argument.value), argument.more, number);
    }
    /// What a part gets of it.
    template <class Argument>
    auto part_of(const Argument& argument, Part part) const {
        if constexpr (tagging::is_tagged<Argument>) return part_with(argument, part, 0);
        else if constexpr (is_overlapping<Argument>) return part_with(argument.argument, part, argument.more);
        else if constexpr (is_whole<Argument>) return argument.argument;
        else return argument;
    }
    /// As many as are worth a hand-off each, and begin where no line of the cache is shared where there are enough.
    std::size_t parts(std::size_t workers) const {
        constexpr std::size_t least_bytes = 8 * 1024;
        return std::max<std::size_t>(1, std::min({workers, items, bytes / least_bytes}));
    }
    /// The first item of a part.
    std::size_t begin(std::size_t part, std::size_t parts) const {
        const std::size_t step = items >= 64 * 64 ? 64 : 1;
        return part == parts ? items : part * (items / parts) / step * step;
    }

  private:
    template <class Argument>
    Argument part_with(Argument argument, Part part, std::size_t more) const {
        const auto each = (extent(argument.value) - more) / std::max<std::size_t>(items, 1);
        argument.value = cut(argument.value, {part.begin * each, part.end * each + more});
        return argument;
    }
    void check_extent(std::size_t extent, std::size_t more, int number) const {
        if (items == 0 ? extent == more : extent >= more && extent != more && (extent - more) % items == 0) return;
        throw UsageError("split: argument " + std::to_string(number) + " has " + std::to_string(extent) +
                         " elements in its first dimension" +
                         (more == 0 ? "" : ", of which the parts share " + std::to_string(more)) +
                         "; the shortest argument has " + std::to_string(items) +
                         ", and the others must have a multiple of that: give whole(in(...)) what each part reads in "
                         "full");
    }
};

}  // namespace splitting

/// Calls f with parts of the arguments: the first dimension of each tagged one is cut, among the targets and the
/// calling thread; scalars and whole() arguments go to every part. Returns when all have run. f must give the same
/// values for a part as it gives for these elements of all. The shortest argument says how many items there are, and
/// the others hold a multiple of that, which stays together (a span of rows x columns values beside one of rows).
/// Little work is not cut. Throws UsageError for extents that do not fit, what call() throws, and the first TaskFailed
/// when all parts have ended. Costs a call and a wait for each part.
template <auto f, class... Arguments>
void split(Machine& machine, Arguments... arguments) {
    static_assert((tagging::is_tagged<Arguments> || ...),
                  "penstock: nothing to split: no argument is in, out or inout");
    splitting::Split all;
    (all.count(arguments), ...);
    int number = 0;
    (all.check(arguments, number++), ...);
    const auto targets = static_cast<std::size_t>(machine.targets());
    const auto parts = all.parts(targets + 1);
    const bool by_name = !machine.in_task();  // a task must not wait for one that only its own target may run
    std::vector<Handle> handles;
    handles.reserve(parts);
    std::exception_ptr failure;
    try {
        for (std::size_t part = 0; part < parts; ++part) {
            const splitting::Part cut{all.begin(part, parts), all.begin(part + 1, parts)};
            if (by_name && part + 1 != parts)
                handles.push_back(machine.on(static_cast<int>(part)).template call<f>(all.part_of(arguments, cut)...));
            else handles.push_back(machine.template call<f>(all.part_of(arguments, cut)...));
        }
    } catch (...) {
        failure = std::current_exception();
    }
    for (auto handle = handles.rbegin(); handle != handles.rend(); ++handle) try {  // the caller's own first
            handle->wait(help);
        } catch (...) {
            if (failure == nullptr) failure = std::current_exception();
        }
    if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace penstock
