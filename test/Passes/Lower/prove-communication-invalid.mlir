// RUN: ulsc-opt %s --split-input-file --ulsc-prove-communication --verify-diagnostics

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @how_often_is_unknown() attributes {entry} {
    %lower = arith.constant 0 : index
    %step = arith.constant 1 : index
    %a = exec.buffer temporaries : memref<4xf32>
    %upper = exec.coordinate axis(0) : index
    // expected-error @below {{communicates, but how often is not known}}
    scf.for %i = %lower to %upper step %step {
      exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%a) : memref<4xf32> to memref<4xf32>
      exec.collective_wait slot(0)
    }
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function private @leaf(%a: memref<4xf32>) {
    exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%a) : memref<4xf32> to memref<4xf32>
    // expected-error @below {{is in @caller, which it calls}}
    exec.call @caller(%a) : memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
  exec.function private @caller(%a: memref<4xf32>) {
    exec.call @leaf(%a) : memref<4xf32>
    exec.return
  }
  exec.function @calls_itself() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    exec.call @caller(%a) : memref<4xf32>
    exec.return
  }
}

// -----

// The first turn's slot is still taken in the second.
// expected-error-re @below {{stage 0 starts all_reduce sum over dp of 4xf32 at line {{[0-9]+}} in slot 0, which still holds all_reduce sum over dp of 4xf32 at line {{[0-9]+}}}}
module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @slot_taken_in_a_loop() attributes {entry} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %3 = arith.constant 3 : index
    %a = exec.buffer temporaries : memref<4xf32>
    scf.for %i = %0 to %3 step %1 {
      exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%a) : memref<4xf32> to memref<4xf32>
    }
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @wait_in_another_block() attributes {entry} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %a = exec.buffer temporaries : memref<4xf32>
    scf.for %i = %0 to %1 step %1 {
      // expected-error-re @below {{stage 0 does not wait for its all_reduce sum over dp of 4xf32 at line {{[0-9]+}} in the block that starts it}}
      exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%a) : memref<4xf32> to memref<4xf32>
    }
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

// Entries of a buffer that no constant tells apart; two that one does are apart.
module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @entry_that_travels() attributes {entry} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %2 = arith.constant 2 : index
    %b = exec.buffer temporaries : memref<2x4xf32>
    %first = exec.slot %b[%0] : memref<2x4xf32> to memref<4xf32>
    %second = exec.slot %b[%1] : memref<2x4xf32> to memref<4xf32>
    // expected-note @below {{started here}}
    exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%first) outs(%first) : memref<4xf32> to memref<4xf32>
    exec.fill %second with 0.0 : f32 : memref<4xf32>
    scf.for %i = %0 to %2 step %1 {
      %any = exec.slot %b[%i] : memref<2x4xf32> to memref<4xf32>
      // expected-error-re @below {{stage 0: fill at line {{[0-9]+}} writes memory that all_reduce sum over dp of 4xf32 at line {{[0-9]+}} writes until its wait}}
      exec.fill %any with 0.0 : f32 : memref<4xf32>
    }
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

// Memory that the plan gives to two buffers at once.
module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function private @fill(%x: memref<4xf32>) attributes {frame_bytes = 64 : i64} {
    %inner = exec.buffer temporaries offset(0) : memref<16xf32>
    exec.fill %inner with 0.0 : f32 : memref<16xf32>
    exec.return
  }
  exec.function @frame_over_what_travels() attributes {entry, frame_bytes = 128 : i64} {
    %a = exec.buffer temporaries offset(64) : memref<4xf32>
    %b = exec.buffer temporaries offset(0) : memref<4xf32>
    %frame = exec.buffer temporaries offset(64) : memref<64xi8>
    // expected-note @below {{started here}}
    exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%a) : memref<4xf32> to memref<4xf32>
    // expected-error-re @below {{stage 0: call @fill at line {{[0-9]+}} writes memory that all_reduce sum over dp of 4xf32 at line {{[0-9]+}} writes until its wait}}
    exec.call @fill(%b) frame(%frame : memref<64xi8>) : memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["pp", "dp"]]} {
  dist.mesh @mesh <["pp"=2, "dp"=2]>
  exec.function @first() attributes {entry, dist.stage = 0 : i64} {
    %a = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{send to stage 1 of 4xf32 at line {{[0-9]+}} goes over pp+dp; a transfer goes over pp alone}}
    exec.collective_start send peer(1) group(0) identifier(0) slot(0) ins(%a) outs() : memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
  exec.function @second() attributes {entry, dist.stage = 1 : i64} {
    exec.return
  }
}

