/* The kernels of common_images.py as plain loops; one program does all the work. */

static inline void gray_of_rgb(const uint64_t *args, long z) {
    const uint8_t *rgb = IN(uint8_t, 0);
    uint8_t *restrict gray = OUT(uint8_t, 1);
    for (long i = 0; i < INT(2); i++)
        gray[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}

static inline void planes_to_rgb(const uint64_t *args, long z) {
    const uint8_t *planes = IN(uint8_t, 0);
    uint8_t *restrict rgb = OUT(uint8_t, 1);
    long n = INT(2);
    for (long i = 0; i < n; i++)
        for (long colour = 0; colour < 3; colour++)
            rgb[3 * i + colour] = planes[colour * n + i];
}

/* Pixels of the rim, where a neighbour may be outside, are computed one by one. */
static inline float sobel_at_rim(const float *x, long row, long column, long height, long width) {
    float across = 0, down = 0;
    for (long dy = -1; dy <= 1; dy++)
        for (long dx = -1; dx <= 1; dx++) {
            long r = row + dy, c = column + dx;
            float pixel = r < 0 || r >= height || c < 0 || c >= width ? 0 : x[r * width + c];
            across += dx * (2 - dy * dy) * pixel;
            down += dy * (2 - dx * dx) * pixel;
        }
    return sqrtf(across * across + down * down);
}

static inline void sobel(const uint64_t *args, long z) {
    const float *x = IN(float, 0);
    float *restrict y = OUT(float, 1);
    long height = INT(2), width = INT(3);
    for (long row = 0; row < height; row++) {
        if (row == 0 || row == height - 1) {
            for (long i = 0; i < width; i++)
                y[row * width + i] = sobel_at_rim(x, row, i, height, width);
            continue;
        }
        const float *above = x + (row - 1) * width, *at = above + width, *below = at + width;
        y[row * width] = sobel_at_rim(x, row, 0, height, width);
        for (long i = 1; i < width - 1; i++) {
            float across = above[i + 1] - above[i - 1] + 2 * (at[i + 1] - at[i - 1]);
            float down = below[i - 1] - above[i - 1] + 2 * (below[i] - above[i]);
            across += below[i + 1] - below[i - 1];
            down += below[i + 1] - above[i + 1];
            y[row * width + i] = sqrtf(across * across + down * down);
        }
        y[row * width + width - 1] = sobel_at_rim(x, row, width - 1, height, width);
    }
}

static inline float pixel_at(const float *image, long row, long column, long height, long width) {
    int inside = row >= 0 && row < height && column >= 0 && column < width;
    return inside ? image[row * width + column] : 0;
}

static inline void bilinear(const uint64_t *args, long z) {
    const float *image = IN(float, 0), *x = IN(float, 1), *y = IN(float, 2);
    float *restrict out = OUT(float, 3);
    long height = INT(4), width = INT(5), n = INT(6);
    for (long i = 0; i < n; i++) {
        float left = floorf(x[i]), top = floorf(y[i]), across = x[i] - left, down = y[i] - top;
        long row = top, column = left;
        float upper = pixel_at(image, row, column, height, width) * (1 - across) +
                      pixel_at(image, row, column + 1, height, width) * across;
        float lower = pixel_at(image, row + 1, column, height, width) * (1 - across) +
                      pixel_at(image, row + 1, column + 1, height, width) * across;
        out[i] = upper * (1 - down) + lower * down;
    }
}

static inline void mandelbrot(const uint64_t *args, long z) {
    long height = sizes[0], width = INT(1), steps = INT(2);
    for (long row = 0; row < height; row++)
        for (long column = 0; column < width; column++) {
            float c_re = column * (3.0f / width) - 2, c_im = row * (2.0f / width) - 1;
            float re = 0, im = 0;
            int32_t count = 0;
            for (long step = 0; step < steps && re * re + im * im <= 4; step++) {
                float next = re * re - im * im + c_re;
                im = 2 * re * im + c_im;
                re = next;
                count++;
            }
            OUT(int32_t, 0)[row * width + column] = count;
        }
}
