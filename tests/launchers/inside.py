#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `table` runs in each system, in namespaces of its own: the lines of docs/launchers.md, unchanged.

  inside.py CASE

Prints a row for each line of the page: the launcher, the name of the block, and the verdict. Exits with 1 at the first
that is not as expected.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time

from nodes import Nodes

sys.path.insert(0, "/root/job/tests/jobs")

import slurm_cluster  # noqa: E402

JOB = "/root/job"
ENDED_BY_ROLLCALL = 86
STAGED_EXIT = 7
ABSENCE = "rank 1 .* never reached ncclAllReduce #4"
DEATH = "rank 1 was killed by SIGKILL"
PATIENCE_S = 150
TCP = {"UCX_TLS": "tcp,self"}  # the nodes are one machine to UCX, which then tries shared memory
TORCH = {"USE_LIBUV": "0"}
CANCELLED = 5  # jobs


class Page:
    """docs/launchers.md: the blocks of code that follow a line `<!-- run: NAME -->`."""

    def __init__(self):
        with open(JOB + "/docs/launchers.md", encoding="utf-8") as page:
            self._blocks = dict(re.findall(r"^<!-- run: (\S+) -->\n```\w+\n(.*?)^```$", page.read(),
                                           re.DOTALL | re.MULTILINE))

    def block(self, name):
        return self._blocks[name]


PAGE = Page()


def fail(what, output):
    sys.exit("FAIL %s\n%s" % (what, output[-6000:]))


def start(script, where=(), shell=("bash", "-c"), **environment):
    return subprocess.Popen([*where, *shell, script], cwd=JOB, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=dict(os.environ, **environment))