// -----

module {
  dist.mesh @mesh <["pp"=2]>
  exec.function @first() attributes {entry, dist.stage = 0 : i64} {
    %a = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{send to stage 1 of 4xf32 at line {{[0-9]+}} is of group 3, where the module lists 0}}
    exec.collective_start send peer(1) group(3) identifier(0) slot(0) ins(%a) outs() : memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
  exec.function @second() attributes {entry, dist.stage = 1 : i64} {
    exec.return
  }
}

// -----

module {
  dist.mesh @mesh <["pp"=2]>
  exec.function @first() attributes {entry, dist.stage = 0 : i64} {
    exec.return
  }
  // expected-error @below {{is the program of stage 2 where that of stage 1 is expected}}
  exec.function @third() attributes {entry, dist.stage = 2 : i64} {
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @gather_of_another_size() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<6xf32>
    // expected-error-re @below {{all_gather over dp of 4xf32 at line {{[0-9]+}} makes memref<6xf32> of memref<4xf32>; expected are as many elements as its 2 ranks have together}}
    exec.collective_start all_gather group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<6xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @scatter_of_another_size() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{reduce_scatter sum over dp of 4xf32 at line {{[0-9]+}} makes memref<4xf32> of memref<4xf32>; expected is one of 2 equal parts, a rank each}}
    exec.collective_start reduce_scatter reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=4]>
  exec.function @permutation_of_other_ranks() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{has 2 destinations, but its group is of 4 ranks}}
    exec.collective_start permute destinations [1, 0] group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp:(2)4"]]} {
  dist.mesh @mesh <["dp"=4]>
  exec.function @group_over_no_axis() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{goes over dp:(2)4, which is no axis of the mesh}}
    exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]], exec.collectives = [{kind = "all_gather"}]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @identifier_of_another_kind() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{has identifier 0, which the module lists as all_gather, not all_reduce}}
    exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]], exec.collectives = [{kind = "all_reduce"}]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @identifier_outside_the_list() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{has identifier 1, where the module lists 1 collectives}}
    exec.collective_start all_reduce reduction(sum) group(0) identifier(1) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]], exec.collectives = 1 : i64} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @list_of_another_type() attributes {entry} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<4xf32>
    // expected-error-re @below {{has identifier 0, where the module lists 0 collectives}}
    exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<4xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["pp"]]} {
  dist.mesh @mesh <["pp"=2]>
  exec.function @gathers_to_other_sizes() attributes {entry, dist.stage = 0 : i64} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<8xf32>
    exec.collective_start all_gather group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<8xf32>
    exec.collective_wait slot(0)
    exec.return
  }
  exec.function @second() attributes {entry, dist.stage = 1 : i64} {
    %a = exec.buffer temporaries : memref<4xf32>
    %b = exec.buffer temporaries : memref<2xf32>
    // expected-error @below {{expected are as many elements as its 2 ranks have together}}
    exec.collective_start all_gather group(0) identifier(0) slot(0) ins(%a) outs(%b) : memref<4xf32> to memref<2xf32>
    exec.collective_wait slot(0)
    exec.return
  }
}

// -----

module attributes {exec.groups = [["dp"]]} {
  dist.mesh @mesh <["dp"=2]>
  exec.function @more_turns_than_can_be_followed() attributes {entry} {
    %0 = arith.constant 0 : index
    %1 = arith.constant 1 : index
    %n = arith.constant 1000000000000 : index
    %a = exec.buffer temporaries : memref<4xf32>
    // expected-error @below {{turns 1000000000000 times with 2 starts and waits each; of one rank at most 2097152 are followed; take fewer microbatches}}
    scf.for %i = %0 to %n step %1 {
      exec.collective_start all_reduce reduction(sum) group(0) identifier(0) slot(0) ins(%a) outs(%a) : memref<4xf32> to memref<4xf32>
      exec.collective_wait slot(0)
    }
    exec.return
  }
}
