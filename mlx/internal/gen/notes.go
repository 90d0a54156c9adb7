package main

// notes are added to the documentation of operations whose name does not tell what their variants do. The headers hold
// none; these are after the comments of mlx/ops.h and mlx/fast.h of MLX 0.32.2.
var notes = map[string]string{
	"argmax":          "It is over all elements.",
	"argmin":          "It is over all elements.",
	"argpartition":    "a is flattened first.",
	"argsort":         "a is flattened first.",
	"as_strided":      "The strides count elements; nothing checks that they stay inside the memory of a.",
	"concatenate":     "The arrays are flattened first: ConcatenateAxis joins along an axis.",
	"cumprod":         "a is flattened first.",
	"cumsum":          "a is flattened first.",
	"expand_dims":     "It adds a dimension of size 1.",
	"fast_rms_norm":   "x [..., D] is divided by the root of the mean of its squares over D plus eps, in float32, then multiplied by weight [D].",
	"fast_layer_norm": "It is over the last dimension of x [..., D], in float32; weight and bias are [D].",
	"fast_rope": "x is [..., T, D], dims of D are rotated: pairs of neighbours when traditional, else of halves. The position of t is " +
		"(offset + t) × scale, the frequencies base^(-2i/dims), or 1/freqs with freqs [dims/2] and no base.",
	"fast_rope_dynamic": "It is FastRope with the offset as an array: one, or one per sequence.",
	"fast_scaled_dot_product_attention": "It is softmax(scale × queries keysᵀ + mask) values, of queries [B, H, T, D], keys [B, K, S, D] and values " +
		"[B, K, S, V] with H a multiple of K. maskMode is \"\", \"causal\" or \"array\"; a mask is boolean or added.",
	"gather_mm":    "The matrices of a and b are picked by the indices of their flattened batch dimensions.",
	"gather_qmm":   "It is QuantizedMatmul with matrices picked by the indices of the flattened batch dimensions.",
	"dequantize":   "It gives w back from what Quantize made.",
	"logcumsumexp": "a is flattened first.",
	"partition":    "a is flattened first.",
	"quantize": "It gives the packed weights (uint32), the scales and, in mode \"affine\", the biases, of groups along the last dimension. " +
		"mode is affine, mxfp4, mxfp8 or nvfp4.",
	"quantized_matmul":   "It is x [..., K] times wᵀ with w [N, K] packed when transpose, else times w [K, N].",
	"random_categorical": "The logits need not be normalised; the axis is taken away.",
	"repeat":             "arr is flattened first.",
	"slice":              "start, stop and strides have a number per dimension; negative ones count from the end.",
	"softmax":            "It is over all elements: SoftmaxAxis is over one axis. precise computes in float32.",
	"softmax_axis":       "precise computes in float32.",
	"sort":               "a is flattened first.",
	"split":              "It makes numSplits parts of one size.",
	"split_sections":     "The parts begin at 0 and at each of the indices.",
	"squeeze":            "It takes away every dimension of size 1.",
	"stack":              "The new dimension is the first.",
	"take":               "a is flattened first: TakeAxis takes along an axis.",
	"topk":               "It is of all elements; the order is not said.",
	"transpose":          "It reverses the order of the dimensions.",
	"view":               "The bytes stay; the last dimension's size changes with the element's.",
}
