// Streams between nodes: beside a bare TCP connection on loopback, over a gigabit and over a far line, plain and by
// TLS; the latency there and back; decoding shared among nodes; how long a dead node is missed.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "harness/measure.hpp"
#include "harness/report.hpp"
#include "nodes/bare.hpp"
#include "nodes/figure_21.hpp"
#include "nodes/quarters.hpp"
#include "penstock/cluster.hpp"
#include "penstock/launch.hpp"
#include "penstock/run.hpp"

namespace {

using namespace penstock;
using namespace std::chrono_literals;
using bench::Contestant;
using bench::Direction;

constexpr std::size_t block_bytes = 64 * 1024;

/// Reads, and answers behind the last of a batch.
struct Eat {
    Input<std::byte> in{"in"};
    Output<std::byte> out{"out"};
    void operator()() {
        const auto buffer = in.read();
        if (buffer.tags().user[0] == 0) return;
        auto answer = out.make(1);
        answer.edit()[0] = buffer[0];
        out.write(std::move(answer));
    }
};
struct Echo {
    Input<std::byte> in{"in"};
    Output<std::byte> out{"out"};
    void operator()() { out.write(in.read()); }
};

/// A graph on a cluster of one node, as a contestant.
class Stream {
  public:
    explicit Stream(ClusterOptions options) {
        options.nodes = {{"other", 1}};
        options.machine.targets = 1;
        options.node_machine.targets = 1;
        cluster_ = std::make_unique<Cluster>(std::move(options));
        writer_ = &graph_.add_writer<std::byte>("writer");
        reader_ = &graph_.add_reader<std::byte>("reader");
        asks_ = &graph_.add_writer<std::byte>("asks");
        hears_ = &graph_.add_reader<std::byte>("hears");
        auto& eat = graph_.add<Eat>("eat", {.nodes = "other"});
        auto& echo = graph_.add<Echo>("echo", {.nodes = "other"});
        graph_.connect(writer_->output, eat.in);
        graph_.connect(eat.out, reader_->input);
        graph_.connect(asks_->output, echo.in);
        graph_.connect(echo.out, hears_->input);
        run_ = std::make_unique<Run>(graph_.start(*cluster_));
    }
    ~Stream() {
        writer_->close();
        asks_->close();
        run_->finish();
    }

    void send(std::size_t blocks, std::size_t bytes) {
        for (std::size_t i = 0; i < blocks; ++i) {
            auto buffer = writer_->make(bytes);
            if (i + 1 == blocks) buffer.edit_tags().user[0] = 1;
            writer_->write(std::move(buffer));
        }
        if (!reader_->read()) std::abort();
    }
    void ping() {
        for (int i = 0; i < 1000; ++i) {
            asks_->write(asks_->make(64));
            if (!hears_->read()) std::abort();
        }
    }

