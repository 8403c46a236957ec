#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validates docs/kubernetes.yaml against the definitions of Kubernetes' API in tests/schemas, and what they do not say.

Exit code 77 without PyYAML or jsonschema.
"""

import copy
import json
import os
import sys

try:
    import jsonschema
    import yaml
except ImportError:
    print("skipped: Debian has it in python3-yaml and python3-jsonschema")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEFINITIONS = os.path.join(ROOT, "tests", "schemas", "kubernetes-1.25.2.json")
KINDS = {"Service": "io.k8s.api.core.v1.Service", "Job": "io.k8s.api.batch.v1.Job"}
ENDED_BY_ROLLCALL = 86


def strict(schema):
    """As `kubectl --validate=strict`: a field that the definition does not have is an error."""
    for definition in schema["definitions"].values():
        if "properties" in definition:
            definition.setdefault("additionalProperties", False)
    return schema


def errors(objects, schema):
    found = []
    for thing in objects:
        validator = jsonschema.Draft4Validator(dict(schema, **{"$ref": "#/definitions/" + KINDS[thing["kind"]]}))
        found += ["%s: %s: %s" % (thing["kind"], "/".join(map(str, error.absolute_path)), error.message)
                  for error in validator.iter_errors(thing)]
    return found


def inconsistencies(objects):
    """Names that must agree, and rules of the API server that are in no schema."""
    service, job = objects["Service"], objects["Job"]
    pod = job["spec"]["template"]["spec"]
    container = pod["containers"][0]
    env = {one["name"]: one.get("value") for one in container["env"]}
    host, port = env["ROLLCALL_COLLECTOR"].rsplit(":", 1)
    volumes = {one["name"] for one in pod["volumes"]}
    codes = job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]
    rules = {
        "the collector is at the first pod's name": host == "%s-0.%s" % (job["metadata"]["name"], pod["subdomain"]),
        "the Service has the pods' subdomain": service["metadata"]["name"] == pod["subdomain"],
        "the Service selects the Job's pods": service["spec"]["selector"] == {"job-name": job["metadata"]["name"]},
        "the Service has the collector's port": int(port) in [one["port"] for one in service["spec"]["ports"]],
        "the collector listens there": "--listen 0.0.0.0:%s " % port in container["args"][0],
        "podFailurePolicy needs restartPolicy Never": pod["restartPolicy"] == "Never",
        "podFailurePolicy names a container": codes["containerName"] == container["name"],
        "podFailurePolicy has rollcall's code": codes["values"] == [ENDED_BY_ROLLCALL],
        "what is mounted is a volume": volumes >= {mount["name"] for one in pod["containers"] + pod["initContainers"]
                                                   for mount in one["volumeMounts"]},
        "the token is no value": env["ROLLCALL_TOKEN"] is None,
    }
    return [rule for rule, holds in rules.items() if not holds]


def main():
    with open(os.path.join(ROOT, "docs", "kubernetes.yaml"), encoding="utf-8") as file:
        objects = list(yaml.safe_load_all(file))
    with open(DEFINITIONS, encoding="utf-8") as file:
        schema = strict(json.load(file))
    found = errors(objects, schema) or inconsistencies({thing["kind"]: thing for thing in objects})
    if found:
        sys.exit("docs/kubernetes.yaml:\n" + "\n".join(found))
    # Are a misspelled field, a wrong type and a missing field found?
    for damage in ({"completion": 2}, {"completions": "2"}, {"template": {"spec": {"restartPolicy": "Never"}}}):
        damaged = copy.deepcopy(objects)
        next(thing for thing in damaged if thing["kind"] == "Job")["spec"].update(damage)
        if not errors(damaged, schema):
            sys.exit("%s is accepted" % damage)
    print("docs/kubernetes.yaml is valid")


if __name__ == "__main__":
    main()
