"""SimpleSVM's engine: its factor, its steps against a naive twin, its promises after every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.simplesvm import NaiveSimpleSVM
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

from onlinesvm.core.kernel.exact import ExactRows
from onlinesvm.core.kernel.kernel import make_kernel
from onlinesvm.core.runtime.numerics import jit
from onlinesvm.core.simplesvm import factor, tasks
from onlinesvm.core.simplesvm.kernel_store import KernelStore, LowRankSource
from onlinesvm.core.simplesvm.learner import Options, SimpleSVM
from onlinesvm.core.simplesvm.lowrank import incomplete_cholesky
from onlinesvm.core.simplesvm.machine import Machine, run
from onlinesvm.core.simplesvm.pair_steps import approach
from onlinesvm.core.simplesvm.state import SINGULAR
from onlinesvm.core.simplesvm.tasks import Classification


@jit
def forward(U, m, X, row):
    factor.forward(U, m, X, row)


@jit
def join(U, V, d, m, pivot, border, value):
    factor.join(U, V, d, m, pivot, border, value)


def points(seed, n=60, copies=8, near=8):
    """Two noisy classes with duplicates (some of the other class) and near-duplicates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    again, close = rng.integers(n, size=copies), rng.integers(n, size=near)
    flip = np.where(rng.random(copies) < 0.5, -1.0, 1.0)
    X = np.concatenate([X, X[again], X[close] + 1e-7 * rng.normal(size=(near, 3))])
    return X, np.concatenate([y, flip * y[again], y[close]])


def machine_for(problem, X, kernel="rbf", tol=1e-10, **options):
    k = make_kernel(kernel, gamma=0.5, degree=2, coef0=1.0, n_jobs=1)
    store = KernelStore(ExactRows(X, k), 50)
    return Machine(problem, store, tol=tol, capacity=1000, **options)


def six_problems(y):
    n = len(y)
    cost = np.full(n, 2.0)
    return {
        "linear": tasks.linear_slack(y, cost),
        "quadratic": tasks.quadratic_slack(y, cost),
        "nu": tasks.nu_classification(y, np.ones(n), 0.4),
        "regression": tasks.regression(y + 0.1 * np.arange(n) / n, cost, 0.1),
        "one class": tasks.one_class(np.ones(n), 0.3),
        "weights": tasks.linear_slack(y, np.linspace(0.1, 3.0, n)),
    }


def check_promises(machine, objective):
    """KKT on the working set, equality rows, bounds, the objective, the factor."""
    p, held = machine.problem, machine.held
    g = machine.gradient() + p.entry * machine.beta[p.group]
    scale = 1.0 + np.abs(machine.alpha).max()
    assert np.abs(g[held]).max(initial=0.0) <= 1e-8 * scale
    assert np.abs(machine.gap()).max() <= 1e-10 * scale
    assert (machine.alpha >= 0).all()
    assert (machine.alpha <= p.upper).all()
    now = machine.objective()
    assert now <= objective + 1e-10 * abs(objective) + 1e-12
    if not machine.primal and len(held):
        U, M = machine.w.U[: len(held), : len(held)], machine.matrix()
        U = np.triu(U)
        assert np.abs(U.T @ U - M).max() <= 1e-8 * np.abs(M).max()
    outside = np.setdiff1d(np.arange(len(p)), held)
    rest = machine.alpha[outside]
    assert ((rest == 0) | (rest == p.upper[outside])).all()
    return now


def test_factor_follows_ten_thousand_insertions_and_deletions():
    rng = np.random.default_rng(0)
    X, _ = points(1, n=50)
    K = rbf_kernel(X, gamma=0.5) + 0.3
    border = np.sign(rng.normal(size=len(X)))
    room = len(X)
    U, V = np.zeros((room, room)), np.zeros((4, room))
    members = []
    worst, refused = 0.0, 0
    for _ in range(10_000):
        m = len(members)
        outside = sorted(set(range(room)).difference(members))
        if m and (not outside or rng.random() < 0.5):
            k = int(rng.integers(m))
            factor.take_out(U, V, m, k)
            members.pop(k)
        else:
            i = int(rng.choice(outside))
            u = V[1]
            u[:m] = K[i, members]
            forward(U, m, V, 1)
            pivot = K[i, i] - u[:m] @ u[:m]
            if pivot <= SINGULAR * K[i, i]:
                refused += 1
                continue
            join(U, V, 1, m, np.sqrt(pivot), 0, border[i])
            members.append(i)
        m = len(members)
        upper = np.triu(U[:m, :m])
        M = K[np.ix_(members, members)]
        worst = max(worst, np.abs(upper.T @ upper - M).max(initial=0.0) / 1.3)
        if m:
            worst = max(worst, np.abs(upper.T @ V[0, :m] - border[members]).max())
    assert worst <= 1e-8
    assert refused > 10  # duplicates were met


