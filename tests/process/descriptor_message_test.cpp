// Descriptors that come beside a text are owned at once, whatever the text is.
#include "process/descriptor_message.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>

namespace {

using namespace penstock::process;
using penstock::OwnedDescriptor;

std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

TEST(DescriptorMessage, a_text_of_no_bytes_leaves_no_descriptor_behind) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    const OwnedDescriptor one(ends[0]), other(ends[1]);
    const OwnedDescriptor sent(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::array<int, 3> numbers{sent.get(), sent.get(), sent.get()};
    const auto before = open_descriptors();
    ASSERT_EQ(send_with_descriptors(one.get(), {}, numbers, 0), 0);
    {
        Arrived arrived;
        std::array<std::byte, 8> text{};
        EXPECT_EQ(receive_with_descriptors(other.get(), text, 0, arrived), 0);
        EXPECT_EQ(arrived.descriptors.size(), 3u);
        EXPECT_EQ(open_descriptors(), before + 3);
    }
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
