#!/usr/bin/env python3
"""Checks examples/clusters: scripts parse, the manifest for Kubernetes is YAML, and its parts name each other as they have to."""
import pathlib
import subprocess
import sys

import yaml

folder = pathlib.Path(sys.argv[1]) / "examples" / "clusters"


def require(condition, what):
    if not condition:
        sys.exit(f"examples/clusters: {what}")


scripts = sorted(folder.rglob("*.sh")) + sorted(folder.rglob("*.sbatch"))
require(len(scripts) >= 3, "the scripts are gone")
for script in scripts:
    subprocess.run(["bash", "-n", script], check=True)

service, job = yaml.safe_load_all((folder / "kubernetes" / "job.yaml").read_text())
require((service["kind"], job["kind"]) == ("Service", "Job"), "job.yaml is not a service and a job")
pod = job["spec"]["template"]["spec"]
container, = pod["containers"]
variables = {one["name"]: one for one in container["env"]}
name = job["metadata"]["name"]
machines = job["spec"]["completions"]
gpus = container["resources"]["limits"]["nvidia.com/gpu"]
require(service["spec"]["clusterIP"] == "None", "the service is not headless")
require(service["spec"]["publishNotReadyAddresses"] is True, "names are there only when pods are ready")
require(service["spec"]["selector"] == {"job-name": name}, "the service selects other pods than the job's")
require(pod["subdomain"] == service["metadata"]["name"], "the pods' subdomain is not the service")
require(job["spec"]["completionMode"] == "Indexed", "pods have no numbers")
require(job["spec"]["parallelism"] == machines, "not all pods run at once")
require(variables["MACHINES"]["value"] == str(machines), "MACHINES is not the number of pods")
require(variables["RANKS_PER_MACHINE"]["value"] == str(gpus), "RANKS_PER_MACHINE is not the number of GPUs")
require(variables["MASTER_ADDR"]["value"] == f"{name}-0.{service['metadata']['name']}", "MASTER_ADDR is not pod 0")
require(variables["MACHINE"]["valueFrom"]["fieldRef"]["fieldPath"]
        == "metadata.annotations['batch.kubernetes.io/job-completion-index']", "MACHINE is not the pod's number")
require("secretKeyRef" in variables["ULSC_JOB_SECRET"]["valueFrom"], "the secret is not of a Secret")
volumes = {one["name"] for one in pod["volumes"]}
require({one["name"] for one in container["volumeMounts"]} == volumes, "volumes and mounts differ")
print(f"examples/clusters: {len(scripts)} scripts and job.yaml are well-formed")
