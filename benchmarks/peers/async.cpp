// std::async: each task is a thread, so at most 64 are outstanding.
#include <array>
#include <future>

#include "peers/peer.hpp"

namespace bench {

Peer async_peer() {
    Peer peer{"std-async"};
    peer.round_trip = [] { std::async(std::launch::async, [] { null_task(); }).get(); };
    peer.hand_off = peer.round_trip;
    peer.many = [](int tasks) {
        std::array<std::future<void>, 64> outstanding;
        for (int i = 0; i < tasks; ++i) {
            auto& place = outstanding[static_cast<std::size_t>(i) % outstanding.size()];
            if (place.valid()) place.get();
            place = std::async(std::launch::async, [] { null_task(); });
        }
        for (auto& rest : outstanding)
            if (rest.valid()) rest.get();
    };
    return peer;
}

}  // namespace bench