@pytest.mark.parametrize("name", ["linear", "quadratic", "nu", "regression", "one class"])
@pytest.mark.parametrize("seed", range(3))
def test_every_step_equals_the_naive_twin(name, seed):
    X, y = make_classification(24, 4, flip_y=0.1, random_state=seed)
    y = 2.0 * y - 1
    p = six_problems(y)[name]
    machine = machine_for(p, X, seed=seed)
    K = rbf_kernel(X, gamma=0.5)[np.ix_(p.row, p.row)]
    H = K * np.outer(p.sign, p.sign) + np.diag(p.ridge)
    A = np.where(np.arange(len(p.target))[:, None] == p.group, p.entry, 0.0)
    twin = NaiveSimpleSVM(H, p.linear, p.upper, A, p.target, machine.alpha)
    twin.work = machine.held.tolist()
    if twin.work:
        machine._work_on(np.empty(0, np.int64), machine.gradient(), np.ones(len(p)), 1)
        twin.alpha[twin.work], twin.beta = machine.alpha[twin.work], machine.beta.copy()
    rng = np.random.default_rng(seed)
    added = 0
    for i in np.tile(rng.permutation(len(p)), 3):
        if i in twin.work or not twin.violates(i, 1e-6):
            continue
        tol = np.full(len(p), 1e-6)
        machine._work_on(np.array([i]), machine.gradient(), tol, 1)
        twin.add(i)
        added += 1
        np.testing.assert_allclose(machine.alpha, twin.alpha, atol=1e-7)
        assert set(machine.held) == set(twin.work)
        np.testing.assert_allclose(machine.beta, twin.beta, atol=1e-7)
    assert added > 5


@given(st.integers(0, 10_000), st.sampled_from(["rbf", "linear", "poly"]))
def test_promises_after_every_insertion(seed, kernel):
    X, y = points(seed, n=30)
    rng = np.random.default_rng(seed)
    for p in six_problems(y).values():
        machine = machine_for(p, X, kernel, seed=seed)
        machine._work_on(np.empty(0, np.int64), machine.gradient(), np.ones(len(p)), 1)
        objective = check_promises(machine, np.inf)
        for i in rng.permutation(len(p))[:25]:
            if i not in machine.held:
                tol = np.full(len(p), 1e-9)
                machine._work_on(np.array([i]), machine.gradient(), tol, 1)
                objective = check_promises(machine, objective)


@given(st.integers(0, 10_000))
def test_promises_after_every_deletion(seed):
    X, y = points(seed, n=24)
    rng = np.random.default_rng(seed)
    cost = np.full(len(y), 2.0)
    p = tasks.linear_slack(y, cost)
    machine = machine_for(p, X)
    run(machine)
    kept = np.ones(len(y), bool)
    for _ in range(6):
        kept[:] = True
        kept[rng.integers(len(kept))] = False
        if abs(machine.problem.sign[kept].sum()) == kept.sum():
            break
        coef = machine.coefficients()
        score = machine.score - machine.source.product(np.flatnonzero(~kept), coef[~kept])
        rows = machine.source.rows.take(np.flatnonzero(kept))
        smaller = tasks.linear_slack(machine.problem.sign[kept], cost[: kept.sum()])
        machine.forget(smaller, kept, machine.source.restrict(rows, kept), score[kept])
        run(machine)
        check_promises(machine, np.inf)
        assert machine.kkt_violation() <= 1e-8
        fresh = machine_for(smaller, rows.values)
        run(fresh)
        assert machine.objective() == pytest.approx(fresh.objective(), rel=1e-8)
        kept = np.ones(len(smaller), bool)


