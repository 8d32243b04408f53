// What carries bytes to another process and back, in order: a Unix socket, TCP, or TLS over TCP. None of its functions
// waits.
//
// One thread at a time writes and one reads; a carrier that needs more care than that takes it itself.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <span>

#include "penstock/detail/machine/owned_descriptor.hpp"
#include "wire/secret.hpp"

namespace penstock::wire {

class Carrier {
  public:
    static constexpr ssize_t later = -1;   ///< nothing can be read or written now
    static constexpr ssize_t broken = -2;  ///< the connection has ended, at either side

    enum class Stage { done, reads, writes, failed };

    explicit Carrier(OwnedDescriptor socket) noexcept : socket_(std::move(socket)) {}
    virtual ~Carrier() = default;
    Carrier(const Carrier&) = delete;
    Carrier& operator=(const Carrier&) = delete;

    int descriptor() const noexcept { return socket_.get(); }
    /// How many bytes were written, or `later`, or `broken`.
    virtual ssize_t write(std::span<const iovec> parts) noexcept;
    virtual ssize_t read(std::span<const iovec> parts) noexcept;
    /// False while bytes that write() has taken have not gone: it is to be called again when the socket takes more.
    virtual bool flush() noexcept { return true; }
    /// Goes on with what comes before the first byte: what it waits for.
    virtual Stage begin() noexcept { return Stage::done; }

  private:
    OwnedDescriptor socket_;
};

enum class Side { dials, listens };

/// TLS 1.3 whose key is the secret: both ends are sure of one another without certificates. Throws OpenSslMissing,
/// Error.
std::unique_ptr<Carrier> over_tls(OwnedDescriptor socket, const Secret& secret, Side side);

}  // namespace penstock::wire
