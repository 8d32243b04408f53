// task layer: a procedure called with tagged arguments. Checks tags against parameters, at compile time where that is
// possible.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <ranges>
#include <tuple>
#include <type_traits>
#include <utility>

#include "penstock/argument.hpp"
#include "penstock/detail/task/entry.hpp"
#include "penstock/detail/task/footprint.hpp"
#include "penstock/detail/task/landing.hpp"
#include "penstock/detail/task/pack.hpp"
#include "penstock/error.hpp"

namespace penstock {

/// A closure that may travel on the heap, because it does not fit a descriptor or is not trivially copyable.
template <class F>
struct Boxed {
    F function;
};

/// Lets machine.call take a closure of any size and with members of any type (contract 4). Costs an allocation.
template <class F>
Boxed<std::remove_cvref_t<F>> boxed(F&& function) {
    return {std::forward<F>(function)};
}

namespace procedure {

// ---- the parameters of something callable ----

template <class... P>
using Parameters = std::tuple<P...>;

template <class F>
struct Signature;  // no unique call operator: see parameters_of
template <class R, class... P, bool quiet>
struct Signature<R (*)(P...) noexcept(quiet)> {
    using Result = R;
    using List = Parameters<P...>;
};
template <class R, class C, class... P, bool quiet>
struct Signature<R (C::*)(P...) noexcept(quiet)> : Signature<R (*)(P...)> {};
template <class R, class C, class... P, bool quiet>
struct Signature<R (C::*)(P...) const noexcept(quiet)> : Signature<R (*)(P...)> {};

template <class A>
struct Natural {
    using Type = A;
};
template <Access access, class Shape, bool staged>
struct Natural<Tagged<access, Shape, staged>> {
    using Type = Shape;
};
template <class T>
struct Natural<Owned<T>> {
    using Type = T&&;
};

/// Parameters<...> of F; for a generic closure, what its arguments naturally are.
template <class F, class... Args>
struct ParametersOf {
    using List = Parameters<typename Natural<Args>::Type...>;
    using Result = std::invoke_result_t<F, typename Natural<Args>::Type...>;
};
template <class F, class... Args>
    requires requires { typename Signature<F>::List; }
struct ParametersOf<F, Args...> : Signature<F> {};
template <class F, class... Args>
    requires requires { &F::operator(); }
struct ParametersOf<F, Args...> : Signature<decltype(&F::operator())> {};

// ---- one argument against its parameter ----

template <class From, class To>
inline constexpr bool narrows = std::is_floating_point_v<From> &&
                                (std::is_integral_v<To> || (std::is_floating_point_v<To> && sizeof(To) < sizeof(From)));

/// What is stored for argument A of parameter P: a Tagged, an Owned, or the scalar in the parameter's own type.
template <class P, class A>
struct Bind {
    using V = std::remove_cvref_t<P>;
    static_assert(!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>,
                  "penstock: a parameter of type T& needs a tagged argument: in(x), out(x) or inout(x)");
    static_assert(!tagging::is_shape<V>,
                  "penstock: a parameter that refers to memory needs a tagged argument: in(x), out(x) or inout(x)");
    static_assert(std::is_trivially_copyable_v<V>,
                  "penstock: scalars travel inside the descriptor and must be trivially copyable; tag it with in(x), "
                  "or hand it over "
                  "with own(std::move(x))");
    static_assert(std::is_convertible_v<A, V>, "penstock: this argument does not convert to the parameter's type");
    static_assert(!narrows<std::remove_cvref_t<A>, V>,
                  "penstock: this conversion would narrow (floating point to integer, or double to float); convert it "
                  "at the call");
    using Stored = V;
    static constexpr bool scalar = true;
};

/// The type of the elements that a parameter takes, constant where it cannot write them; of no memory, constant void.
template <class P>
struct ElementOf : std::conditional<landing::is_object_parameter<P>, std::remove_reference_t<P>, const void> {};
template <class P>
    requires tagging::is_shape<std::remove_cvref_t<P>>
struct ElementOf<P> : std::type_identity<typename std::remove_cvref_t<P>::element_type> {};

template <class P, Access access, class Shape, bool staged>
struct Bind<P, Tagged<access, Shape, staged>> {
    using Plain = std::remove_cvref_t<P>;
    using Element = typename ElementOf<P>::type;
    static constexpr bool same_element =
        std::is_same_v<std::remove_cv_t<Element>, std::remove_cv_t<typename Shape::element_type>>;
    /// `const std::vector<T>&`, given a vector.
    static constexpr bool takes_container = !tagging::is_shape<Plain> && !same_element && std::ranges::range<Plain>;
    static_assert(
        !takes_container,
        "penstock: a tagged argument arrives as the memory of its elements, not as the container: let the "
        "parameter be std::span<const T> (or std::span<T>), or hand the container over with own(std::move(x))");
    static constexpr bool shape_fits() {
        if constexpr (landing::is_object_parameter<P>) return tagging::is_span<Shape>;
        else if constexpr (tagging::is_span<Plain>) return true;  // contiguous, or staged to be so
        else if constexpr (tagging::is_view<Plain> && tagging::is_view<Shape>) return Plain::rank() == Shape::rank();
        else if constexpr (tagging::is_view<Plain>) return tagging::is_span<Shape> && Plain::rank() == 1;
        else return tagging::is_pieces<Shape>;
    }
    static_assert(!(std::is_lvalue_reference_v<P> && !landing::is_object_parameter<P>) ||
                      std::is_const_v<std::remove_reference_t<P>>,
                  "penstock: take a span, a view or pieces by value");
    static_assert(tagging::is_shape<Plain> || landing::is_object_parameter<P>,
                  "penstock: a tagged argument needs a parameter of std::span<T>, penstock::view<T, Rank>, "
                  "penstock::pieces<T> or T&");
    static_assert(same_element || takes_container,
                  "penstock: the argument's elements have another type than the parameter's");
    static_assert(access != Access::in || std::is_const_v<Element>,
                  "penstock: an in argument needs a parameter that cannot write it: std::span<const T>, view<const T, "
                  "Rank> or const T&");
    static_assert(
        access == Access::in || !std::is_const_v<Element>,
        "penstock: an out or inout argument needs a parameter that can write it: std::span<T>, view<T, Rank> or T&");
    static_assert(
        shape_fits(),
        "penstock: the argument's shape does not fit the parameter (number of dimensions, span, view or pieces)");
    using Stored = Tagged<access, Shape, staged>;
    static constexpr bool scalar = false;
};

template <class P, class T>
struct Bind<P, Owned<T>> {
    using Stored = Owned<T>;
    static constexpr bool scalar = false;
};

[[noreturn]] void refuse(std::string_view task, int argument, const char* what);

/// A scalar in its parameter's type; refuses an integer that the parameter cannot hold.
template <class V, class A>
inline V convert(const A& value, std::string_view task, int argument) {
    if constexpr (std::is_arithmetic_v<V> && std::is_integral_v<A> && !std::is_same_v<V, bool>) {
        const V converted = static_cast<V>(value);
        if constexpr (std::is_integral_v<V>) {
            if (static_cast<A>(converted) != value || (value < A{}) != (converted < V{})) [[unlikely]]
                refuse(task, argument, "this integer does not fit the parameter's type");
        } else if constexpr (std::numeric_limits<V>::digits < std::numeric_limits<A>::digits) {
            constexpr auto exact = static_cast<A>(A{1} << std::numeric_limits<V>::digits);
            if (value > exact || (std::is_signed_v<A> && value < static_cast<A>(-exact))) [[unlikely]]
                refuse(task, argument,
                       "this integer is too large for the parameter's floating point type to hold exactly");
        }
        return converted;
    } else {
        return static_cast<V>(value);
    }
}

/// Refuses what a parameter of one object or of a fixed extent does not take. `size()`: how many elements there are.
template <class Parameter, class Size>
void check_extent([[maybe_unused]] std::string_view task, [[maybe_unused]] int argument, [[maybe_unused]] Size&& size) {
    if constexpr (constexpr auto wanted = landing::extent_of<Parameter>(); wanted != std::dynamic_extent)
        if (size() != wanted) [[unlikely]]
            refuse(task, argument,
                   landing::is_object_parameter<Parameter> ? "the parameter takes one object"
                                                           : "has another size than the parameter's fixed extent");
}

/// A callable that the library makes itself (a chain's): it takes the local store beside its arguments, as run(store,
/// ...), and is told when its task is cancelled, by discard().
template <class F>
inline constexpr bool takes_store = requires { typename F::TakesStore; };

/// An argument that stands for resident data (resident_argument.hpp).
template <class A>
inline constexpr bool is_resident = requires { typename A::ResidentArgument; };

/// What a task holds beside memory is let go of when the task does not run.
template <class Stored>
void discard(const Stored& stored) noexcept {
    if constexpr (takes_store<Stored> || is_resident<Stored>) stored.discard();
}

template <class A>
void require_machine(const A& argument, std::uint64_t machine) {
    if constexpr (is_resident<A>) argument.state->require_machine(machine);
}

/// A call site's procedure: F called with arguments of types Args, whose parameters are P.
template <class F, class List, class... Args>
struct Call;

template <class F, class... P, class... Args>
struct Call<F, Parameters<P...>, Args...> {
    static_assert(sizeof...(P) == sizeof...(Args),
                  "penstock: the number of arguments differs from the number of parameters");
    using Pack = packing::Pack<F, typename Bind<P, Args>::Stored...>;  // the callable itself is the first scalar
    static constexpr std::size_t count = sizeof...(Args);
    static constexpr bool has_blocks = (tagging::is_tagged<Args> || ...);
    static constexpr bool has_rows = (tagging::is_in_rows<Args> || ...);
    static constexpr bool stages = (landing::is_copied<P, typename Bind<P, Args>::Stored> || ...);
    static constexpr bool has_residents = (is_resident<Args> || ...);