def test_promises_through_ten_thousand_comings_and_goings():
    """Random examples, among them duplicates of both classes, are learned and forgotten."""
    pool, labels = points(4, n=40)
    rng = np.random.default_rng(0)
    rows = ExactRows(pool, make_kernel("rbf", gamma=0.5, n_jobs=1))
    task, options = Classification("linear", 2.0, None, 2), Options(tol=1e-10, init="random")
    target = (labels > 0).astype(np.int64)
    start = np.array([np.argmax(target), np.argmin(target)])
    learner = SimpleSVM(rows.take(start), target[start], np.ones(2), task, options)
    for step in range(10_000):
        n = len(learner.target)
        if n > 2 and rng.random() < (0.5 if n < 25 else 0.9):
            learner.forget(np.arange(n) == rng.integers(2, n))  # one of each class stays
        else:
            one = rng.integers(len(pool), size=1)
            learner.learn(rows.take(one), target[one], np.ones(1))
        assert learner.finish()
        assert learner.machines[0].kkt_violation() <= 1e-8
        if step < 1000 or step % 10 == 9:  # the check takes longer than the step
            check_promises(learner.machines[0], np.inf)


@pytest.mark.parametrize("name", ["linear", "quadratic", "nu", "regression", "one class"])
def test_cheap_steps_keep_what_must_hold(name):
    X, y = points(6, n=60)
    machine = machine_for(six_problems(y)[name], X)
    objective = machine.objective()
    for gap in (0.3, 0.1, 0.01):
        values, at = machine.everything()
        rows = len(machine.problem.target)
        approach(values.K, at, machine.score, -1, -1, 0.0, gap, rows, 500)
        machine.alpha = at.alpha
        assert machine.objective() <= objective + 1e-12 * abs(objective)
        objective = machine.objective()
        assert np.abs(machine.gap()).max() <= 1e-10
        assert ((machine.alpha >= 0) & (machine.alpha <= machine.problem.upper)).all()
        exact = machine.source.fill() @ machine.coefficients()
        np.testing.assert_allclose(machine.score, exact, atol=1e-10)
    fresh = machine_for(six_problems(y)[name], X)
    run(fresh)
    assert objective == pytest.approx(fresh.objective(), rel=1e-2)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_sweeps_lower_the_objective_to_the_optimum(kernel):
    X, y = points(3, n=150)
    for name, p in six_problems(y).items():
        machine = machine_for(p, X, kernel, block_size=16)
        objective = np.inf
        for _ in machine.optimise():
            objective = check_promises(machine, objective) if machine.n_sweeps else np.inf
        assert machine.converged, name
        assert machine.kkt_violation() <= 1e-8, name
        exact = machine.source.rows.block(machine.source.rows) @ machine.coefficients()
        np.testing.assert_allclose(machine.score, exact, atol=1e-9)


def test_a_linear_kernel_never_holds_more_than_its_rank():
    X, y = points(5, n=80)
    machine = machine_for(tasks.linear_slack(y, np.full(len(y), 1.0)), X, "linear")
    run(machine)
    assert machine.converged
    assert len(machine.held) <= X.shape[1] + 1


