#!/usr/bin/env python3
"""compare.py NAME FATHOM.sqlite NSYS.sqlite - does a recording of fathom hold what nsys recorded?

Both are exports in the schema of Nsight Systems, of two runs of one program.
Prints a line: counts of fathom and of nsys, and what differs by name.
"""
import collections
import sqlite3
import statistics
import sys

LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernel", "cudaGraphLaunch", "cudaLaunchCooperativeKernel")


def rows(db, sql):
    try:
        return db.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return []


def load(path):
    db = sqlite3.connect(path)
    texts = dict(rows(db, "select id, value from StringIds"))
    kernels = rows(db, "select mangledName, end - start, streamId, graphNodeId, gridX, gridY, gridZ, blockX, blockY,"
                       " blockZ, registersPerThread, staticSharedMemory, dynamicSharedMemory, globalPid"
                       " from CUPTI_ACTIVITY_KIND_KERNEL")
    times = collections.defaultdict(list)
    for k in kernels:
        times[texts.get(k[0])].append(k[1])
    ranges = rows(db, "select coalesce(text, (select value from StringIds where id = textId)) from NVTX_EVENTS"
                      " where eventType in (59, 60) and end is not null")
    return {
        "kernels": collections.Counter((texts.get(k[0]),) + k[4:13] for k in kernels),
        "times": times,
        "streams": len({(k[13], k[2]) for k in kernels}),
        "graph": sum(k[3] is not None for k in kernels),
        "nodes": len({k[3] for k in kernels if k[3] is not None}),
        "copies": collections.Counter(rows(db, "select copyKind, bytes, srcKind, dstKind from CUPTI_ACTIVITY_KIND_MEMCPY")),
        "sets": collections.Counter(rows(db, "select bytes, value from CUPTI_ACTIVITY_KIND_MEMSET")),
        "launches": collections.Counter(
            n.split("_v")[0] for (n,) in rows(db, "select value from CUPTI_ACTIVITY_KIND_RUNTIME r join StringIds s"
                                                  " on r.nameId = s.id") if n.startswith(LAUNCHES)),
        "syncs": collections.Counter(rows(db, "select syncType from CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")),
        "ranges": collections.Counter(r[0] for r in ranges),
        "linked": rows(db, "select count(*) from CUPTI_ACTIVITY_KIND_KERNEL k where exists (select 1 from"
                           " CUPTI_ACTIVITY_KIND_RUNTIME r where r.correlationId = k.correlationId and"
                           " r.globalTid / 16777216 = k.globalPid / 16777216)") if len(kernels) < 20000 else [(-1,)],
    }


def both(a, b):
    return f"{a}/{b}" + ("" if a == b else " !")


def main():
    name, ours, theirs = sys.argv[1], load(sys.argv[2]), load(sys.argv[3])
    cells = [both(sum(ours[k].values()), sum(theirs[k].values())) for k in ("kernels", "copies", "sets", "launches", "ranges", "syncs")]
    cells += [both(ours[k], theirs[k]) for k in ("streams", "graph", "nodes")]
    ratios = [statistics.median(ours["times"][k]) / statistics.median(theirs["times"][k])
              for k in ours["times"] if k in theirs["times"] and statistics.median(theirs["times"][k]) > 0]
    ratio = f"{statistics.median(ratios):.3f}" if ratios else "-"
    print(f"{name:22} kernels {cells[0]:>15} copies {cells[1]:>9} sets {cells[2]:>11} launches {cells[3]:>15} ranges"
          f" {cells[4]:>9} waits {cells[5]:>9} streams {cells[6]:>6} in graphs {cells[7]:>11} nodes {cells[8]:>9} time {ratio}"
          f" linked {ours['linked'][0][0] if ours['linked'] else 0}")
    for what in ("kernels", "copies", "sets", "launches", "ranges", "syncs"):
        missing, extra = theirs[what] - ours[what], ours[what] - theirs[what]
        for label, some in (("only nsys", missing), ("only fathom", extra)):
            for key, n in sorted(some.items(), key=lambda i: -i[1])[:4]:
                print(f"    {what}: {label}: {n} x {str(key)[:150]}")


main()