    /// Argument I in the form in which it is stored: a scalar in its parameter's type, a tagged argument as it is.
    template <std::size_t I, class A>
    static auto bind(std::string_view task, A&& argument) {
        using Stored = std::tuple_element_t<I, std::tuple<typename Bind<P, Args>::Stored...>>;
        if constexpr (is_resident<std::remove_cvref_t<A>>) return std::forward<A>(argument);
        else if constexpr (tagging::is_tagged<std::remove_cvref_t<A>> || tagging::is_owned<std::remove_cvref_t<A>>)
            return Stored{std::forward<A>(argument)};
        else return convert<Stored>(argument, task, static_cast<int>(I) + 1);
    }

    /// Refuses what the contract refuses (7, 8, 9). Nothing is allocated and nothing is locked; about 1 ns an argument.
    [[gnu::always_inline]] static void check([[maybe_unused]] std::string_view task, const Args&... arguments) {
        if constexpr (has_blocks) {
            int number = 0;
            // filled once: clearing it first costs more
            const std::array<Bounds, count> bounds{check_one<P>(task, arguments, ++number)...};
            check_pairs(task, bounds, std::index_sequence_for<Args...>{}, arguments...);
        }
        if constexpr (has_residents) {
            int number = 0;
            (check_resident<P>(task, ++number, arguments, arguments...), ...);
        }
    }

