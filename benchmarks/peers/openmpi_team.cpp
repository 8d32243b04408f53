// A program of its own, run by mpiexec: the same exchanges as those of `./bench messages`, through MPI_Send and
// MPI_Recv. Rank 0 reads what to do from its standard input, a line each:
//
//     pairs BYTES TIMES PAIRS     round trips between rank r and rank r + PAIRS, r < PAIRS
//     fan   BYTES TIMES RANKS     a message to each of ranks 1 to RANKS; the last one is answered
//
// and writes the nanoseconds of one, after a quarter as many to warm up. MPI has no way to wait without spinning, and
// rivals are measured in between, so idle ranks sleep on semaphores in memory that all share.
#include <mpi.h>
#include <semaphore.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

struct Order {
    bool stop = false;
    bool fan = false;
    int bytes = 0;
    int times = 0;
    int width = 0;
};

/// What lies in memory of all ranks.
struct Desk {
    Order order;
    sem_t go[64];
};

int rank, size;
std::vector<char> memory;

void round_trips(const Order& order, int times) {
    char* const data = memory.data();
    if (rank < order.width) {
        for (int i = 0; i < times; ++i) {
            MPI_Send(data, order.bytes, MPI_BYTE, rank + order.width, 0, MPI_COMM_WORLD);
            MPI_Recv(data, order.bytes, MPI_BYTE, rank + order.width, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    } else if (rank < 2 * order.width) {
        for (int i = 0; i < times; ++i) {
            MPI_Recv(data, order.bytes, MPI_BYTE, rank - order.width, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, order.bytes, MPI_BYTE, rank - order.width, 0, MPI_COMM_WORLD);
        }
    }
}

void fan(const Order& order, int times) {
    char* const data = memory.data();
    char end = 0;
    if (rank == 0) {
        for (int i = 0; i < times; ++i)
            for (int to = 1; to <= order.width; ++to) MPI_Send(data, order.bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
        for (int from = 1; from <= order.width; ++from)
            MPI_Recv(&end, 1, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank <= order.width) {
        for (int i = 0; i < times; ++i) MPI_Recv(data, order.bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&end, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

/// Nanoseconds of one, as rank 0 sees it. It waits for no other pair but its own.
double work(const Order& order) {
    if (memory.size() < static_cast<std::size_t>(order.bytes)) memory.assign(static_cast<std::size_t>(order.bytes), 1);
    const auto all = [&](int times) { order.fan ? fan(order, times) : round_trips(order, times); };
    all(order.times / 4 + 1);
    const auto start = std::chrono::steady_clock::now();
    all(order.times);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    return time.count() / order.times;
}

bool read(Order& order) {
    char what[8];
    order = {};
    if (std::scanf("%7s %d %d %d", what, &order.bytes, &order.times, &order.width) != 4) return false;
    order.fan = std::strcmp(what, "fan") == 0;
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    Desk* desk = nullptr;
    MPI_Win window;
    MPI_Win_allocate_shared(rank == 0 ? sizeof(Desk) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &desk, &window);
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(window, 0, &bytes, &unit, &desk);
    if (rank == 0)
        for (sem_t& go : desk->go) sem_init(&go, 1, 0);
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length;
        MPI_Get_library_version(version, &length);
        std::printf("%.*s\n", static_cast<int>(std::strcspn(version, ",\n")), version);
        std::fflush(stdout);
        for (bool more = true; more;) {
            more = read(desk->order);
            desk->order.stop = !more;
            for (int other = 1; other < size; ++other) sem_post(&desk->go[other]);
            if (!more) break;
            const double time = work(desk->order);
            MPI_Barrier(MPI_COMM_WORLD);
            std::printf("%.3f\n", time);
            std::fflush(stdout);
        }
    } else {
        for (;;) {
            while (sem_wait(&desk->go[rank]) != 0) {
            }
            const Order order = desk->order;
            if (order.stop) break;
            work(order);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Win_free(&window);
    MPI_Finalize();
}
