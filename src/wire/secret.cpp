#include "wire/secret.hpp"

#include <sys/random.h>

#include <cerrno>
#include <vector>

#include "machine/uninterrupted.hpp"
#include "penstock/error.hpp"
#include "trace/text.hpp"
#include "wire/openssl.hpp"

namespace penstock::wire {

void fill_randomly(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const auto got = uninterrupted([&] { return getrandom(bytes.data(), bytes.size(), 0); });
        if (got < 0) throw SystemError("the system gives no random bytes", errno);
        bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
}

Secret Secret::random() {
    Secret made;
    fill_randomly(made.bytes);
    return made;
}

Secret Secret::of_text(const std::string& text) {
    Secret made;
    bool right = text.size() == 2 * size;
    for (std::size_t i = 0; right && i < size; ++i) {
        const auto byte = trace::number_of<unsigned char>(std::string_view(text).substr(2 * i, 2), 16);
        right = byte.has_value();
        if (right) made.bytes[i] = std::byte{*byte};
    }
    if (!right) throw UsageError("a cluster's secret has 64 hexadecimal digits; this text has not");
    return made;
}

std::string Secret::text() const {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const auto byte : bytes) {
        text += digits[std::to_integer<unsigned>(byte) >> 4];
        text += digits[std::to_integer<unsigned>(byte) & 15];
    }
    return text;
}

Proof proof_of(const Secret& secret, std::initializer_list<std::span<const std::byte>> parts) {
    std::vector<std::byte> all;
    for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
    Proof proof;
    unsigned length = 0;
    const auto& ssl = OpenSsl::found();
    if (ssl.hmac(ssl.sha256(), secret.bytes.data(), Secret::size, reinterpret_cast<const unsigned char*>(all.data()),
                 all.size(), reinterpret_cast<unsigned char*>(proof.data()), &length) == nullptr ||
        length != proof.size())
        throw Error("OpenSSL could not make a proof of the cluster's secret");
    return proof;
}

bool same(const Proof& one, const Proof& other) noexcept {
    auto differ = std::byte{0};
    for (std::size_t i = 0; i < one.size(); ++i) differ |= one[i] ^ other[i];
    return differ == std::byte{0};
}

}  // namespace penstock::wire