    static void run(const PackedArguments& packed, LocalStore& store) {
        if constexpr (!Pack::layout.boxed) {
            if (!packed.boxed) [[likely]]
                return run_packed(packed, store, std::index_sequence_for<Args...>{});
        }
        const std::unique_ptr<typename Pack::Box> box{Pack::box(packed)};
        std::apply([&](F& function, auto&... stored) { apply(store, function, stored...); }, *box);
    }

    static void discard(const PackedArguments& packed) noexcept {
        if constexpr (takes_store<F> || has_residents) {
            if (packed.boxed) {
                std::apply([](auto&... stored) { (procedure::discard(stored), ...); }, *Pack::box(packed));
            } else if constexpr (!Pack::layout.boxed) {
                [&]<std::size_t... I>(std::index_sequence<I...>) {
                    (procedure::discard(Pack::template load<I>(packed)), ...);
                }(std::make_index_sequence<count + 1>{});
            }
        }
        if (packed.boxed) delete Pack::box(packed);
    }

    static std::size_t describe(const PackedArguments& packed, ArgumentBlock* blocks) noexcept {
        std::size_t n = 0;
        const auto one = [&]<class Parameter, class S>(std::type_identity<Parameter>, const S& stored) {
            if constexpr (tagging::is_tagged<S>)
                describe_one(S::access, landing::is_copied<Parameter, S>, stored.value, blocks, n);
        };
        if (packed.boxed) {
            std::apply([&](const F&, const auto&... stored) { (one(std::type_identity<P>{}, stored), ...); },
                       *Pack::box(packed));
        } else if constexpr (!Pack::layout.boxed) {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                (one(std::type_identity<P>{}, Pack::template load<I + 1>(packed)), ...);
            }(std::index_sequence_for<Args...>{});
        }
        return n;
    }

  private:
    template <class Parameter, class A, class... All>
    static void check_resident(std::string_view task, int number, const A& argument, const All&... all) {
        if constexpr (is_resident<A>) argument.template check<Parameter>(task, number, all...);
    }

    struct NoMark {
        explicit NoMark(LocalStore&) noexcept {}
    };

    // Kept out of the call site, which they would make ten times as long.
    template <class Shape>
    [[gnu::noinline]] static bool reaches_twice(const Shape& value) {
        return overlaps_itself(footprint::of(value));
    }
    template <class First, class Second>
    [[gnu::noinline]] static bool shares_a_byte(const First& first, const Second& second) {
        return overlap(footprint::of(first), footprint::of(second));
    }

