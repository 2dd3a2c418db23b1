"""LASVM: the listing, the block form, finishing, selection, pools."""
