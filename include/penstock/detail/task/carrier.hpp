// task layer: what a call does so that another process can run its task: checks that its procedure and arguments can be
// carried over, and copies what does not lie in the shared heap into it. What is written there comes back before
// anybody sees the task as complete (Ring::forward).
//
// In place and copied give the same bits (contract 10): a copy is contiguous, and a strided argument becomes a view of
// it with strides of its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "penstock/argument.hpp"
#include "penstock/detail/task/footprint.hpp"
#include "penstock/detail/task/use_count.hpp"
#include "penstock/heap.hpp"

namespace penstock {
class OffloadBackend;
namespace chain {
class Image;
}
}  // namespace penstock

namespace penstock::isolated {

/// What every call looks at whose task is offloaded. Written at the machine's start, but for `lost`.
struct CallSide {
    explicit CallSide(OffloadBackend& its_backend) noexcept : backend(its_backend) {}

    OffloadBackend& backend;
    bool sees_rings = true;  ///< it takes tasks out of the rings themselves; false: each is handed over to it
    const std::byte* heap = nullptr;
    std::size_t heap_bytes = 0;
    std::uint32_t entries = 0;      ///< procedures that the place knows
    std::atomic<bool> lost{false};  ///< nothing is run there any more

    bool inside(std::uintptr_t low, std::uintptr_t high) const noexcept {
        const auto base = reinterpret_cast<std::uintptr_t>(heap);
        return low >= base && high <= base + heap_bytes;
    }
};

/// One argument's copy in the heap.
struct StagedPiece {
    static constexpr std::size_t most_dimensions = 8;
    std::byte* user = nullptr;
    std::byte* copy = nullptr;  ///< contiguous, row-major
    std::size_t bytes = 0;
    std::size_t element = 1;
    std::size_t rank = 0;  ///< 0: contiguous at the user's too
    bool back = false;     ///< out or inout
    std::array<std::size_t, most_dimensions> extents{};
    std::array<std::ptrdiff_t, most_dimensions> strides{};  ///< in bytes
};

/// What belongs to one task on the program's side, freed with it: its copies, and what it uses of chains and resident
/// data.
struct StagedTask {
    explicit StagedTask(OffloadBackend& its_backend) noexcept : backend(&its_backend) {}
    ~StagedTask();
    StagedTask(const StagedTask&) = delete;
    StagedTask& operator=(const StagedTask&) = delete;
    void write_back() const noexcept;

    OffloadBackend* backend;
    std::vector<StagedPiece> pieces;
    std::vector<Shared*> held;            ///< uses that end with the task, once `counts`
    const chain::Image* chain = nullptr;  ///< that the task runs
    bool counts = false;                  ///< the task is issued; before, who began the uses ends them
};

class Carrier {
  public:
    /// Throws WorkersLost, and CannotCarryOver for a procedure that the workers do not have.
    Carrier(const CallSide& side, std::uint32_t entry, std::string_view task) : side_(side), task_(task) {
        if (side.lost.load(std::memory_order_relaxed) || entry > side.entries) [[unlikely]]
            refuse_call(entry);
    }

    /// What belongs to the task; null when nothing does.
    std::unique_ptr<StagedTask> take() noexcept { return std::move(staged_); }

    [[noreturn]] void refuse_box() const;
    [[noreturn]] void refuse_what_stays(int argument) const;
    const std::shared_ptr<SharedHeap>& heap() const noexcept;
    /// A use that the task has of this, and of the chain that it runs.
    void hold(Shared& used);
    void hold_chain(chain::Image& image);
    /// For the checks of a chain's step. Throws CannotCarryOver for a procedure that the workers do not have.
    Carrier for_step(std::uint32_t entry) const;
    /// An argument that a chain's step has whatever the issue brings. Throws CannotCarryOver.
    template <class V>
    void check_literal(const V& value, int argument) const {
        check_bare(value, argument);
        if constexpr (tagging::is_tagged<V>) {
            Bounds bounds{};
            footprint::check(value.value, bounds);
            bool inside = bounds.high == 0 || side_.inside(bounds.low, bounds.high);
            if constexpr (tagging::is_pieces<typename V::shape_type>) {
                const auto list = reinterpret_cast<std::uintptr_t>(value.value.list().data());
                inside = inside && side_.inside(list, list);
            }
            if (!inside) refuse_literal(argument);
        }
    }

