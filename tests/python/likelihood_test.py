"""Likelihoods of trees against programs that are not ours: BEAGLE, called through ctypes with matrices from NumPy and SciPy, and PhyML."""

import ctypes
import ctypes.util
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import special

import penstock as ps

PHYML = Path("/usr/lib/phyml/bin/phyml")  # the wrapper in /usr/bin would start it by MPI
EXAMPLE = Path("/usr/share/doc/phyml/examples/nucleic")
LETTERS = {"A": 1, "C": 2, "G": 4, "T": 8, "R": 5, "Y": 10, "N": 15, "-": 15}


def random_newick(names, random):
    """A tree over these names. PhyML makes very short branches longer: there are none."""
    parts = [(name, 0.01 + random.exponential(0.08)) for name in names]
    while len(parts) > 3:
        a, b = (parts.pop(random.integers(len(parts))) for _ in range(2))
        parts.append((f"({a[0]}:{a[1]:.6f},{b[0]}:{b[1]:.6f})", 0.01 + random.exponential(0.08)))
    return "(" + ",".join(f"{text}:{length:.6f}" for text, length in parts) + ");"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """An alignment with gaps and ambiguous bases, and a tree: the names of their files."""
    random = np.random.default_rng(8)
    names = [f"t{i:02}" for i in range(30)]  # none begins another: PhyML would take that one's length
    sequences = [random.choice(list("ACGT"), 400)]
    for _ in names[1:]:
        copy = sequences[random.integers(len(sequences))].copy()
        changed = random.random(400) < 0.15
        copy[changed] = random.choice(list("ACGTRYN-"), changed.sum(), p=[0.2] * 4 + [0.05] * 4)
        sequences.append(copy)
    folder = tmp_path_factory.mktemp("likelihood")
    (folder / "a.phy").write_text("30 400\n" + "".join(f"{name}  {''.join(row)}\n" for name, row in zip(names, sequences, strict=True)))
    (folder / "t.nwk").write_text(random_newick(names, random) + "\n")
    return folder / "a.phy", folder / "t.nwk"


def ours(machine, alignment, tree, settings):
    files = {"alignment": str(alignment), "tree": str(tree), "repetitions": 1}
    result = ps.run_app(machine, "likelihood", files | settings)
    assert result["ok"], result["checks"]
    return float(result["findings"]["log-likelihood"])


MODELS = {
    "JC69": {"model": "JC69", "categories": "1"},
    "JC69+G4": {"model": "JC69", "categories": "4", "alpha": "0.3"},
    "HKY85": {"model": "HKY85", "categories": "1", "kappa": "3.5", "shares": "0.1,0.2,0.3,0.4"},
    "HKY85+G4": {"model": "HKY85", "kappa": "2.5", "alpha": "1.7", "categories": "4", "shares": "0.3,0.2,0.2,0.3"},
    "GTR": {"model": "GTR", "categories": "1", "rates": "1,3,0.6,0.4,4,1.3", "shares": "0.35,0.15,0.2,0.3"},
    "GTR+G5": {"model": "GTR", "rates": "1,3,0.6,0.4,4,1.3", "alpha": "0.05", "categories": "5", "shares": "0.35,0.15,0.2,0.3"},
}  # fmt: skip


class Beagle:
    """One instance, for one alignment."""

    def __init__(self, library, rows, categories):
        self.library, (taxa, sites) = library, rows.shape
        pattern_count = sites
        details = ctypes.create_string_buffer(64)
        resource = (ctypes.c_int * 1)(0)
        double = 1 << 1
        counts = (taxa, 2 * taxa, taxa, 4, pattern_count, 1, 2 * taxa, categories, 0)
        self.instance = library.beagleCreateInstance(*counts, resource, 1, ctypes.c_long(0), ctypes.c_long(double), details)
        assert self.instance >= 0
        for taxon, row in enumerate(rows):
            sets = np.stack([row >> base & 1 for base in range(4)], 1).astype(float)
            self.call("SetTipPartials", taxon, sets)
        self.call("SetPatternWeights", np.ones(pattern_count))

    def call(self, name, *arguments):
        arrays = [np.ascontiguousarray(each) if isinstance(each, np.ndarray) else each for each in arguments]
        plain = [each.ctypes.data_as(ctypes.c_void_p) if isinstance(each, np.ndarray) else each for each in arrays]
        assert getattr(self.library, "beagle" + name)(self.instance, *plain) == 0, name


