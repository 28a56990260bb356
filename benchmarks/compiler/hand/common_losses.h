/* The kernels of common_losses.py as plain loops; one program does all the work. */

static inline void mish(const uint64_t *args, long z) {
    const float *x = IN(float, 0);
    float *restrict y = OUT(float, 1);
    for (long i = 0; i < INT(2); i++) {
        float power = expf(x[i] < 20 ? x[i] : 20), square = power * (power + 2);
        y[i] = x[i] > 20 ? x[i] : x[i] * square / (square + 2);
    }
}

static inline void rms_norm_quantize(const uint64_t *args, long z) {
    const float *weight = IN(float, 2);
    long rows = sizes[0], columns = INT(6);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict residual = OUT(float, 1) + row * columns;
        int8_t *restrict q = OUT(int8_t, 3) + row * columns;
        float squares = 0, largest = 0;
        for (long i = 0; i < columns; i++) {
            residual[i] += x[i];
            squares += residual[i] * residual[i];
        }
        float inverse = 1 / sqrtf(squares / columns + as_float(args[5]));
        for (long i = 0; i < columns; i++) {
            float size = fabsf(residual[i] * inverse * weight[i]);
            largest = size > largest ? size : largest;
        }
        float scale = largest / 127;
        OUT(float, 4)[row] = scale;
        for (long i = 0; i < columns; i++) {
            float rounded = floorf(residual[i] * inverse * weight[i] / scale + 0.5f);
            q[i] = (int32_t)(rounded > 127 ? 127 : rounded < -128 ? -128 : rounded);
        }
    }
}

static inline void quantize_groups(const uint64_t *args, long z) {
    for (long group = 0; group < INT(3) / 64; group++) {
        const float *restrict x = IN(float, 0) + 64 * group;
        int8_t *restrict q = OUT(int8_t, 1) + 64 * group;
        float largest = 1e-10f;
        for (long i = 0; i < 64; i++)
            largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
        float scale = largest / 127;
        OUT(float, 2)[group] = scale;
        for (long i = 0; i < 64; i++) {
            float rounded = floorf(x[i] / scale + 0.5f);
            q[i] = (int32_t)(rounded > 127 ? 127 : rounded < -128 ? -128 : rounded);
        }
    }
}

static inline void smooth_nll(const uint64_t *args, long z) {
    const int64_t *labels = IN(int64_t, 1);
    float smoothing = as_float(args[3]);
    long rows = sizes[0], columns = INT(4);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float largest = -INFINITY, total = 0, sum = 0;
        for (long i = 0; i < columns; i++)
            largest = x[i] > largest ? x[i] : largest;
        for (long i = 0; i < columns; i++) {
            total += expf(x[i] - largest);
            sum += x[i] - largest;
        }
        float chosen = x[labels[row]] - largest;
        OUT(float, 2)[row] = logf(total) - (1 - smoothing) * chosen - smoothing * sum / columns;
    }
}

static inline void l2_normalize(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 1) + row * columns;
        float squares = 0;
        for (long i = 0; i < columns; i++)
            squares += x[i] * x[i];
        float norm = sqrtf(squares);
        norm = norm > 1e-12f ? norm : 1e-12f;
        for (long i = 0; i < columns; i++)
            y[i] = x[i] / norm;
    }
}
