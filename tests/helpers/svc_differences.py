"""Cases of scikit-learn's own tests that LASVM does not pass in the place of SVC, SVR and OneClassSVM.

``svc_swapped`` prints the list after ``pytest -p svc_swapped test_svm.py test_sparse.py``, and says of every
case that fails whether it is here. Versions: scikit-learn 1.9, 286 cases.
"""

import re

REASONS = {
    "test_svr_errors": "fit refuses a kernel function of the wrong shape already, not predict",
    "test_tweak_params": "coefficients of a fitted model cannot be changed: attributes are copies",
    "test_svc_raises_error_internal_representation": (
        "the same: there is nothing in an attribute that could be spoiled"
    ),
    r"test_negative_weights?_.*partial-mask-label-1.*": (
        "a negative weight is refused, where SVC leaves the example out"
    ),
    "test_bad_input": "sparse rows are welcome after dense ones",
    "test_svc_nonfinite_params": (
        "values too large to compute with are refused before anything is learned, in other words"
    ),
    "test_sparse_precomputed": "sparse kernel values are welcome",
    "test_libsvm_convergence_warnings": (
        "n_iter_ counts the examples learned, not the iterations of the solver"
    ),
    "test_hasattr_predict_proba": "predict_proba needs no switch",
    "test_probability_raises_futurewarning": "the same: the switch is not deprecated here",
    "test_svc_nusvc_probA_probB_deprecated": "there are no probA_ and probB_, which scikit-learn drops",
    "test_svc_ovr_tie_breaking": (
        "a kernel value that vanishes is 1e-38 in single precision, so that no votes tie on that grid"
    ),
    "test_gamma_scale": "reads the private _gamma; the public name is gamma_",
    "test_custom_kernel_not_array_input": (
        "the kernel function must be right for any two lists, not for the training examples alone"
    ),
}
"""Names of tests, or patterns of them, and why they are not passed."""


def reason_of(case):
    """Why a case, by its name with parameters, is not passed; None: it should be."""
    for name, reason in REASONS.items():
        if re.fullmatch(rf"{name}(\[.*\])?", case):
            return reason
    return None
