/* A hash table with open addressing, doubled when half full. */
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 };

/* The finalizer of splitmix64: spreads neighbouring numbers over all bits. */
static uint64_t scatter(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static bool allocate(struct pages *pages, uint32_t capacity) {
    pages->keys = calloc(capacity, sizeof *pages->keys);
    pages->order = calloc(capacity, sizeof *pages->order);
    pages->capacity = capacity;
    return pages->keys != NULL && pages->order != NULL;
}

bool pages_init(struct pages *pages) {
    pages->count = 0;
    return allocate(pages, FIRST_CAPACITY);
}

static uint32_t find(const struct pages *pages, uint64_t key) {
    uint32_t at = (uint32_t)scatter(key) & (pages->capacity - 1);
    while (pages->keys[at] != 0 && pages->keys[at] != key) {
        at = (at + 1) & (pages->capacity - 1);
    }
    return at;
}

static void grow(struct pages *pages) {
    struct pages old = *pages;
    if (!allocate(pages, old.capacity * 2)) {
        fputs("board plug-in: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    for (uint32_t i = 0; i < old.capacity; i++) {
        if (old.keys[i] != 0) {
            uint32_t at = find(pages, old.keys[i]);
            pages->keys[at] = old.keys[i];
            pages->order[at] = old.order[i];
        }
    }
    free(old.keys);
    free(old.order);
}

uint64_t pages_translate(struct pages *pages, uint64_t page) {
    uint32_t at = find(pages, page + 1);
    if (pages->keys[at] == 0) {
        if (pages->count * 2 >= pages->capacity) {
            grow(pages);
            at = find(pages, page + 1);
        }
        pages->keys[at] = page + 1;
        pages->order[at] = pages->count++;
    }
    return scatter(pages->order[at]) >> 24; /* 40 bits of page number */
}
