# Both ranks test a request repeatedly, as an event loop does between its other tasks. Each sends when its own
# task, which reads from another process, is complete.
#
# rollcall-test: ranks=2
# expect: none
# rollcall-test: name=long ranks=2
# arguments: 12
# expect: none
import asyncio

from support import MPI, QUIET_S, report

comm = MPI.COMM_WORLD
other = 1 - comm.rank


async def task():
    child = await asyncio.create_subprocess_exec("sleep", str(QUIET_S))
    await child.wait()
    comm.send(comm.rank + 1, dest=other)


async def receive():
    request = comm.irecv(source=other)
    while True:
        done, value = request.test()
        if done:
            return value
        await asyncio.sleep(0.05)


async def both():
    return (await asyncio.gather(task(), receive()))[1]


report(comm, "got", asyncio.run(both()))
