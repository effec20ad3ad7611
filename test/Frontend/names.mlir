// Parameters have the names and shapes of transformers.
// RUN: %python %S/check_names.py ulsc %S/../golden %t
