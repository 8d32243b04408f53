// OpenSSL 3, found when it is first needed: Penstock is built and used on one machine without it.
#pragma once

#include <cstddef>
#include <string>

#include "penstock/error.hpp"

namespace penstock::wire {

/// The functions that are used, with the types of OpenSSL's own headers reduced to pointers.
struct OpenSsl {
    static constexpr int mode_partial_write = 1, mode_moving_buffer = 2, mode_release_buffers = 16;
    static constexpr int want_read = 2, want_write = 3;
    static constexpr int source_and_sink = 0x0400 | 100, flag_read = 1, flag_write = 2, flag_retry = 8;
    static constexpr int control_flush = 11;
    static constexpr int control_mode = 33, control_least_version = 123, tls_1_3 = 0x0304;

    using PskClient = unsigned (*)(void* ssl, const char* hint, char* identity, unsigned most_identity,
                                   unsigned char* psk, unsigned most_psk);
    using PskServer = unsigned (*)(void* ssl, const char* identity, unsigned char* psk, unsigned most_psk);

    const void* (*sha256)();
    unsigned char* (*hmac)(const void* kind, const void* key, int key_bytes, const unsigned char* of, std::size_t bytes,
                           unsigned char* to, unsigned* to_bytes);
    const void* (*client_method)();
    const void* (*server_method)();
    void* (*new_context)(const void* method);
    void (*free_context)(void* context);
    long (*control)(void* context, int what, long number, void* pointer);
    int (*set_suites)(void* context, const char* names);
    int (*set_tickets)(void* context, std::size_t count);
    void (*set_psk_client)(void* context, PskClient callback);
    void (*set_psk_server)(void* context, PskServer callback);
    void* (*new_connection)(void* context);
    void (*free_connection)(void* ssl);
    void* (*new_method)(int kind, const char* name);  ///< of a BIO, through which a connection reads and writes
    int (*set_method_write)(void* method, int (*write)(void* bio, const char* from, int bytes));
    int (*set_method_read)(void* method, int (*read)(void* bio, char* to, int bytes));
    int (*set_method_control)(void* method, long (*control)(void* bio, int what, long number, void* pointer));
    void* (*new_bio)(const void* method);
    void (*set_bio_data)(void* bio, void* data);
    void* (*bio_data)(void* bio);
    void (*set_bio_init)(void* bio, int yes);
    void (*set_bio_flags)(void* bio, int flags);
    void (*clear_bio_flags)(void* bio, int flags);
    void (*set_bios)(void* ssl, void* to_read, void* to_write);
    void (*set_connecting)(void* ssl);
    void (*set_accepting)(void* ssl);
    int (*handshake)(void* ssl);
    int (*read)(void* ssl, void* to, std::size_t bytes, std::size_t* got);
    int (*write)(void* ssl, const void* from, std::size_t bytes, std::size_t* put);
    int (*error_of)(const void* ssl, int result);
    int (*set_data)(void* ssl, int index, void* data);
    void* (*data)(const void* ssl, int index);
    void (*clear_errors)();

    /// Loads it at the first call. Throws OpenSslMissing.
    static const OpenSsl& found();
    /// Empty when it is there; else why not.
    static std::string missing();
};

}  // namespace penstock::wire
