/* An ordered map for the memtable of C programs: a linked list with express lanes. */
#include "lodestone.h"

#include <string.h>

#define HEIGHT_MAX 12
#define BRANCHING 4

struct node {
    ls_slice key;
    ls_slice value;
    int height;
    struct node *next[];
};

struct ls_skiplist {
    ls_arena *arena;
    struct node *head;
    int height;
    uint64_t random;
};

static int compare(ls_slice a, ls_slice b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = memcmp(a.data, b.data, shorter);
    if (order != 0)
        return order;
    return (a.length > b.length) - (a.length < b.length);
}

static struct node *node_new(ls_arena *arena, ls_slice key, ls_slice value, int height)
{
    struct node *node = ls_arena_alloc(arena, sizeof(struct node) + height * sizeof(struct node *));
    if (node == NULL)
        return NULL;
    node->key = key;
    node->value = value;
    node->height = height;
    memset(node->next, 0, height * sizeof(struct node *));
    return node;
}

ls_skiplist *ls_skiplist_new(ls_arena *arena, uint64_t seed)
{
    ls_skiplist *list = ls_arena_alloc(arena, sizeof(ls_skiplist));
    if (list == NULL)
        return NULL;
    list->arena = arena;
    list->height = 1;
    list->random = seed | 1;
    list->head = node_new(arena, (ls_slice){0}, (ls_slice){0}, HEIGHT_MAX);
    return list->head != NULL ? list : NULL;
}

/* Each lane has a quarter of the nodes of the one below; xorshift is random enough for that. */
static int random_height(ls_skiplist *list)
{
    int height = 1;
    while (height < HEIGHT_MAX) {
        list->random ^= list->random << 13;
        list->random ^= list->random >> 7;
        list->random ^= list->random << 17;
        if (list->random % BRANCHING != 0)
            break;
        height++;
    }
    return height;
}

/* The first node at or after key; what comes before it on every lane goes into `before`. */
static struct node *seek(const ls_skiplist *list, ls_slice key, struct node **before)
{
    struct node *node = list->head;
    for (int lane = list->height - 1; lane >= 0; lane--) {
        while (node->next[lane] != NULL && compare(node->next[lane]->key, key) < 0)
            node = node->next[lane];
        if (before != NULL)
            before[lane] = node;
    }
    return node->next[0];
}

/* 1 when the key is new, 0 when its value was replaced, -1 without memory. */
int ls_skiplist_insert(ls_skiplist *list, ls_slice key, ls_slice value)
{
    struct node *before[HEIGHT_MAX];
    struct node *found = seek(list, key, before);
    if (found != NULL && compare(found->key, key) == 0) {
        found->value = value;
        return 0;
    }
    int height = random_height(list);
    for (; list->height < height; list->height++)
        before[list->height] = list->head;
    struct node *node = node_new(list->arena, key, value, height);
    if (node == NULL)
        return -1;
    for (int lane = 0; lane < height; lane++) {
        node->next[lane] = before[lane]->next[lane];
        before[lane]->next[lane] = node;
    }
    return 1;
}

const ls_slice *ls_skiplist_find(const ls_skiplist *list, ls_slice key)
{
    struct node *found = seek(list, key, NULL);
    return found != NULL && compare(found->key, key) == 0 ? &found->value : NULL;
}
