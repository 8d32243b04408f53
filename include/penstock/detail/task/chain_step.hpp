// task layer: the templates of Chain: how a step is checked and packed when it is added, and what an issue checks.
#pragma once

#include <cstring>

#include "penstock/chain.hpp"
#include "penstock/error.hpp"

namespace penstock {
namespace procedure {

template <class... P, class... Args>
struct ParametersOf<chain::Task<P...>, Args...> {
    using List = Parameters<P...>;
    using Result = void;
};
template <class... P>
struct ClosureName<chain::Task<P...>> {
    static constexpr std::string_view value = "chain";
};

}  // namespace procedure

namespace chain {

/// An address for what stands for memory: apart from all memory of the program, from those of other blocks and
/// parameters, and the same for the same block, so that the checks of plain calls find what overlaps within one step.
template <class T>
T* address_of(const Location& place) noexcept {
    constexpr std::uintptr_t nowhere = std::uintptr_t{1} << 62;  // no program has memory there
    constexpr int room = 40;                                     // of one block or parameter
    const auto number = place.index * std::uintptr_t{2} + (place.local ? 1 : 0);
    return reinterpret_cast<T*>(nowhere + (number << room) + place.offset);
}

/// The argument as the checks of plain calls see it.
template <class P, class A>
auto checked_form(const A& argument) {
    if constexpr (!Mapped<A>::stands_in) {
        return argument;
    } else if constexpr (Mapped<A>::is_scalar) {
        return typename Mapped<A>::Type{};
    } else {
        using T = typename A::Shape::element_type;
        if constexpr (tagging::is_span<typename A::Shape>) {
            constexpr std::size_t much = std::min<std::size_t>(UINT32_MAX, (std::size_t{1} << 39) / sizeof(T));
            constexpr std::size_t wanted = landing::extent_of<P>();
            const std::size_t count = argument.count != any_count ? argument.count
                                      : wanted != any_count       ? wanted
                                                                  : much;
            return typename A::AsTagged{{address_of<T>(argument.place), count}};
        } else {
            const auto& shape = argument.packed;
            return typename A::AsTagged{{address_of<T>(argument.place), shape.extents(), shape.strides()}};
        }
    }
}

/// The argument as it is packed into the step's template. What is not known yet is patched when the step runs.
template <class A>
auto packed_form(const A& argument) {
    if constexpr (!Mapped<A>::stands_in) {
        return argument;
    } else if constexpr (Mapped<A>::is_scalar) {
        return typename Mapped<A>::Type{};
    } else if constexpr (tagging::is_span<typename A::Shape>) {
        using T = typename A::Shape::element_type;
        return typename A::AsTagged{{static_cast<T*>(nullptr), argument.count == any_count ? 0 : argument.count}};
    } else {
        return typename A::AsTagged{argument.packed};
    }
}

/// What a worker process could not use of a step: literal memory outside the shared heap, bare pointers, functions that
/// it does not have. What stands for memory is known at the issue; resident data are carried over by the image.
template <class Pack, class... Args>
void check_carried(const Packed& packed, const isolated::Carrier& carrier) {
    const PackedArguments arguments{const_cast<std::byte*>(packed.line), const_cast<std::byte*>(packed.extension.bytes),
                                    false};
    carrier.check_literal(Pack::template load<0>(arguments), 0);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        [[maybe_unused]] const auto one = [&]<class A, std::size_t number>(
                                              std::type_identity<A>, std::integral_constant<std::size_t, number>) {
            if constexpr (!Mapped<A>::stands_in && !procedure::is_resident<A>)
                carrier.check_literal(Pack::template load<number>(arguments), static_cast<int>(number));
        };
        (one(std::type_identity<Args>{}, std::integral_constant<std::size_t, I + 1>{}), ...);
    }(std::index_sequence_for<Args...>{});
}

/// Resident data are named by the image, which knows their versions.
template <class Bound>
auto stored_form(const Bound& bound) {
    if constexpr (procedure::is_resident<Bound>)
        return resident::Argument<Bound::access, typename Bound::element_type>{};
    else return bound;
}

}  // namespace chain

