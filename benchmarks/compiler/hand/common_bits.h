/* The kernels of common_bits.py as plain loops; one program does all the work. */

static inline void popcount(const uint64_t *args, long z) {
    const uint32_t *x = IN(uint32_t, 0);
    int32_t *restrict y = OUT(int32_t, 1);
    for (long i = 0; i < INT(2); i++)
        y[i] = __builtin_popcount(x[i]);
}

static inline void classify_bytes(const uint64_t *args, long z) {
    const uint8_t *text = IN(uint8_t, 0);
    uint8_t *restrict kinds = OUT(uint8_t, 1);
    for (long i = 0; i < INT(2); i++) {
        uint8_t c = text[i], lower = c | 32;
        uint8_t kind = lower >= 'a' && lower <= 'z';
        kind = c >= '0' && c <= '9' ? 2 : kind;
        kinds[i] = c == ' ' || (c >= '\t' && c <= '\r') ? 3 : kind;
    }
}

static inline void dequantize_int4(const uint64_t *args, long z) {
    float *restrict out = OUT(float, 2);
    for (long group = 0; group < INT(3) / 64; group++) {
        const uint8_t *q = IN(uint8_t, 0) + group * 32;
        float scale = IN(float, 1)[group];
        for (long i = 0; i < 32; i++) {
            out[group * 64 + 2 * i] = ((q[i] & 15) - 8) * scale;
            out[group * 64 + 2 * i + 1] = ((q[i] >> 4) - 8) * scale;
        }
    }
}

static inline void dequantize_fp8(const uint64_t *args, long z) {
    const uint8_t *q = IN(uint8_t, 0);
    float *restrict out = OUT(float, 1), scale = as_float(args[2]) * 0x1p120f;
    for (long i = 0; i < INT(3); i++) {
        uint32_t bits = (uint32_t)(q[i] & 127) << 20 | (uint32_t)(q[i] >> 7) << 31;
        float value;
        memcpy(&value, &bits, sizeof value);
        out[i] = (q[i] & 127) == 127 ? NAN : value * scale;
    }
}

static inline void sort_rows(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        float *restrict y = OUT(float, 1) + row * columns;
        for (long i = 0; i < columns; i++) {
            float x = IN(float, 0)[row * columns + i];
            long place = i;
            for (; place > 0 && y[place - 1] > x; place--)
                y[place] = y[place - 1];
            y[place] = x;
        }
    }
}

static inline void scatter_counts(const uint64_t *args, long z) {
    const uint8_t *x = IN(uint8_t, 0);
    int32_t *restrict counts = OUT(int32_t, 1);
    for (long i = 0; i < INT(2); i++)
        __atomic_fetch_add(&counts[x[i]], 1, __ATOMIC_RELAXED);
}
