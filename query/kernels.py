"""Numba kernels over many short lists of concepts: where each is at home, a walk along them."""

import numpy as np
from numba import njit


@njit("int64(int64[::1], int64[::1])", cache=True, nogil=True)
def longest_of(begin, end):
    """Length of the longest list."""
    longest = 0
    for i in range(len(begin)):
        longest = max(longest, end[i] - begin[i])
    return longest


@njit(
    "void(int64[::1], int64[::1], int32[::1], int32[::1], float32[::1],"
    " int64, int32[::1], float64[::1])",
    cache=True,
    nogil=True,
)
def strongest_place(begin, end, concepts, place_of, weight, places, best, strength):
    """Write for each list the place of the highest summed weight, and that sum.

    List i is ``concepts[begin[i] : end[i]]``. ``place_of`` gives the place of each
    concept, below ``places``, or -1. Equal sums go to the lower place; -1 where there is none.
    """
    met, total = np.empty(longest_of(begin, end), np.int32), np.zeros(places, np.float64)
    for i in range(len(begin)):
        top, most, count = -1, 0.0, 0
        for concept in concepts[begin[i] : end[i]]:
            place, worth = place_of[concept], weight[concept]
            if place < 0 or worth == 0:
                continue
            if total[place] == 0:
                met[count], count = place, count + 1
            total[place] += worth
        for place in met[:count]:
            if total[place] > most or (total[place] == most and place < top):
                top, most = place, total[place]
            total[place] = 0.0
        best[i], strength[i] = top, most


@njit(
    "void(int64[::1], int64[::1], int32[::1], int32[::1], int32[:,"
    " ::1], float32[::1], float64, int32[::1])",
    cache=True,
    nogil=True,
)
def deepest_place(begin, end, concepts, leaf, above, weight, share, best):  # noqa: C901  see below
    """Write for each list the strongest place of the deepest level that has enough of its weight.

    ``leaf`` gives the deepest place of each concept (-1: none), ``above`` the place around it at
    each level (-1 below its own). The first level always has enough; -1 where it has no weight.
    A list's weights are summed by leaf, and from there level by level in the place around. In one
    piece, since to pass arrays to other functions costs half as much again.
    """
    met = np.empty(longest_of(begin, end), np.int32)
    total = np.zeros(above.shape[1], np.float64)
    for i in range(len(begin)):
        best[i], count, whole = -1, 0, 0.0
        for concept in concepts[begin[i] : end[i]]:
            worth, place = weight[concept], leaf[concept]
            whole += worth
            if place < 0 or worth == 0:
                continue
            if total[place] == 0:
                met[count], count = place, count + 1
            total[place] += worth
        for level in range(len(above) - 1, -1, -1):
            top, strength = -1, 0.0
            for place in met[:count]:
                here = above[level, place] == place
                if here and (total[place] > strength or (total[place] == strength and place < top)):
                    top, strength = place, total[place]
            if top >= 0 and (level == 0 or strength >= share * whole):
                best[i] = top
                break
            left = 0
            for place in met[:count]:
                around = place
                if above[level, place] == place and level > 0:
                    around = above[level - 1, place]
                    more, total[place] = total[place], 0.0
                    before = total[around]
                    total[around] += more
                    if before > 0:  # met already
                        continue
                met[left], left = around, left + 1
            count = left
        for place in met[:count]:
            total[place] = 0.0


@njit(
    "void(int64[::1], int64[::1], int32[::1], boolean[::1], boolean[::1])", cache=True, nogil=True
)
def name_any(begin, end, concepts, wanted, names):
    """Write for each list whether it holds a concept that is ``wanted`` (by number)."""
    for i in range(len(begin)):
        names[i] = False
        for concept in concepts[begin[i] : end[i]]:
            if wanted[concept]:
                names[i] = True
                break


@njit(
    "void(int64[::1], int64[::1], int32[::1], int64[::1], int64, float64[::1],"
    " int64[::1], float64[::1], float64[::1])",
    cache=True,
    nogil=True,
)
def weigh_subjects(begin, end, subjects, bar, first, weight, recent, now, before):
    """Add up by subject the lists that hold it.

    Their number in the intervals from ``first`` on, and their ``weight`` by interval, in those
    (``now``) and in the earlier ones (``before``).
    """
    for i in range(len(begin)):
        worth = weight[bar[i]]
        if bar[i] < first:
            for subject in subjects[begin[i] : end[i]]:
                before[subject] += worth
            continue
        for subject in subjects[begin[i] : end[i]]:
            recent[subject] += 1
            now[subject] += worth


@njit(
    "void(int64[::1], int64[::1], int32[::1], int64[::1], int32[::1], int64[:, ::1], int64[::1])",
    cache=True,
    nogil=True,
)
def count_chosen(begin, end, subjects, bar, row_of, counts, last):
    """Count by interval the lists that hold each chosen subject, and tell the last of them.

    ``row_of`` gives each subject's row in ``counts`` and ``last``, -1 for those not chosen.
    """
    for i in range(len(begin)):
        for subject in subjects[begin[i] : end[i]]:
            row = row_of[subject]
            if row >= 0:
                counts[row, bar[i]] += 1
                last[row] = i


