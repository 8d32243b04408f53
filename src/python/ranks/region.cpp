// Region, Remote and Multicast for Python.
#include "penstock/region.hpp"

#include "python/calls/array_argument.hpp"
#include "python/ranks/region.hpp"

namespace penstock::python {
namespace {

/// Kinds of regions are the family, and the size of an element below it: those of C++ programs too.
constexpr std::uint64_t family = region::kind<char>() >> 32 << 32;
constexpr std::uint64_t family_only = ~std::uint64_t{0} << 32;

nb::object elements(const char* name) { return imported("penstock.elements", name); }

/// What a region's memory holds, in C order.
struct Layout {
    nb::object dtype;
    nb::object shape;
    std::size_t item_bytes;
    std::size_t count;  ///< elements

    /// From what penstock.elements gives.
    explicit Layout(const nb::object& made)
        : dtype(made[0]), shape(made[1]), item_bytes(nb::cast<std::size_t>(made[2])),
          count(nb::cast<std::size_t>(made[3])) {}
};

/// What a region and a remote have in common.
struct Mapped : Layout {
    std::shared_ptr<RankSession> session;
    std::shared_ptr<RankMemory> memory;
    /// Over the memory, which it keeps alive. Of a remote: never leaves here and is not read.
    nb::object array = array_of_bytes(memory->data(), count* item_bytes, dtype, shape, memory);
};

struct PythonRegion : Mapped {};

struct PythonRemote : Mapped {
    std::optional<StoreWay> way{};
    mutable ReaderDistance reader{};

    const PythonRemote& use() const {
        session->check();
        return *this;
    }
    bool own() const { return memory->owner() == session->check().index(); }
    void store(const nb::object& part, nb::object value) const {
        store_into(part, std::move(value), way, own(), reader);
        if (memory->far() == nullptr) return;
        const auto rows = rows_of(part);  // of the shadow
        session->wait([&](const Rank&) {
            for (const auto& row : rows)
                memory->far()->store(memory->far()->offset_of(row.data()), row.data(), row.size());
        });
    }
};

struct PythonMulticast {
    std::vector<nb::object> remotes;
};

void make_region(PythonRegion* self, const PythonRank& me, const std::string& name, nb::handle shape,
                 nb::handle dtype) {
    const Rank& rank = me.use();
    Layout layout(elements("new_layout")(name, shape, dtype));
    const auto description = nb::cast<std::string>(elements("describe")(layout.dtype, layout.shape));
    auto memory = std::make_shared<RankMemory>();
    const auto bytes = region::bytes_of(name, layout.count, layout.item_bytes);
    without_interpreter([&] {  // every page is touched
        *memory = rank.make(name, bytes, family | layout.item_bytes, description);
    });
    new (self) PythonRegion{{std::move(layout), me.session, std::move(memory)}};
}

PythonRemote accept_remote(const PythonRank& me, int owner, const std::string& name, nb::handle dtype, nb::handle shape,
                           std::optional<double> within) {
    const auto limit = within_of(within);
    me.use();
    auto& unclaimed = me.session->unclaimed;
    const auto left = std::ranges::find_if(
        unclaimed, [&](const auto& memory) { return memory->owner() == owner && memory->name() == name; });
    std::shared_ptr<RankMemory> memory;
    if (left != unclaimed.end()) {
        memory = *left;
        unclaimed.erase(left);
    } else {
        memory = std::make_shared<RankMemory>(me.session->wait(
            [&](const Rank& rank) { return rank.accept_anywhere(owner, name, family, limit, family_only); }));
    }
    const auto item = static_cast<std::uint32_t>(memory->kind());
    if (item == 0 || memory->size() % item != 0)
        throw InvalidGrant(owner, name, "it holds no whole number of elements");
    try {
        Layout layout(
            elements("accepted_layout")(owner, name, item, memory->size(), memory->description(), shape, dtype));
        return {{std::move(layout), me.session, memory}};
    } catch (...) {  // with another type or shape it may do, and it is granted once
        unclaimed.push_back(memory);
        throw;
    }
}

void assign(const PythonRemote& self, nb::handle key, nb::object value) {
    self.use();
    if (PyLong_CheckExact(key.ptr()) && !self.way && self.memory->far() == nullptr) {
        // One element of a vector, which NumPy stores soonest; anything else is found out below.
        if (nb::len(self.shape) == 1 && PyObject_SetItem(self.array.ptr(), key.ptr(), value.ptr()) == 0) return;
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_IndexError)) throw nb::python_error();
        PyErr_Clear();
    }
    self.store(part_of(self.array, key, self.memory->name()), std::move(value));
}

void assign_all(const PythonMulticast& self, nb::handle key, nb::object value) {
    bool converted = false;
    for (const auto& object : self.remotes) {
        const auto& remote = nb::cast<const PythonRemote&>(object).use();
        const auto part = part_of(remote.array, key, remote.memory->name());
        if (!converted) value = numpy("asarray")(value, nb::arg("dtype") = part.attr("dtype"), nb::arg("order") = "C");
        converted = true;
        remote.store(part, value);
    }
}

