// task layer: resident data as arguments of a call: what is kept of them, how they travel in a descriptor, and how they
// land.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "penstock/argument.hpp"
#include "penstock/detail/task/carrier.hpp"
#include "penstock/detail/task/landing.hpp"
#include "penstock/detail/task/local_store.hpp"
#include "penstock/detail/task/pack.hpp"
#include "penstock/detail/task/procedure.hpp"
#include "penstock/detail/task/use_count.hpp"
#include "penstock/heap.hpp"

namespace penstock {

class Machine;

namespace resident {

/// A version as worker processes see it, in the shared heap of their machine: the bytes, and a copy for each target,
/// which its worker fills at its first task with this version. A worker that takes a dead one's seat fills it anew,
/// unless it is an accumulator's, which keeps what tasks have added.
struct SharedVersion {
    struct Copy {
        std::byte* bytes = nullptr;
        std::atomic<std::uint64_t> filled_by{0};  ///< the worker's incarnation; 0: nobody yet
    };
    std::size_t size = 0;
    const std::byte* original = nullptr;
    bool accumulates = false;
    Copy* copies = nullptr;

    std::byte* local(std::uint32_t worker, std::uint64_t incarnation) noexcept;
};

/// One set of values: the bytes as they were given, and each worker's copy.
class Version : public Shared {
  public:
    Version(std::span<const std::byte> bytes, std::uint64_t number, std::size_t workers, std::size_t targets,
            bool accumulates);
    ~Version() override;

    /// The same in the heap of the worker processes' machine, made when it is first asked for. Throws SystemError.
    SharedVersion& share(const std::shared_ptr<SharedHeap>& heap);

    std::uint64_t number() const noexcept { return number_; }
    void renumber(std::uint64_t number) noexcept { number_ = number; }
    std::span<const std::byte> bytes() const noexcept { return {original_, size_}; }
    /// The calling worker's own copy, made at its first use. Throws std::bad_alloc.
    std::byte* local(std::uint32_t worker) {
        std::byte* const copy = copies_[worker];
        return copy != nullptr ? copy : make_copy(worker);
    }
    /// A worker's copy, or null. Only while no task uses this.
    const std::byte* copy(std::uint32_t worker) const noexcept;
    std::size_t workers() const noexcept { return copies_.size(); }

  private:
    std::byte* make_copy(std::uint32_t worker);

    std::uint64_t number_;
    std::size_t size_;
    std::byte* original_;
    std::size_t targets_;
    bool accumulates_;
    std::mutex mutex_;
    std::shared_ptr<SharedHeap> heap_;  ///< of worker processes; null until share()
    std::atomic<SharedVersion*> shared_{nullptr};
    std::vector<std::byte*> copies_;  ///< each written by its worker alone, read by others only when no task uses this
};

/// What the objects of one resident thing share: the current version.
class State {
  public:
    /// Throws UsageError when the machine's resident data would not fit a local store.
    State(Machine& machine, std::span<const std::byte> bytes, bool accumulates = false);
    ~State();
    State(const State&) = delete;
    State& operator=(const State&) = delete;

    std::size_t bytes() const noexcept { return bytes_; }
    std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
    void update(std::span<const std::byte> bytes);
    std::shared_ptr<Version> current() const;
    /// Begins a use of the current version. Throws UsageError when the task goes to another machine.
    Version& begin(std::uint64_t machine) const;
    /// Begins a use of this version if it is the current one.
    bool begin(const Version& version) const;
    void require_machine(std::uint64_t machine) const {
        if (machine != machine_) [[unlikely]]
            refuse_machine();
    }
    /// Shows the bytes as they were given and each copy. Throws UsageError while tasks use the current version.
    void visit(const std::function<void(const std::byte*)>& first,
               const std::function<void(std::uint32_t, const std::byte*)>& copy) const;

  private:
    [[noreturn]] static void refuse_machine();

    std::uint64_t machine_;
    std::size_t bytes_;
    std::size_t workers_;
    std::size_t targets_;
    bool accumulates_;
    std::shared_ptr<std::atomic<std::size_t>> budget_;  ///< bytes of resident data of the machine, which may be gone
    mutable std::mutex mutex_;
    std::shared_ptr<Version> current_;
    std::atomic<std::uint64_t> number_{1};
};

/// What travels: the version, begun when the call is issued. In a chain the chain's task counts, once for all of its
/// steps.
template <Access access_, class T>
struct Argument {
    using ResidentArgument = void;
    static constexpr Access access = access_;
    Version* version = nullptr;
    bool counted = true;
    SharedVersion* elsewhere = nullptr;  ///< travels instead where another process runs the task

