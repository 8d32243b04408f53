// TLS 1.3 with a pre-shared key. What is written is gathered into records of 16 KiB, and records into one system call:
// a header of 128 bytes in a record of its own costs as much as 16 KiB do.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "machine/uninterrupted.hpp"
#include "wire/carrier.hpp"
#include "wire/openssl.hpp"

namespace penstock::wire {
namespace {

constexpr const char* identity = "penstock";
constexpr std::size_t record_bytes = 16 * 1024;
constexpr std::size_t most_coded = 512 * 1024;  // bytes of records that wait for the socket
constexpr std::size_t read_bytes = 256 * 1024;

const Secret& secret_of(const void* ssl) { return *static_cast<const Secret*>(OpenSsl::found().data(ssl, 0)); }

unsigned give_key(const Secret& secret, unsigned char* to, unsigned most) noexcept {
    if (most < Secret::size) return 0;
    std::memcpy(to, secret.bytes.data(), Secret::size);
    return Secret::size;
}

unsigned key_of_client(void* ssl, const char*, char* name, unsigned most_name, unsigned char* key, unsigned most) {
    if (most_name <= std::strlen(identity)) return 0;
    std::strcpy(name, identity);
    return give_key(secret_of(ssl), key, most);
}

unsigned key_of_server(void* ssl, const char* name, unsigned char* key, unsigned most) {
    return name != nullptr && std::strcmp(name, identity) == 0 ? give_key(secret_of(ssl), key, most) : 0;
}

/// One for each side, for the program's life.
void* context(Side side) {
    static const auto make = [](Side of) -> void* {
        const auto& ssl = OpenSsl::found();
        void* const made = ssl.new_context(of == Side::dials ? ssl.client_method() : ssl.server_method());
        if (made == nullptr) throw Error("OpenSSL gives no context for a connection");
        ssl.control(made, OpenSsl::control_least_version, OpenSsl::tls_1_3, nullptr);
        ssl.control(made, OpenSsl::control_mode, OpenSsl::mode_release_buffers, nullptr);
        // A key of this kind goes with SHA-256.
        ssl.set_suites(made, "TLS_AES_128_GCM_SHA256");
        ssl.set_tickets(made, 0);
        if (of == Side::dials) ssl.set_psk_client(made, &key_of_client);
        else ssl.set_psk_server(made, &key_of_server);
        return made;
    };
    static void* const all[] = {make(Side::dials), make(Side::listens)};
    return all[static_cast<std::size_t>(side)];
}

class TlsCarrier final : public Carrier {
  public:
    TlsCarrier(OwnedDescriptor socket, const Secret& secret, Side side)
        : Carrier(std::move(socket)), secret_(secret), ssl_(library_.new_connection(context(side))) {
        void* const bio = ssl_ == nullptr ? nullptr : library_.new_bio(method());
        if (bio == nullptr || library_.set_data(ssl_, 0, &secret_) != 1) {
            library_.free_connection(ssl_);
            throw Error("OpenSSL cannot begin a connection");
        }
        library_.set_bio_data(bio, this);
        library_.set_bio_init(bio, 1);
        library_.set_bios(ssl_, bio, bio);
        if (side == Side::dials) library_.set_connecting(ssl_);
        else library_.set_accepting(ssl_);
    }
    ~TlsCarrier() override { library_.free_connection(ssl_); }

    Stage begin() noexcept override {
        const std::lock_guard guard(lock_);
        library_.clear_errors();
        const int result = library_.handshake(ssl_);
        const bool sent = push();
        if (result != 1 && library_.error_of(ssl_, result) != OpenSsl::want_read) return Stage::failed;
        if (ended_) return Stage::failed;
        if (!sent) return Stage::writes;
        return result == 1 ? Stage::done : Stage::reads;
    }

    ssize_t write(std::span<const iovec> parts) noexcept override {
        const std::lock_guard guard(lock_);
        ssize_t all = 0;
        std::size_t part = 0, offset = 0;
        while (part < parts.size() && push() && coded() < most_coded) {
            // A whole record of one part is read where it lies.
            const bool whole = parts[part].iov_len - offset >= staged_.size();
            const auto* const from =
                whole ? static_cast<const std::byte*>(parts[part].iov_base) + offset : staged_.data();
            std::size_t staged = whole ? staged_.size() : 0;
            if (whole && (offset += staged) == parts[part].iov_len) ++part, offset = 0;
            while (part < parts.size() && staged < staged_.size()) {
                const auto bytes = std::min(parts[part].iov_len - offset, staged_.size() - staged);
                std::memcpy(staged_.data() + staged, static_cast<const std::byte*>(parts[part].iov_base) + offset,
                            bytes);
                staged += bytes;
                offset += bytes;
                if (offset == parts[part].iov_len) ++part, offset = 0;
            }
            std::size_t put = 0;
            library_.clear_errors();
            if (library_.write(ssl_, from, staged, &put) != 1) return broken;
            all += static_cast<ssize_t>(put);
            if (coded() >= most_coded / 4) (void)push();
        }
        (void)push();
        return ended_ ? broken : all > 0 ? all : later;
    }

