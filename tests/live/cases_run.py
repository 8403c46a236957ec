# SPDX-License-Identifier: Apache-2.0
"""Tests of `rollcall run` on one node: verdicts, exit codes, signals, its own end, another installation prefix."""

import os
import re
import shutil
import signal
import subprocess
import time

import live
from live import Command, require, until

# Less than the 5 s after which rollcall sends SIGKILL, so that SIGTERM has ended the launcher.
SIGTERM_SUFFICES_S = 4
# How long the test checks that the job continues: longer than several samples of the collector.
ALONE_S = 1.5
KILL_AFTER_S = 8
LOOKS_HUNG_S = 10
FILE_LIMIT = 500
WITHDRAWN = re.compile(r"rollcall: ranks? (0|1|0,1) moved again; the verdict above is withdrawn")


def report_leaves_the_job_alone(scene):
    """There is one verdict, and the job continues. SIGINT to rollcall run ends it with the launcher's own exit code."""
    with Command(scene.job("skip", gate=True)) as bare:
        bare.says("stepping")
        os.kill(bare.pid, signal.SIGINT)
        code = bare.wait()
    with Command(scene.run() + scene.job("skip")) as job:
        live.check_skip(scene.verdict(job), 4, job)
        ranks = live.ranks_among(job.processes())
        require(len(ranks) == 4, "%d ranks are alive" % len(ranks), job)
        deadline = time.monotonic() + ALONE_S
        while time.monotonic() < deadline:
            require(job.running(), "the job ended by itself", job)
            time.sleep(live.POLL_S)
        require(live.ranks_among(job.processes()) == ranks, "ranks are gone", job)
        os.kill(job.pid, signal.SIGINT)
        job.ends(code if code >= 0 else 128 - code)
        require(job.stderr().count("rollcall: hung") == 1, "not one verdict", job)
        require("rollcall: stopped" not in job.stderr(), "the interrupted ranks are accused", job)
        live.check_skip(live.read_verdict(scene.verdict_file), 4, job)
    live.check_skip(scene.analyze(), 4)


def kill_ends_soon(scene):
    """--on-hang=kill: SIGTERM is enough, no rank remains, exit code 86."""
    with Command(scene.run(on_hang="kill") + scene.job("skip")) as job:
        job.says("ends the job")
        begin = time.monotonic()
        job.ends(live.ENDED_CODE)
        took = time.monotonic() - begin
        require(took < SIGTERM_SUFFICES_S, "the job took %.1f s to end" % took, job)
        require(not live.ranks_among(job.processes()), "ranks are left", job)
        live.check_skip(live.read_verdict(scene.verdict_file), 4, job)


def exec_runs_a_command(scene):
    """--on-hang=exec: the command gets the verdict and the names of the complete files, and the job continues."""
    seen, bundle = scene.path("seen"), scene.path("job.zst")
    command = ("cp \"$ROLLCALL_BUNDLE\" %s.zst; cp \"$ROLLCALL_OUTPUT_JSON\" %s.json; test -d \"$ROLLCALL_DIR\"; "
               "echo $? $(ulimit -n) > %s.code; cat > %s.partial; mv %s.partial %s; kill $ROLLCALL_LAUNCHER_PID; exit 3"
               % (seen, seen, seen, seen, seen, seen))
    limited = ["sh", "-c", 'ulimit -S -n %d; exec "$@"' % FILE_LIMIT, "sh"]  # the user's value, which rollcall raises
    with Command(limited + scene.run("--bundle", bundle, on_hang="exec:" + command) + scene.job("skip")) as job:
        until(lambda: os.path.exists(seen), "the command's copy of the verdict", job)
        live.check_skip(live.read_verdict(seen), 4, job)
        live.check_skip(live.read_verdict(seen + ".json"), 4, job)
        live.check_skip(scene.analyze(of=seen + ".zst"), 4, job)
        with open(seen + ".code", encoding="utf-8") as file:
            is_directory, limit = file.read().split()
        require(is_directory == "0", "ROLLCALL_DIR is not a directory", job)
        require(limit == str(FILE_LIMIT), "a limit of %s descriptors" % limit, job)
        code = job.wait()  # the command killed the launcher
        require(code not in (0, live.ENDED_CODE), "exit code %d" % code, job)
        job.says("the command of --on-hang ended with exit code 3")
        require(job.stderr().count("rollcall: hung") == 1, "not one verdict", job)
        require("rollcall: stopped" not in job.stderr(), "a killed rank is accused", job)


