# Every rank is ended by a signal after some steps, and started again with the same RANK, as torchrun does when a worker
# fails. The second start ends well.
#
# rollcall-test: ranks=3 outcome=finished
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ATTEMPTS = 2


def work(attempt, directory):
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    for _ in range(4):
        dist.all_reduce(torch.ones(1))
    dist.barrier()
    if attempt + 1 < ATTEMPTS:
        # A rank that ends early would break the barrier of another one.
        rank, size = dist.get_rank(), dist.get_world_size()
        open(os.path.join(directory, str(rank)), "w", encoding="utf-8").close()
        while len(os.listdir(directory)) < size:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
    dist.destroy_process_group()


if len(sys.argv) > 1:
    work(int(sys.argv[1]), sys.argv[2])
else:
    shared = os.path.join(tempfile.gettempdir(), "rollcall-restarted-" + os.environ["MASTER_PORT"])
    os.makedirs(shared, exist_ok=True)
    for number in range(ATTEMPTS):
        status = subprocess.run([sys.executable, __file__, str(number), shared], check=False).returncode
        wanted = 0 if number + 1 == ATTEMPTS else -signal.SIGTERM
        if status != wanted:
            sys.exit("start %d ended with %d" % (number, status))
    shutil.rmtree(shared, ignore_errors=True)  # every rank has been started again
