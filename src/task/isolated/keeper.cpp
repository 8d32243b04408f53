#include "task/isolated/keeper.hpp"

#include <link.h>

#include <cstdio>

#include "penstock/detail/task/entry.hpp"
#include "task/isolated/heap_mapping.hpp"
#include "task/isolated/worker_board.hpp"

namespace penstock::isolated {
namespace {

using process::Arrived;

/// Notes the base addresses of what this process has loaded.
void note_images(Hello& hello) noexcept {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& all = *static_cast<Hello*>(data);
            const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
            for (int i = 0; i < info->dlpi_phnum && all.images < Hello::most_images; ++i) {
                if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
                all.bases[all.images++] = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~(page - 1);
                break;  // the first is where dladdr() says that the image begins
            }
            return 0;
        },
        &hello);
}

/// Maps the heaps where the program has them. The error's number, or 0.
int map_heaps(const Setup& setup, const Arrived& arrived) noexcept {
    for (std::size_t i = 0; i < setup.heaps.size(); ++i) {
        const auto& [base, bytes] = setup.heaps[i];
        if (!map_heap(static_cast<std::byte*>(base), bytes, arrived.descriptors[i].get())) return errno;
    }
    return 0;
}

class Keeper {
  public:
    explicit Keeper(int socket) : socket_(socket) {}

    void live() {
        if (!set_up()) return;
        for (;;) {
            pollfd program{socket_, POLLIN, 0};
            for (const auto& death : workers_.wait({&program, 1}))
                tell(socket_, News{.kind = News::ended, .worker = death.tag, .death = death});
            if (program.revents != 0 && !obey()) return;
        }
    }

  private:
    bool set_up() {
        Setup setup;
        Arrived arrived;
        const auto length =
            process::receive_with_descriptors(socket_, std::as_writable_bytes(std::span(&setup, 1)), 0, arrived);
        if (length != sizeof setup || arrived.descriptors.size() != setup.heaps.size() + 1) return false;
        board_ = setup.board;
        Hello hello;
        hello.error = map_heaps(setup, arrived);
        if (dup2(arrived.descriptors.back().get(), STDOUT_FILENO) < 0) hello.error = errno;
        // Whole lines come out at once: what a worker printed must not die with it.
        static_cast<void>(setvbuf(stdout, nullptr, _IOLBF, BUFSIZ));
        while (hello.entries + 1 < entries.size() && entries[hello.entries + 1] != nullptr) ++hello.entries;
        note_images(hello);
        tell(socket_, hello);
        return hello.error == 0;
    }

    /// False when the program has gone, or wants no workers any more.
    bool obey() {
        Command command;
        Arrived arrived;
        const auto length =
            process::receive_with_descriptors(socket_, std::as_writable_bytes(std::span(&command, 1)), 0, arrived);
        if (length != sizeof command) return false;
        if (command.kind == Command::kill) {
            workers_.kill(command.worker);
            return true;
        }
        News news{.kind = News::refused, .worker = command.worker, .error = EMFILE};
        if (arrived.descriptors.size() == 2) {  // else as many are open here as may be
            const pid_t pid = workers_.fork(command.worker);
            if (pid == 0) {
                close(socket_);
                if (dup2(arrived.descriptors[1].get(), STDERR_FILENO) < 0) _exit(1);
                arrived.descriptors[1].reset();
                work(arrived.descriptors[0].take(), *board_);
            }
            if (pid > 0) return true;
            news.error = errno;
        }
        tell(socket_, news);
        return true;
    }

    int socket_;
    Board* board_ = nullptr;
    process::Children workers_;
};

}  // namespace

void keep_workers(int socket) { Keeper(socket).live(); }

}  // namespace penstock::isolated
