#loc1 = loc("table")
#loc2 = loc("tokens")
#loc7 = loc("reduce_sum")
"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<10x4xf32>, tensor<2x3xi32>) -> tensor<2x3xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<10x4xf32> loc("table"), %arg1: tensor<2x3xi32> loc("tokens")):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x3xi32>
    %2 = "stablehlo.compare"(%arg1, %1) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi1>
    %3 = "stablehlo.constant"() <{value = dense<10> : tensor<i32>}> : () -> tensor<i32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<2x3xi32>
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    %6 = "stablehlo.select"(%2, %5, %arg1) : (tensor<2x3xi1>, tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x3xi32>) -> tensor<2x3x1xi32>
    %8 = "stablehlo.gather"(%arg0, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
    %9 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %10 = "stablehlo.reduce"(%8, %9) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg2: tensor<f32> loc("reduce_sum:"(#loc7)), %arg3: tensor<f32> loc("reduce_sum:"(#loc7))):
      %11 = "stablehlo.add"(%arg2, %arg3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%11) : (tensor<f32>) -> ()
    }) : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3xf32>
    "func.return"(%10) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
#loc8 = loc("main"(#loc3))
#loc9 = loc("<module>"(#loc4))
#loc10 = loc("cases.<locals>.<lambda>"(#loc5))
#loc11 = loc("cases.<locals>.<lambda>"(#loc6))
#loc14 = loc("jit(<lambda>)"(#loc13))
#loc17 = loc("jit(<lambda>)/lt"(#loc15))
#loc18 = loc("jit(<lambda>)/add"(#loc15))
#loc19 = loc("jit(<lambda>)/select_n"(#loc15))
#loc20 = loc("jit(<lambda>)/broadcast_in_dim"(#loc15))
#loc21 = loc("jit(<lambda>)/gather"(#loc15))
#loc22 = loc("jit(<lambda>)/reduce_sum"(#loc16))
