# Reads what `ulsc explain` writes of timelines: `report`, `trace`, `kinds` or `page`, and the file.
import json
import re
import sys
from collections import defaultdict

CALLS = {"forward", "backward", "backward_input", "backward_weight", "recompute"}


def report(text):
    pipeline = json.loads(text)["pipeline"]
    print("stages", pipeline["stages"], "schedule", pipeline["schedule"], "in_flight", pipeline["in_flight"])
    ranks = pipeline["ranks"]
    assert [rank["stage"] for rank in ranks] == list(range(pipeline["stages"]))
    assert pipeline["idle_share"] == max(rank["idle_share"] for rank in ranks)
    for rank in ranks:
        spent = rank["work_us"] + rank["transfer_wait_us"] + rank["collective_wait_us"]
        assert spent <= pipeline["makespan_us"] * (1 + 1e-9), rank
        assert rank["peak_bytes"] > 0
    print("idle share and makespan are those of the ranks")
    for chunk in pipeline["chunks"]:
        print("stage", chunk["stage"], *chunk["blocks"])


def trace(text):
    events = json.loads(text)["traceEvents"]
    spans, counters, ends = defaultdict(list), set(), defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            assert event["dur"] >= 0 and event["ts"] >= 0, event
            spans[event["pid"], event["tid"]].append(event)
        elif event["ph"] == "C":
            counters.update(event["args"])
        elif event["ph"] in "sf":
            ends[event["id"]].append(event)
    for lane in spans.values():
        last = 0
        for span in sorted((s for s in lane if s["cat"] != "wait"), key=lambda s: s["ts"]):
            assert span["ts"] >= last - 1e-6, span
            last = span["ts"] + span["dur"]
    calls = [s for lane in spans.values() for s in lane if s["cat"] in CALLS]
    assert all("block" in call["args"] for call in calls)
    names = [e for e in events if e["ph"] == "M" and e["name"] == "process_name"]
    print(len(names), "processes,", len(calls), "forward or backward calls on microbatches",
          sorted({call["args"]["microbatch"] for call in calls}))
    for start, end in ends.values():
        assert (start["ph"], end["ph"]) == ("s", "f") and start["pid"] != end["pid"] and start["ts"] <= end["ts"]
    print(len(ends), "messages")
    print("memory of", ", ".join(sorted(counters)))


def kinds(text):
    print(*sorted({event["cat"] for event in json.loads(text)["traceEvents"] if "cat" in event}))


def page(text):
    blocks = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    assert len(blocks) == 1 and "<" not in blocks[0]
    data = json.loads(blocks[0])
    print(f"{data['title']}; {data['schedule']}; {len(data['ranks'])} ranks,",
          sum(len(rank["work"]) for rank in data["ranks"]), "spans")
    outside = text.replace(blocks[0], "")
    assert not re.search(r"https?://|src=|<link|@import|url\(", outside)
    assert "{{" not in outside
    print("nothing from elsewhere")


with open(sys.argv[2], encoding="utf-8") as file:
    {"report": report, "trace": trace, "kinds": kinds, "page": page}[sys.argv[1]](file.read())