@njit("int64(int64, int64[::1], float64[::1])", cache=True, nogil=True)
def strongest_of(count, met, total):
    """Index below ``count`` of the largest ``total``, equal ones by smaller ``met``; -1 for none.

    What was taken already is negative in ``met``.
    """
    top = -1
    for place in range(count):
        if met[place] < 0:
            continue
        more = top < 0 or total[place] > total[top]
        if more or (total[place] == total[top] and met[place] < met[top]):
            top = place
    return top


@njit(
    "int64(int32[::1], int64[::1], float32[::1], int64[::1], float64[::1])", cache=True, nogil=True
)
def gather(concepts, community_of, weight, met, total):
    """Sum the weights of a list by community into ``met`` and ``total``; returns how many."""
    count = 0
    for concept in concepts:
        community = community_of[concept]
        if community < 0:
            continue
        place = 0
        while place < count and met[place] != community:
            place += 1
        if place == count:
            met[place], total[place] = community, 0.0
            count += 1
        total[place] += weight[concept]
    return count


@njit(
    "void(int64[::1], int64[::1], int32[::1], int64[::1], float32[::1],"
    " int64[:, ::1], float64[:, ::1])",
    cache=True,
    nogil=True,
)
def strongest_few(begin, end, concepts, community_of, weight, best, strength):
    """Write for each list its communities of the highest summed weight, best first, and the sums.

    ``best`` has a column for each community wanted and is -1 where there are fewer, ``strength``
    is 0 there. Equal sums go to the smaller id. A list is short, so its communities are looked
    for one by one: no table over all communities has to be made for a snapshot.
    """
    longest = longest_of(begin, end)
    met, total = np.empty(longest, np.int64), np.empty(longest, np.float64)
    for i in range(len(begin)):
        listed = concepts[begin[i] : end[i]]
        count = gather(listed, community_of, weight, met, total)
        for rank in range(best.shape[1]):
            best[i, rank], strength[i, rank] = -1, 0.0
            top = strongest_of(count, met, total)
            if top >= 0:
                best[i, rank], strength[i, rank] = met[top], total[top]
                met[top] = -1


@njit(
    "void(int32[::1], uint32[::1], float32[::1], float32[::1], float32[:, ::1], float32[:, ::1],"
    " float32[:, ::1], float32[:, ::1], float32[::1], float32[::1], int64, float32[:, ::1])",
    cache=True,
    nogil=True,
)
def walk_twice(offsets, columns, ties, leaves, stays, passes, restart, start, on, back, steps, at):
    """Take ``steps`` steps of two walks side by side, from chunks to concepts and back.

    The edges of chunk row r are ``columns[offsets[r] : offsets[r + 1]]`` with weights ``ties``.
    One pass over the rows takes in what the concepts pass on and at once hands out what the row
    sends down for the next step, while its edges are at hand: half the memory traffic of two
    products. Columns are unsigned, which spares a test for negative ones at each edge.

    Args:
        offsets: int32[rows + 1].
        columns: uint32[edges].
        ties: float32[edges].
        leaves: float32[rows], one by the weight of a row's concepts; 0 for rows not to be visited.
        stays: float32[rows, 2], what a row gets back from concepts that no other one names.
        passes: float32[columns, 2], what a concept passes on of what reaches it.
        restart: float32[columns, 2], what begins anew at a concept in each step.
        start: float32[rows, 2], what begins anew at a row in each step.
        on: float32[2], the share that is not begun anew at concepts.
        back: float32[2], the share that is not begun anew at rows.
        steps: At least 1.
        at: float32[rows, 2], the shares of the rows: before the first step, then after the last.
    """
    rows, width = len(leaves), len(passes)
    reached, sent = np.zeros((width, 2), np.float32), np.zeros((width, 2), np.float32)
    for step in range(steps + 1):
        for c in range(width):
            reached[c, 0] = sent[c, 0] * passes[c, 0] * on[0] + restart[c, 0]
            reached[c, 1] = sent[c, 1] * passes[c, 1] * on[1] + restart[c, 1]
            sent[c, 0] = sent[c, 1] = 0
        for r in range(rows):
            if leaves[r] == 0:
                if step > 0:
                    at[r, 0], at[r, 1] = start[r, 0], start[r, 1]
                continue
            of = columns[offsets[r] : offsets[r + 1]]
            weights = ties[offsets[r] : offsets[r + 1]]
            if step > 0:
                left, right = np.float32(0), np.float32(0)
                for e in range(len(of)):
                    left += weights[e] * reached[of[e], 0]
                    right += weights[e] * reached[of[e], 1]
                left += at[r, 0] * stays[r, 0] * on[0] * leaves[r]
                right += at[r, 1] * stays[r, 1] * on[1] * leaves[r]
                at[r, 0] = left * back[0] + start[r, 0]
                at[r, 1] = right * back[1] + start[r, 1]
            if step < steps and (at[r, 0] != 0 or at[r, 1] != 0):
                left, right = at[r, 0] * leaves[r], at[r, 1] * leaves[r]
                for e in range(len(of)):
                    sent[of[e], 0] += weights[e] * left
                    sent[of[e], 1] += weights[e] * right