def beagle_library():
    name = ctypes.util.find_library("hmsbeagle")
    if name is None:
        pytest.skip("BEAGLE is missing (install libhmsbeagle-dev)")
    return ctypes.CDLL(name)


def parsed(newick):
    """Children and length by node; the root is the last node. Tips are numbered by their names."""
    stack, children, lengths, inner = [], {}, {}, 1000
    for token in re.findall(r"[(),;]|[^(),;]+", newick.strip()):
        if token == "(":
            stack.append([])
        elif token == ")":
            children[inner] = stack.pop()
            inner += 1
        elif token not in ",;":
            name, length = token.split(":")
            node = int(name[1:]) if name else inner - 1
            lengths[node] = float(length)
            stack[-1].append(node)
    return children, lengths


def by_beagle(alignment, newick, settings):
    shares = np.array([float(x) for x in settings.get("shares", "0.25,0.25,0.25,0.25").split(",")])
    rates = [float(x) for x in settings.get("rates", "1,1,1,1,1,1").split(",")]
    if settings["model"] == "HKY85":
        rates[1] = rates[4] = float(settings["kappa"])
    exchange = np.zeros((4, 4))
    exchange[np.triu_indices(4, 1)] = rates
    exchange += exchange.T
    q = exchange * shares
    np.fill_diagonal(q, -q.sum(1))
    q /= -(shares * np.diag(q)).sum()
    values, vectors = np.linalg.eig(q)
    categories = int(settings["categories"])
    alpha = float(settings.get("alpha", "1"))
    cuts = special.gammaincinv(alpha, np.arange(1, categories) / categories)
    speeds = np.diff(np.concatenate([[0], special.gammainc(alpha + 1, cuts), [1]])) * categories

    lines = alignment.read_text().splitlines()[1:]
    rows = np.array([[LETTERS[letter] for letter in line.split()[1]] for line in lines])
    beagle = Beagle(beagle_library(), rows, categories)
    beagle.call("SetEigenDecomposition", 0, vectors, np.linalg.inv(vectors), values)
    beagle.call("SetStateFrequencies", 0, shares)
    beagle.call("SetCategoryWeights", 0, np.full(categories, 1 / categories))
    beagle.call("SetCategoryRates", speeds)
    children, lengths = parsed(newick.read_text())
    number = {inner: len(rows) + i for i, inner in enumerate(children)}
    place = lambda node: number.get(node, node)  # noqa: E731
    nodes = np.array([place(node) for node in lengths], np.int32)
    beagle.call("UpdateTransitionMatrices", 0, nodes, None, None, np.array(list(lengths.values())), len(nodes))
    operations = []
    *others, (root, last) = children.items()
    for inner, (left, right) in others:
        operations.append([place(inner), -1, -1, place(left), place(left), place(right), place(right)])
    operations.append([place(root), -1, -1, place(last[0]), place(last[0]), place(last[1]), place(last[1])])
    beagle.call("UpdatePartials", np.array(operations, np.int32), len(operations), -1)
    # The root's third branch is where the likelihood is looked at.
    found = np.zeros(1)
    parent, child, zero, none = (np.array([each], np.int32) for each in (place(root), place(last[2]), 0, -1))
    beagle.call("CalculateEdgeLogLikelihoods", parent, child, child, None, None, zero, zero, none, 1, found, None, None)
    return found[0]


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
def test_likelihoods_are_those_of_beagle(data, settings, machine):
    alignment, tree = data
    assert ours(machine, alignment, tree, settings) == pytest.approx(by_beagle(alignment, tree, settings), rel=1e-12)


