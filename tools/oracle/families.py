"""Cases of further architectures: one or two small random checkpoints each, with the options that their graphs have."""

from cases import Case, Quantisation

BASE = dict(
    hidden_size=128, num_hidden_layers=4, intermediate_size=192, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
    rms_norm_eps=1e-6, vocab_size=320, max_position_embeddings=2048,
)
MOE = dict(num_experts=8, num_experts_per_tok=3, moe_intermediate_size=64, shared_expert_intermediate_size=128)
Q4 = Quantisation(group=32)


def case(name, model_type, shows, dtype="bfloat16", quantisation=None, base=BASE, **config):
    return Case(name, shows, base | dict(model_type=model_type) | config, dtype=dtype, quantisation=quantisation, traced=False)


GEMMA3N = dict(model_type="gemma3n", text_config=dict(
    model_type="gemma3n_text", hidden_size=128, num_hidden_layers=7, intermediate_size=[192] * 7, num_attention_heads=4,
    head_dim=32, rms_norm_eps=1e-6, vocab_size=320, num_key_value_heads=2, num_kv_shared_layers=3,
    vocab_size_per_layer_input=320, sliding_window=16, max_position_embeddings=2048, rope_local_base_freq=10000.0,
    rope_theta=1000000.0, final_logit_softcapping=30.0,
    layer_types=["sliding_attention", "full_attention"] * 3 + ["sliding_attention"],
    activation_sparsity_pattern=[0.95, 0.95, 0.0, 0.0, 0.0, 0.0, 0.0], hidden_size_per_layer_input=64, altup_num_inputs=4,
    altup_coef_clip=1.0, altup_correct_scale=True, altup_active_idx=0, laurel_rank=64))
GEMMA4 = dict(
    model_type="gemma4_text", hidden_size=64, num_hidden_layers=4, intermediate_size=64, num_attention_heads=2, head_dim=32,
    global_head_dim=64, num_key_value_heads=1, num_global_key_value_heads=1, num_kv_shared_layers=2, rms_norm_eps=1e-6,
    vocab_size=256, vocab_size_per_layer_input=256, hidden_size_per_layer_input=64, sliding_window=16,
    sliding_window_pattern=2, layer_types=["sliding_attention", "full_attention"] * 2, attention_k_eq_v=False,
    final_logit_softcapping=30.0, use_double_wide_mlp=True, max_position_embeddings=2048, tie_word_embeddings=True)
LONG_FACTORS = [1.0 + 0.1 * i for i in range(12)]

DENSE = [
    case("gemma2-bf16", "gemma2", "norms around both halves, soft caps", query_pre_attn_scalar=144),
    case("gemma2-nogqa-q4", "gemma2", "as many key/value heads as heads, 4-bit", quantisation=Q4, num_key_value_heads=4,
         query_pre_attn_scalar=32),
    case("gemma3-bf16", "gemma3_text", "window every other layer, two rope bases, linear scaling", sliding_window=16,
         sliding_window_pattern=2, rope_scaling=dict(rope_type="linear", factor=8.0)),
    case("gemma3-f16", "gemma3_text", "float16: clipped residuals", dtype="float16", sliding_window=16, sliding_window_pattern=3),
    Case("gemma3n-bf16", "alternating updates, per-layer inputs, shared caches, sparse activations", GEMMA3N, traced=False),
    Case("gemma3n-q4", "the same, 4-bit", GEMMA3N, quantisation=Q4, traced=False),
    Case("gemma4-bf16", "per-layer inputs, shared caches, proportional rope, soft cap", GEMMA4, traced=False),
    case("cohere2-bf16", "cohere2", "parallel residual, layer norm, layers without rope", sliding_window=16, sliding_window_pattern=2),
    case("cohere2-bias-f16", "cohere2", "biases of projections and norms", dtype="float16", sliding_window=16,
         sliding_window_pattern=2, attention_bias=True, layer_norm_bias=True),
    case("olmo2-bf16", "olmo2", "norms behind the halves, q and k normalised over all heads", tie_word_embeddings=False),
    case("phi3-longrope-bf16", "phi3", "fused projections, longrope over part of the dims", rope_scaling=dict(
        type="longrope", long_factor=LONG_FACTORS, short_factor=LONG_FACTORS), partial_rotary_factor=0.75,
         original_max_position_embeddings=512),
    case("phi3-tied-q4", "phi3", "plain rope, tied, 4-bit", quantisation=Q4, tie_word_embeddings=True),
    case("llama4_text-bf16", "llama4_text", "layers without rope, unit norms of q and k", intermediate_size_mlp=192,
         rope_theta=5e5, tie_word_embeddings=False, no_rope_layers=[1, 1, 1, 0], use_qk_norm=True),
]