template <class... P>
template <class Callee, class Name, class F, class... Args>
Chain<P...>& Chain<P...>::add_step(const F& function, const Args&... arguments) {
    static_assert(
        (!tagging::is_owned<Args> && ...),
        "penstock: a chain's step runs again and again; what own() hands over would be gone after the first time");
    using Signature = procedure::ParametersOf<Callee, typename chain::Mapped<Args>::Type...>;
    using Call = procedure::Call<F, typename Signature::List, typename chain::Mapped<Args>::Type...>;
    using Steps = procedure::Registered<Call, Name>;
    using Parameters = typename Signature::List;
    static_assert(std::is_void_v<typename Signature::Result>,
                  "penstock: tasks return nothing; let the procedure write its results into an out argument");
    static_assert(!Call::Pack::layout.boxed,
                  "penstock: the arguments of a chain's step take at most 232 bytes; give it a span of them");
    constexpr std::string_view name = Steps::entry.name;
    change();
    try {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            Call::check(name, chain::checked_form<std::tuple_element_t<I, Parameters>>(arguments)...);
            (note<I, Call, std::tuple_element_t<I, Parameters>>(name, arguments), ...);
            (note_hazards(Steps::number, static_cast<int>(I) + 1, arguments, arguments...), ...);
            chain::Packed packed{};
            TaskPayload payload;
            const auto store = [&](const auto&... bound) {
                if (!Call::Pack::fits(function, bound...))
                    throw UsageError("step " + std::string(name) +
                                     " of a chain has an argument that does not fit a descriptor (2^32 elements, or a "
                                     "stride beyond 32 bits)");
                Call::Pack::store(payload, &packed.extension, function, bound...);
            };
            store(chain::stored_form(Call::template bind<I>(name, chain::packed_form(arguments)))...);
            std::memcpy(packed.line, payload.line, sizeof payload.line);
            description_->add_step(Steps::number, packed, Call::Pack::layout.extended,
                                   &chain::check_carried<typename Call::Pack, Args...>);
        }(std::index_sequence_for<Args...>{});
    } catch (...) {
        description_->give_up_step();
        throw;
    }
    return *this;
}

/// Keeps what an argument that stands for something needs: of the issue, and to be patched.
template <class... P>
template <std::size_t I, class Call, class Parameter, class A>
void Chain<P...>::note(std::string_view name, const A& argument) {
    using chain::Patch;
    constexpr packing::Position packed = Call::Pack::layout.places[I + 1];
    constexpr auto to =
        static_cast<std::uint16_t>(packed.in_line ? packed.offset : offsetof(chain::Packed, extension) + packed.offset);
    if constexpr (procedure::is_resident<A>) {
        description_->add_resident(argument.state, to);
    } else if constexpr (chain::Mapped<A>::stands_in) {
        constexpr auto offsets = chain::value_offsets<P...>();
        Patch patch;
        patch.to = to;
        if constexpr (chain::Mapped<A>::is_scalar) {
            using T = typename chain::Mapped<A>::Type;
            static_assert(std::is_same_v<T, std::tuple_element_t<I + 1, typename Call::Pack::Box>>,
                          "penstock: a scalar parameter of a chain must have exactly the type of the step's parameter");
            description_->use(argument.place(), Access::in, name, static_cast<int>(I) + 1);
            patch.from = static_cast<std::uint32_t>(offsets[argument.place().index]);
            patch.count = sizeof(T);
        } else {
            using Shape = typename A::Shape;
            const auto& place = argument.place;
            description_->use(place, A::access, name, static_cast<int>(I) + 1);
            patch.index = place.index;
            patch.offset = place.offset;
            if (!place.local) patch.from = static_cast<std::uint32_t>(offsets[place.index]);
            if (place.local) {
                patch.kind = Patch::Kind::local;
            } else if constexpr (tagging::is_span<Shape>) {
                constexpr std::size_t wanted = landing::extent_of<Parameter>();
                const std::size_t before = place.offset / sizeof(typename Shape::element_type);
                patch.kind = argument.count == chain::any_count ? Patch::Kind::span : Patch::Kind::part;
                if (argument.count != chain::any_count)
                    description_->require(place, before + argument.count, chain::any_count);
                else if (wanted != chain::any_count) description_->require(place, wanted, wanted);
            } else {
                patch.count = packing::Codec<typename A::AsTagged>::bytes;
            }
        }
        description_->add_patch(patch);
    }
}

/// The memory of a parameter is not known yet: what stands beside it in the step is held against it at each issue.
template <class... P>
template <class A, class... All>
void Chain<P...>::note_hazards(std::uint32_t entry, int number, const A& stand_in, const All&... all) {
    if constexpr (chain::Mapped<A>::stands_in && !chain::Mapped<A>::is_scalar) {
        if (stand_in.place.local) return;
        const auto beside = [&]<class B>(const B& literal) {
            if constexpr (tagging::is_tagged<B>) {
                if constexpr (A::access != Access::in || B::access != Access::in) {
                    using T = typename A::Shape::element_type;
                    Bounds bounds;
                    if (footprint::check(literal.value, bounds) != nullptr || bounds.high == 0) return;
                    description_->add_hazard(
                        {stand_in.place.index, stand_in.place.offset,
                         stand_in.count == chain::any_count ? chain::any_count : stand_in.count * sizeof(T), bounds,
                         footprint::of(literal.value), entry, number});
                }
            }
        };
        (beside(all), ...);
    }
}