@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS.keys())
def test_likelihoods_in_single_precision_are_close(data, settings, machine):
    alignment, tree = data
    double = ours(machine, alignment, tree, settings)
    assert ours(machine, alignment, tree, settings | {"precision": "float"}) == pytest.approx(double, rel=1e-6)


def by_phyml(alignment, tree, folder, *given):
    """What PhyML says of the files, without changing the tree or the model."""
    if not PHYML.exists():
        pytest.skip("PhyML is missing (install phyml)")
    copy = folder / "alignment"
    copy.write_text(alignment.read_text())
    command = [PHYML, "-i", copy, "-u", tree, *given, "-o", "n", "-b", "0", "--no_memory_check", "--quiet"]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return float(re.search(r"Log likelihood of the current tree: (-[0-9.]+[0-9])", told)[1])


@pytest.fixture
def example(tmp_path):
    """The real sequences that come with PhyML, and a tree over them."""
    if not EXAMPLE.exists():
        pytest.skip("the example of PhyML is missing (install phyml, with its documents)")
    text = re.sub(r"^tax(\d+) *", lambda found: f"s{int(found[1]):02} ", EXAMPLE.read_text(), flags=re.MULTILINE)
    (tmp_path / "real").write_text(text)
    names = re.findall(r"^(s\d\d)", text, flags=re.MULTILINE)
    assert len(names) == 54
    (tmp_path / "tree").write_text(random_newick(names, np.random.default_rng(3)))
    return tmp_path / "real", tmp_path / "tree"


@pytest.mark.parametrize("model", ["JC69", "JC69+G4", "HKY85", "HKY85+G4"])
@pytest.mark.parametrize("files", ["data", "example"])
def test_likelihoods_are_those_of_phyml(model, files, request, machine, tmp_path):
    alignment, tree = request.getfixturevalue(files)
    settings = MODELS[model]
    given = ["-m", settings["model"], "-c", settings["categories"], "-a", settings.get("alpha", "1")]
    if settings["model"] == "HKY85":
        given += ["-t", settings["kappa"], "-f", settings["shares"]]
    assert ours(machine, alignment, tree, settings) == pytest.approx(by_phyml(alignment, tree, tmp_path, *given), rel=1e-9)


def test_the_shares_of_bases_are_those_of_phyml(example, machine, tmp_path):
    settings = {"model": "HKY85", "kappa": "3", "categories": "1", "shares": "alignment"}
    theirs = by_phyml(*example, tmp_path, "-m", "HKY85", "-t", "3", "-c", "1", "-f", "m")
    assert ours(machine, *example, settings) == pytest.approx(theirs, rel=1e-9)


def test_an_alignment_may_be_an_array(machine):
    rows = np.array([[1, 2, 4, 8, 15], [1, 2, 4, 4, 15], [1, 2, 5, 8, 1]], np.uint8)
    result = ps.run_app(machine, "likelihood", {"repetitions": 1, "model": "JC69"}, {"alignment": rows}, True)
    assert result["ok"] and np.array_equal(result["arrays"]["alignment"], rows)
    assert result["arrays"]["weights"].sum() == 5
    with pytest.raises(ps.SettingError, match="sets of bases"):
        ps.run_app(machine, "likelihood", {}, {"alignment": rows * 0})


