/* Memory that is given back all at once. */
#include "lodestone.h"

#include <stdlib.h>

#define ALIGNMENT 16

struct block {
    struct block *before;
    size_t size;
    size_t used;
    unsigned char bytes[];
};

struct ls_arena {
    struct block *current;
    size_t block_size;
    size_t total;
};

static struct block *block_new(size_t size, struct block *before)
{
    struct block *block = malloc(sizeof(struct block) + size);
    if (block == NULL)
        return NULL;
    block->before = before;
    block->size = size;
    block->used = 0;
    return block;
}

ls_arena *ls_arena_new(size_t block_size)
{
    ls_arena *arena = calloc(1, sizeof(ls_arena));
    if (arena != NULL)
        arena->block_size = block_size;
    return arena;
}

/* Large requests get a block of their own, behind the current one, so that its rest is not lost. */
void *ls_arena_alloc(ls_arena *arena, size_t size)
{
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct block *current = arena->current;
    if (current != NULL && current->size - current->used >= size) {
        void *place = current->bytes + current->used;
        current->used += size;
        return place;
    }
    if (size > arena->block_size / 4 && current != NULL) {
        struct block *own = block_new(size, current->before);
        if (own == NULL)
            return NULL;
        own->used = size;
        current->before = own;
        arena->total += size;
        return own->bytes;
    }
    size_t wanted = size > arena->block_size ? size : arena->block_size;
    struct block *fresh = block_new(wanted, current);
    if (fresh == NULL)
        return NULL;
    fresh->used = size;
    arena->current = fresh;
    arena->total += wanted;
    return fresh->bytes;
}

void ls_arena_free(ls_arena *arena)
{
    struct block *block = arena->current;
    while (block != NULL) {
        struct block *before = block->before;
        free(block);
        block = before;
    }
    free(arena);
}