/// At the first issue, and at each one of a chain with resident data.
template <class... P>
chain::Image& Chain<P...>::begin_anew(Initiator& initiator) const {
    const std::lock_guard lock(description_->mutex());
    for (const auto& place : description_->residents()) place.state->require_machine(initiator.machine_id());
    for (;;) {
        if (auto* const made = image_.get(); made != nullptr && made->begin()) return *made;
        image_.reset();  // a newer version of resident data
        image_.set(std::make_unique<chain::Image>(*description_));
    }
}

/// What plain calls do not check: what the steps need of parameter I.
template <class... P>
template <std::size_t I, class A>
void Chain<P...>::check(const A& argument) const {
    using Mine = std::tuple_element_t<I, std::tuple<P...>>;
    const auto& requirement = description_->requirements()[I];
    if constexpr (chain::Parameter<Mine>::sized) {
        std::size_t size = 1;
        if constexpr (tagging::is_tagged<A>) size = argument.value.size();
        else if constexpr (requires { std::size(argument.value); }) size = std::size(argument.value);
        if (size < requirement.least || size > requirement.most) [[unlikely]]
            description_->refuse_size(I, size);
    }
    if constexpr (tagging::is_tagged<A>) {
        if constexpr (A::access == Access::out)
            if (requirement.read_first) [[unlikely]]
                description_->refuse(I, "is out, but the first step that uses it reads it; give it as inout");
        if constexpr (tagging::is_view<Mine> &&
                      (tagging::is_span<typename A::shape_type> || tagging::is_view<typename A::shape_type>)) {
            using Form = Tagged<Access::in, Mine>;
            bool fits = false;
            if constexpr (tagging::is_span<typename A::shape_type>)
                fits = packing::Codec<Form>::fits({Mine(argument.value.data(), {argument.value.size()})});
            else fits = packing::Codec<Form>::fits({Mine(argument.value)});
            if (!fits) [[unlikely]]
                description_->refuse(
                    I, "does not fit a step's descriptor (an extent of 2^24 or more, or a stride beyond 32 bits)");
        }
        for (const auto& hazard : description_->hazards()) {
            if (hazard.parameter != I) continue;
            Bounds bounds;
            // refused by the call itself, or empty
            if (footprint::check(argument.value, bounds) != nullptr || bounds.high == 0) continue;
            if (hazard.bytes != chain::any_count)
                bounds = {bounds.low + hazard.offset, bounds.low + hazard.offset + hazard.bytes};
            if (!bounds.meets(hazard.bounds)) continue;
            auto mine = footprint::of(argument.value);
            if (hazard.bytes != chain::any_count)
                mine = footprint::of(std::span(reinterpret_cast<const std::byte*>(bounds.low), hazard.bytes));
            if (overlap(mine, hazard.footprint)) description_->refuse_overlap(hazard);
        }
    }
}

template <class... P>
template <class... Args>
chain::Task<P...> Chain<P...>::task_here(std::size_t local_store_bytes, const Args&... arguments) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (check<I>(arguments), ...); }(std::index_sequence_for<P...>{});
    const std::lock_guard lock(description_->mutex());
    if (!description_->residents().empty())
        throw UsageError(
            "a chain with resident data belongs to a machine, and a filter in a worker process has none: keep the data "
            "in the filter itself");
    if (image_.get() == nullptr) image_.set(std::make_unique<chain::Image>(*description_));
    auto& image = *image_.get();
    if (image.local_bytes() > local_store_bytes) image.refuse_local_store(local_store_bytes);
    image.uses.begin();
    return {&image.program()};
}

template <class... P>
template <class How, class As, class... Args>
Handle Chain<P...>::issue_as(Initiator& initiator, const How& how, As&& as, Args&&... arguments) const {
    static_assert(sizeof...(Args) == sizeof...(P),
                  "penstock: the number of arguments differs from the number of the chain's parameters");
    [&]<std::size_t... I>(std::index_sequence<I...>) { (check<I>(arguments), ...); }(std::index_sequence_for<P...>{});
    auto& image = begin(initiator);
    try {
        if (image.local_bytes() > initiator.local_store_bytes()) [[unlikely]]
            image.refuse_local_store(initiator.local_store_bytes());
        return initiator.call_on(how, as(chain::Task<P...>{&image.program()}), std::forward<Args>(arguments)...);
    } catch (...) {
        image.end(0);
        throw;
    }
}

}  // namespace penstock