def kill_waits_for_kill_after(scene):
    """A likely finding is printed immediately, and the job is ended after --kill-after without progress."""
    with Command(scene.run("--kill-after", str(KILL_AFTER_S), on_hang="kill") + scene.job("sends", ranks=2)) as job:
        job.says("rollcall: hung")
        printed = time.monotonic()
        job.says("ends the job")
        took = time.monotonic() - printed
        require(took > KILL_AFTER_S / 2, "it was ended %.1f s after the verdict" % took, job)
        job.ends(live.ENDED_CODE)
        finding = live.read_verdict(scene.verdict_file)["findings"][0]
        require((finding["kind"], finding["certainty"]) == ("p2p-deadlock", "likely"), str(finding), job)


def verdict_withdrawn(scene):
    """The ranks continue after a verdict: a line withdraws it, and the final JSON has no finding."""
    bundle = scene.path("job.zst")
    with Command(scene.run("--bundle", bundle) + scene.job("thread", ranks=2, gate=True)) as job:
        job.says("rollcall: hung")
        verdict = scene.verdict(job)
        require([finding["kind"] for finding in verdict["findings"]] == ["p2p-deadlock"], str(verdict), job)
        until(lambda: os.path.exists(bundle), "a bundle", job)
        scene.open_gate()
        job.ends(0)
        require("done" in job.stdout(), "the job's output is lost", job)
        taken_back = [line for line in job.stderr().splitlines() if "withdrawn" in line]
        require(len(taken_back) == 1 and WITHDRAWN.fullmatch(taken_back[0]), str(taken_back), job)
        verdict = live.read_verdict(scene.verdict_file)
        require((verdict["status"], verdict["findings"]) == ("finished", []), str(verdict), job)
        require(not os.path.exists(bundle), "the bundle of a verdict that was withdrawn", job)
        require("traces:" not in job.stderr(), "traces of a clean job", job)


def verdict_withdrawn_while_it_runs(scene):
    """The JSON is withdrawn immediately, so that it is correct while the job continues."""
    with Command(scene.run() + scene.job("thread-then-loop", ranks=2, gate=True)) as job:
        job.says("rollcall: hung")
        scene.open_gate()
        job.says("withdrawn")
        until(lambda: live.read_verdict(scene.verdict_file)["status"] == "running", "another JSON", job)
        require(job.running(), "the job ended", job)


def check_passes_what_finishes(scene):
    """`check` does not end a job without progress for ten seconds, and passes it when it finishes."""
    with Command(scene.check() + scene.job("thread", ranks=2, gate=True)) as job:
        deadline = time.monotonic() + LOOKS_HUNG_S
        while time.monotonic() < deadline:
            require(job.running(), "the job was ended", job)
            time.sleep(live.POLL_S)
        scene.open_gate()
        job.ends(0)
        verdict = live.read_verdict(scene.verdict_file)
        require((verdict["status"], verdict["findings"]) == ("finished", []), str(verdict), job)


def check_ends_what_hangs(scene):
    """`check` ends a job that hangs for --kill-after."""
    with Command(scene.check("--kill-after", "1") + scene.job("sends", ranks=2)) as job:
        job.ends(live.FINDINGS)
        verdict = live.read_verdict(scene.verdict_file)
        require([finding["kind"] for finding in verdict["findings"]] == ["p2p-deadlock"], str(verdict), job)
        require(verdict["job"]["ended_by_rollcall"], "it ended by itself", job)


