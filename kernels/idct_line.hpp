// The inverse transform of 8 values in place: of numbers, or of vectors of them. Included where it is compiled for an
// instruction set, into that one's namespace, and so without an include guard; both round in the same places.
//
// The values split into the even ones of the inputs, whose cosines are the same from both ends, and the odd ones, whose
// change the sign. `constant(c)` makes a value of a number.
template <class V, class Constant>
inline __attribute__((always_inline)) void idct_line(V* x, Constant constant) {
    // Half the cosine of k pi / 16; for k = 4 also the square root of 1/8, by which the input of order 0 is weighted.
    const V c1 = constant(0.49039264020161522456f), c2 = constant(0.46193976625564337806f),
            c3 = constant(0.41573480615127261854f), c4 = constant(0.35355339059327376220f),
            c5 = constant(0.27778511650980111237f), c6 = constant(0.19134171618254488586f),
            c7 = constant(0.09754516100806413392f);
    const V sum = (x[0] + x[4]) * c4, difference = (x[0] - x[4]) * c4;
    const V outer = x[2] * c2 + x[6] * c6, inner = x[2] * c6 - x[6] * c2;
    const V even0 = sum + outer, even1 = difference + inner, even2 = difference - inner, even3 = sum - outer;
    const V odd0 = (x[1] * c1 + x[3] * c3) + (x[5] * c5 + x[7] * c7),
            odd1 = (x[1] * c3 - x[3] * c7) - (x[5] * c1 + x[7] * c5),
            odd2 = (x[1] * c5 - x[3] * c1) + (x[5] * c7 + x[7] * c3),
            odd3 = (x[1] * c7 - x[3] * c5) + (x[5] * c3 - x[7] * c1);
    x[0] = even0 + odd0;
    x[1] = even1 + odd1;
    x[2] = even2 + odd2;
    x[3] = even3 + odd3;
    x[4] = even3 - odd3;
    x[5] = even2 - odd2;
    x[6] = even1 - odd1;
    x[7] = even0 - odd0;
}
