"""Generated mutants that are equivalent to PyTorch, written by `python -m evaluation.mutants.equivalence`."""

OPS_OF: dict[str, str] = {
    "size_zero": """
        negative add_scalar subtract_scalar scalar_subtract multiply_scalar divide_scalar scalar_divide reciprocal
        square sqrt rsqrt pow_scalar pow_integer scalar_pow float_power_scalar abs clip exp exp2 expm1 log log2 log10
        log1p sigmoid logit sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinc deg2rad nan_to_num erf
        erfc erfinv lgamma mvlgamma entr ndtr log_ndtr ndtri erfcx i0 i0e i1e i1 sign floor ceil trunc round frac
        remainder_scalar fmod_scalar astype_float32 astype_float64 relu relu6 leaky_relu rrelu elu celu selu gelu
        gelu_tanh silu mish softplus logsigmoid softsign tanhshrink softshrink hardshrink hardtanh hardswish threshold
        glu sum mean nansum nanmean prod prod_dim logsumexp var std var_mean std_mean cov max min amax amin max_dim
        min_dim aminmax median median_dim kthvalue nanmedian quantile topk sort vector_norm vector_norm_inf
        cumulative_sum cumulative_prod logcumsumexp cummax cummin trapezoid cumulative_trapezoid gradient vander
        reshape permute_dims matrix_transpose transpose moveaxis expand_dims squeeze flatten unflatten clone flip roll
        rot90 broadcast_to tile repeat repeat_uneven pad pad_border unfold pixel_shuffle pixel_unshuffle
        channel_shuffle interpolate_nearest interpolate_linear im2col col2im grid_sample affine_grid stack stack_three
        chunk tensor_split unstack select take take_along_axis gather take_flat index embedding embedding_bag
        as_strided scatter scatter_add index_add index_copy index_fill masked_fill scatter_reduce index_put
        slice_scatter masked_scatter tril triu diagonal diag_embed trace scaled_dot_product_attention dot bmm vecdot
        cross baddbmm softmax log_softmax softmin cross_entropy cross_entropy_soft nll_loss mse_loss l1_loss
        huber_loss smooth_l1_loss kl_div kl_div_log binary_cross_entropy bce_with_logits poisson_nll_loss
        gaussian_nll_loss soft_margin_loss margin_ranking_loss hinge_embedding_loss multilabel_soft_margin_loss cdist
        pdist pairwise_distance cosine_similarity dist multi_margin_loss multilabel_margin_loss triplet_margin_loss
        cosine_embedding_loss ctc_loss layer_norm layer_norm_affine rms_norm rms_norm_affine group_norm
        group_norm_affine normalize local_response_norm conv1d conv1d_bias conv2d conv2d_bias conv2d_uneven
        conv_transpose1d conv_transpose2d conv3d avg_pool1d avg_pool2d avg_pool2d_uneven max_pool1d max_pool2d
        max_pool2d_uneven lp_pool1d adaptive_avg_pool1d avg_pool3d max_pool3d adaptive_avg_pool2d adaptive_max_pool1d
        det slogdet logdet inv pinv cholesky_inverse cholesky_solve solve solve_triangular cholesky eigvalsh
        matrix_power matrix_norm svdvals nuclear_norm spectral_norm svd eigh qr lu lu_solve lstsq householder_product
        rfft fft irfft gru gru_bidirectional
    """,
    "at_zero": """
        scalar_divide reciprocal square sqrt rsqrt pow_scalar pow_integer float_power_scalar abs log log2 log10 logit
        cos cosh acosh sinc lgamma mvlgamma entr ndtri i0 i0e i1e sign floor ceil trunc round frac remainder_scalar
        fmod_scalar hypot copysign relu relu6 leaky_relu rrelu elu celu selu softsign tanhshrink softshrink hardshrink
        threshold max min amin max_dim min_dim median median_dim kthvalue nanmedian quantile topk vector_norm
        vector_norm_inf cummax scatter_reduce binary_cross_entropy multi_margin_loss max_pool1d max_pool2d lp_pool1d
        max_pool3d matrix_norm
    """,
    "at_large": """
        logit tan asin acos atanh erfinv ndtri sign floor ceil trunc round hardtanh binary_cross_entropy
        householder_product
    """,
    "tile": """
        erfcx sign floor ceil trunc round prod min vander tile repeat repeat_uneven pad pad_border interpolate_nearest
        im2col grid_sample affine_grid concat concat_three stack stack_three block_diag index as_strided diagonal
        diag_embed trace outer tensordot kron nll_loss conv1d conv1d_bias conv2d conv2d_bias conv2d_uneven
        conv_transpose1d conv_transpose2d conv3d max_pool2d_uneven det slogdet logdet inv pinv cholesky_inverse solve
        solve_triangular cholesky eigvalsh matrix_power svd eigh lu lu_solve complex_multiply_conj gru
        gru_bidirectional
    """,
    "sign": """
        sign floor ceil trunc round
    """,
    "slight": """
        sign floor ceil trunc round
    """,
    "element": """
        sign floor ceil trunc round
    """,
    "transposed": """
        sign floor ceil trunc round squeeze pixel_shuffle channel_shuffle col2im affine_grid trace ctc_loss
        local_response_norm conv2d_uneven conv_transpose1d cholesky eigvalsh eigh
    """,
    "size_one": """
        sign floor ceil trunc round cov det slogdet logdet inv pinv cholesky_inverse cholesky eigvalsh matrix_power
        svd eigh lu
    """,
    "rank_four": """
        sign floor ceil trunc round index_fill
    """,
    "single": """
        sign floor ceil trunc round
    """,
    "bent": """
        sign floor ceil trunc round embedding_bag cdist pdist multi_margin_loss multilabel_margin_loss ctc_loss
    """,
    "strided": """
        sign floor ceil trunc round
    """,
    "expanded": """
        sign floor ceil trunc round relu prod var std std_mean max min amax amin max_dim min_dim aminmax median
        median_dim kthvalue nanmedian quantile topk sort vector_norm_inf cummax cummin gradient col2im index_fill
        masked_fill cross log_softmax softmin cross_entropy multilabel_margin_loss cosine_embedding_loss ctc_loss
        max_pool1d max_pool2d max_pool2d_uneven max_pool3d adaptive_max_pool1d det slogdet logdet inv pinv
        cholesky_inverse cholesky eigvalsh matrix_power svd eigh lu
    """,
    "shifted": """
        sign floor ceil trunc round prod diff index_fill masked_fill
    """,
    "turned": """
        sign floor ceil trunc round prod var_mean std_mean max min median nanmedian take_flat masked_select index_fill
        trace mv dot addmv cross_entropy cross_entropy_soft multilabel_soft_margin_loss pdist dist multi_margin_loss
        multilabel_margin_loss triplet_margin_loss cosine_embedding_loss ctc_loss det slogdet logdet solve eigvalsh
        matrix_norm nuclear_norm spectral_norm
    """,
    "short": """
        sign floor ceil trunc round
    """,
    "last_lost": """
        copysign
    """,
    "first_lost": """
        scatter index_copy
    """,
}
"""Names of ops, by kind of fault."""