void publish(const PythonRemote& self, nb::handle flag, std::optional<std::uint64_t> value) {
    self.use();
    if (nb::isinstance<PythonRemoteCounter>(flag)) {
        if (!value) throw UsageError("a counter is published with a value: remote.publish(counter, 5)");
        nb::cast<PythonRemoteCounter&>(flag).call([&](RemoteCounter& counter) { counter.store(*value); });
    } else if (nb::isinstance<PythonRemoteFlag>(flag)) {
        if (value) throw UsageError("a flag has no value: remote.publish(flag)");
        nb::cast<PythonRemoteFlag&>(flag).call([](RemoteFlag& raised) { raised.set(); });
    } else {
        throw UsageError("a remote publishes a RemoteFlag or a RemoteCounter");
    }
}

std::optional<StoreWay> way_named(nb::handle word) {
    if (word.is_none()) return std::nullopt;
    const auto way = nb::isinstance<nb::str>(word) ? store_way_of(nb::cast<std::string>(word)) : std::nullopt;
    if (!way) throw UsageError("the way of stores is 'plain', 'demote', 'stream' or None (as measured)");
    return way;
}

[[noreturn]] void refuse_reading() {
    throw UnreadableRemote(
        "a remote can be stored to, not read; let its owner read the region, or send it back in a message. For one "
        "part of several dimensions store with remote[i, j] = value");
}

std::string described(const char* what, const Mapped& self) {
    return std::string("penstock.") + what + "('" + self.memory->name() + "' of rank " +
           std::to_string(self.memory->owner()) + ", " + nb::str(self.shape).c_str() + ", " +
           nb::str(self.dtype).c_str() + ")";
}

template <class T>
void bind_shape(nb::class_<T>& bound) {
    bound.def_ro("shape", &T::shape, nb::sig("def shape(self) -> tuple[int, ...]"), "Elements of each dimension.")
        .def_ro("dtype", &T::dtype, nb::sig("def dtype(self) -> Any"), "NumPy's type of the elements.")
        .def_ro("size", &T::count, "Number of elements.")
        .def_prop_ro(
            "nbytes", [](const T& self) { return self.count * self.item_bytes; }, "Bytes of all elements.")
        .def_prop_ro(
            "name", [](const T& self) { return self.memory->name(); }, "What it was granted as.")
        .def_prop_ro("owner", [](const T& self) { return self.memory->owner(); }, "The rank that reads it.");
}

