"""The cases of scikit-learn's own tests of SVC, SVR and OneClassSVM, and where each is stated here.

``sklearn/svm/tests/test_svm.py`` of scikit-learn 1.9.1 has 128 cases. 72 of them fit, or predict with,
an ``SVC``, ``SVR`` or ``OneClassSVM``; the others speak of ``NuSVC``, ``NuSVR``, ``LinearSVC`` and
``LinearSVR`` alone. Of the 72, three are second kinds of sparse container (array beside matrix), two are
``float("inf")`` beside ``numpy.inf``, and three are about scikit-learn's own deprecations: 64 are left.
40 of them speak of ``SVC``, and those that differ are all among these; 24 of ``SVR`` and ``OneClassSVM``.

``HOLDS``: LASVM with ``epochs="converge"`` and ``decision="ovo"`` passes the case itself, where scikit-learn's tests are installed
(``svc_swapped.py`` puts it in the place of ``SVC``, with wider tolerances). ``ADAPTED``: the same behaviour in
another form, which is named. ``DIFFERS``: on purpose, with the reason. Each names our test of it.
"""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import sklearn
from compile_once import made_once
from processes import PACKAGE

HERE = Path(__file__).parent
VERSION = "1.9"
LIBSVM = {"SVC", "SVR", "OneClassSVM"}
SVC, INPUT, SVR = "test_svc_parity", "test_svc_parity_input", "test_svr_parity"

HOLDS = {
    "test_libsvm_parameters": f"{SVC}::test_the_toy_problem_has_svcs_solution",
    "test_libsvm_iris": f"{SVC}::test_iris_is_learned",
    "test_svr": f"{SVR}::test_a_little_cost_learns_a_little, test_lasvm_regressor::test_a_constant_target_is_a_constant_prediction",
    "test_linearsvr": f"{SVR}::test_a_linear_model_is_that_of_svr_and_of_linear_svr",
    "test_oneclass": f"{SVR}::test_the_toy_problem_has_the_solution_of_one_class_svm",
    "test_oneclass_decision_function": f"{SVR}::test_what_is_like_the_examples_is_inside",
    "test_oneclass_score_samples": f"{SVR}::test_scores_are_decision_values_without_the_offset",
    "test_probability": "test_probabilities::test_most_probable_class_is_the_predicted_one",
    "test_decision_function": f"{SVC}::test_linear_decision_values_follow_from_coef_and_intercept, {SVC}::test_rbf_decision_values_follow_from_the_support_vectors",
    "test_svr_predict": f"{SVR}::test_predictions_follow_from_weights_or_support_vectors",
    "test_weight": f"{SVC}::test_a_class_of_little_weight_is_given_up, {SVC}::test_class_weights_are_svcs",
    "test_svm_classifier_sided_sample_weight[estimator0]": f"{SVC}::test_the_heavier_side_moves_the_boundary",
    "test_svm_regressor_sided_sample_weight[estimator0]": f"{SVR}::test_heavier_targets_attract_the_values",
    "test_svm_equivalence_sample_weight_C": f"{SVC}::test_weights_of_a_hundredth_are_a_cost_of_a_hundredth",
    **{
        f"test_negative_sample_weights_mask_all_samples[weights-are-{sign}-{kind}]": test
        for sign in ("zero", "negative")
        for kind, test in {
            "SVC": f"{SVC}::test_weights_that_leave_nothing_are_refused_in_svcs_words",
            "SVR": f"{SVR}::test_weights_that_leave_nothing_are_refused_in_svrs_words",
            "OneClassSVM": f"{SVR}::test_weights_that_leave_nothing_are_refused_in_svrs_words",
        }.items()
    },
    **{
        f"test_negative_weights_svc_leave_just_one_label[mask-label-{label}-SVC]": f"{SVC}::test_weights_that_leave_one_class_are_refused_in_svcs_words"
        for label in (1, 2)
    },
    "test_negative_weights_svc_leave_two_labels[partial-mask-label-2-SVC]": f"{SVC}::test_an_example_of_weight_zero_is_as_if_absent",
    "test_negative_weight_equal_coeffs[partial-mask-label-2-SVC]": f"{SVC}::test_an_example_of_weight_zero_is_as_if_absent",
    "test_auto_weight": f"{SVC}::test_balanced_weights_help_the_rare_class",
    "test_immutable_coef_property": f"{INPUT}::test_coef_cannot_be_changed, {SVR}::test_weights_cannot_be_changed",
    "test_svc_clone_with_callable_kernel": f"{SVC}::test_a_callable_kernel_is_the_kernel_also_in_a_clone",
    "test_svc_bad_kernel": f"{INPUT}::test_a_kernel_that_returns_the_wrong_shape_is_refused",
    "test_unfitted": f"{INPUT}::test_prediction_before_learning_is_an_error",
    "test_svr_coef_sign": f"{SVR}::test_predictions_follow_from_weights_or_support_vectors",
    "test_decision_function_shape_two_class": f"{SVC}::test_it_works_inside_one_vs_rest",
    "test_ovr_decision_function": f"{SVC}::test_values_grow_with_the_distance_from_the_boundary",
    **{
        f"test_n_support[{kind}]": f"{SVR}::test_support_vectors_are_counted"
        for kind in ("OneClassSVM", "SVR")
    },
    **{
        f"test_n_iter_libsvm[{n}-{kind}-int]": f"{SVR}::test_n_iter_is_a_whole_number"
        for n in (2, 3, 4)
        for kind in ("SVR", "OneClassSVM")
    },
    **{
        f"test_n_iter_libsvm[{n}-SVC-ndarray]": "test_one_vs_one::test_n_iter_is_one_number_for_each_pair_as_in_svc"
        for n in (2, 3, 4)
    },
    "test_decision_function_shape[SVC]": "test_one_vs_one::test_digits_are_those_of_svc",
    "test_sparse_fit_support_vectors_empty[csr_matrix]": f"{SVR}::test_a_tube_around_all_targets_needs_no_support_vector",
    "test_consistent_decision_function": f"{SVC}::test_the_same_settings_give_the_same_values",
    "test_svc_invalid_break_ties_param[SVC]": "test_one_vs_one::test_ties_cannot_be_broken_by_pairs",
    "test_svm_with_infinite_C[inf0-SVC-make_classification]": f"{INPUT}::test_an_infinite_cost_is_a_very_large_one",
    "test_svm_with_infinite_C[inf0-SVR-make_regression]": f"{SVR}::test_an_infinite_cost_is_a_very_large_one",
}

