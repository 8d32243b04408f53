#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <climits>
#include <vector>

#include "machine/pages.hpp"
#include "penstock/detail/machine/memory.hpp"
#include "penstock/topology.hpp"

namespace penstock {
namespace {

// Without NUMA headers, which not every system has.
constexpr int policy_preferred = 1;        // MPOL_PREFERRED
constexpr int advice_populate_write = 23;  // MADV_POPULATE_WRITE, Linux 5.14

bool prefer_node(std::byte* start, std::size_t length, int node) {
#ifdef SYS_mbind
    constexpr std::size_t bits = sizeof(unsigned long) * CHAR_BIT;
    const auto number = static_cast<std::size_t>(node);
    std::vector<unsigned long> mask(number / bits + 1);
    mask[number / bits] = 1ul << number % bits;
    return syscall(SYS_mbind, start, length, policy_preferred, mask.data(), mask.size() * bits + 1, 0) == 0;
#else
    return static_cast<void>(start), static_cast<void>(length), static_cast<void>(node), false;
#endif
}

// False when the kernel says that there is no memory for it.
bool make_present(std::byte* start, std::size_t length) {
    if (madvise(start, length, advice_populate_write) == 0) return true;
    if (errno == ENOMEM || errno == EFAULT) return false;
    for (std::size_t at = 0; at < length; at += pages::small())
        *const_cast<volatile std::byte*>(start + at) = std::byte{0};
    return true;
}

[[noreturn]] void refuse(std::size_t bytes, int number) {
    throw SystemError("cannot get " + std::to_string(bytes) + " bytes of memory; ask for less or free some", number);
}

}  // namespace

Mapping::~Mapping() {
    if (data_ != nullptr) munmap(data_, size_);
}

std::size_t Mapping::huge_bytes() const { return pages::mapped_by_huge(data_, size_); }

LocalMemory::LocalMemory(std::size_t bytes, int node) {
    if (node < nearest_node)
        throw UsageError("LocalMemory: there is no node " + std::to_string(node) + "; take one from Topology::nodes()");
    if (bytes == 0) return;
    const bool large = bytes >= pages::huge();
    // A huge page too many would not be given back, so the end is rounded to a small one.
    const std::size_t length = pages::rounded_up(bytes, pages::small());
    if (length < bytes || length > pages::available()) refuse(bytes, ENOMEM);
    std::byte* start = pages::map_aligned(length, large ? pages::huge() : pages::small(), PROT_READ | PROT_WRITE);
    if (start == nullptr) refuse(bytes, errno);
    Mapping::operator=(Mapping(start, bytes));
    huge_ = large && madvise(start, length, MADV_HUGEPAGE) == 0;
    if (node != nearest_node && prefer_node(start, length, node)) node_ = node;
    if (!make_present(start, length)) refuse(bytes, ENOMEM);
}

}  // namespace penstock
