/* The kernels of common_kernels.py as plain loops; one program does all the work. */

static inline void rms_norm(const uint64_t *args, long z) {
    const float *weight = IN(float, 1);
    long rows = sizes[0], columns = INT(4);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 2) + row * columns;
        float squares = 0;
        for (long i = 0; i < columns; i++)
            squares += x[i] * x[i];
        float scale = 1 / sqrtf(squares / columns + as_float(args[3]));
        for (long i = 0; i < columns; i++)
            y[i] = x[i] * scale * weight[i];
    }
}

static inline void swiglu(const uint64_t *args, long z) {
    const float *gate = IN(float, 0), *up = IN(float, 1);
    float *restrict out = OUT(float, 2);
    long n = INT(3);
    for (long i = 0; i < n; i++)
        out[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

static inline void group_norm(const uint64_t *args, long z) {
    const float *weight = IN(float, 1), *bias = IN(float, 2);
    long channels = INT(5), pixels = INT(6), size = 4 * pixels;
    for (long group = 0; group < sizes[0] * channels / 4; group++) {
        const float *restrict x = IN(float, 0) + group * size;
        float *restrict y = OUT(float, 3) + group * size;
        float total = 0, squares = 0;
        for (long i = 0; i < size; i++) {
            total += x[i];
            squares += x[i] * x[i];
        }
        float mean = total / size;
        float scale = 1 / sqrtf(squares / size - mean * mean + as_float(args[4]));
        for (long c = 0; c < 4; c++) {
            float w = weight[group * 4 % channels + c] * scale;
            float b = bias[group * 4 % channels + c] - mean * w;
            for (long i = c * pixels; i < (c + 1) * pixels; i++)
                y[i] = x[i] * w + b;
        }
    }
}

static inline void rope_pairs(const uint64_t *args, long z) {
    long tokens = sizes[0], heads = INT(4), half = INT(5);
    for (long token = 0; token < tokens; token++)
        for (long head = 0; head < heads; head++) {
            const float *restrict cosine = IN(float, 1) + token * half;
            const float *restrict sine = IN(float, 2) + token * half;
            const float *restrict x = IN(float, 0) + (token * heads + head) * 2 * half;
            float *restrict y = OUT(float, 3) + (token * heads + head) * 2 * half;
            for (long i = 0; i < half; i++) {
                y[2 * i] = x[2 * i] * cosine[i] - x[2 * i + 1] * sine[i];
                y[2 * i + 1] = x[2 * i + 1] * cosine[i] + x[2 * i] * sine[i];
            }
        }
}

static inline void argmax_rows(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float best = x[0];
        int32_t where = 0;
        for (int32_t i = 1; i < columns; i++)
            if (x[i] > best) {
                best = x[i];
                where = i;
            }
        OUT(int32_t, 1)[row] = where;
    }
}

static inline void cumsum_rows(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 1) + row * columns, total = 0;
        for (long i = 0; i < columns; i++) {
            total += x[i];
            y[i] = total;
        }
    }
}

static inline void histogram(const uint64_t *args, long z) {
    const int32_t *x = IN(int32_t, 0);
    int32_t *restrict counts = OUT(int32_t, 1);
    for (long i = 0; i < INT(2); i++)
        counts[x[i]]++;
}

static inline void blur(const uint64_t *args, long z) {
    long height = INT(2), width = INT(3), line = width + 2;
    for (long y = 0; y < height; y++) {
        const float *restrict x = IN(float, 0) + y * line;
        float *restrict out = OUT(float, 1) + y * width;
        for (long i = 0; i < width; i++) {
            float total = 0;
            for (long row = 0; row < 3; row++)
                for (long column = 0; column < 3; column++)
                    total += x[row * line + i + column];
            out[i] = total / 9;
        }
    }
}

static inline void quantize_rows(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(3);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        int8_t *restrict out = OUT(int8_t, 1) + row * columns;
        float largest = 1e-10f;
        for (long i = 0; i < columns; i++)
            largest = fabsf(x[i]) > largest ? fabsf(x[i]) : largest;
        float scale = largest / 127, inverse = 1 / scale;
        OUT(float, 2)[row] = scale;
        for (long i = 0; i < columns; i++) {
            float q = x[i] * inverse;
            out[i] = (int32_t)(q >= 0 ? q + 0.5f : q - 0.5f);
        }
    }
}

static inline void column_sums(const uint64_t *args, long z) {
    long rows = INT(2), columns = INT(3);
    float *restrict sums = OUT(float, 1);
    memset(sums, 0, columns * sizeof *sums);
    for (long row = 0; row < rows; row++)
        for (long i = 0; i < columns; i++)
            sums[i] += IN(float, 0)[row * columns + i];
}

static inline void transpose(const uint64_t *args, long z) {
    long rows = INT(2), columns = INT(3);
    for (long row = 0; row < rows; row++)
        for (long i = 0; i < columns; i++)
            OUT(float, 1)[i * rows + row] = IN(float, 0)[row * columns + i];
}

static inline void embedding(const uint64_t *args, long z) {
    const int64_t *ids = IN(int64_t, 0);
    long n = INT(3), width = INT(4);
    for (long row = 0; row < n; row++)
        for (long i = 0; i < width; i++)
            OUT(float, 2)[row * width + i] = IN(float, 1)[ids[row] * width + i];
}
