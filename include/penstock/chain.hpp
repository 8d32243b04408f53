// task layer: chains. Several calls issued as one task: one descriptor, one completion, and data that pass from one to
// the next through the local store of whichever target runs them, without a way through main memory. The idea is
// Cell-RTL's. How long a chain should be depends on its jobs: `./bench paper cell-chains` compares 1, 4 and 16 of
// 32,400 bytes each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "penstock/detail/task/chain_argument.hpp"
#include "penstock/detail/task/chain_image.hpp"
#include "penstock/detail/task/initiator.hpp"

namespace penstock {
namespace chain {

/// How the value of one parameter lies among the values that a chain's task gives to its image, and what stands for it.
template <class P>
struct Parameter {  // a scalar
    static_assert(std::is_trivially_copyable_v<P> && !std::is_pointer_v<P>,
                  "penstock: a chain's parameters are spans, views, references to one object, and scalars that are "
                  "trivially copyable");
    static constexpr bool sized = false;
    static constexpr std::size_t bytes = sizeof(P);
    using StandIn = ChainScalar<P>;
    static StandIn stand_in(Location place) noexcept { return StandIn(place); }
    static void store(std::byte* at, const P& value) noexcept { std::memcpy(at, &value, sizeof value); }
};

inline void store_span(std::byte* at, const void* data, std::size_t size) noexcept {
    std::memcpy(at, &data, sizeof data);
    std::memcpy(at + sizeof data, &size, sizeof size);
}

template <class T, std::size_t N>
struct Parameter<std::span<T, N>> {
    static constexpr bool sized = true;
    static constexpr std::size_t bytes = 16;
    using StandIn = ChainSpan<T>;
    static StandIn stand_in(Location place) noexcept { return {place, N == std::dynamic_extent ? any_count : N}; }
    static void store(std::byte* at, std::span<T, N> value) noexcept { store_span(at, value.data(), value.size()); }
};
template <class T>
struct Parameter<T&> : Parameter<std::span<T, 1>> {
    static void store(std::byte* at, T& value) noexcept { store_span(at, &value, 1); }
};
template <class T, std::size_t Rank>
struct Parameter<view<T, Rank>> {
    using Codec = packing::Codec<Tagged<Access::in, view<T, Rank>>>;
    static constexpr bool sized = false;
    static constexpr std::size_t bytes = Codec::bytes;
    using StandIn = ChainView<T, Rank>;
    static StandIn stand_in(Location place) noexcept {
        typename view<T, Rank>::Extents one;
        one.fill(1);
        return {place, view<T, Rank>(nullptr, one)};
    }
    static void store(std::byte* at, view<T, Rank> value) noexcept { Codec::store(at, {value}); }
};

/// Where the value of each parameter begins.
template <class... P>
constexpr std::array<std::size_t, sizeof...(P) + 1> value_offsets() {
    std::array<std::size_t, sizeof...(P) + 1> offsets{};
    std::size_t i = 0;
    ((offsets[i + 1] = offsets[i] + (Parameter<P>::bytes + 7) / 8 * 8, ++i), ...);
    return offsets;
}

/// What a step's argument is for the machinery of plain calls: a stand-in becomes the tagged memory, or the scalar,
/// that it stands for.
template <class A>
struct Mapped {
    using Type = A;
    static constexpr bool stands_in = false;
    static constexpr bool is_scalar = false;
};
template <Access access, class Shape, bool staged>
struct Mapped<Argument<access, Shape, staged>> {
    using Type = Tagged<access, Shape, staged>;
    static constexpr bool stands_in = true;
    static constexpr bool is_scalar = false;
};
template <class T>
struct Mapped<ChainScalar<T>> {
    using Type = T;
    static constexpr bool stands_in = true;
    static constexpr bool is_scalar = true;
};

/// The callable that travels in a chain's descriptor.
template <class... P>
struct Task {
    using TakesStore = void;
    const Program* program;

    void run(LocalStore& store, P... parameters) const {
        struct End {
            Image* image;
            std::uint32_t worker;
            ~End() {
                if (image != nullptr) image->end(worker);
            }
        } const end{program->image, store.worker()};
        if constexpr (sizeof...(P) == 0) {
            program->run(store, nullptr);
        } else {
            constexpr auto offsets = value_offsets<P...>();
            alignas(16) std::byte values[offsets.back()];
            std::size_t i = 0;
            (Parameter<P>::store(values + offsets[i++], static_cast<P>(parameters)), ...);
            program->run(store, values);
        }
    }
    /// Not run after all: it was cancelled, or its arguments found no memory, which happens in worker processes too,
    /// where nobody counts.
    void discard() const noexcept {
        if (program->image != nullptr) program->image->end(0);
    }
    /// For worker processes: the image's copy in the shared heap. Whoever sees the completion ends the use.
    void carry_over(isolated::Carrier& carrier, int) {
        Image& image = *program->image;
        program = &image.share(carrier);
        carrier.hold_chain(image);
    }
};

}  // namespace chain

/// A chain of calls with parameters of types P, which are written as a procedure's: spans, views, references, scalars.
///
///     Chain<std::span<const float>, std::span<float>, float> sharpen;
///     auto [image, result, amount] = sharpen.parameters();
///     auto blurred = sharpen.local<float>(n);  // in the local store of whichever target runs it
///     sharpen.add<blur>(in(image), out(blurred));
///     sharpen.add<mix>(in(image), in(blurred), out(result), amount);
///     machine.call(sharpen, in(a), out(b), 0.5f).wait();  // as often as you like, with other arguments
///
/// It is called like a procedure, also machine.on(2).call(sharpen, ...), from several threads at once, and inside
/// tasks. Its steps run in order on one target, and their arguments are checked against their parameters at compile
/// time, as those of plain calls are. Literal arguments, in(table) of memory that stays the caller's, may stand beside
/// the chain's own. When a step throws, the steps behind it do not run; TaskFailed::task() names it and says which one
/// of how many it is.
///
/// A chain may change at any time, and end while tasks that were issued with it have not: these run as it was when they
/// were issued. Changing it while another thread issues it is a race, as with any object. Moving is possible, copying
/// is not.
template <class... P>
class Chain {
  public:
    /// `name` appears in the messages of failures.
    explicit Chain(std::string name = {})
        : description_(std::make_unique<chain::Description>(std::move(name), sizeof...(P))) {}