DEEPSEEK = dict(
    model_type="deepseek_v3", vocab_size=320, hidden_size=128, intermediate_size=192, moe_intermediate_size=64,
    num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=4, n_shared_experts=2, n_routed_experts=16,
    routed_scaling_factor=2.5, kv_lora_rank=64, q_lora_rank=96, qk_rope_head_dim=16, v_head_dim=32, qk_nope_head_dim=64,
    n_group=4, topk_group=2, num_experts_per_tok=4, first_k_dense_replace=1, rms_norm_eps=1e-6, rope_theta=10000,
    rope_scaling=dict(type="yarn", factor=40, original_max_position_embeddings=4096, beta_fast=32, beta_slow=1, mscale=1.0,
                      mscale_all_dim=1.0))
LLAMA4 = dict(model_type="llama4", text_config=dict(
    attention_bias=False, attention_chunk_size=16, head_dim=32, hidden_size=128, interleave_moe_layer_step=2,
    intermediate_size=64, intermediate_size_mlp=192, max_position_embeddings=4096, model_type="llama4_text",
    num_attention_heads=4, num_experts_per_tok=1, num_hidden_layers=4, num_key_value_heads=2, num_local_experts=8,
    rms_norm_eps=1e-5, rope_scaling=dict(factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0,
                                         original_max_position_embeddings=8192, rope_type="llama3"),
    rope_theta=500000.0, use_qk_norm=True, vocab_size=320, attn_temperature_tuning=4, floor_scale=4))
MXFP4 = Quantisation(4, 32, "mxfp4", only=".experts")

# Dense experts of other dtypes than float32 are left out: mlx-lm cannot run them on the CPU (gather_mm).
MIXTURES = [
    case("qwen2_moe-q4", "qwen2_moe", "shared expert with a gate", quantisation=Q4, **MOE),
    case("qwen3_moe-q4", "qwen3_moe", "layers with and without experts", quantisation=Q4, tie_word_embeddings=False,
         decoder_sparse_step=1, mlp_only_layers=[1], norm_topk_prob=True, rope_theta=1e6, **MOE),
    case("qwen3_moe-f32", "qwen3_moe", "dense experts, weights as the router gives them", dtype="float32",
         tie_word_embeddings=True, decoder_sparse_step=2, mlp_only_layers=[], norm_topk_prob=False, rope_theta=1e6, **MOE),
    case("gpt_oss-mxfp4", "gpt_oss", "sinks, biases of experts, window every other layer, yarn", quantisation=MXFP4,
         num_local_experts=8, num_experts_per_tok=3, sliding_window=16, intermediate_size=64, head_dim=64,
         rope_scaling=dict(rope_type="yarn", factor=32.0, beta_fast=32.0, beta_slow=1.0,
                           original_max_position_embeddings=4096, truncate=False)),
    Case("deepseek_v3-q4", "latent attention, group-limited routing, yarn, 4-bit", DEEPSEEK, quantisation=Q4, traced=False),
    Case("deepseek_v3-f32", "full query projection, no groups, no shared experts", DEEPSEEK | dict(
        q_lora_rank=None, n_group=1, topk_group=1, rope_scaling=None, n_shared_experts=None), dtype="float32", traced=False),
    Case("llama4-q4", "chunked attention, temperature tuning, one expert a token", LLAMA4, quantisation=Q4, traced=False),
    Case("llama4-f32", "the same, dense in float32", LLAMA4, dtype="float32", traced=False),
]

MAMBA2 = dict(
    model_type="mamba2", num_heads=8, head_dim=16, vocab_size=320, hidden_size=64, intermediate_size=128, state_size=32,
    num_hidden_layers=3, layer_norm_epsilon=1e-5, conv_kernel=4, n_groups=2, use_bias=False, use_conv_bias=True,
    tie_word_embeddings=True, time_step_limit=[0.0, float("inf")], time_step_rank="auto")
RWKV7 = dict(
    model_type="rwkv7", vocab_size=320, hidden_size=128, intermediate_size=256, norm_eps=1e-5, head_dim=32,
    num_hidden_layers=3, a_low_rank_dim=32, v_low_rank_dim=32, gate_low_rank_dim=32, decay_low_rank_dim=32,
    tie_word_embeddings=False)
