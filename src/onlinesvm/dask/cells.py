class CellLASVMClassifier: pass