ADAPTED = {
    "test_precomputed": (
        f"{SVC}::test_the_toy_problem_has_svcs_solution, "
        f"{SVC}::test_a_precomputed_kernel_is_the_kernel, "
        f"{SVC}::test_prediction_needs_the_precomputed_values_of_support_vectors_only",
        "of iris decision values are compared: copies among its rows are one support vector, and the "
        "accuracy is that of one-vs-rest, 0.96",
    ),
    "test_svr_errors": (
        f"{SVR}::test_a_kernel_that_returns_one_value_only_is_refused",
        "fit refuses the kernel already, not predict",
    ),
    "test_svc_nonfinite_params": (
        f"{INPUT}::test_values_too_large_to_compute_with_are_refused",
        "in other words, before anything is learned",
    ),
    "test_libsvm_convergence_warnings": (
        f"{INPUT}::test_a_solution_that_was_not_reached_is_told, "
        f"{INPUT}::test_a_limit_of_iterations_ends_a_fit_as_in_svc",
        "the warning is in other words, and n_iter_ counts examples",
    ),
    "test_svc_ovr_tie_breaking[SVC]": (
        "test_one_vs_one::test_ties_go_to_the_first_class_or_to_the_most_confident",
        "kernel values that vanish are 1e-38 in single precision, so that no votes tie there",
    ),
    "test_gamma_scale": (f"{INPUT}::test_gamma_scale_is_a_number", "the attribute is gamma_"),
    "test_custom_kernel_not_array_input[SVC]": (
        "test_objects::test_texts_have_the_model_of_their_numbers",
        "the function must be right for any two lists, not for the training examples alone",
    ),
    "test_custom_kernel_not_array_input[SVR]": (
        "test_objects::test_regression_and_novelty_take_them_as_svr_does",
        "the function must be right for any two lists, not for the training examples alone",
    ),
    "test_svc_raises_error_internal_representation": (
        f"{INPUT}::test_writing_into_an_attribute_harms_no_prediction",
        "what users can write into is a copy, so there is nothing to raise about",
    ),
}

