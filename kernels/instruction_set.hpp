// Which of the processor's vector instructions the kernels use. Every kernel gives the same bits with each of them.
#pragma once

namespace penstock::kernels {

/// plain: loops as the compiler takes them, which is also all there is in a build without Highway. vectors16: vectors
/// of 16 bytes (SSE4, NEON). vectors32: of 32 bytes (AVX2).
enum class InstructionSet { plain, vectors16, vectors32 };

/// The one in use: the best that this processor has and that this build contains, or what limit_instruction_set() left
/// of it.
InstructionSet instruction_set() noexcept;

/// Uses at most this one from now on, in the whole process: for tests, and to measure what the others gain. Gives the
/// one that is then in use.
InstructionSet limit_instruction_set(InstructionSet most) noexcept;

}  // namespace penstock::kernels
