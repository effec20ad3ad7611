// RUN: ulsc-opt %s --ulsc-write-update-rule=optimizer=lion --verify-diagnostics

// expected-error@+1 {{unknown optimizer "lion"; known: adamw, sgd}}
module {}
