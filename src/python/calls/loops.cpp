// machine.for_each: a compiled body over a range, in pieces.
#include "penstock/for_each.hpp"
#include "python/calls/python_machine.hpp"

namespace penstock::python {
namespace {

/// A call whose first two words are a piece's.
struct LoopBody {
    const CallPlan& plan;
    const std::uint64_t* words;
    std::size_t count;

    void operator()(Piece piece) const {
        std::array<std::uint64_t, 24> near;
        std::vector<std::uint64_t> far;
        std::uint64_t* own = near.data();
        if (count > near.size()) {
            far.resize(count);
            own = far.data();
        }
        std::copy_n(words, count, own);
        own[plan.slots()[0].words[0]] = piece.begin;
        own[plan.slots()[1].words[0]] = piece.end;
        plan.run(own);
    }
};

bool is_index(const Slot& slot) noexcept {
    return !slot.is_array() && slot.element.bytes == sizeof(std::size_t) &&
           (slot.element.kind == ElementKind::integer || slot.element.kind == ElementKind::natural);
}

void for_each(PythonMachine& self, std::int64_t n, nb::handle body, const nb::args& arguments,
              std::optional<std::int64_t> grain, nb::handle signature) {
    if (n < 0) throw UsageError("for_each runs over 0 or more items, not " + std::to_string(n));
    if (grain && *grain < 1)
        throw UsageError("grain is the number of items of a piece, 1 or more; leave it out to have it chosen");
    const auto machine = self.live();
    if (self.is_python_body(body, signature))
        throw BodyError(
            "for_each runs compiled bodies, void (intptr_t begin, intptr_t end, ...); machine.map runs Python "
            "functions");
    const nb::object held = body_of(body, signature);
    const nb::object all = nb::make_tuple(0, 0) + arguments;
    const Words words(*nb::inst_ptr<Body>(held), nb::borrow<nb::args>(all));
    const auto& slots = words.plan().slots();
    if (!is_index(slots[0]) || !is_index(slots[1]))
        throw BodyError("the body of for_each begins with intptr_t begin, intptr_t end, which a piece gives; " +
                        words.plan().name() + " does not");
    const LoopBody loop_body{words.plan(), words.data(), words.count()};
    auto forgotten = loop::body_of<LoopBody>(loop_body);
    forgotten.name = words.plan().name();
    forgotten.like = &words.plan();
    const nb::gil_scoped_release release;
    loop::run(*machine, static_cast<std::size_t>(n), 0,
              grain ? Grain(static_cast<std::size_t>(*grain)) : automatic_grain, forgotten);
}

}  // namespace

void bind_loops(nb::class_<PythonMachine>& machine) {
    machine.def("for_each", &for_each, nb::arg("n"), nb::arg("body").none(), nb::arg("arguments"), nb::kw_only(),
                or_none("grain"), or_none("signature"),
                nb::sig("def for_each(self, n: int, body: Any, *arguments: Any, grain: int | None = None, signature: "
                        "str | None = None) -> None"),
                "Runs body(begin, end, *arguments) for pieces that make up 0 to n-1, shared by the caller and free\n"
                "targets; returns when all are done. `body`: compiled, void (intptr_t begin, intptr_t end, ...),\n"
                "with the arguments behind these as in call(); every piece gets the same ones, and writes what is\n"
                "its own. `grain`: items of a piece; left out, pieces are sized while the loop runs.\n\n"
                "Raises TaskFailed for the first failure, with the items of its piece (pieces that had not begun\n"
                "are skipped), and what call() raises; in ArgumentError, begin and end count as arguments.");
}

}  // namespace penstock::python
