# Compares the objects `recompute` of reports: calls a microbatch and operations a step of each, and what the first keeps beyond the others.
import json
import sys

reports = []
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        reports.append(json.load(file)["recompute"])
for report in reports:
    calls = sorted((block["block"], block["calls"]) for block in report["blocks"])
    print(*(f"{count} of {block}" for block, count in calls), "again", int(report["flops_per_step"]),
          "less", reports[0]["saved_bytes"] - report["saved_bytes"])
