// task layer: what a parameter receives. An argument lands in place, or staged in the local store and written back.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "penstock/argument.hpp"
#include "penstock/detail/task/local_store.hpp"
#include "penstock/detail/task/long_copy.hpp"

namespace penstock::landing {

/// Copies elements to other memory, or back.
template <bool gather, class T>
void copy(std::span<T> value, std::remove_const_t<T>* contiguous) {
    auto* to = contiguous;
    const T* from = value.data();
    if constexpr (!gather) to = value.data(), from = contiguous;
    if constexpr (std::is_trivially_copyable_v<T>)
        if (value.size_bytes() >= long_copy::least_bytes)
            return long_copy::copy(reinterpret_cast<std::byte*>(to), reinterpret_cast<const std::byte*>(from),
                                   value.size_bytes());
    std::copy_n(from, value.size(), to);
}

/// Copies all elements of a view in row-major order to contiguous memory, or back.
template <bool gather, class T, std::size_t Rank>
void copy(const view<T, Rank>& strided, std::remove_const_t<T>* contiguous) {
    if (strided.empty()) return;
    const std::size_t columns = strided.extent(Rank - 1);
    const auto step = strided.stride(Rank - 1);
    const auto copy_row = [&](T* row) {
        if (step == 1) copy<gather>(std::span(row, columns), contiguous);
        else
            for (std::size_t j = 0; j < columns; ++j) {
                auto& element = row[static_cast<std::ptrdiff_t>(j) * step];
                if constexpr (gather) contiguous[j] = element;
                else element = contiguous[j];
            }
        contiguous += columns;
    };
    if constexpr (Rank == 1) {
        copy_row(strided.data());
    } else {
        constexpr std::size_t outer = Rank - 2;  // dimensions around the matrices of rows
        std::array<std::size_t, outer + 1> index{};
        for (;;) {
            T* matrix = strided.data();
            for (std::size_t d = 0; d < outer; ++d) matrix += static_cast<std::ptrdiff_t>(index[d]) * strided.stride(d);
            for (std::size_t r = 0; r < strided.extent(outer); ++r)
                copy_row(matrix + static_cast<std::ptrdiff_t>(r) * strided.stride(outer));
            std::size_t d = outer;
            for (; d-- > 0;) {
                if (++index[d] < strided.extent(d)) break;
                index[d] = 0;
            }
            if (d == static_cast<std::size_t>(-1)) return;
        }
    }
}

template <bool gather, class T>
void copy(const pieces<T>& list, std::remove_const_t<T>* contiguous) {
    for (auto piece : list) {
        copy<gather>(piece, contiguous);
        contiguous += piece.size();
    }
}

/// The plain case: the parameter refers to the caller's memory, or gets a scalar.
template <class Parameter, class Stored>
class Landing {
  public:
    static constexpr bool copies = false;
    Landing(Stored& stored, LocalStore&) noexcept : stored_(stored) {}
    Parameter get() noexcept { return static_cast<Parameter>(stored_); }
    void write_back() noexcept {}

  private:
    Stored& stored_;
};

/// A single object, given as a span of one.
template <class T>
inline constexpr bool is_object_parameter = std::is_lvalue_reference_v<T> && !tagging::is_shape<std::remove_cvref_t<T>>;

/// The elements that a parameter takes; std::dynamic_extent: any number.
template <class Parameter>
constexpr std::size_t extent_of() {
    using Plain = std::remove_cvref_t<Parameter>;
    if constexpr (is_object_parameter<Parameter>) return 1;
    else if constexpr (tagging::is_span<Plain>) return Plain::extent;
    else return std::dynamic_extent;
}

/// Must the argument be made contiguous for this parameter?
template <class Parameter, class Shape>
inline constexpr bool needs_staging = tagging::is_span<std::remove_cvref_t<Parameter>> && !tagging::is_span<Shape>;

/// Is an argument copied into the local store for this parameter?
template <class Parameter, class Stored>
inline constexpr bool is_copied = false;
template <class Parameter, Access access, class Shape, bool staged>
inline constexpr bool is_copied<Parameter, Tagged<access, Shape, staged>> = staged || needs_staging<Parameter, Shape>;

template <class Parameter, Access access, class Shape, bool staged>
class Landing<Parameter, Tagged<access, Shape, staged>> {
    using Stored = Tagged<access, Shape, staged>;
    using Plain = std::remove_cvref_t<Parameter>;
    using Value = std::remove_const_t<typename Shape::element_type>;

  public:
    static constexpr bool copies = is_copied<Parameter, Stored>;
    Landing(Stored& stored, LocalStore& store) : stored_(stored) {
        if constexpr (copies) {
            static_assert(std::is_trivially_copyable_v<Value>,
                          "penstock: only trivially copyable elements can be staged");
            static_assert(alignof(Value) <= LocalStore::alignment,
                          "penstock: elements that need more than 128-byte alignment cannot be staged");
            size_ = stored.value.size();
            buffer_ = reinterpret_cast<Value*>(store.allocate(size_ * sizeof(Value)));
            if constexpr (access != Access::out) {
                const std::uint64_t begin = store.copies();
                copy<true>(stored.value, buffer_);
                store.copied(false, begin, size_ * sizeof(Value));
            }
            store_ = &store;
        }
    }

    Parameter get() noexcept {
        if constexpr (is_object_parameter<Parameter>) {
            return *data();
        } else if constexpr (tagging::is_span<Plain>) {
            // A parameter of fixed extent was held against the argument's size when the call was issued.
            landed_.emplace(data(), Plain::extent == std::dynamic_extent ? stored_.value.size() : Plain::extent);
            return static_cast<Parameter>(*landed_);
        } else if constexpr (tagging::is_view<Plain>) {
            if constexpr (tagging::is_span<Shape>)
                landed_.emplace(data(), typename Plain::Extents{stored_.value.size()});
            else if constexpr (copies) landed_.emplace(buffer_, stored_.value.extents());
            else landed_.emplace(stored_.value.data(), stored_.value.extents(), stored_.value.strides());
            return static_cast<Parameter>(*landed_);
        } else {
            static_assert(!staged, "penstock: pieces cannot be staged for a parameter of pieces; take a span instead");
            landed_.emplace(stored_.value);
            return static_cast<Parameter>(*landed_);
        }
    }

    void write_back() {
        if constexpr (copies && access != Access::in) {
            const std::uint64_t begin = store_->copies();
            copy<false>(stored_.value, buffer_);
            store_->copied(true, begin, size_ * sizeof(Value));
        }
    }

  private:
    auto* data() const noexcept {
        if constexpr (copies) return buffer_;
        else return stored_.value.data();
    }

    // Kept here, so that a parameter of type `const std::span<T>&` has something to refer to.
    using Landed = std::optional<std::conditional_t<is_object_parameter<Parameter>, char, Plain>>;

    Stored& stored_;
    Landed landed_;
    Value* buffer_ = nullptr;
    std::size_t size_ = 0;
    LocalStore* store_ = nullptr;
};

/// An owned value lands as itself, or as a span of what it holds.
template <class Parameter, class T>
class Landing<Parameter, Owned<T>> {
  public:
    static constexpr bool copies = false;
    Landing(Owned<T>& stored, LocalStore&) noexcept : stored_(stored) {}
    Parameter get() {
        if constexpr (tagging::is_span<std::remove_cvref_t<Parameter>>) return std::span{stored_.value};
        else if constexpr (std::is_lvalue_reference_v<Parameter>) return stored_.value;
        else return std::move(stored_.value);
    }
    void write_back() noexcept {}

  private:
    Owned<T>& stored_;
};

}  // namespace penstock::landing