def nobody_reads(scene):
    """stderr is closed or a pipe without a reader: the verdict is lost, but the job is ended."""
    for number, stderr in enumerate(('2>&1 > /dev/null | head -n 1', '2>&-')):
        code_file = scene.path("code%d" % number)
        shell = ["sh", "-c", '{ "$@"; echo $? > "$0"; } ' + stderr, code_file]
        command = scene.run(on_hang="kill", directory=False) + scene.job("skip")
        with Command(shell + command) as job:
            require(job.wait() is not None, "still running", job)
            with open(code_file, encoding="utf-8") as file:
                code = int(file.read())
            require(code == live.ENDED_CODE, "rollcall run ended with %d" % code, job)
            require(not live.ranks_among(job.processes()), "ranks are left", job)
        live.check_skip(live.read_verdict(scene.verdict_file), 4)


def watcher_killed(scene):
    """SIGKILL to rollcall run: the job continues to its end, and its traces remain."""
    code_file = scene.path("code")
    shell = ["sh", "-c", '"$@"; echo $? > "%s.part"; mv "%s.part" "%s"' % ((code_file,) * 3), "sh"]
    with Command(scene.run() + shell + scene.job("exit7", gate=True)) as job:
        job.says("stepping")
        os.kill(job.pid, signal.SIGKILL)
        require(job.wait() == -signal.SIGKILL, "rollcall run did not die", job)
        require(len(live.ranks_among(job.processes())) == 4, "ranks died with it", job)
        scene.open_gate()
        until(lambda: os.path.exists(code_file), "the launcher's end", job)
        with open(code_file, encoding="utf-8") as file:
            code = int(file.read())
        require(code == live.JOB_CODE, "the launcher ended with %d" % code, job)
        require("done" in job.stdout(), "the job's output is lost", job)
    verdict = scene.analyze()
    require(verdict["ranks"] == 4 and not verdict["findings"], "after the death: %s" % verdict)


def watcher_killed_job_hangs(scene):
    """SIGKILL to rollcall run, and the job hangs after that: the traces still give the verdict."""
    with Command(scene.run() + scene.job("skip", gate=True)) as job:
        job.says("stepping")
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
        scene.open_gate()

        def hangs():
            found = scene.analyze()["findings"]
            return bool(found) and len(found[0]["waiting"]) == 3  # the last rank may arrive later

        until(hangs, "a finding in the traces", job)
        job.kill_everything()
        live.check_skip(scene.analyze(), 4, job)


def launcher_killed(scene):
    """mpirun is killed, and its ranks end themselves: none of them is a culprit."""
    for number, name in ((signal.SIGKILL, "SIGKILL"), (signal.SIGTERM, "SIGTERM")):
        with Command(scene.run() + scene.job("exit7", gate=True)) as job:
            job.says("stepping")
            launchers = [pid for pid in job.processes() if live.command_line(pid)
                         and os.path.basename(live.command_line(pid)[0]).startswith("mpirun")]
            require(len(launchers) == 1, "launchers: %s" % launchers, job)
            os.kill(launchers[0], number)
            require(job.wait() is not None, "still running", job)
            verdict = live.read_verdict(scene.verdict_file)
            culprits = [finding["culprits"] for finding in verdict["findings"]]
            require(not any(culprits), "%s: %s are accused" % (name, culprits), job)
        shutil.rmtree(scene.run_directory)


def _stalled(scene, mode, state):
    with Command(scene.run("--stall-after", "2", on_hang="kill") + scene.job(mode, ranks=3)) as job:
        job.ends(live.ENDED_CODE)
        verdict = live.read_verdict(scene.verdict_file)
        live.check_one_finding(verdict, "rank-stalled", [1], [0, 2], live.line_of(mode), job)
        site = [line for line in verdict["findings"][0]["lines"] if line["role"] == "culprit"][0]
        function = {"loop": "ComputeForEver", "read": "ReadNothing"}[mode]
        require(site["function"] == function, "the function is %s" % site["function"], job)
        require(state in site["call"], "no '%s' in '%s'" % (state, site["call"]), job)
        require("rank 1" in job.stderr() and function in job.stderr(), "nothing was printed", job)


