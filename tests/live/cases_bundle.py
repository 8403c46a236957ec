# SPDX-License-Identifier: Apache-2.0
"""Tests of bundles: the verdict on another machine, without binary, source and run directory."""

import os
import re
import shutil
import subprocess

import cases_nodes
import live
from live import Command, require

# The lines of source in a verdict: "    ▸ 97 │     MPI_Allreduce(…", "      ⋮".
EXCERPT = ("│", "⋮")


def output(scene, *words, code=0):
    done = subprocess.run([scene.rollcall, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=live.PATIENCE_S, check=False)
    text = done.stdout.decode("utf-8")
    require(done.returncode == code, "rollcall %s ended with %d:\n%s%s" % (
        " ".join(words), done.returncode, text, done.stderr.decode("utf-8")))
    return text


def analyzed(scene, path):
    return output(scene, "analyze", "--color=never", path, code=live.FINDINGS)


def without_excerpt(text):
    lines = [line for line in text.splitlines() if not any(mark in line for mark in EXCERPT)]
    return [line for line in lines if line]


def build_own_program(scene):
    """Builds the program in a directory from which it can be removed."""
    source = scene.path("src")
    os.mkdir(source)
    scene.program = os.path.join(source, "staged_job")
    subprocess.run(["mpicc.openmpi", "-g", "-O1", shutil.copy(live.SOURCE, source), "-o",
                    scene.program], check=True)
    return source


def forget_symbols(journal):
    """Removes the symbols that the live verdict stored, so that bundle has to resolve them itself."""
    with open(journal, encoding="utf-8") as file:
        lines = [line for line in file if '"event":"symbols"' not in line]
    with open(journal, "w", encoding="utf-8") as file:
        file.writelines(lines)


def bundle(scene):
    """Bundles of the hanging job and of the killed one give the same verdict as the run directory."""
    source = build_own_program(scene)
    living, dead, shown = (scene.path(name) for name in ("living.zst", "dead.zst", "shown.zst"))
    with Command(scene.run() + scene.job("skip")) as job:
        live.check_skip(scene.verdict(job), 4, job)
        output(scene, "bundle", scene.run_directory, "-o", living)
        require(job.running(), "making a bundle ended the job", job)
        job.kill_everything()
    forget_symbols(os.path.join(scene.run_directory, "journal.jsonl"))
    there = analyzed(scene, scene.run_directory)
    require("staged_job.c:%d" % live.line_of("reduction") in there and "│" in there,
            "the verdict has no lines:\n" + there)
    output(scene, "bundle", scene.run_directory, "-o", dead)
    output(scene, "bundle", "--sources", scene.run_directory, "-o", shown)

    shutil.rmtree(source)
    os.rename(scene.run_directory, scene.path("gone"))
    require(analyzed(scene, shown) == there, "another verdict with sources:\n%s\nthan:\n%s" % (
        analyzed(scene, shown), there))
    require(without_excerpt(analyzed(scene, dead)) == without_excerpt(there),
            "another verdict:\n%s\nthan:\n%s" % (analyzed(scene, dead), there))
    require("│" not in analyzed(scene, dead), "lines of source that were not asked for")
    require("hung, proven" in analyzed(scene, living), "not hung:\n" + analyzed(scene, living))
    table = output(scene, "show", dead)
    require("ranks 0,2,3   inside   MPI_Barrier" in table and "inside   MPI_Allreduce" in table,
            "the table is\n" + table)


def without_duration(verdict):
    return re.sub(" · no progress for .*", "", verdict)


def said_live(job):
    """Returns the verdict as printed while the job ran."""
    text = job.stderr()
    begin = text.index("rollcall: hung")
    return text[begin:text.index("\nrollcall: ", begin) + 1]


def bundle_of_two_nodes(scene):
    """`run --bundle`: one file with the data of two other nodes, whose run directories disappear with them."""
    source = build_own_program(scene)
    packed = scene.path("job.zst")
    with cases_nodes.other_nodes(scene, ["nodea", "nodeb"]) as extra, Command(
            scene.run("--bundle", packed, "--bundle-sources", on_hang="kill") +
            scene.job("skip", extra=extra)) as job:
        job.ends(live.ENDED_CODE)
        require("the traces of 4 ranks of 2 nodes in" in job.stderr(), "no bundle", job)
        said = without_duration(said_live(job))
    shutil.rmtree(source)
    require(not os.path.exists(scene.run_directory), "the run directory is still there")
    there = without_duration(analyzed(scene, packed))
    require(there == said, "another verdict:\n%s\nthan:\n%s" % (there, said))
    require("4 ranks on 2 hosts" in there and "│" in there, "the verdict is\n" + there)


# Each node has its own /dev/shm.
bundle_of_two_nodes.on_disk = True
CASES = {"bundle": bundle, "bundle_of_two_nodes": bundle_of_two_nodes}
