/* The kernels of common_signals.py as plain loops; one program does all the work. */

static inline void bias_relu(const uint64_t *args, long z) {
    long batch = sizes[0], channels = INT(3), pixels = INT(4);
    for (long i = 0; i < batch * channels; i++) {
        const float *restrict x = IN(float, 0) + i * pixels;
        float *restrict y = OUT(float, 2) + i * pixels, bias = IN(float, 1)[i % channels];
        for (long j = 0; j < pixels; j++)
            y[j] = x[j] + bias > 0 ? x[j] + bias : 0;
    }
}

static inline void enlarge(const uint64_t *args, long z) {
    long height = INT(2), width = INT(3);
    for (long row = 0; row < 2 * height; row++) {
        const float *restrict x = IN(float, 0) + row / 2 * width;
        float *restrict y = OUT(float, 1) + row * 2 * width;
        for (long i = 0; i < width; i++)
            y[2 * i] = y[2 * i + 1] = x[i];
    }
}

static inline void shift_image(const uint64_t *args, long z) {
    long height = INT(2), width = INT(3), down = INT(4), right = INT(5);
    for (long row = 0; row < height; row++) {
        const float *restrict x = IN(float, 0) + (row + height - down) % height * width;
        float *restrict y = OUT(float, 1) + row * width;
        for (long i = 0; i < right; i++)
            y[i] = x[width - right + i];
        for (long i = right; i < width; i++)
            y[i] = x[i - right];
    }
}

static inline void dequantize_groups(const uint64_t *args, long z) {
    for (long group = 0; group < INT(4) / 32; group++) {
        const int8_t *q = IN(int8_t, 0) + group * 32;
        float *restrict y = OUT(float, 3) + group * 32;
        float scale = IN(float, 1)[group], zero = IN(float, 2)[group];
        for (long i = 0; i < 32; i++)
            y[i] = (q[i] - zero) * scale;
    }
}

static inline void softmax_backward(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(3);
    for (long row = 0; row < rows; row++) {
        const float *restrict y = IN(float, 0) + row * columns;
        const float *restrict dy = IN(float, 1) + row * columns;
        float *restrict dx = OUT(float, 2) + row * columns, total = 0;
        for (long i = 0; i < columns; i++)
            total += y[i] * dy[i];
        for (long i = 0; i < columns; i++)
            dx[i] = y[i] * (dy[i] - total);
    }
}

static inline void fir(const uint64_t *args, long z) {
    const float *x = IN(float, 0), *taps = IN(float, 1);
    float *restrict y = OUT(float, 2);
    long n = INT(4), count = INT(3);
    for (long i = 0; i < n; i++) {
        float total = 0;
        for (long j = 0; j < count && j <= i; j++)
            total += taps[j] * x[i - j];
        y[i] = total;
    }
}

static inline void laplace_3d(const uint64_t *args, long z) {
    long depth = INT(2), height = INT(3), width = INT(4), plane = height * width;
    for (long layer = 0; layer < depth; layer++)
        for (long row = 0; row < height; row++) {
            const float *x = IN(float, 0) + layer * plane + row * width;
            float *restrict y = OUT(float, 1) + layer * plane + row * width;
            for (long i = 0; i < width; i++)
                y[i] = -6 * x[i];
            for (long i = 1; i < width; i++)
                y[i] += x[i - 1];
            for (long i = 0; i < width - 1; i++)
                y[i] += x[i + 1];
            for (long i = 0; row > 0 && i < width; i++)
                y[i] += x[i - width];
            for (long i = 0; row < height - 1 && i < width; i++)
                y[i] += x[i + width];
            for (long i = 0; layer > 0 && i < width; i++)
                y[i] += x[i - plane];
            for (long i = 0; layer < depth - 1 && i < width; i++)
                y[i] += x[i + plane];
        }
}

static inline void welford(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(3);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float mean = 0, squares = 0;
        for (long i = 0; i < columns; i++)
            mean += x[i];
        mean /= columns;
        for (long i = 0; i < columns; i++)
            squares += (x[i] - mean) * (x[i] - mean);
        OUT(float, 1)[row] = mean;
        OUT(float, 2)[row] = squares / columns;
    }
}

static inline void max_pool(const uint64_t *args, long z) {
    long height = INT(2), width = INT(3);
    for (long row = 0; row < height / 2; row++) {
        const float *upper = IN(float, 0) + 2 * row * width, *lower = upper + width;
        float *restrict y = OUT(float, 1) + row * (width / 2);
        for (long i = 0; i < width / 2; i++) {
            float a = upper[2 * i] > upper[2 * i + 1] ? upper[2 * i] : upper[2 * i + 1];
            float b = lower[2 * i] > lower[2 * i + 1] ? lower[2 * i] : lower[2 * i + 1];
            y[i] = a > b ? a : b;
        }
    }
}

static inline void huber(const uint64_t *args, long z) {
    const float *x = IN(float, 0), *y = IN(float, 1);
    float *restrict loss = OUT(float, 2), delta = as_float(args[3]);
    for (long i = 0; i < INT(4); i++) {
        float d = fabsf(x[i] - y[i]);
        loss[i] = d < delta ? 0.5f * d * d : delta * (d - 0.5f * delta);
    }
}

static inline void matvec(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(3);
    for (long row = 0; row < rows; row++) {
        float total = 0;
        for (long i = 0; i < columns; i++)
            total += IN(float, 0)[row * columns + i] * IN(float, 1)[i];
        OUT(float, 2)[row] = total;
    }
}