    bool flush() noexcept override {
        const std::lock_guard guard(lock_);
        return push();
    }

    ssize_t read(std::span<const iovec> parts) noexcept override {
        const std::lock_guard guard(lock_);
        ssize_t all = 0;
        for (const auto& part : parts)
            for (std::size_t offset = 0; offset < part.iov_len;) {
                std::size_t got = 0;
                library_.clear_errors();
                const int result =
                    library_.read(ssl_, static_cast<std::byte*>(part.iov_base) + offset, part.iov_len - offset, &got);
                if (result == 1) {
                    offset += got;
                    all += static_cast<ssize_t>(got);
                    continue;
                }
                const bool waits = library_.error_of(ssl_, result) == OpenSsl::want_read;
                return all > 0 ? all : waits ? later : broken;
            }
        return all;
    }

  private:
    std::size_t coded() const noexcept { return coded_.size() - pushed_; }

    /// True when all records have gone to the socket.
    bool push() noexcept {
        while (coded() != 0) {
            const iovec part{coded_.data() + pushed_, coded()};
            const auto put = Carrier::write({&part, 1});
            if (put < 0) {
                ended_ = ended_ || put == broken;
                return false;
            }
            pushed_ += static_cast<std::size_t>(put);
        }
        coded_.clear();
        pushed_ = 0;
        return true;
    }

    // ---- what OpenSSL reads and writes through ----
    static TlsCarrier& of(void* bio) { return *static_cast<TlsCarrier*>(OpenSsl::found().bio_data(bio)); }
    static void* method() {
        static void* const made = [] {
            const auto& ssl = OpenSsl::found();
            void* const fresh = ssl.new_method(OpenSsl::source_and_sink, "penstock");
            ssl.set_method_write(fresh, [](void* bio, const char* from, int bytes) {
                try {
                    auto& to = of(bio).coded_;
                    const auto* const begin = reinterpret_cast<const std::byte*>(from);
                    to.insert(to.end(), begin, begin + bytes);
                    return bytes;
                } catch (...) {
                    return -1;
                }
            });
            ssl.set_method_read(fresh, [](void* bio, char* to, int bytes) { return of(bio).fetch(bio, to, bytes); });
            ssl.set_method_control(
                fresh, [](void*, int what, long, void*) { return what == OpenSsl::control_flush ? 1L : 0L; });
            return fresh;
        }();
        return made;
    }
    int fetch(void* bio, char* to, int bytes) noexcept {
        library_.clear_bio_flags(bio, OpenSsl::flag_read | OpenSsl::flag_write | OpenSsl::flag_retry);
        if (taken_ == filled_) {
            const iovec part{received_.data(), received_.size()};
            const auto got = Carrier::read({&part, 1});
            if (got == later) library_.set_bio_flags(bio, OpenSsl::flag_read | OpenSsl::flag_retry);
            if (got < 0) return -1;
            taken_ = 0;
            filled_ = static_cast<std::size_t>(got);
        }
        const auto step = std::min(static_cast<std::size_t>(bytes), filled_ - taken_);
        std::memcpy(to, received_.data() + taken_, step);
        taken_ += step;
        return static_cast<int>(step);
    }

    const OpenSsl& library_ = OpenSsl::found();
    std::mutex lock_;  // a connection of OpenSSL's is used by one thread at a time
    Secret secret_;
    void* ssl_;
    std::array<std::byte, record_bytes> staged_;
    std::vector<std::byte> coded_;  ///< records
    std::size_t pushed_ = 0;
    std::vector<std::byte> received_ = std::vector<std::byte>(read_bytes);
    std::size_t taken_ = 0, filled_ = 0;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<Carrier> over_tls(OwnedDescriptor socket, const Secret& secret, Side side) {
    return std::make_unique<TlsCarrier>(std::move(socket), secret, side);
}

}  // namespace penstock::wire