    /// What stands for the parameters, in their order: ChainSpan, ChainView, ChainScalar.
    auto parameters() const { return parameters(std::index_sequence_for<P...>{}); }

    /// A block of `extents` elements in the local store, undefined until a step writes it. One extent gives a
    /// ChainSpan, several a contiguous ChainView. Throws UsageError for 2^32 elements or more. Whether the local store
    /// holds all that lives at once is seen when the chain is issued.
    template <class T, class... Extents>
    auto local(Extents... extents) {
        static_assert(std::is_trivially_copyable_v<T>, "penstock: local memory holds trivially copyable elements");
        static_assert(alignof(T) <= LocalStore::alignment, "penstock: local memory is aligned to 128 bytes");
        change();
        if constexpr (sizeof...(Extents) == 1) {
            const std::size_t count = (static_cast<std::size_t>(extents), ...);
            return ChainSpan<T>(description_->add_local(count, sizeof(T)), count);
        } else {
            const view<T, sizeof...(Extents)> shape(nullptr, {static_cast<std::size_t>(extents)...});
            return ChainView<T, sizeof...(Extents)>(description_->add_local(shape.size(), sizeof(T)), shape);
        }
    }

    /// Adds a step that calls `function`. Throws ArgumentError for what a call would refuse, and for a local block that
    /// is read before a step has written it.
    template <auto function, class... Args>
    Chain& add(const Args&... arguments) {
        return add_step<std::decay_t<decltype(function)>, procedure::FunctionName<function>>(
            procedure::Constant<function>{}, arguments...);
    }
    /// The same for a pointer or a closure (trivially copyable, at most 192 bytes).
    template <class F, class... Args>
    Chain& add(const F& closure, const Args&... arguments) {
        static_assert(std::is_trivially_copyable_v<F>,
                      "penstock: a chain's step runs again and again, so its closure must be trivially copyable: "
                      "capture references or pointers");
        return add_step<F, procedure::ClosureName<F>>(closure, arguments...);
    }

    /// Number of steps.
    std::size_t size() const noexcept { return description_->steps().size(); }
    /// Bytes of local store that a run takes. Blocks that are not needed at the same time share room.
    std::size_t local_bytes() const { return chain::Image(*description_).local_bytes(); }

  private:
    friend class Initiator;
    friend class Spread;

    template <std::size_t... I>
    auto parameters(std::index_sequence<I...>) const {
        return std::make_tuple(chain::Parameter<P>::stand_in(
            chain::Location{description_->id(), false, static_cast<std::uint32_t>(I), 0})...);
    }

    template <class Callee, class Name, class F, class... Args>
    Chain& add_step(const F& function, const Args&... arguments);
    template <std::size_t I, class Call, class Parameter, class A>
    void note(std::string_view name, const A& argument);
    template <class A, class... All>
    void note_hazards(std::uint32_t entry, int number, const A& stand_in, const All&... all);

    void change() noexcept { image_.reset(); }
    /// The image that tasks are issued with, a use of it begun.
    chain::Image& begin(Initiator& initiator) const {
        if (auto* const made = image_.get(); made != nullptr && description_->residents().empty()) [[likely]] {
            made->uses.begin();
            return *made;
        }
        return begin_anew(initiator);
    }
    chain::Image& begin_anew(Initiator& initiator) const;

    template <std::size_t I, class A>
    void check(const A& argument) const;
    template <class How, class... Args>
    Handle issue(Initiator& initiator, const How& how, Args&&... arguments) const {
        return issue_as(initiator, how, [](chain::Task<P...> task) { return task; }, std::forward<Args>(arguments)...);
    }
    /// `as(task)`: what is called in the place of the chain's task, and runs it.
    template <class How, class As, class... Args>
    Handle issue_as(Initiator& initiator, const How& how, As&& as, Args&&... arguments) const;
    /// In a process that has no machine: begins a use of the image, and gives the task that ends it.
    template <class... Args>
    chain::Task<P...> task_here(std::size_t local_store_bytes, const Args&... arguments) const;

    /// Set once for each state of the description, by the first thread that issues it.
    class ImagePlace {
      public:
        ImagePlace() = default;
        ImagePlace(ImagePlace&& other) noexcept : image_(other.image_.exchange(nullptr)) {}
        ImagePlace& operator=(ImagePlace&& other) noexcept {
            LetGo{}(image_.exchange(other.image_.exchange(nullptr)));
            return *this;
        }
        ~ImagePlace() { reset(); }
        void reset() noexcept { LetGo{}(image_.exchange(nullptr)); }
        chain::Image* get() const noexcept { return image_.load(std::memory_order_acquire); }
        chain::Image& set(std::unique_ptr<chain::Image> fresh) noexcept {
            chain::Image* found = nullptr;
            if (image_.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
            return *found;
        }

      private:
        std::atomic<chain::Image*> image_{nullptr};
    };

    std::unique_ptr<chain::Description> description_;
    mutable ImagePlace image_;
};

}  // namespace penstock

#include "penstock/detail/task/chain_step.hpp"
