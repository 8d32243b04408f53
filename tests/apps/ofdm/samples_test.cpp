// Files and sockets of samples, good and bad; captures.
#include "apps/ofdm/samples.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include "apps/ofdm/capture.hpp"
#include "frames.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace ofdm_tests;
using ofdm::BadSamples;

class OfdmSamples : public testing::Test {
  protected:
    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(path(name), std::ios::binary) << bytes;
        return path(name);
    }
    static std::string read(const std::string& name) {
        std::ifstream file(name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// What a source is refused with.
    static std::string refusal(const std::string& source, const std::string& format = "auto") {
        try {
            ofdm::read_samples(source, format);
        } catch (const BadSamples& refused) {
            EXPECT_EQ(refused.source(), source);
            EXPECT_NE(std::string(refused.what()).find(source), std::string::npos);
            return refused.what();
        } catch (const penstock::Error& refused) {
            return refused.what();
        }
        ADD_FAILURE() << "not refused";
        return {};
    }
    TemporaryFolder folder_;
};

template <class T>
void put(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string wav(std::uint16_t kind, std::uint16_t channels, std::uint16_t bits, const std::string& data,
                std::uint32_t told, const std::string& before = "") {
    std::string bytes = "RIFF";
    put(bytes, std::uint32_t{36} + told);
    bytes += "WAVE" + before + "fmt ";
    put(bytes, std::uint32_t{16});
    put(bytes, kind);
    put(bytes, channels);
    put(bytes, std::uint32_t{1000});
    put(bytes, std::uint32_t{1000} * channels * bits / 8);
    put(bytes, static_cast<std::uint16_t>(channels * bits / 8));
    put(bytes, bits);
    bytes += "data";
    put(bytes, told);
    return bytes + data;
}

TEST_F(OfdmSamples, come_back_from_every_format) {
    std::vector<Sample> samples;
    for (int i = -100; i <= 100; ++i) samples.emplace_back(static_cast<float>(i) / 128, static_cast<float>(-i) / 256);
    for (const auto& [name, error] : {std::pair{"a.cf32", 0.0}, {"a.iq", 0.0}, {"a.cs16", 1e-6}, {"a.cu8", 0.0056}}) {
        ofdm::write_samples(path(name), samples);
        const auto found = ofdm::read_samples(path(name));
        ASSERT_EQ(found.size(), samples.size());
        for (std::size_t i = 0; i < samples.size(); ++i)
            EXPECT_NEAR(std::abs(found[i] - samples[i]), 0, error + 1e-9) << name;
    }
    ofdm::write_samples(path("loud.cs16"), std::vector<Sample>{{7, -7}});
    EXPECT_EQ(ofdm::read_samples(path("loud.cs16"))[0], (Sample{32767 / 32768.0f, -1}));
}

TEST_F(OfdmSamples, come_from_wav_files) {
    std::string data;
    for (const int value : {16384, -16384, 0, 8192}) put(data, static_cast<std::int16_t>(value));
    const std::vector<Sample> wanted{{0.5f, -0.5f}, {0, 0.25f}};
    EXPECT_EQ(ofdm::read_samples(write("a.wav", wav(1, 2, 16, data, 8))), wanted);
    EXPECT_EQ(ofdm::read_samples(write("b.wav", wav(1, 2, 16, data + "LIST", 8))), wanted);
    EXPECT_EQ(ofdm::read_samples(write("c.wav", wav(1, 2, 16, data, 8, std::string("odd \3\0\0\0abc\0", 12)))), wanted);
    std::string floats;
    for (const float value : {0.5f, -0.5f, 0.0f, 0.25f}) put(floats, value);
    EXPECT_EQ(ofdm::read_samples(write("d.wav", wav(3, 2, 32, floats, 16))), wanted);
}

TEST_F(OfdmSamples, what_is_wrong_with_a_file_is_told_by_name) {
    EXPECT_NE(refusal(write("a.cf32", std::string(12, 'x'))).find("12 bytes are no whole number of samples of 8"),
              std::string::npos);
    EXPECT_NE(refusal(write("a.cs16", std::string(7, 'x'))).find("cut"), std::string::npos);
    EXPECT_NE(refusal(write("a.cu8", std::string(1, 'x'))).find("cut"), std::string::npos);
    EXPECT_NE(refusal(write("a.unknown", "12345678")).find("format="), std::string::npos);
    EXPECT_NE(refusal(write("a.cf32", "12345678"), "mp3").find("there is no format of samples called 'mp3'"),
              std::string::npos);
    EXPECT_NE(refusal(path("nothing.cf32")).find("cannot read"), std::string::npos);
    std::string bytes;
    for (const float value : {1.0f, 2.0f, 3.0f, std::numeric_limits<float>::quiet_NaN()}) put(bytes, value);
    EXPECT_NE(refusal(write("nan.cf32", bytes)).find("sample 1 is not a finite number"), std::string::npos);
    bytes.clear();
    for (const float value : {std::numeric_limits<float>::infinity(), 2.0f}) put(bytes, value);
    EXPECT_NE(refusal(write("inf.cf32", bytes)).find("sample 0 is not a finite number"), std::string::npos);
    // WAV
    EXPECT_NE(refusal(write("a.wav", "RIFF")).find("ends inside its WAV header"), std::string::npos);
    EXPECT_NE(refusal(write("b.wav", std::string(60, 'x'))).find("does not begin as a WAV file"), std::string::npos);
    EXPECT_NE(refusal(write("c.wav", wav(1, 1, 16, "12345678", 8))).find("1 channels"), std::string::npos);
    EXPECT_NE(refusal(write("d.wav", wav(1, 2, 24, "123456", 6))).find("24 bits"), std::string::npos);
    EXPECT_NE(refusal(write("e.wav", wav(1, 2, 16, "1234", 8))).find("was cut"), std::string::npos);
    EXPECT_NE(refusal(write("f.wav", wav(1, 2, 16, "1234567", 7))).find("no whole number"), std::string::npos);
    const std::string whole = wav(1, 2, 16, "12345678", 8);
    std::string no_format = whole;
    no_format.erase(12, 24);
    EXPECT_NE(refusal(write("g.wav", no_format)).find("no format before its data"), std::string::npos);
    for (std::size_t left = 0; left < whole.size(); ++left) refusal(write("cut.wav", whole.substr(0, left)));
    // Addresses
    EXPECT_NE(refusal("tcp:nowhere").find("tcp:HOST:PORT"), std::string::npos);
    EXPECT_NE(refusal("tcp::123").find("tcp:HOST:PORT"), std::string::npos);
    EXPECT_NE(refusal("listen:abc").find("listen:PORT"), std::string::npos);
    EXPECT_NE(refusal("listen:99999").find("address"), std::string::npos);
    EXPECT_NE(refusal("listen:1", "wav").find("no WAV header"), std::string::npos);
}

TEST_F(OfdmSamples, damaged_wav_headers_are_read_or_refused_and_nothing_else) {
    std::mt19937 random{11};
    std::string data;
    for (int i = 0; i < 64; ++i) put(data, static_cast<std::int16_t>(i * 100));
    const std::string good = wav(1, 2, 16, data, 128, std::string("LIST\4\0\0\0abcd", 12));
    const int rounds = std::getenv("PENSTOCK_LONG") != nullptr ? 100'000 : 3000;
    for (int round = 0; round < rounds; ++round) {
        std::string bytes = good;
        for (std::size_t damage = 1 + random() % 4; damage > 0; --damage) {
            const std::size_t at = random() % std::min<std::size_t>(bytes.size(), 64);
            switch (random() % 3) {
                case 0:
                    bytes[at] = static_cast<char>(random());
                    break;
                case 1:
                    bytes.erase(at, 1 + random() % 3);
                    break;
                default:
                    bytes.insert(at, 1 + random() % 3, static_cast<char>(random()));
            }
        }
        // In memory: files on a disk take a hundred times as long.
        const penstock::OwnedDescriptor memory{::memfd_create("damaged", MFD_CLOEXEC)};
        ASSERT_EQ(::write(memory.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        const std::string file = "/proc/self/fd/" + std::to_string(memory.get());
        try {
            EXPECT_LE(ofdm::read_samples(file, "wav").size(), bytes.size() / 2);
        } catch (const BadSamples&) {
        }
    }
}

/// A program that listens at some port of this machine.
class Server {
  public:
    Server() : listening_{::socket(AF_INET, SOCK_STREAM, 0)} {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
        EXPECT_EQ(::listen(listening_.get(), 1), 0);
        ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
    }
    void send(const std::string& bytes, std::size_t portion) const {
        const penstock::OwnedDescriptor connected{::accept(listening_.get(), nullptr, nullptr)};
        for (std::size_t at = 0; at < bytes.size(); at += portion)
            EXPECT_GT(::send(connected.get(), bytes.data() + at, std::min(portion, bytes.size() - at), MSG_NOSIGNAL),
                      0);
    }
    int port = 0;

  private:
    penstock::OwnedDescriptor listening_;
};

TEST_F(OfdmSamples, come_through_sockets_in_any_portions) {
    std::vector<Sample> samples;
    std::string bytes;
    for (int i = 0; i < 5000; ++i) {
        samples.emplace_back(static_cast<float>(i), -static_cast<float>(i));
        put(bytes, samples.back());
    }
    for (const std::size_t portion : {3u, 1000u}) {
        const Server server;
        std::thread sender([&] { server.send(bytes, portion); });
        const auto found = ofdm::read_samples("tcp:127.0.0.1:" + std::to_string(server.port));
        sender.join();
        EXPECT_EQ(found, samples);
    }
    const Server server;
    std::thread sender([&] { server.send(bytes.substr(0, 13), 13); });
    EXPECT_NE(refusal("tcp:localhost:" + std::to_string(server.port)).find("ends inside a sample, after 1 whole ones"),
              std::string::npos);
    sender.join();
}

TEST_F(OfdmSamples, a_reader_that_listens_takes_one_connection_and_nothing_is_no_end) {
    int port = 0;
    {
        const Server free;
        port = free.port;
    }
    ofdm::SampleReader reader{"listen:127.0.0.1:" + std::to_string(port)};
    std::vector<Sample> some(10);
    EXPECT_EQ(reader.read(some), 0u);
    EXPECT_FALSE(reader.ended());
    const penstock::OwnedDescriptor connection{::socket(AF_INET, SOCK_STREAM, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ASSERT_EQ(::connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const Sample sent{3, 4};
    ASSERT_EQ(::send(connection.get(), &sent, sizeof(sent), 0), 8);
    std::size_t count = 0;
    while (count == 0 && !reader.ended()) count = reader.read(some);
    EXPECT_EQ(count, 1u);
    EXPECT_EQ(some[0], sent);
    ::shutdown(connection.get(), SHUT_WR);
    while (!reader.ended()) EXPECT_EQ(reader.read(some), 0u);
}

TEST_F(OfdmSamples, a_capture_has_the_frames_behind_headers_that_others_read) {
    ofdm::Frame frame{};
    frame.head.position = 30'000'000;  // 1.5 s
    frame.head.rate = 7;
    frame.head.octets = 5;
    frame.head.snr = 100;
    for (std::uint8_t i = 0; i < 5; ++i) frame.octets[i] = static_cast<std::uint8_t>('a' + i);
    {
        ofdm::Capture capture{path("a.pcap"), 20e6};
        frame.whole = true;
        capture.add(frame);
        frame.whole = false;
        capture.add(frame);
        capture.flush();
    }
    const std::string bytes = read(path("a.pcap"));
    ASSERT_EQ(bytes.size(), 24u + 2 * (16 + 20 + 5));
    const auto number = [&](std::size_t at, std::size_t size) {
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data() + at, size);
        return value;
    };
    EXPECT_EQ(number(0, 4), 0xa1b2c3d4u);
    EXPECT_EQ(number(20, 4), 127u);      // radiotap
    EXPECT_EQ(number(24, 4), 1u);        // seconds
    EXPECT_EQ(number(28, 4), 500'000u);  // microseconds
    EXPECT_EQ(number(32, 4), 25u);
    EXPECT_EQ(number(40 + 2, 2), 20u);         // length of the header
    EXPECT_EQ(number(40 + 8, 8), 1'500'000u);  // time
    EXPECT_EQ(number(40 + 16, 1), 0x10u);      // check sequence is there
    EXPECT_EQ(number(40 + 17, 1), 108u);       // of half a megabit
    EXPECT_EQ(bytes.substr(60, 5), "abcde");
    EXPECT_EQ(number(65 + 16 + 16, 1), 0x50u);  // and is wrong
    EXPECT_THROW((ofdm::Capture{path("no/such/folder.pcap"), 1}), penstock::SystemError);
}

}  // namespace