    /// For closures that hold their arguments themselves, which have a member carry(Carrier&): where the worker finds
    /// `rows` rows of `row_bytes` bytes at `pitch`. The same address when they lie in the heap; that of a copy without
    /// gaps otherwise. Throws SystemError.
    std::byte* bring_rows(Access access, std::byte* base, std::size_t rows, std::size_t row_bytes,
                          std::ptrdiff_t pitch);

    /// Argument number `argument`, from 1; 0 is the procedure itself. Throws CannotCarryOver, SystemError.
    template <class V>
    void carry(V& value, int argument) {
        if constexpr (requires(Carrier& carrier) { value.carry(carrier); }) value.carry(*this);
        else if constexpr (requires(Carrier& carrier) { value.carry_over(carrier, argument); })
            value.carry_over(*this, argument);
        else if constexpr (requires { typename V::TakesStore; } || requires { typename V::ResidentArgument; })
            refuse_what_stays(argument);
        else check_bare(value, argument);
    }
    template <Access access, class T, bool staged>
    void carry(Tagged<access, std::span<T>, staged>& argument, int number) {
        require_plain<T>(number);
        argument.value = bring<access>(argument.value);
    }
    template <Access access, class T, std::size_t Rank, bool staged>
    void carry(Tagged<access, view<T, Rank>, staged>& argument, int number) {
        require_plain<T>(number);
        auto& value = argument.value;
        Bounds bounds{};
        footprint::check(value, bounds);
        if (value.empty() || side_.inside(bounds.low, bounds.high)) return;
        StagedPiece piece;
        piece.rank = Rank;
        for (std::size_t d = 0; d < Rank; ++d) {
            piece.extents[d] = value.extent(d);
            piece.strides[d] = value.stride(d) * static_cast<std::ptrdiff_t>(sizeof(T));
        }
        value = view<T, Rank>(stage<access>(piece, value.data(), value.size()), value.extents());
    }
    template <Access access, class T, bool staged>
    void carry(Tagged<access, pieces<T>, staged>& argument, int number) {
        require_plain<T>(number);
        const auto list = argument.value.list();
        if (list.empty()) return;
        std::vector<std::span<T>> brought;
        brought.reserve(list.size());
        for (const auto& one : list) brought.push_back(bring<access>(one));
        StagedPiece piece;
        auto* const copy = stage<Access::in>(piece, brought.data(), brought.size());
        argument.value = pieces<T>{std::span<const std::span<T>>{copy, brought.size()}};
    }

  private:
    /// Elements that own something, such as strings, mean nothing in another process; targets in threads take them.
    template <class T>
    void require_plain(int argument) const {
        if constexpr (!std::is_trivially_copyable_v<std::remove_const_t<T>>) refuse_elements(argument);
    }
    template <class V>
    void check_bare([[maybe_unused]] const V& value, [[maybe_unused]] int argument) const {
        if constexpr (std::is_pointer_v<V> && std::is_function_v<std::remove_pointer_t<V>>)
            check_function(reinterpret_cast<const void*>(value), argument);
        else if constexpr (std::is_pointer_v<V>) check_pointer(value, argument);
    }
    template <Access access, class T>
    std::span<T> bring(std::span<T> value) {
        const auto low = reinterpret_cast<std::uintptr_t>(value.data());
        if (value.empty() || side_.inside(low, low + value.size_bytes())) return value;
        StagedPiece piece;
        return {stage<access>(piece, value.data(), value.size()), value.size()};
    }
    template <Access access, class T>
    T* stage(StagedPiece& piece, T* data, std::size_t n) {
        piece.user = reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(data));
        piece.element = sizeof(T);
        piece.bytes = n * sizeof(T);
        piece.back = access != Access::in;
        return reinterpret_cast<T*>(copy_in(piece, access != Access::out));
    }
    std::byte* copy_in(StagedPiece& piece, bool filled);
    StagedTask& staged();
    [[noreturn]] void refuse_literal(int argument) const;
    [[noreturn]] void refuse_elements(int argument) const;
    [[noreturn]] void refuse(int argument, const std::string& why) const;
    [[noreturn]] void refuse_call(std::uint32_t entry) const;
    void check_function(const void* function, int argument) const;
    void check_pointer(const void* pointer, int argument) const;

    const CallSide& side_;
    std::string_view task_;
    std::unique_ptr<StagedTask> staged_;
};

}  // namespace penstock::isolated
