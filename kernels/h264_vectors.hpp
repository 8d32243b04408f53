// What the H.264 kernels share of vectors. Included where they are compiled for an instruction set, into that one's
// namespace, and so without an include guard.

/// Sums over each 8 bytes of the absolute differences of bytes, in lanes of 64 bits.
HWY_INLINE hn::Vec<hn::FixedTag<std::uint64_t, 2>> sums_of_differences(hn::Vec<hn::FixedTag<std::uint8_t, 16>> a,
                                                                       hn::Vec<hn::FixedTag<std::uint8_t, 16>> b) {
#if HWY_ARCH_X86
    return hn::Vec<hn::FixedTag<std::uint64_t, 2>>{_mm_sad_epu8(a.raw, b.raw)};
#else
    return hn::SumsOf8(hn::Or(hn::SaturatedSub(a, b), hn::SaturatedSub(b, a)));
#endif
}

/// Four rows of blocks of 4 x 4 numbers side by side, by columns then: row c holds column c of each block.
template <class V>
HWY_INLINE void transpose_blocks(V& a, V& b, V& c, V& e) {
    const hn::DFromV<V> d;
    const hn::RepartitionToWide<decltype(d)> pairs;
    const hn::RepartitionToWide<decltype(pairs)> fours;
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
    const auto ab_up = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ce_low = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
    const auto ce_up = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
    const auto left01 = hn::BitCast(fours, hn::InterleaveLower(pairs, ab_low, ce_low));
    const auto left23 = hn::BitCast(fours, hn::InterleaveUpper(pairs, ab_low, ce_low));
    const auto right01 = hn::BitCast(fours, hn::InterleaveLower(pairs, ab_up, ce_up));
    const auto right23 = hn::BitCast(fours, hn::InterleaveUpper(pairs, ab_up, ce_up));
    a = hn::BitCast(d, hn::InterleaveLower(fours, left01, right01));
    b = hn::BitCast(d, hn::InterleaveUpper(fours, left01, right01));
    c = hn::BitCast(d, hn::InterleaveLower(fours, left23, right23));
    e = hn::BitCast(d, hn::InterleaveUpper(fours, left23, right23));
}
