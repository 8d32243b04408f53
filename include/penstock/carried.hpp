// stream layer: values as bytes, for filters that live in another process: what they are made of, and the state that
// they keep.
//
// Carried are trivially copyable values, strings, containers that are filled by insert() (vectors, deques, lists, maps,
// sets), pairs, tuples and optionals of what can be carried. A pointer is carried where it points into the machine's
// shared heap, which lies at the same address in every process. What a struct or a closure holds is not looked into: a
// pointer in it must point into that heap too.
//
// Both ends are one program, so a value's bytes are those that it has in memory; sizes are checked all the same,
// because a process that goes wrong may write over anything that it shares.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/error.hpp"

namespace penstock::carried {

/// A value that cannot go to another process; what() says which part of what, and what to do.
struct NotCarried : UsageError {
    using UsageError::UsageError;
};

class Encoder {
  public:
    /// Pointers are carried when they point into these bytes.
    explicit Encoder(const std::byte* heap = nullptr, std::size_t heap_bytes = 0) noexcept
        : heap_(heap), heap_bytes_(heap_bytes) {}

    void bytes(const void* from, std::size_t count) {
        if (count == 0) return;
        const auto at = bytes_.size();
        bytes_.resize(at + count);
        std::memcpy(bytes_.data() + at, from, count);
    }
    /// Throws NotCarried.
    void pointer(const void* value) {
        const auto at = reinterpret_cast<std::uintptr_t>(value) - reinterpret_cast<std::uintptr_t>(heap_);
        if (value != nullptr && (heap_ == nullptr || at > heap_bytes_))
            throw NotCarried(
                "is a pointer to memory of the program's own, which means nothing in another process: point into an "
                "array of "
                "machine.array, or give the value itself");
        bytes(&value, sizeof value);
    }
    const std::vector<std::byte>& all() const noexcept { return bytes_; }
    void clear() noexcept { bytes_.clear(); }

  private:
    std::vector<std::byte> bytes_;
    const std::byte* heap_;
    std::size_t heap_bytes_;
};

class Decoder {
  public:
    explicit Decoder(std::span<const std::byte> from) noexcept : left_(from) {}
    /// Throws Error when fewer are left.
    void bytes(void* to, std::size_t count) {
        if (count > left_.size()) incomplete();
        if (count != 0) std::memcpy(to, left_.data(), count);
        left_ = left_.subspan(count);
    }
    std::size_t left() const noexcept { return left_.size(); }
    [[noreturn]] static void incomplete() {
        throw Error("values that came from another process are incomplete: something has written over them");
    }

  private:
    std::span<const std::byte> left_;
};

namespace detail {

template <class T>
struct IsView : std::false_type {};
template <class T, std::size_t n>
struct IsView<std::span<T, n>> : std::true_type {};
template <class C>
struct IsView<std::basic_string_view<C>> : std::true_type {};
template <class T>
struct IsView<std::reference_wrapper<T>> : std::true_type {};

template <class T>
struct Several : std::false_type {};
template <class... Each>
struct Several<std::tuple<Each...>> : std::true_type {
    template <template <class> class Test>
    static constexpr bool all = (Test<std::remove_cv_t<Each>>::value && ...);
};
template <class A, class B>
struct Several<std::pair<A, B>> : Several<std::tuple<A, B>> {};

template <class T>
concept Container = requires(T& all, const T& fixed, typename T::value_type value) {
    fixed.begin();
    fixed.end();
    fixed.size();
    all.insert(all.end(), std::move(value));
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
struct Possible;

template <class T>
consteval bool possible() {
    if constexpr (std::is_pointer_v<T>) return !std::is_function_v<std::remove_pointer_t<T>>;
    else if constexpr (std::is_reference_v<T> || std::is_member_pointer_v<T> || IsView<T>::value) return false;
    else if constexpr (Several<T>::value) return Several<T>::template all<Possible>;
    else if constexpr (IsOptional<T>::value) return possible<typename T::value_type>();
    else if constexpr (std::is_trivially_copyable_v<T>) return true;
    else if constexpr (Container<T>) return possible<typename T::value_type>();
    else return false;
}

template <class T>
struct Possible : std::bool_constant<possible<T>()> {};

/// What a container's values are decoded as: keys of a map are constant in it.
template <class T>
struct Plain {
    using type = std::remove_cv_t<T>;
};
template <class A, class B>
struct Plain<std::pair<A, B>> {
    using type = std::pair<std::remove_cv_t<A>, std::remove_cv_t<B>>;
};

}  // namespace detail

/// Can values of this type go to another process at all?
template <class T>
inline constexpr bool possible = detail::possible<T>();

/// Throws NotCarried for a pointer outside the heap.
template <class T>
void encode(Encoder& to, const T& value) {
    static_assert(possible<T>);
    if constexpr (std::is_pointer_v<T>) {
        to.pointer(value);
    } else if constexpr (detail::Several<T>::value) {
        std::apply([&](const auto&... each) { (encode(to, each), ...); }, value);
    } else if constexpr (detail::IsOptional<T>::value) {
        const bool there = value.has_value();
        to.bytes(&there, sizeof there);
        if (there) encode(to, *value);
    } else if constexpr (std::is_trivially_copyable_v<T>) {
        to.bytes(std::addressof(value), sizeof value);
    } else {
        const std::uint64_t count = value.size();
        to.bytes(&count, sizeof count);
        if constexpr (requires { value.data(); } && std::is_trivially_copyable_v<typename T::value_type> &&
                      !std::is_pointer_v<typename T::value_type>) {
            to.bytes(value.data(), count * sizeof(typename T::value_type));
        } else {
            for (const auto& each : value) encode<typename T::value_type>(to, each);
        }
    }
}

/// Throws Error when the bytes are not those of such a value.
template <class T>
T decode(Decoder& from) {
    static_assert(possible<T>);
    if constexpr (detail::Several<T>::value) {
        return [&]<class... Each>(std::type_identity<std::tuple<Each...>>) {
            std::tuple<Each...> all{decode<Each>(from)...};  // in their order
            return std::make_from_tuple<T>(std::move(all));
        }([]<class... Each>(std::type_identity<std::tuple<Each...>> same) {
            return same;
        }(std::type_identity<decltype(std::tuple_cat(std::declval<T>()))>{}));
    } else if constexpr (detail::IsOptional<T>::value) {
        bool there = false;
        from.bytes(&there, sizeof there);
        if (!there) return std::nullopt;
        return decode<typename T::value_type>(from);
    } else if constexpr (std::is_trivially_copyable_v<T>) {
        std::array<std::byte, sizeof(T)> bytes;
        from.bytes(bytes.data(), bytes.size());
        return std::bit_cast<T>(bytes);
    } else {
        std::uint64_t count = 0;
        from.bytes(&count, sizeof count);
        T all;
        using Value = typename T::value_type;
        if constexpr (requires { all.resize(count), all.data(); } && std::is_trivially_copyable_v<Value> &&
                      !std::is_pointer_v<Value>) {
            if (count > from.left() / sizeof(Value)) from.incomplete();
            all.resize(count);
            from.bytes(all.data(), count * sizeof(Value));
            return all;
        }
        for (std::uint64_t i = 0; i < count; ++i)
            all.insert(all.end(), decode<typename detail::Plain<typename T::value_type>::type>(from));
        return all;
    }
}

/// The same into a value that there is.
template <class T>
void decode_into(Decoder& from, T& value) {
    if constexpr (std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
        from.bytes(std::addressof(value), sizeof value);
    else value = decode<T>(from);
}

}  // namespace penstock::carried