    template <class Parameter, class A>
    static Bounds check_one([[maybe_unused]] std::string_view task, [[maybe_unused]] const A& argument,
                            [[maybe_unused]] int number) {
        Bounds bounds;
        if constexpr (tagging::is_tagged<A>) {
            if (const char* wrong = footprint::check(argument.value, bounds)) [[unlikely]]
                refuse(task, number, wrong);
            if constexpr (A::access != Access::in) {
                if (footprint::may_overlap_itself(argument.value)) [[unlikely]] {
                    if (reaches_twice(argument.value))
                        refuse(task, number,
                               "is written and reaches some bytes by more than one index; give its rows room, or make "
                               "it in");
                }
            }
            check_extent<Parameter>(task, number, [&] { return argument.value.size(); });
        }
        return bounds;
    }

    template <std::size_t I, std::size_t J, class A, class B>
    static void check_pair([[maybe_unused]] std::string_view task, [[maybe_unused]] const auto& bounds,
                           [[maybe_unused]] const A& a, [[maybe_unused]] const B& b) {
        if constexpr (J < I && tagging::is_tagged<A> && tagging::is_tagged<B>) {
            if constexpr (A::access != Access::in || B::access != Access::in) {
                if (bounds[I].meets(bounds[J])) [[unlikely]] {
                    if (shares_a_byte(a.value, b.value))
                        refuse(task, static_cast<int>(I) + 1,
                               "overlaps another argument of the same call, and one of the two is written");
                }
            }
        }
    }

    template <std::size_t I, std::size_t... J>
    static void check_row([[maybe_unused]] std::string_view task, [[maybe_unused]] const auto& bounds,
                          std::index_sequence<J...>, const auto& a, const Args&... all) {
        (check_pair<I, J>(task, bounds, a, all), ...);
    }

    template <std::size_t... I>
    static void check_pairs([[maybe_unused]] std::string_view task, [[maybe_unused]] const auto& bounds,
                            [[maybe_unused]] std::index_sequence<I...> indices, const Args&... all) {
        (check_row<I>(task, bounds, indices, all, all...), ...);
    }

    template <std::size_t... I>
    static void run_packed(const PackedArguments& packed, LocalStore& store, std::index_sequence<I...>) {
        auto function = Pack::template load<0>(packed);
        [[maybe_unused]] auto stored = std::make_tuple(Pack::template load<I + 1>(packed)...);
        apply(store, function, std::get<I>(stored)...);
    }

    template <class... Stored>
    static void apply(LocalStore& store, F& function, Stored&... stored) {
        [[maybe_unused]] std::conditional_t<(landing::Landing<P, Stored>::copies || ...), LocalStore::Mark, NoMark>
            mark{store};
        using Holds = std::conditional_t<takes_store<F> || has_residents, EndOfHolds<Stored...>, NothingHeld>;
        [[maybe_unused]] Holds holds{store, function, stored...};
        apply_landed(store, function, holds, landing::Landing<P, Stored>(stored, store)...);
    }

    struct NothingHeld {
        NothingHeld(LocalStore&, const F&, const auto&...) noexcept {}
        void landed() noexcept {}
    };

    /// Lets go of what the task holds beside memory, when all else is over. An argument may fail to land, for lack of
    /// memory to stage it: then others have not landed either, and a callable that lets go by itself when it runs has
    /// not run.
    template <class... Stored>
    class EndOfHolds {
      public:
        EndOfHolds(LocalStore& store, const F& function, const Stored&... stored) noexcept
            : worker_(store.worker()), function_(function), stored_(stored...) {}
        ~EndOfHolds() {
            if constexpr (takes_store<F>)
                if (!landed_) procedure::discard(function_);
            std::apply([this](const auto&... each) { (end(each), ...); }, stored_);
        }
        EndOfHolds(const EndOfHolds&) = delete;
        EndOfHolds& operator=(const EndOfHolds&) = delete;
        void landed() noexcept { landed_ = true; }

      private:
        template <class One>
        void end([[maybe_unused]] const One& one) const noexcept {
            if constexpr (is_resident<One>) one.end(worker_);
        }

        std::uint32_t worker_;
        const F& function_;
        std::tuple<const Stored&...> stored_;
        bool landed_ = false;
    };

