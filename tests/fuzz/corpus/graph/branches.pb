
sbp_plan.graph.v12
cbool[]2 
xf32[?,2*seq + 1]	(S(0), B)Jz
ifIfc"y*1
else_branchZ"2
xf32[?,?]J
nAbsx"zRz*1
then_branchZ"2
xf32[?,?]J
nNegx"zRz:x:xRy