def test_conflicting_duplicates_go_to_their_bounds():
    X = np.array([[0.0], [0.0], [3.0], [-3.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    machine = machine_for(tasks.linear_slack(y, np.full(4, 1.5)), X)
    run(machine)
    np.testing.assert_allclose(machine.alpha[:2], 1.5)


def test_rebuild_gives_the_same_factor():
    X, y = points(7)
    machine = machine_for(tasks.quadratic_slack(y, np.full(len(y), 5.0)), X)
    run(machine)
    before = machine.w.U.copy()
    m = len(machine.held)
    machine.rebuild()
    np.testing.assert_allclose(np.triu(machine.w.U[:m, :m]), np.triu(before[:m, :m]), atol=1e-10)


def test_a_spoilt_factor_is_noticed_and_made_anew():
    X, y = points(8, n=120)
    p = tasks.linear_slack(y, np.full(len(y), 5.0))
    machine = machine_for(p, X, block_size=8)
    rng = np.random.default_rng(0)
    for _ in machine.optimise():
        m = len(machine.held)
        if machine.n_sweeps in (2, 4, 6):
            machine.w.U[:m, :m] *= 1.0 + 1e-3 * rng.normal(size=(m, m))
    check_promises(machine, np.inf)
    fresh = machine_for(p, X)
    run(fresh)
    assert machine.objective() == pytest.approx(fresh.objective(), rel=1e-9)


@pytest.mark.parametrize("name", ["linear", "quadratic", "nu", "regression", "one class"])
def test_low_rank_of_full_rank_equals_dense(name):
    X, y = points(11, n=80)
    rows = ExactRows(X, make_kernel("rbf", gamma=0.5, n_jobs=1))
    Z, pivots, T = incomplete_cholesky(rows, len(X), 1e-13)
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X, gamma=0.5), atol=1e-10)
    np.testing.assert_allclose(rows.block(rows.take(pivots)) @ T, Z, atol=1e-5)
    p = six_problems(y)[name]
    dense = machine_for(p, X)
    run(dense)
    low = Machine(six_problems(y)[name], LowRankSource(Z), tol=1e-10, capacity=1000)
    run(low)
    assert low.converged
    assert low.objective() == pytest.approx(dense.objective(), rel=1e-8)
    assert low.kkt_violation() <= 1e-8


def test_low_rank_with_a_ridge_needs_no_square_matrix():
    X, y = make_classification(600, 5, flip_y=0.2, random_state=0)
    p = tasks.quadratic_slack(2.0 * y - 1, np.full(600, 1.0))
    machine = Machine(p, LowRankSource(X), tol=1e-8, capacity=1000)
    run(machine)
    assert len(machine.held) > 200
    largest = max(array.size for array in machine.w)
    assert largest <= 600 * 6
    H = (X @ X.T) * np.outer(p.sign, p.sign) + np.eye(600)
    g = H @ machine.alpha - 1 + p.entry * machine.beta[0]
    assert np.abs(g[machine.held]).max() <= 1e-8


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_exact_kernels_equal_scikit_learn(kernel, form):
    from scipy import sparse
    from sklearn.metrics.pairwise import pairwise_kernels

    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 7)) * (rng.random((45, 7)) < 0.5)
    k = make_kernel(kernel, gamma=0.3, degree=3, coef0=0.5)
    options = {} if kernel == "linear" else {"gamma": 0.3}
    if kernel in ("poly", "sigmoid"):
        options["coef0"] = 0.5
    if kernel == "poly":
        options["degree"] = 3
    rows = ExactRows(sparse.csr_matrix(X) if form == "sparse" else X, k)
    other = ExactRows(X[:9], k)
    expected = pairwise_kernels(X, metric=kernel, **options)
    np.testing.assert_allclose(rows.block(rows), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(other.block(rows), expected[:9], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(rows.block(other), expected[:, :9], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(rows.diagonal(), np.diag(expected), rtol=1e-12)
    assert k.n_evaluations == 45 * 45 + 2 * 9 * 45


def test_the_store_gives_the_same_values_whatever_it_keeps():
    X, _ = points(2)
    K = rbf_kernel(X, gamma=0.5)
    k = make_kernel("rbf", gamma=0.5, n_jobs=1)
    n = len(X)
    rng = np.random.default_rng(0)
    for slots in (1, 5, n):
        store = KernelStore(ExactRows(X, k), slots * n * 8 / 2**20 + 1e-9)
        assert store.capacity == min(slots, n)
        for _ in range(20):
            which = rng.choice(n, size=rng.integers(1, 12), replace=False)
            store.keep(which, evict=bool(rng.integers(2)))
            coef = rng.normal(size=len(which))
            np.testing.assert_allclose(store.product(which, coef), coef @ K[which], atol=1e-12)
            np.testing.assert_allclose(store.block(which), K[np.ix_(which, which)], atol=1e-12)
    kept = rng.random(n) < 0.6
    smaller = store.restrict(store.rows.take(np.flatnonzero(kept)), kept)
    some = np.arange(5)
    np.testing.assert_allclose(smaller.block(some), K[np.ix_(kept, kept)][:5, :5], atol=1e-12)
    larger = smaller.extend(smaller.rows.append(ExactRows(X[~kept], k)))
    order = np.concatenate([np.flatnonzero(kept), np.flatnonzero(~kept)])
    which = np.arange(0, n, 7)
    np.testing.assert_allclose(
        larger.block(which), K[np.ix_(order[which], order[which])], atol=1e-12
    )