DIFFERS = {
    "test_hasattr_predict_proba": (
        "test_probabilities::test_methods_are_always_there",
        "probabilities need no switch, which scikit-learn takes away in version 1.11",
    ),
    "test_tweak_params": (
        f"{INPUT}::test_writing_into_an_attribute_harms_no_prediction",
        "coefficients of a fitted model cannot be changed",
    ),
    **{
        f"{name}[partial-mask-label-1-SVC]": (
            f"{INPUT}::test_negative_weights_are_refused_where_svc_takes_them_for_zero",
            "a negative weight is more often a mistake than an example to leave out",
        )
        for name in (
            "test_negative_weights_svc_leave_two_labels",
            "test_negative_weight_equal_coeffs",
        )
    },
    "test_bad_input[lil_matrix]": (
        f"{INPUT}::test_sparse_rows_are_welcome_after_dense_ones, "
        f"{INPUT}::test_labels_that_do_not_match_are_refused, "
        f"{INPUT}::test_arrays_may_lie_in_memory_as_they_like, "
        f"{INPUT}::test_a_precomputed_kernel_must_be_square, "
        f"{INPUT}::test_prediction_refuses_another_number_of_features",
        "sparse rows after dense ones are welcome; the other five statements hold",
    ),
    "test_sparse_precomputed[csr_matrix]": (
        f"{INPUT}::test_a_sparse_precomputed_kernel_is_welcome_where_svc_refuses_it",
        "sparse kernel values are welcome",
    ),
}

OURS = HOLDS | {name: test for name, (test, _) in (ADAPTED | DIFFERS).items()}


@cache
def functions(file):
    """Names of the functions of a file of tests, and of what each mentions."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {
        node.name: {name.attr for name in ast.walk(node) if isinstance(name, ast.Attribute)}
        | {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def scikit_learns_own_tests():
    """The file of the cases, where it is installed."""
    file = Path(sklearn.__file__).parent / "svm" / "tests" / "test_svm.py"
    if not sklearn.__version__.startswith(VERSION) or not file.exists():
        pytest.skip(f"the table is that of scikit-learn {VERSION}, with its tests")
    return file


def test_at_least_55_of_64_cases_hold_but_for_the_switch_that_goes():
    assert len(OURS) == 64 == len(HOLDS) + len(ADAPTED) + len(DIFFERS)
    gone = {"test_hasattr_predict_proba"}
    assert len(HOLDS) + len(ADAPTED) >= 55 - len(gone & set(DIFFERS))


def test_every_case_is_stated_by_a_test_that_exists():
    named = {tuple(test.split("::")) for tests in OURS.values() for test in tests.split(", ")}
    assert [test for test in named if test[1] not in functions(HERE / f"{test[0]}.py")] == []


def test_every_case_of_scikit_learn_is_in_the_table():
    theirs = functions(scikit_learns_own_tests())
    named = {re.sub(r"\[.*", "", case) for case in OURS}
    assert named <= set(theirs)
    deprecated = {"test_probability_raises_futurewarning", "test_svc_nusvc_probA_probB_deprecated"}
    speak = {name for name, words in theirs.items() if name.startswith("test_") and words & LIBSVM}
    assert speak - deprecated == named


ALL = "ONLINESVM_DATA" in os.environ
"""Whether all cases are run, which takes half a minute."""


def report_of(tmp_path_factory):
    """What scikit-learn's tests say in one run, for all workers.

    With ``svc_swapped`` our classes are ``SVC``, ``SVR`` and ``OneClassSVM`` in that process.
    """
    file = scikit_learns_own_tests()
    cases = (
        [file, file.with_name("test_sparse.py")] if ALL else [f"{file}::{case}" for case in HOLDS]
    )

    def run(folder):
        result = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-p", "svc_swapped", "-p", "no:cacheprovider", "--noconftest",
                f"--rootdir={file.parent}", "-q", "-n", "0", "-W", "ignore", "--tb=line", "-rpf", *map(str, cases),
            ],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(HERE.parent / "helpers")])},
            cwd=HERE.parent, capture_output=True, text=True, check=False, timeout=280,
        )  # fmt: skip
        return result.stdout + result.stderr[-1000:]

    return made_once(tmp_path_factory, "scikit-learns-cases", run)[1]


def test_cases_that_hold_are_passed_as_scikit_learn_wrote_them(tmp_path_factory):
    report = report_of(tmp_path_factory)
    passed = set(re.findall(r"^PASSED \S*::(\S+)$", report, re.MULTILINE))
    assert set(HOLDS) - passed == set(), report[-4000:]


@pytest.mark.skipif(not ALL, reason="takes half a minute: with ONLINESVM_DATA")
def test_at_least_255_of_286_cases_pass_and_the_others_have_a_reason(tmp_path_factory):
    """All cases of scikit-learn's two files, dense and sparse, NuSVC and LinearSVC included."""
    report = report_of(tmp_path_factory)
    passed, cases = map(int, re.search(r"(\d+) of (\d+) cases pass", report).groups())
    assert cases >= 286
    own = int(re.search(r"(\d+) with scikit-learn's own tolerances", report).group(1))
    assert passed >= 265, report[-6000:]
    assert own >= 255, report[-6000:]
    assert "UNEXPECTED" not in report, report[-6000:]
