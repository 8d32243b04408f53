#include "wire/openssl.hpp"

#include <dlfcn.h>

namespace penstock::wire {
namespace {

struct Loaded {
    OpenSsl functions{};
    std::string missing{};

    Loaded() {
        void* const ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
        void* const crypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
        if (ssl == nullptr || crypto == nullptr) {
            missing =
                "connections between machines need OpenSSL 3 (libssl.so.3 and libcrypto.so.3), and it was not found: "
                "install it (Debian, Ubuntu: apt install libssl3)";
            return;
        }
        auto& to = functions;
        const auto find = [this](void* library, auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
            if (function == nullptr) missing = std::string("the OpenSSL that was found has no ") + name;
        };
        find(crypto, to.sha256, "EVP_sha256");
        find(crypto, to.hmac, "HMAC");
        find(crypto, to.clear_errors, "ERR_clear_error");
        find(ssl, to.client_method, "TLS_client_method");
        find(ssl, to.server_method, "TLS_server_method");
        find(ssl, to.new_context, "SSL_CTX_new");
        find(ssl, to.free_context, "SSL_CTX_free");
        find(ssl, to.control, "SSL_CTX_ctrl");
        find(ssl, to.set_suites, "SSL_CTX_set_ciphersuites");
        find(ssl, to.set_tickets, "SSL_CTX_set_num_tickets");
        find(ssl, to.set_psk_client, "SSL_CTX_set_psk_client_callback");
        find(ssl, to.set_psk_server, "SSL_CTX_set_psk_server_callback");
        find(ssl, to.new_connection, "SSL_new");
        find(ssl, to.free_connection, "SSL_free");
        find(crypto, to.new_method, "BIO_meth_new");
        find(crypto, to.set_method_write, "BIO_meth_set_write");
        find(crypto, to.set_method_read, "BIO_meth_set_read");
        find(crypto, to.set_method_control, "BIO_meth_set_ctrl");
        find(crypto, to.new_bio, "BIO_new");
        find(crypto, to.set_bio_data, "BIO_set_data");
        find(crypto, to.bio_data, "BIO_get_data");
        find(crypto, to.set_bio_init, "BIO_set_init");
        find(crypto, to.set_bio_flags, "BIO_set_flags");
        find(crypto, to.clear_bio_flags, "BIO_clear_flags");
        find(ssl, to.set_bios, "SSL_set_bio");
        find(ssl, to.set_connecting, "SSL_set_connect_state");
        find(ssl, to.set_accepting, "SSL_set_accept_state");
        find(ssl, to.handshake, "SSL_do_handshake");
        find(ssl, to.read, "SSL_read_ex");
        find(ssl, to.write, "SSL_write_ex");
        find(ssl, to.error_of, "SSL_get_error");
        find(ssl, to.set_data, "SSL_set_ex_data");
        find(ssl, to.data, "SSL_get_ex_data");
    }
};

const Loaded& loaded() {
    static const Loaded all;
    return all;
}

}  // namespace

const OpenSsl& OpenSsl::found() {
    if (!loaded().missing.empty()) throw OpenSslMissing(loaded().missing);
    return loaded().functions;
}

std::string OpenSsl::missing() { return loaded().missing; }

}  // namespace penstock::wire