    std::size_t bytes() const noexcept { return elsewhere != nullptr ? elsewhere->size : version->bytes().size(); }
    std::byte* local(const LocalStore& store) const {
        return elsewhere != nullptr ? elsewhere->local(store.worker(), store.incarnation())
                                    : version->local(store.worker());
    }
    /// Whoever sees the completion ends the use.
    void carry_over(isolated::Carrier& carrier, int) {
        elsewhere = &version->share(carrier.heap());
        carrier.hold(*version);
    }
    /// The task's use is over: once, whether it ran or failed before.
    void end(std::uint32_t worker) const noexcept {
        if (counted) version->uses.end(worker);
    }
    void discard() const noexcept { end(0); }
};

/// What in(resident) and inout(accumulator) give. Holds the data until the call is issued.
template <Access access_, class T>
struct Use {
    using ResidentArgument = void;
    static constexpr Access access = access_;
    using element_type = T;
    std::shared_ptr<State> state;

    Argument<access, T> begin(std::uint64_t machine) const { return {&state->begin(machine), true}; }
    /// Refuses what no update changes: the number of elements that the parameter takes, and two arguments of one task
    /// that are the same data, one of them written.
    template <class P, class... All>
    void check(std::string_view task, int number, const All&... all) const;
};

}  // namespace resident

namespace packing {

/// The address of the version; its lowest bit says that nobody counts, the next that it is a SharedVersion.
template <Access access, class T>
struct Codec<resident::Argument<access, T>> {
    using Stored = resident::Argument<access, T>;
    static constexpr bool boxed = false;
    static constexpr std::size_t bytes = address_bytes;
    static bool fits(const Stored& a) noexcept { return address_fits(a.version); }
    static void store(std::byte* at, const Stored& a) noexcept {
        if (a.elsewhere != nullptr) [[unlikely]]
            return store_address(at, reinterpret_cast<const std::byte*>(a.elsewhere) + 3);
        store_address(at, reinterpret_cast<const std::byte*>(a.version) + (a.counted ? 0 : 1));
    }
    static Stored load(const std::byte* at) noexcept {
        const auto word = reinterpret_cast<std::uintptr_t>(load_address(at));
        if ((word & 2) != 0) [[unlikely]]
            return {nullptr, false, reinterpret_cast<resident::SharedVersion*>(word & ~std::uintptr_t{3})};
        return {reinterpret_cast<resident::Version*>(word & ~std::uintptr_t{1}), (word & 1) == 0};
    }
};

}  // namespace packing

namespace procedure {

template <Access access, class T>
struct Natural<resident::Use<access, T>> {
    using Type = std::span<T>;
};
/// As a span of the elements would be.
template <class P, Access access, class T>
struct Bind<P, resident::Use<access, T>> : Bind<P, Tagged<access, std::span<T>>> {
    using Stored = resident::Argument<access, T>;
};

}  // namespace procedure

namespace landing {

template <class Parameter, Access access, class T>
class Landing<Parameter, resident::Argument<access, T>> {
    using Plain = std::remove_cvref_t<Parameter>;

  public:
    static constexpr bool copies = false;
    Landing(resident::Argument<access, T>& stored, LocalStore& store)
        : values_(reinterpret_cast<T*>(stored.local(store)), stored.bytes() / sizeof(T)) {}

    Parameter get() noexcept {
        if constexpr (is_object_parameter<Parameter>) return values_.front();
        else if constexpr (tagging::is_view<Plain>) return Plain(values_.data(), {values_.size()});
        else if constexpr (Plain::extent == std::dynamic_extent) return values_;
        else return Parameter(values_.data(), Plain::extent);
    }
    void write_back() noexcept {}

  private:
    std::span<T> values_;
};

}  // namespace landing

namespace resident {

template <Access access_, class T>
template <class P, class... All>
void Use<access_, T>::check(std::string_view task, int number, const All&... all) const {
    procedure::check_extent<P>(task, number, [&] { return state->bytes() / sizeof(T); });
    int same = 0;
    bool written = false;
    const auto look = [&]<class B>(const B& other) {
        if constexpr (procedure::is_resident<B>) {
            if (other.state != state) return;
            ++same;
            written = written || B::access != Access::in;
        }
    };
    (look(all), ...);
    if (same > 1 && written)
        procedure::refuse(
            task, number,
            "overlaps another argument of the same call (it is the same accumulator), and one of the two is written");
}

}  // namespace resident
}  // namespace penstock