def output_of(process):
    try:
        return process.communicate(timeout=PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return fail("it still runs after %d s" % PATIENCE_S, process.communicate()[0])


def run(script, where=(), **environment):
    process = start(script, where, **environment)
    return process, output_of(process)


def use(mode, program="./staged_job"):
    """Makes `app` the job of tests/live with that mode."""
    with open(JOB + "/app", "w", encoding="utf-8") as app:
        app.write("#!/bin/sh\nexec %s %s\n" % (program, mode))
    os.chmod(JOB + "/app", 0o755)


def verdict(output):
    """`status · ranks on hosts: title` of the first verdict, as it is printed."""
    found = re.search(r"rollcall: (.*? hosts?)[^\n]*\n\n  (\S.*)$", output, re.MULTILINE)
    return "%s: %s" % found.groups() if found else ""


def expect(launcher, name, output, *wanted):
    """Prints the row of a line of the page, if the verdict has all that is wanted."""
    said = verdict(output)
    for pattern in wanted:
        if not re.search(pattern, said):
            fail("%s: '%s' is not in the verdict '%s'" % (name, pattern, said), output)
    row(launcher, name, said)


def row(launcher, name, seen):
    shortened = re.split(r"; | without MPI| on MPI_COMM| at train.py|: sample|: it has", seen)[0]
    print("| %s | %s | %s |" % (launcher, name, shortened), flush=True)


def version(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, shell=True, check=False, text=True)
    return re.search(r"\d+\.\d+\.?\d*", done.stdout).group()


def compile_job(mpicc):
    subprocess.run([mpicc, "-g", "-O1", "-pthread", "tests/live/staged_job.c", "-o", "staged_job"], cwd=JOB, check=True)


def openmpi():
    compile_job("mpicc.openmpi")
    launcher = "Open MPI " + version("mpirun.openmpi --version")
    nodes = Nodes(2)
    # Four ranks on a machine with fewer cores; the bridge's network alone.
    crowded = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    network = {"OMPI_MCA_btl_tcp_if_include": "eth0", "OMPI_MCA_oob_tcp_if_include": "eth0"}
    use("kill")
    for agent, what in (("0", "no fork agent"), ("1", "fork agent")):
        _, output = run(PAGE.block("openmpi"), nodes.on("node1"), ROLLCALL_FORK_AGENT=agent, **crowded)
        expect(launcher, "openmpi, " + what, output, "4 ranks on 1 host", DEATH)
        # A name without a directory, which is not in PATH: Open MPI finds it in the working directory.
        process, output = run("rollcall run -- mpirun -n 1 staged_job", nodes.on("node1"), ROLLCALL_FORK_AGENT=agent)
        if process.returncode != STAGED_EXIT:
            fail("a name without a directory: exit code %d" % process.returncode, output)
    _, output = run(PAGE.block("openmpi-nodes"), nodes.on("node1"), **network)
    expect(launcher, "openmpi-nodes", output, "4 ranks on 2 hosts", DEATH)
    use("skip")
    process, output = run(PAGE.block("openmpi-nodes").replace("rollcall run", "rollcall run --on-hang=kill"),
                          nodes.on("node1"), **network)
    expect(launcher, "openmpi-nodes", output, "hung, proven", "4 ranks on 2 hosts", "rank 1 skipped MPI_Barrier")
    if process.returncode != ENDED_BY_ROLLCALL:
        fail("exit code %d" % process.returncode, output)


def hydra():
    compile_job("mpicc.mpich")
    launcher = "MPICH " + version("mpiexec.hydra --version")
    nodes = Nodes(2)
    use("kill")
    for line, what in ((PAGE.block("hydra"), "hydra"), (PAGE.block("hydra").replace("rollcall exec -- ", ""),
                                                        "hydra, no `exec`")):
        _, output = run(line, nodes.on("node1"), **TCP)
        expect(launcher, what, output, "4 ranks on 1 host", DEATH)
    _, output = run(PAGE.block("hydra-nodes"), nodes.on("node1"), **TCP)
    expect(launcher, "hydra-nodes", output, "4 ranks on 2 hosts", DEATH)


def batch(name, script):
    """Submits a script of the page, and returns the process of sbatch and the file of the job's output."""
    with open(JOB + "/" + name, "w", encoding="utf-8") as file:
        file.write(script)
    os.chmod(JOB + "/" + name, 0o755)
    output = JOB + "/" + name + ".out"
    with contextlib.suppress(FileNotFoundError):
        os.remove(output)
    # Debian's MPICH finds its ranks by PMI 2; the nodes of the cluster have one network, loopback.
    variables = dict(TCP, SLURM_MPI_TYPE="pmi2", UCX_NET_DEVICES="lo")
    return start("sbatch --wait --output=%s %s" % (output, name), **variables), output


def read(path):
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
    return ""


def cancelled(name):
    """The output of a job that was cancelled while its ranks worked."""
    submitted, file = batch(name, PAGE.block(name))
    deadline = time.monotonic() + PATIENCE_S
    while "stepping" not in read(file) and time.monotonic() < deadline:
        time.sleep(0.1)
    job = subprocess.run(["squeue", "--noheader", "--format=%i"], stdout=subprocess.PIPE, check=True, text=True)
    subprocess.run(["scancel", *job.stdout.split()], check=True)
    return output_of(submitted) + read(file)


def slurm():
    compile_job("mpicc.mpich")
    launcher = "Slurm " + version("slurmd -V")
    Nodes(0)  # slurmctld needs an address besides loopback; the nodes are the cluster's own
    with open("/etc/hosts", "w", encoding="utf-8") as hosts:
        hosts.write("127.0.0.1 localhost %s node1 node2 node3\n" % os.uname().nodename)
    with open(JOB + "/task-prolog", "w", encoding="utf-8") as prolog:
        prolog.write(PAGE.block("task-prolog"))
    os.chmod(JOB + "/task-prolog", 0o755)
    with slurm_cluster.Cluster():
        for name in ("slurm", "slurm-prolog"):
            use("kill")
            submitted, file = batch(name, PAGE.block(name))
            said = output_of(submitted) + read(file)
            expect(launcher, name, said, "6 ranks on 3 hosts", DEATH)
            if "rank 1 on node1" not in said:
                fail("%s: no host name" % name, said)
        use("exit7 /root/job/never")
        for name in ("slurm", "slurm-prolog"):
            for _ in range(CANCELLED):
                said = cancelled(name)
                if verdict(said) or "stepping" not in said:
                    fail("scancel", said)
            row(launcher, name, "`scancel` of %d jobs: no finding" % CANCELLED)


def analyzed(bundle):
    """The verdict of a bundle, as `rollcall analyze` prints it."""
    return run("rollcall analyze " + bundle)[1]


def mend_torch():
    """Debian's PyTorch 2.6 is built without libuv, for which most calls of torchrun ask whatever USE_LIBUV says."""
    mended = """
_init_of_store = TCPStore.__init__
TCPStore.__init__ = lambda self, *args, **options: _init_of_store(self, *args, **{"use_libuv": False, **options})
"""
    with open("/usr/lib/python3/dist-packages/torch/distributed/__init__.py", "r+", encoding="utf-8") as file:
        if not file.read().endswith(mended):
            file.write(mended)


def torchrun():
    mend_torch()
    launcher = "PyTorch " + version("python3 -c 'import torch; print(torch.__version__)'")
    nodes = Nodes(2, own="/dev/shm/rollcall-0")
    faults = {"raise": "rank 1 raised ValueError: sample 3 is damaged", "kill": DEATH}
    for fault, title in faults.items():
        _, output = run(PAGE.block("torchrun"), nodes.on("node1"), FAULT=fault, **TORCH)
        expect(launcher, "torchrun", output, "2 ranks on 1 host", title)
        if not re.search(title, verdict(analyzed("hang.tar.zst"))):
            fail("the bundle", analyzed("hang.tar.zst"))
    # Rank 1 then waits in Gloo, which is not recorded.
    _, output = run(PAGE.block("torchrun").replace("rollcall run", "rollcall run --on-hang=kill --stall-after 5"),
                    nodes.on("node1"), FAULT="skip", **TORCH)
    expect(launcher, "torchrun", output, "2 ranks on 1 host", ABSENCE)
    first, others = (PAGE.block(name).replace("=…", "=" + "0123456789abcdef")
                     for name in ("torchrun-first", "torchrun-others"))
    for fault, title in faults.items():
        for node in nodes.names:
            subprocess.run(nodes.on(node) + ["rm", "-rf", "/dev/shm/rollcall-0/train"], check=True)
        second = start(others, nodes.on("node2"), FAULT=fault, **TORCH)
        _, output = run(first, nodes.on("node1"), FAULT=fault, **TORCH)
        output_of(second)
        expect(launcher, "torchrun-first, -others", output, "4 ranks on 2 hosts", title)


def kubernetes():
    """Runs what the containers of docs/kubernetes.yaml run, with their variables, on two nodes that stand for the pods.
    What Kubernetes itself does is not tested: files of the image, names of the Service and the Secret are made here."""
    import yaml  # pylint: disable=import-outside-toplevel

    with open(JOB + "/docs/kubernetes.yaml", encoding="utf-8") as file:
        job = next(thing for thing in yaml.safe_load_all(file) if thing["kind"] == "Job")["spec"]
    mend_torch()
    pod = job["template"]["spec"]
    container = pod["containers"][0]
    variables = {one["name"]: one.get("value", "0123456789abcdef") for one in container["env"]}
    pods = Nodes(job["completions"], own=os.path.dirname(variables["ROLLCALL_DIR"]), host="train-%d", first=0,
                 domain="." + pod["subdomain"])
    os.makedirs("/hangs", exist_ok=True)
    os.makedirs("/opt/rollcall", exist_ok=True)
    rollcall = os.path.dirname(os.path.dirname(shutil.which("rollcall")))
    os.makedirs("/rollcall", exist_ok=True)
    subprocess.run(["cp", "-a", rollcall + "/.", "/opt/rollcall"], check=True)
    subprocess.run(pod["initContainers"][0]["command"], check=True)
    for fault, title, wanted in (("skip", ABSENCE, ENDED_BY_ROLLCALL), ("kill", DEATH, 1)):
        for name in pods.names:
            subprocess.run([*pods.on(name), "rm", "-rf", variables["ROLLCALL_DIR"]], check=True)
        started = [start(container["args"][0], pods.on(name), container["command"], JOB_COMPLETION_INDEX=str(index),
                         FAULT=fault, **variables, **TORCH) for index, name in enumerate(pods.names)]
        outputs = [output_of(process) for process in started]
        expect("no Kubernetes", "kubernetes.yaml", outputs[0], "4 ranks on 2 hosts", title)
        if started[0].returncode != wanted:
            fail("the first pod ended with %d" % started[0].returncode, outputs[0])
        if not re.search(title, verdict(analyzed("/hangs/train.tar.zst"))):
            fail("the bundle", analyzed("/hangs/train.tar.zst"))


CASES = {"kubernetes": kubernetes, "openmpi": openmpi, "hydra": hydra, "slurm": slurm, "torchrun": torchrun}

if __name__ == "__main__":
    CASES[sys.argv[1]]()
