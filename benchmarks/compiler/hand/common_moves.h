/* The kernels of common_moves.py as plain loops; one program does all the work. */

static inline void upsample_planes(const uint64_t *args, long z) {
    long planes = sizes[0], height = INT(2), width = INT(3);
    for (long row = 0; row < 2 * planes * height; row++) {
        const float *x = IN(float, 0) + row / 2 * width;
        float *restrict y = OUT(float, 1) + row * 2 * width;
        for (long i = 0; i < width; i++)
            y[2 * i] = y[2 * i + 1] = x[i];
    }
}

static inline void pixel_shuffle(const uint64_t *args, long z) {
    long channels = sizes[0], height = INT(2), width = INT(3);
    for (long channel = 0; channel < channels; channel++)
        for (long row = 0; row < 2 * height; row++) {
            const float *even = IN(float, 0) + ((channel * 4 + row % 2 * 2) * height + row / 2) * width;
            const float *odd = even + height * width;
            float *restrict y = OUT(float, 1) + (channel * 2 * height + row) * 2 * width;
            for (long i = 0; i < width; i++) {
                y[2 * i] = even[i];
                y[2 * i + 1] = odd[i];
            }
        }
}

static inline void unpack_bits(const uint64_t *args, long z) {
    const uint8_t *bits = IN(uint8_t, 0);
    uint8_t *restrict y = OUT(uint8_t, 1);
    for (long i = 0; i < INT(2); i++)
        y[i] = bits[i / 8] >> i % 8 & 1;
}

static inline void mono_of_stereo(const uint64_t *args, long z) {
    const int16_t *x = IN(int16_t, 0);
    int16_t *restrict y = OUT(int16_t, 1);
    for (long i = 0; i < INT(2); i++)
        y[i] = (x[2 * i] + x[2 * i + 1]) >> 1;
}

static inline uint8_t as_byte(int value) {
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

static inline void rgb_of_yuv(const uint64_t *args, long z) {
    long height = sizes[0], width = INT(4);
    for (long row = 0; row < height; row++) {
        const uint8_t *y = IN(uint8_t, 0) + row * width;
        const uint8_t *us = IN(uint8_t, 1) + row / 2 * (width / 2);
        const uint8_t *vs = IN(uint8_t, 2) + row / 2 * (width / 2);
        uint8_t *restrict rgb = OUT(uint8_t, 3) + 3 * row * width;
        for (long i = 0; i < width; i++) {
            int u = us[i / 2] - 128, v = vs[i / 2] - 128;
            rgb[3 * i] = as_byte(y[i] + (359 * v >> 8));
            rgb[3 * i + 1] = as_byte(y[i] - ((88 * u + 183 * v) >> 8));
            rgb[3 * i + 2] = as_byte(y[i] + (454 * u >> 8));
        }
    }
}

static inline void pad_reflect(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2), pad = INT(3);
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 1) + row * (columns + 2 * pad);
        for (long i = 0; i < pad; i++) {
            y[i] = x[pad - i];
            y[pad + columns + i] = x[columns - 2 - i];
        }
        memcpy(y + pad, x, columns * sizeof *x);
    }
}

static inline void reverse_rows(const uint64_t *args, long z) {
    long rows = sizes[0], columns = INT(2);
    for (long row = 0; row < rows; row++) {
        const float *x = IN(float, 0) + row * columns;
        float *restrict y = OUT(float, 1) + row * columns;
        for (long i = 0; i < columns; i++)
            y[i] = x[columns - 1 - i];
    }
}

static inline void depthwise_conv(const uint64_t *args, long z) {
    long channels = INT(3), height = INT(4), width = INT(5);
    for (long channel = 0; channel < channels; channel++)
        for (long row = 0; row < height; row++) {
            float *restrict y = OUT(float, 2) + (channel * height + row) * width;
            for (long i = 0; i < width; i++)
                y[i] = 0;
            for (long dy = -1; dy <= 1; dy++) {
                if (row + dy < 0 || row + dy >= height)
                    continue;
                const float *x = IN(float, 0) + (channel * height + row + dy) * width;
                const float *weights = IN(float, 1) + channel * 9 + (dy + 1) * 3;
                float left = weights[0], middle = weights[1], right = weights[2];
                y[0] += middle * x[0] + right * x[1];
                for (long i = 1; i < width - 1; i++)
                    y[i] += left * x[i - 1] + middle * x[i] + right * x[i + 1];
                y[width - 1] += left * x[width - 2] + middle * x[width - 1];
            }
        }
}

static inline void nhwc_of_nchw(const uint64_t *args, long z) {
    long images = sizes[0], channels = INT(2), pixels = INT(3);
    for (long image = 0; image < images; image++) {
        const float *x = IN(float, 0) + image * channels * pixels;
        float *restrict y = OUT(float, 1) + image * channels * pixels;
        for (long pixel = 0; pixel < pixels; pixel++)
            for (long channel = 0; channel < channels; channel++)
                y[pixel * channels + channel] = x[channel * pixels + pixel];
    }
}

static inline void im2col(const uint64_t *args, long z) {
    long height = INT(2) - 2, width = INT(3) - 2;
    for (long place = 0; place < 9; place++)
        for (long row = 0; row < height; row++) {
            const float *x = IN(float, 0) + (row + place / 3) * INT(3) + place % 3;
            memcpy(OUT(float, 1) + (place * height + row) * width, x, width * sizeof *x);
        }
}
