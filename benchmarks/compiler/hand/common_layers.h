/* The kernels of common_layers.py as plain loops; one program does all the work. */

static inline void add_rms_norm(const uint64_t *args, long z) {
    const float *weight = IN(float, 2);
    long rows = sizes[0], columns = INT(5);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict residual = OUT(float, 1) + row * columns;
        float *restrict y = OUT(float, 3) + row * columns;
        float squares = 0;
        for (long i = 0; i < columns; i++) {
            residual[i] += x[i];
            squares += residual[i] * residual[i];
        }
        float scale = 1 / sqrtf(squares / columns + as_float(args[4]));
        for (long i = 0; i < columns; i++)
            y[i] = residual[i] * scale * weight[i];
    }
}

static inline void adamw(const uint64_t *args, long z) {
    float *restrict p = OUT(float, 0), *restrict m = OUT(float, 2), *restrict v = OUT(float, 3);
    const float *g = IN(float, 1);
    float rate = as_float(args[4]), decay = as_float(args[5]), epsilon = as_float(args[8]);
    float beta1 = as_float(args[6]), beta2 = as_float(args[7]);
    for (long i = 0; i < INT(9); i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        p[i] = p[i] * (1 - rate * decay) - rate * m[i] / (sqrtf(v[i]) + epsilon);
    }
}

static inline void cosine_similarity(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(3);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        const float *restrict y = IN(float, 1) + row * columns;
        float dot = 0, xx = 0, yy = 0;
        for (long i = 0; i < columns; i++) {
            dot += x[i] * y[i];
            xx += x[i] * x[i];
            yy += y[i] * y[i];
        }
        OUT(float, 2)[row] = dot / sqrtf(xx * yy);
    }
}

static inline void embedding_bag(const uint64_t *args, long z) {
    const int32_t *ids = IN(int32_t, 0), *starts = IN(int32_t, 1);
    long width = INT(4);
    for (long bag = 0; bag < sizes[0]; bag++) {
        float *restrict out = OUT(float, 3) + bag * width;
        memset(out, 0, width * sizeof *out);
        for (long i = starts[bag]; i < starts[bag + 1]; i++)
            for (long j = 0; j < width; j++)
                out[j] += IN(float, 2)[ids[i] * width + j];
        for (long j = 0; j < width; j++)
            out[j] /= starts[bag + 1] - starts[bag];
    }
}

static inline void top_k(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        int32_t where[4] = {0};
        for (int32_t i = 0; i < columns; i++) {
            if (x[i] <= best[3])
                continue;
            int place = 3;
            for (; place > 0 && x[i] > best[place - 1]; place--) {
                best[place] = best[place - 1];
                where[place] = where[place - 1];
            }
            best[place] = x[i];
            where[place] = i;
        }
        memcpy(OUT(int32_t, 1) + row * 4, where, sizeof where);
    }
}

static inline void prefix_max(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *restrict x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 1) + row * columns, largest = -INFINITY;
        for (long i = 0; i < columns; i++) {
            largest = x[i] > largest ? x[i] : largest;
            y[i] = largest;
        }
    }
}

static inline void complex_multiply(const uint64_t *args, long z) {
    const float *a = IN(float, 0), *b = IN(float, 1);
    float *restrict c = OUT(float, 2);
    for (long i = 0; i < INT(3); i++) {
        c[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        c[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
    }
}
