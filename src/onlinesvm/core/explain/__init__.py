"""Why a kernel machine answers as it does: exact shares of features."""