def test_samples_are_written_for_tracer_and_as_trees(data, machine, tmp_path):
    told = []
    settings = {"alignment": str(data[0]), "generations": 400, "every": 20, "output": str(tmp_path / "run"), "repetitions": 1}
    result = ps.run_app(machine, "likelihood", settings, progress=told.append)
    assert result["ok"] and told == sorted(told) and told[-1] == 1
    head, *lines = (tmp_path / "run.log").read_text().splitlines()
    rows = np.array([[float(each) for each in line.split("\t")] for line in lines])
    assert head.split("\t")[:3] == ["Sample", "posterior", "likelihood"] and rows.shape == (21, len(head.split("\t")))
    assert np.array_equal(rows[:, 0], np.arange(0, 401, 20)) and np.allclose(rows[:, 1], rows[:, 2] + rows[:, 3])
    trees = (tmp_path / "run.trees").read_text().splitlines()
    assert len(trees) == 21
    # The last tree with the parameters of its line has the likelihood that stands there.
    (tmp_path / "last").write_text(trees[-1])
    columns = dict(zip(head.split("\t"), lines[-1].split("\t"), strict=True))
    model = {
        "model": "GTR",
        "alpha": columns["alpha"],
        "shares": ",".join(columns[f"share {base}"] for base in "ACGT"),
        "rates": ",".join(columns[f"rate {pair}"] for pair in ("AC", "AG", "AT", "CG", "CT", "GT")),
    }
    assert ours(machine, data[0], tmp_path / "last", model) == pytest.approx(float(columns["likelihood"]), rel=1e-8)
    assert (tmp_path / "run.consensus").read_text().strip() == result["findings"]["consensus"]
    with pytest.raises(ps.Error, match="cannot write the file '/nowhere/run.log'"):
        ps.run_app(machine, "likelihood", settings | {"output": "/nowhere/run"})


def test_a_sampler_can_be_given_up(data, machine):
    def give_up(fraction):
        raise KeyboardInterrupt

    for ranks in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            ps.run_app(machine, "likelihood", {"alignment": str(data[0]), "generations": 10**9, "ranks": ranks}, progress=give_up)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"alignment": "/nowhere"}, "cannot read the file '/nowhere'"),
        ({"tree": "/nowhere"}, "cannot read the file '/nowhere'"),
        ({"model": "K80"}, "'K80' is none of JC69, HKY85, GTR"),
        ({"shares": "0.3,0.3,0.3"}, "give 4 numbers"),
        ({"shares": "0.3,0.3,0.3,0.3"}, "must add up to 1"),
        ({"kappa": "-1"}, "'-1' is no number from"),
        ({"alpha": "nan"}, "'nan' is no number from"),
        ({"rates": "1,2,3,4,5,x"}, "'x' is no number"),
        ({"categories": "65"}, "'65' is no number from 1 to 64"),
        ({"categories": "1.5"}, "'1.5' is no number"),
        ({"precision": "half"}, "none of double, float"),
        ({"rows": 2}, "3 to 1000000"),
        ({"generations": "-1"}, "'-1' is no number"),
        ({"generations": 1, "chains": 2, "ranks": 3}, "'3' is no number from 0 to 2"),
        ({"generations": 1, "burn-in": 1}, "'1' is no number from 0 to 0.99"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, wrong, machine):
    with pytest.raises(ps.Error, match=re.escape(wrong)):
        ps.run_app(machine, "likelihood", settings)


def test_malformed_files_are_refused_by_name_and_line(machine, tmp_path):
    path = tmp_path / "a.phy"
    path.write_text("3 4\na ACGT\nb ACG!\nc ACGT\n")
    with pytest.raises(ps.UsageError, match=re.escape(f"{path}:3: '!' is no base")):
        ps.run_app(machine, "likelihood", {"alignment": str(path)})
    path.write_text("3 4\na ACGT\nb ACGT\nc ACGT\n")
    tree = tmp_path / "t.nwk"
    tree.write_text("(a:1,\nb:1,x:1);")
    with pytest.raises(ps.UsageError, match=re.escape(f"{tree}:2: character 5: the alignment has no sequence x")):
        ps.run_app(machine, "likelihood", {"alignment": str(path), "tree": str(tree)})