LFM2 = dict(
    model_type="lfm2", vocab_size=320, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=2048, norm_eps=1e-5, conv_bias=False, conv_L_cache=3, block_dim=128, block_multiple_of=32,
    block_ffn_dim_multiplier=1.0, block_auto_adjust_ff_dim=True, block_ff_dim=192, full_attn_idxs=[1, 3], rope_theta=1e6)
FALCON_H1 = dict(
    model_type="falcon_h1", hidden_size=128, intermediate_size=192, num_hidden_layers=3, num_attention_heads=4,
    num_key_value_heads=2, head_dim=32, vocab_size=320, mamba_d_ssm=128, mamba_d_head=32, mamba_n_heads=4, mamba_d_state=32,
    mamba_n_groups=1, mamba_d_conv=4, mamba_rms_norm=True, max_position_embeddings=2048, tie_word_embeddings=False)
KIMI = dict(
    model_type="kimi_linear", vocab_size=320, hidden_size=128, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=4, intermediate_size=192, head_dim=32, rope_theta=10000.0, rms_norm_eps=1e-5,
    linear_attn_config=dict(num_heads=4, head_dim=32, short_conv_kernel_size=4, kda_layers=[1, 2, 4], full_attn_layers=[3]),
    model_max_length=2048, num_experts=8, moe_intermediate_size=64, kv_lora_rank=64, qk_nope_head_dim=32, qk_rope_head_dim=32,
    v_head_dim=32, mla_use_nope=True, num_experts_per_token=2, num_shared_experts=1, first_k_dense_replace=1,
    num_expert_group=1, topk_group=1)

QWEN3_NEXT = dict(
    model_type="qwen3_next", hidden_size=64, num_hidden_layers=2, intermediate_size=128, num_attention_heads=2,
    num_key_value_heads=1, head_dim=64, rms_norm_eps=1e-6, vocab_size=256, rope_theta=10000000.0, partial_rotary_factor=0.25,
    max_position_embeddings=2048, linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=32,
    linear_value_head_dim=32, linear_conv_kernel_dim=4, num_experts=8, num_experts_per_tok=2, decoder_sparse_step=1,
    mlp_only_layers=[], shared_expert_intermediate_size=64, moe_intermediate_size=64, norm_topk_prob=True,
    tie_word_embeddings=True, full_attention_interval=2)
QWEN3_5 = dict(model_type="qwen3_5", tie_word_embeddings=True, text_config=dict(
    model_type="qwen3_5_text", hidden_size=128, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2, head_dim=64, rms_norm_eps=1e-6, vocab_size=512, max_position_embeddings=4096,
    linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=128, linear_value_head_dim=64,
    linear_conv_kernel_dim=4, tie_word_embeddings=True, attention_bias=False, full_attention_interval=4,
    rope_parameters=dict(rope_type="default", rope_theta=10000000.0, partial_rotary_factor=0.25, mrope_interleaved=True,
                         mrope_section=[3, 3, 2])))

RECURRENT = [
    Case("qwen3_next-q4", "gated delta layers, gated attention, shared expert", QWEN3_NEXT, quantisation=Quantisation(), traced=False),
    Case("qwen3_5-bf16", "gated delta layers, gated attention every fourth", QWEN3_5, traced=False),
    Case("qwen3_5-q4", "the same, 4-bit", QWEN3_5, quantisation=Quantisation(), traced=False),
    Case("mamba2-bf16", "state-space layers alone", MAMBA2, traced=False),
    Case("mamba2-q4", "the same, 4-bit", MAMBA2, quantisation=Q4, traced=False),
    Case("rwkv7-bf16", "token shift, time and channel mixing", RWKV7, traced=False),
    Case("rwkv7-f32", "the same in float32", RWKV7, dtype="float32", traced=False),
    Case("lfm2-bf16", "short convolutions and attention", LFM2, traced=False),
    Case("lfm2-q4", "the same, 4-bit", LFM2, quantisation=Q4, traced=False),
    Case("falcon_h1-bf16", "attention and state-space in one layer", FALCON_H1, traced=False),
    Case("falcon_h1-q4", "the same, 4-bit", FALCON_H1, quantisation=Q4, traced=False),
    Case("kimi_linear-q4", "delta layers with per-channel decay, latent attention, experts", KIMI, quantisation=Q4, traced=False),
]

FAMILIES = {c.name: c for c in [*DENSE, *MIXTURES, *RECURRENT]}
