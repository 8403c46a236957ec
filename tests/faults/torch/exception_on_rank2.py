# Rank 2 raises an exception for a damaged sample. It ends the training but not the process: at exit Python joins the
# thread that writes checkpoints, which never receives the request to stop.
#
# rollcall-test: ranks=3 outcome=hung
# expect: kind=uncaught-exception attach-kind=rank-died culprits=2 waiting=0,1 op=any seq=any certainty=proven,likely
import queue
import threading

from support import FAULT, RANK, STEPS, batch, report, wrap
from torch import nn
from torch.nn.functional import mse_loss

checkpoints = queue.Queue()


def write_checkpoints():
    while checkpoints.get() is not None:
        pass


def train(steps):
    model, optimizer = wrap(nn.Linear(128, 16))
    for step in range(steps):
        inputs, targets = batch()
        if FAULT and RANK == 2 and step == 7:
            raise ValueError("sample 7 is damaged")
        optimizer.zero_grad()
        loss = mse_loss(model(inputs), targets)
        loss.backward()  # @waiting
        optimizer.step()
        checkpoints.put(step)
    return loss.detach()


writer = threading.Thread(target=write_checkpoints)
writer.start()
mean = train(STEPS)
checkpoints.put(None)
writer.join()
report("loss", mean)