def stalled_in_a_loop(scene):
    """A rank computes forever: the verdict has the line of its loop, from its live stack."""
    _stalled(scene, "loop", "running")


def stalled_in_read(scene):
    """A rank sleeps in a system call, which the verdict names."""
    _stalled(scene, "read", "read")


def data_while_it_runs(scene):
    """--data: the first NaN is reported once, while the job runs, and the job is left alone."""
    with Command(scene.run("--data=sampled", on_hang="kill") + scene.job("nan", gate=True)) as job:
        verdict = scene.verdict(job)
        require(verdict["status"] == "running", "status is " + verdict["status"], job)
        live.check_one_finding(verdict, "non-finite-input", [1], [], live.line_of("nan"), job)
        scene.open_gate()
        job.ends(live.JOB_CODE)
        require(job.stderr().count("kind   non-finite-input") == 1, "not one verdict", job)


def no_mpi(scene):
    """The launcher's program never initialises MPI: one line reports it, and the exit code is that of the job."""
    words = live.jobs.launcher("openmpi", 2) + ["sh", "-c", "exit %d" % live.JOB_CODE]
    with Command(scene.run() + words) as job:
        job.ends(live.JOB_CODE)
        ours = [line for line in job.stderr().splitlines() if line.startswith("rollcall: ")]
        require(len(ours) == 1 and "no rank was recorded" in ours[0], "said: %s" % ours, job)


def installed_and_moved(scene):
    """rollcall is installed and moved, and then uses its own library and its own rollcall-exec."""
    first, prefix = scene.path("first"), scene.path("moved")
    done = subprocess.run(["cmake", "--install", scene.build, "--prefix", first, "--strip"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=live.PATIENCE_S, check=False)
    require(done.returncode == 0, "cmake --install failed:\n%s%s" % (done.stdout, done.stderr))
    shutil.move(first, prefix)
    scene.rollcall = os.path.join(prefix, "bin", "rollcall")
    with Command(scene.run() + scene.job("where", ranks=2), {"ROLLCALL_FORK_AGENT": "1"}) as job:
        job.ends(live.JOB_CODE)
        said = dict(line.split(" ", 1) for line in job.stdout().splitlines() if " " in line)
        library = said.get("library", "")
        require(library.startswith(prefix + "/") and library.endswith("/rollcall/librollcall.so"),
                "the library is '%s'" % library, job)
        require(said.get("parent") == os.path.join(prefix, "bin", "rollcall-exec"),
                "the parent is '%s'" % said.get("parent"), job)
    shutil.rmtree(scene.run_directory)
    with Command(scene.run(on_hang="kill") + scene.job("skip")) as job:
        job.ends(live.ENDED_CODE)
        live.check_skip(live.read_verdict(scene.verdict_file), 4, job)


def verbose_says_why(scene):
    """--verbose: the diagnosis of the verdict is announced, once. Without the option, no diagnosis is."""
    for options, times in ((["--verbose"], 1), ([], 0)):
        with Command(scene.run(*options, on_hang="kill") + scene.job("skip")) as job:
            job.ends(live.ENDED_CODE)
            title = live.read_verdict(scene.verdict_file)["findings"][0]["title"]
            lines = [line for line in job.stderr().split("\n") if line.startswith("rollcall: diagnosis: ")]
            said = [line for line in lines if line.endswith("records of 4 ranks; proven: " + title)]
            require(len(said) == times and (lines == [] or options), "%s: %s" % (title, lines), job)
        shutil.rmtree(scene.run_directory)


CASES = {case.__name__: case for case in (
    report_leaves_the_job_alone, exec_runs_a_command, kill_ends_soon, nobody_reads, watcher_killed,
    watcher_killed_job_hangs, launcher_killed, kill_waits_for_kill_after, verdict_withdrawn,
    verdict_withdrawn_while_it_runs, check_passes_what_finishes, check_ends_what_hangs, stalled_in_a_loop,
    stalled_in_read, data_while_it_runs, no_mpi, installed_and_moved, verbose_says_why)}