  private:
    std::unique_ptr<Cluster> cluster_;
    Graph graph_;
    StreamWriter<std::byte>*writer_, *asks_;
    StreamReader<std::byte>*reader_, *hears_;
    std::unique_ptr<Run> run_;
};

template <class Sender>
Contestant sending(const std::string& name, Sender& sender, std::size_t blocks) {
    return {name, [&sender, blocks] {
                const auto start = bench::Clock::now();
                sender.send(blocks, block_bytes);
                return bench::nanoseconds_since(start) / static_cast<double>(blocks);
            }};
}
template <class Sender>
Contestant pinging(const std::string& name, Sender& sender) {
    return {name, [&sender] {
                const auto start = bench::Clock::now();
                sender.ping();
                return bench::nanoseconds_since(start) / 1000;
            }};
}

ClusterOptions over(const std::string& host, Encryption encryption, const std::vector<std::string>& before = {}) {
    ClusterOptions options;
    options.listen = "tcp:" + host + ":0";
    options.encryption = encryption;
    options.agent = before;
    options.agent.push_back(bench::own_path());
    return options;
}

bench::Plan plan_of(const bench::Options& options, int rounds) {
    bench::Plan plan = options.plan;
    plan.rounds = options.quick ? std::max(rounds / 3, 5) : rounds;
    return plan;
}

void loopback(bench::Report& report, const bench::Options& options) {
    const int port = bench::free_port();
    bench::BarePeer bare({}, "127.0.0.1", port, "127.0.0.1", port);
    Stream plain(over("127.0.0.1", Encryption::none)), tls(over("127.0.0.1", Encryption::tls));
    const auto result = bench::measure(
        {sending("bare socket", bare, 200), sending("Penstock", plain, 200), sending("Penstock, TLS", tls, 200)},
        plan_of(options, 45));
    report.rows("64 KiB, loopback: ", result);
    report.goal("nodes/loopback", result.ratio("bare socket", "Penstock"), Direction::at_least, 0.9);
    report.goal("nodes/tls", result.ratio("Penstock", "Penstock, TLS"), Direction::at_least, 0.35);
}

void latency(bench::Report& report, const bench::Options& options) {
    const int port = bench::free_port();
    bench::BarePeer bare({}, "127.0.0.1", port, "127.0.0.1", port);
    Stream plain(over("127.0.0.1", Encryption::none)), tls(over("127.0.0.1", Encryption::tls));
    const auto result =
        bench::measure({pinging("bare socket", bare), pinging("Penstock", plain), pinging("Penstock, TLS", tls)},
                       plan_of(options, 45));
    report.rows("64 B there and back: ", result);
    report.goal("nodes/latency", result.ratio("Penstock", "bare socket"), Direction::at_most, 2);
}

void gigabit(bench::Report& report, const bench::Options& options) {
    std::string why;
    const auto other = bench::Elsewhere::make(1, "1gbit", why);
    if (other == nullptr) return report.missing("nodes/gigabit", Direction::at_least, 0.95, why);
    const int port = bench::free_port();
    bench::BarePeer bare(other->inside(), other->here(), port, other->here(), port);
    Stream plain(over(other->here(), Encryption::none, other->inside()));
    const auto result =
        bench::measure({sending("bare socket", bare, 200), sending("Penstock", plain, 200)}, plan_of(options, 21));
    report.rows("64 KiB, 1 Gbit/s: ", result);
    report.goal("nodes/gigabit", result.ratio("bare socket", "Penstock"), Direction::at_least, 0.95);
}

/// A relay holds back each byte for 5 ms in either direction.
void far(bench::Report& report, const bench::Options& options) {
    const int bare_port = bench::free_port(), bare_relay = bench::free_port();
    const int our_port = bench::free_port(), our_relay = bench::free_port();
    const auto relay = [](int from, int to) {
        return std::vector<std::string>{bench::own_path(), "--relay",          std::to_string(from),
                                        "127.0.0.1",       std::to_string(to), "5000"};
    };
    const bench::Helper first(relay(bare_relay, bare_port)), second(relay(our_relay, our_port));
    bench::BarePeer bare({}, "127.0.0.1", bare_port, "127.0.0.1", bare_relay);
    auto made = over("127.0.0.1", Encryption::none);
    made.listen = "tcp:127.0.0.1:" + std::to_string(our_port);
    made.reached_at = "tcp:127.0.0.1:" + std::to_string(our_relay);
    Stream plain(made);
    const auto result =
        bench::measure({sending("bare socket", bare, 400), sending("Penstock", plain, 400)}, plan_of(options, 21));
    report.rows("64 KiB, 10 ms there and back: ", result);
    report.goal("nodes/far", result.ratio("bare socket", "Penstock"), Direction::at_least, 0.9);
}

// ---- decoding on nodes that are a quarter of a processor each ----

/// Works for a while that the processor's clock measures, as a decoder does.
struct Decode {
    static constexpr bool may_be_copied = true;
    Input<std::byte> in{"in"};
    Output<std::byte> out{"out"};
    void operator()() {
        auto buffer = in.read();
        timespec begin{}, now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        auto sum = std::byte{0};
        do {
            for (const auto byte : buffer.span()) sum ^= byte;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec < 2'000'000);
        buffer.edit()[0] = sum;
        out.write(std::move(buffer));
    }
};

double decoding_seconds(const bench::Quarters& quarters, int nodes, int tiles) {
    auto options = over("127.0.0.1", Encryption::none);
    options.nodes = {{"decoders", nodes}};
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    Cluster cluster(options);
    std::size_t which = 0;
    for (const auto& agent : cluster.agents()) quarters.put(agent.process, which++);
    Graph graph;
    auto& writer = graph.add_writer<std::byte>("tiles");
    auto& decode = graph.add<Decode>("decode", {.copies = nodes, .nodes = "decoders"});
    auto& reader = graph.add_reader<std::byte>("analyse");
    graph.connect(writer.output, decode.in, {.capacity = 2});
    graph.connect(decode.out, reader.input);
    auto run = graph.start(cluster);
    const auto start = bench::Clock::now();
    std::thread writes([&] {
        for (int i = 0; i < tiles; ++i) writer.write(writer.make(block_bytes));
        writer.close();
    });
    int come = 0;
    while (reader.read()) ++come;
    const double seconds = bench::nanoseconds_since(start) / 1e9;
    writes.join();
    run.finish();
    if (come != tiles) throw std::runtime_error("tiles are missing");
    return seconds;
}

void decoding(bench::Report& report, const bench::Options& options) {
    std::string why;
    const auto quarters = bench::Quarters::make(4, why);
    if (quarters == nullptr) {
        report.missing("nodes/decode-2", Direction::at_least, 1.8, why);
        return report.missing("nodes/decode-4", Direction::at_least, 3.4, why);
    }
    const int tiles = options.quick ? 150 : 300;
    const auto contestant = [&](int nodes) {
        return Contestant{std::to_string(nodes) + " nodes", [&quarters, nodes, tiles] {
                              return decoding_seconds(*quarters, nodes, tiles) * 1e9 / tiles;
                          }};
    };
    auto plan = plan_of(options, 5);
    plan.rounds = options.quick ? 6 : 9;
    plan.attempts = 1;
    const auto result = bench::measure({contestant(1), contestant(2), contestant(4)}, plan);
    report.rows("decoding, a quarter of a processor a node: ", result);
    report.goal("nodes/decode-2", result.ratio("1 nodes", "2 nodes"), Direction::at_least, 1.8);
    report.goal("nodes/decode-4", result.ratio("1 nodes", "4 nodes"), Direction::at_least, 3.4);
}

// ---- how long a dead node is missed ----

/// From kill -9 of the only agent to the first buffer that comes back by the next, in seconds.
double missed(bool spare) {
    auto options = over("127.0.0.1", Encryption::none);
    options.nodes = {{"workers", 1}};
    options.spares = spare ? 1 : 0;
    options.machine.targets = 1;
    options.node_machine.targets = 1;
    options.log = [](const std::string&) {};
    Cluster cluster(options);
    Graph graph;
    auto& writer = graph.add_writer<std::byte>("writer");
    auto& decode = graph.add<Decode>("decode", {.copies = 2, .nodes = "workers", .on_node_loss = OnNodeLoss::replay});
    auto& reader = graph.add_reader<std::byte>("reader");
    graph.connect(writer.output, decode.in);
    graph.connect(decode.out, reader.input);
    auto run = graph.start(cluster);
    std::atomic<bool> over_now{false};
    std::thread writes([&] {
        while (!over_now) writer.write(writer.make(block_bytes));
        writer.close();
    });
    for (int i = 0; i < 50; ++i)
        if (!reader.read()) throw std::runtime_error("nothing comes");
    const auto killed = bench::Clock::now();
    for (const auto& agent : cluster.agents())
        if (agent.node == "workers.0") kill(agent.process, SIGKILL);
    // What was under way already comes at once; the next one that comes behind a pause is by the other agent.
    const auto before = cluster.replaced();
    while (cluster.replaced() == before) (void)reader.read_if_any();
    if (!reader.read()) throw std::runtime_error("nothing comes");
    const double seconds = bench::nanoseconds_since(killed) / 1e9;
    over_now = true;
    while (reader.read()) {
    }
    writes.join();
    run.finish();
    return seconds;
}

void replaying(bench::Report& report, const bench::Options& options) {
    const int times = options.quick ? 3 : 9;
    std::vector<double> with, without;
    for (int i = 0; i < times; ++i) {
        with.push_back(missed(true));
        without.push_back(missed(false));
    }
    const auto worst = [](const std::vector<double>& all) { return *std::ranges::max_element(all); };
    std::ranges::sort(with);
    std::ranges::sort(without);
    const auto row = [&](const char* name, const std::vector<double>& all) {
        report.row(name, {{"median_s", all[all.size() / 2]}, {"worst_s", worst(all)}});
    };
    row("kill -9 to the first replayed buffer: a warm spare", with);
    row("kill -9 to the first replayed buffer: another process", without);
    report.goal("nodes/replay-seconds", {worst(with), worst(with), worst(with)}, Direction::at_most, 0.5);
}

/// This build's program beside that of a build without this layer, which PENSTOCK_HOP_BEFORE names.
void local_hop(bench::Report& report, const bench::Options& options) {
    const char* const before = std::getenv("PENSTOCK_HOP_BEFORE");
    if (before == nullptr)
        return report.missing("nodes/local-hop", Direction::at_most, 1.03,
                              "PENSTOCK_HOP_BEFORE names no local_hop of a build without nodes "
                              "(benchmarks/nodes/local_hop.cpp says how to make it)");
    const bench::Asked old_build(before), old_again(before), this_build(PENSTOCK_BENCH_LOCAL_HOP);
    bench::Ratio all;
    for (const char what : {'1', '2'}) {
        const auto asked = [what](const std::string& name, const bench::Asked& whom) {
            return Contestant{name, [what, &whom] { return whom.ask(what); }};
        };
        const auto result = bench::measure(
            {asked("without nodes", old_build), asked("without nodes, again", old_again), asked("this", this_build)},
            plan_of(options, 101));
        report.rows(what == '1' ? "a hop on one target: " : "a hop to another target: ", result);
        if (what == '1') all = result.ratio("this", "without nodes");
        else all.add(result.ratio("this", "without nodes"));
    }
    report.goal("nodes/local-hop", all, Direction::at_most, 1.03, bench::Judged::by_interval);
}

/// What is measured together, and the names by which `--case NAME` chooses it.
struct Case {
    const char* name;
    void (*measure)(bench::Report&, const bench::Options&);
};
constexpr Case cases[] = {{"loopback", loopback}, {"gigabit", gigabit},    {"far", far},
                          {"latency", latency},   {"decode", decoding},    {"figure-21", bench::figure_21},
                          {"replay", replaying},  {"local-hop", local_hop}};

/// Takes `--case NAME` out of the arguments. All cases where none is named.
std::vector<Case> chosen(int& argc, char** argv) {
    std::vector<Case> found;
    int kept = 1;
    for (int i = 1; i < argc; ++i) {
        if (argv[i] != std::string("--case") || i + 1 == argc) {
            argv[kept++] = argv[i];
            continue;
        }
        const std::string name = argv[++i];
        const auto* const one = std::ranges::find_if(cases, [&](const Case& each) { return each.name == name; });
        if (one == std::end(cases)) {
            std::fprintf(stderr, "nodes: there is no case '%s'; there are:", name.c_str());
            for (const Case& each : cases) std::fprintf(stderr, " %s", each.name);
            std::fprintf(stderr, "\n");
            std::exit(2);
        }
        found.push_back(*one);
    }
    argc = kept;
    if (found.empty()) found.assign(std::begin(cases), std::end(cases));
    return found;
}

}  // namespace

int main(int argc, char** argv) {
    become_agent();
    if (bench::serve_as_helper(argc, argv)) return 0;
    const auto measured = chosen(argc, argv);
    const bench::About about{"nodes",
                             "streams between nodes beside bare sockets, and what a dead node costs",
                             {"nodes/loopback", "nodes/gigabit", "nodes/far", "nodes/latency", "nodes/tls",
                              "nodes/local-hop", "nodes/decode-2", "nodes/decode-4", "nodes/replay-seconds"}};
    const bench::Options options = bench::parse(argc, argv, about);
    bench::Report report{about, options};
    for (const Case& each : measured) each.measure(report, options);
    report.note(
        "ratios of streams are of the bare time over ours; agents and bare peers are processes of this machine");
    return report.finish();
}