void bind_remote(nb::module_& module) {
    auto remote =
        final_class<PythonRemote>(module, "Remote",
                                  "A region as a rank that was granted it has it: `remote[...] = array` stores;\n"
                                  "reading raises UnreadableRemote.\n\n"
                                  "Keys are numbers, slices (with steps too), '...' and tuples of these, or the\n"
                                  "name of a field, as for a NumPy array of this shape; values are converted and\n"
                                  "broadcast as NumPy does. One element costs about 0.2 us. Blocks of 4 KiB and\n"
                                  "more with contiguous rows leave as whole lines, by the way that was measured\n"
                                  "for their size; a value that is a contiguous array of the same type is not\n"
                                  "copied before. What was stored is visible to the owner after publish(), or any\n"
                                  "flag, counter, barrier, lock or message after it. Raises OutOfBounds;\n"
                                  "ValueError where shapes do not fit, as NumPy does.");
    bind_shape(remote);
    remote
        .def_static("accept", &accept_remote, nb::arg("me"), nb::arg("owner"), nb::arg("name"), or_none("dtype"),
                    or_none("shape"), or_none("within"),
                    nb::sig("def accept(me: Rank, owner: int, name: str, dtype: Any = None, shape: int | tuple[int, "
                            "...] | None = None, within: float | None = None) -> Remote"),
                    "Waits until `owner` has granted a region of this name, for at most `within` seconds (by default\n"
                    "as long as spmd was told). Type and shape are the owner's, unless given; for a region of a C++\n"
                    "program, which does not tell its type, `dtype` must be given. Raises GrantMissing, RankLost,\n"
                    "InvalidGrant when the size of an element or the shape does not fit; another try with others may\n"
                    "follow.")
        .def("__setitem__", &assign, nb::arg("key").none(), nb::arg("value").none(),
             nb::sig("def __setitem__(self, key: Any, value: Any) -> None"))
        .def(
            "fill", [](const PythonRemote& self, nb::object value) { self.store(self.use().array, std::move(value)); },
            nb::arg("value").none(), nb::sig("def fill(self, value: Any) -> None"), "Stores the same value everywhere.")
        .def("publish", &publish, nb::arg("flag"), or_none("value"),
             nb::sig("def publish(self, flag: RemoteFlag | RemoteCounter, value: int | None = None) -> None"),
             "Sets the flag, or gives the counter this value: all earlier stores of this rank, into any region, are "
             "visible to whoever sees it.")
        .def(
            "set_way", [](PythonRemote& self, nb::handle way) { self.way = way_named(way); }, nb::arg("way").none(),
            nb::sig("def set_way(self, way: Literal['plain', 'demote', 'stream'] | None) -> None"),
            "How stores travel from now on; None: as was measured for their size.")
        .def("__len__",
             [](const PythonRemote& self) {
                 if (nb::len(self.shape) == 0) throw UsageError("a remote of no dimensions has no length");
                 return nb::cast<std::size_t>(self.shape[0]);
             })
        .def(
            "__getitem__", [](const PythonRemote&, nb::handle) { refuse_reading(); }, nb::arg("key").none(),
            nb::sig("def __getitem__(self, key: Any) -> NoReturn"))
        .def(
            "__iter__", [](const PythonRemote&) { refuse_reading(); }, nb::sig("def __iter__(self) -> NoReturn"))
        .def(
            "__array__", [](const PythonRemote&, const nb::args&, const nb::kwargs&) { refuse_reading(); },
            nb::sig("def __array__(self, *args: Any, **kwargs: Any) -> NoReturn"))
        .def("__repr__", [](const PythonRemote& self) { return described("Remote", self); });

    final_class<PythonMulticast>(module, "Multicast",
                                 "Several remotes of the same shape and type that get the same stores: `multicast[key] "
                                 "= value`, as a Remote takes it.")
        .def(
            "__init__",
            [](PythonMulticast* self, const nb::iterable& remotes) {
                std::vector<nb::object> taken;
                for (nb::handle given : remotes) {
                    if (!nb::isinstance<PythonRemote>(given)) throw UsageError("a multicast takes remotes");
                    taken.push_back(nb::borrow(given));
                    const auto& first = nb::cast<const PythonRemote&>(taken.front());
                    const auto& one = nb::cast<const PythonRemote&>(given);
                    if (!one.shape.equal(first.shape) || !one.dtype.equal(first.dtype))
                        throw UsageError("the regions of a multicast have the same shape and type, but " +
                                         described("Remote", one) + " is not like " + described("Remote", first));
                }
                if (taken.empty()) throw UsageError("a multicast needs at least one remote");
                new (self) PythonMulticast{std::move(taken)};
            },
            nb::arg("remotes"), nb::sig("def __init__(self, remotes: Iterable[Remote]) -> None"),
            "Raises UsageError for none, and for regions of different shapes or types.")
        .def_ro("remotes", &PythonMulticast::remotes, nb::sig("def remotes(self) -> list[Remote]"),
                "As they were given.")
        .def("__setitem__", &assign_all, nb::arg("key").none(), nb::arg("value").none(),
             nb::sig("def __setitem__(self, key: Any, value: Any) -> None"))
        .def(
            "publish",
            [](const PythonMulticast&, const nb::iterable& flags) {
                for (nb::handle flag : flags) {
                    if (!nb::isinstance<PythonRemoteFlag>(flag)) throw UsageError("a multicast publishes RemoteFlags");
                    nb::cast<PythonRemoteFlag&>(flag).call([](RemoteFlag& raised) { raised.set(); });
                }
            },
            nb::arg("flags"), nb::sig("def publish(self, flags: Iterable[RemoteFlag]) -> None"),
            "Sets the flag of each consumer.");
}

}  // namespace

void bind_region(nb::module_& module) {
    auto region = final_class<PythonRegion>(
        module, "Region",
        "Memory at home, which this rank reads and writes as `region.array`, and others only store to (Remote),\n"
        "once they were granted it. Elements that somebody stores may be read once he has published them; before\n"
        "that they are being written.");
    bind_shape(region);
    region
        .def("__init__", &make_region, nb::arg("me"), nb::arg("name"), nb::arg("shape"), nb::arg("dtype") = "float64",
             nb::sig("def __init__(self, me: Rank, name: str, shape: int | tuple[int, ...], dtype: Any = 'float64') "
                     "-> None"),
             "`name`: 1 to 63 bytes, by which others accept it. `shape`: a number of elements, or a tuple, in C\n"
             "order; all 0 at first. `dtype`: any NumPy type of fixed size that holds no Python objects (numbers,\n"
             "bool, complex, structures of them). Costs the touching of all its pages. Raises ElementError,\n"
             "UsageError for a dimension of 0, SystemError when there is not that much memory.")
        .def_ro(
            "array", &PythonRegion::array, nb::sig("def array(self) -> Any"),
            "A NumPy array over the memory, for loading and storing, in any thread of the owner's process. It keeps\n"
            "the memory alive, after the rank's end too.")
        .def(
            "grant",
            [](PythonRegion& self, int rank) {
                self.session->wait([&](const Rank& me) { me.grant(*self.memory, rank); });
            },
            nb::arg("rank"),
            "Lets this rank store here, once it has accepted. Raises UsageError after freeze() and for a second "
            "grant; RankLost.")
        .def(
            "freeze",
            [](PythonRegion& self, std::optional<double> within) {
                const auto limit = within_of(within);
                self.session->wait([&](const Rank& me) { me.freeze(*self.memory, limit); });
            },
            or_none("within"),
            "Makes the grants final: waits until all of them were accepted, for at most `within` seconds; then no\n"
            "other can be given any more. Raises GrantMissing, SystemError.")
        .def("__repr__", [](const PythonRegion& self) { return described("Region", self); });
    bind_remote(module);
}

}  // namespace penstock::python
