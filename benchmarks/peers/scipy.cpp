#include "peers/scipy.hpp"

namespace bench {

Scipy::Scipy(int threads) : server_(PENSTOCK_BENCH_SCIPY_SERVER, threads) {}

Contestant Scipy::contestant(const std::string& kernel, std::size_t size) {
    return {"scipy", [this, request = kernel + " " + std::to_string(size)] { return server_.nanoseconds(request); }};
}

}  // namespace bench
