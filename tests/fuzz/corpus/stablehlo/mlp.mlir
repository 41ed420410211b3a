#loc1 = loc("p['b1']")
#loc2 = loc("p['b2']")
#loc3 = loc("p['w1']")
#loc4 = loc("p['w2']")
#loc5 = loc("x")
#loc14 = loc("reduce_max")
#loc15 = loc("reduce_sum")
"builtin.module"() <{sym_name = "jit_mlp"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}], function_type = (tensor<16xf32>, tensor<4xf32>, tensor<8x16xf32>, tensor<16x4xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<16xf32> loc("p['b1']"), %arg1: tensor<4xf32> loc("p['b2']"), %arg2: tensor<8x16xf32> loc("p['w1']"), %arg3: tensor<16x4xf32> loc("p['w2']"), %arg4: tensor<4x8xf32> loc("x")):
    %0 = "stablehlo.dot_general"(%arg4, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1>}> : (tensor<16xf32>) -> tensor<1x16xf32>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x16xf32>) -> tensor<4x16xf32>
    %3 = "stablehlo.add"(%0, %2) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %4 = "stablehlo.multiply"(%3, %3) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %5 = "stablehlo.multiply"(%4, %3) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %6 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %8 = "stablehlo.multiply"(%7, %5) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %9 = "stablehlo.add"(%3, %8) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %10 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %12 = "stablehlo.multiply"(%11, %9) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %13 = "stablehlo.tanh"(%12) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %14 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %16 = "stablehlo.add"(%15, %13) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %17 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16xf32>
    %19 = "stablehlo.multiply"(%18, %16) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %20 = "stablehlo.multiply"(%3, %19) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
    %21 = "stablehlo.dot_general"(%20, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
    %22 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<4x4xf32>
    %24 = "stablehlo.add"(%21, %23) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %25 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %26 = "stablehlo.reduce"(%24, %25) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg7: tensor<f32> loc("reduce_max:"(#loc14)), %arg8: tensor<f32> loc("reduce_max:"(#loc14))):
      %40 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%40) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %27 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %29 = "stablehlo.maximum"(%28, %26) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1xf32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x1xf32>) -> tensor<4x4xf32>
    %32 = "stablehlo.subtract"(%24, %31) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %33 = "stablehlo.exponential"(%32) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %34 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %35 = "stablehlo.reduce"(%33, %34) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg5: tensor<f32> loc("reduce_sum:"(#loc15)), %arg6: tensor<f32> loc("reduce_sum:"(#loc15))):
      %39 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%39) : (tensor<f32>) -> ()
    }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1xf32>
    %37 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x1xf32>) -> tensor<4x4xf32>
    %38 = "stablehlo.divide"(%33, %37) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"(%38) : (tensor<4x4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
#loc16 = loc("mlp"(#loc6))
#loc17 = loc("main"(#loc7))
#loc18 = loc("<module>"(#loc8))
#loc19 = loc("mlp"(#loc9))
#loc20 = loc("mlp"(#loc10))
#loc21 = loc("mlp"(#loc11))
#loc22 = loc("mlp"(#loc12))
#loc23 = loc("mlp"(#loc13))
#loc30 = loc("jit(mlp)"(#loc26))
#loc34 = loc("jit(mlp)/dot_general"(#loc27))
#loc35 = loc("jit(mlp)/broadcast_in_dim"(#loc28))
#loc36 = loc("jit(mlp)/add"(#loc28))
#loc37 = loc("jit(mlp)/integer_pow"(#loc29))
#loc38 = loc("jit(mlp)/mul"(#loc29))
#loc39 = loc("jit(mlp)/add"(#loc29))
#loc40 = loc("jit(mlp)/tanh"(#loc29))
#loc41 = loc("jit(mlp)/dot_general"(#loc31))
#loc42 = loc("jit(mlp)/broadcast_in_dim"(#loc32))
#loc43 = loc("jit(mlp)/add"(#loc32))
#loc44 = loc("jit(mlp)/reduce_max"(#loc33))
#loc45 = loc("jit(mlp)/max"(#loc33))
#loc46 = loc("jit(mlp)/broadcast_in_dim"(#loc33))
#loc47 = loc("jit(mlp)/sub"(#loc33))
#loc48 = loc("jit(mlp)/exp"(#loc33))
#loc49 = loc("jit(mlp)/reduce_sum"(#loc33))
#loc50 = loc("jit(mlp)/div"(#loc33))