    template <class Holds, class... Landed>
    static void apply_landed([[maybe_unused]] LocalStore& store, F& function, Holds& holds, Landed&&... landed) {
        holds.landed();
        if constexpr ((std::remove_cvref_t<Landed>::copies || ...)) store.landed();
        if constexpr (takes_store<F>) function.run(store, landed.get()...);
        else std::invoke(function, landed.get()...);
        (landed.write_back(), ...);
    }

    template <class Shape>
    static void describe_one(Access access, bool staged, const Shape& value, ArgumentBlock* blocks,
                             std::size_t& n) noexcept {
        if constexpr (tagging::is_pieces<Shape>) {
            for (auto piece : value) describe_one(access, staged, piece, blocks, n);
        } else if (n < Entry::max_blocks && !value.empty()) {
            if (describe_block(blocks[n], access, value)) blocks[n++].staged = staged;
        }
    }
};

template <class Shape>
const void* first_byte(const Shape& value) noexcept {
    if constexpr (tagging::is_pieces<Shape>) return value.count() == 0 ? nullptr : value[0].data();
    else return value.data();
}

/// The first byte of the first inout argument, else of the first out argument, else null: where an affine call goes.
template <class... Args>
const void* home_of(const Args&... arguments) noexcept {
    const void* home[2] = {nullptr, nullptr};
    [[maybe_unused]] const auto one = [&]<class A>(const A& argument) {
        if constexpr (tagging::is_tagged<A>) {
            if constexpr (A::access != Access::in) {
                auto& found = home[A::access == Access::inout ? 0 : 1];
                if (found == nullptr) found = first_byte(argument.value);
            }
        }
    };
    (one(arguments), ...);
    return home[0] != nullptr ? home[0] : home[1];
}

template <class F>
inline constexpr bool names_a_member = std::is_member_function_pointer_v<F>;

/// A stateless callable for a function that is part of the type, so that it is inlined into its trampoline.
template <auto function>
struct Constant {
    template <class... A>
    decltype(auto) operator()(A&&... arguments) const {
        return function(std::forward<A>(arguments)...);
    }
};

template <class Call, class Name>
struct Registered {
    static constexpr Entry entry{&Call::run,       &Call::discard, &Call::describe, Name::value,
                                 Call::has_blocks, Call::has_rows, Call::stages};
    static inline const std::uint32_t number = register_entry(entry);
};

template <auto function>
struct FunctionName {
    static constexpr std::string_view value = entry_name::of<function>();
};
template <class F>
struct ClosureName {
    static constexpr std::string_view value = entry_name::of_type<F>();
};

// ---- what a call names ----

/// A pointer, or a closure, which travels as it is.
template <class F>
struct Callee {
    static_assert(
        !names_a_member<F>,
        "penstock: a member function needs its object: call a closure, machine.call([&object](std::span<float> "
        "x) { object.f(x); }, inout(x))");
    static_assert(std::is_trivially_copyable_v<F> && sizeof(F) <= sizeof(Extension),
                  "penstock: this closure does not fit a descriptor (it must be trivially copyable, at most 192 "
                  "bytes): say boxed(f)");
    using Callable = F;
    using Named = F;
    using Name = ClosureName<F>;
    static F&& unpack(F&& function) noexcept { return std::move(function); }
};
template <class F>
struct Callee<Boxed<F>> {
    using Callable = F;
    using Named = F;
    using Name = ClosureName<F>;
    static F&& unpack(Boxed<F>&& box) noexcept { return std::move(box.function); }
};
template <auto function>
struct Callee<Constant<function>> {
    static_assert(
        !names_a_member<std::decay_t<decltype(function)>>,
        "penstock: a member function needs its object: call a closure, machine.call([&object](std::span<float> "
        "x) { object.f(x); }, inout(x))");
    using Callable = Constant<function>;
    using Named = std::decay_t<decltype(function)>;
    using Name = FunctionName<function>;
    static Callable&& unpack(Callable&& constant) noexcept { return std::move(constant); }
};

/// A call site: what is called there, with arguments of these types.
template <class F, class... Args>
struct Site : Callee<F> {
    using Signature = ParametersOf<typename Callee<F>::Named, Args...>;
    static_assert(std::is_void_v<typename Signature::Result>,
                  "penstock: tasks return nothing; let the procedure write its results into an out argument");
    using Call = procedure::Call<typename Callee<F>::Callable, typename Signature::List, Args...>;
    using Registered = procedure::Registered<Call, typename Callee<F>::Name>;
    using Pack = typename Call::Pack;
};
template <class F, class... Args>
using SiteOf = Site<std::decay_t<F>, std::remove_cvref_t<Args>...>;

}  // namespace procedure
}  // namespace penstock
