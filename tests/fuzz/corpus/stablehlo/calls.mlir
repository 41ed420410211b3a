"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f1}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f1}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f1"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f2}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f2}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f2"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f3}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f3}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f3"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f4}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f4}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f4"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f5}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f5}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f5"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f6}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f6}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f6"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f7}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f7}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f7"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f8}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f8}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f8"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f9}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f9}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f9"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f10}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f10}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f10"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f11}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f11}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f11"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f12}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f12}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f12"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f13}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f13}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f13"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f14}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f14}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f14"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f15}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f15}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f15"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f16}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f16}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f16"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f17}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f17}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f17"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f18}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f18}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f18"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f19}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f19}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f19"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f20}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f20}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f20"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f21}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f21}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f21"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f22}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f22}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f22"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f23}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f23}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f23"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f24}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f24}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f24"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f25}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f25}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f25"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f26}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f26}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f26"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f27}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f27}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f27"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f28}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f28}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f28"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f29}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f29}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f29"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f30}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f30}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f30"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f31}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f31}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f31"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f32}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f32}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f32"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f33}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f33}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f33"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f34}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f34}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f34"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f35}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f35}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f35"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f36}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f36}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f36"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f37}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f37}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f37"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f38}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f38}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f38"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f39}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f39}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f39"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f40}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f40}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f40"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f41}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f41}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f41"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f42}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f42}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f42"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f43}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f43}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f43"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f44}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f44}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f44"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f45}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f45}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f45"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f46}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f46}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f46"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f47}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f47}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f47"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f48}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f48}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f48"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f49}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f49}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f49"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f50}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f50}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f50"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f51}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f51}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f51"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f52}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f52}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f52"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f53}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f53}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f53"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f54}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f54}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f54"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f55}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f55}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f55"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f56}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f56}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f56"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f57}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f57}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f57"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f58}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f58}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f58"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "func.call"(%a) <{callee = @f59}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "func.call"(%0) <{callee = @f59}> : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "f59"}> ({
  ^bb0(%a: tensor<4xf32>):
    %0 = "stablehlo.add"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%0) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
