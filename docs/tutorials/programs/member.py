import sys

import numpy as np
import penstock as ps

with ps.join("tutorial", rank=int(sys.argv[1])) as me:        # waits until all have come
    post = ps.Messenger(me)
    if me.index == 1:
        post.send(0, np.array([7]))
    else:
        values = np.zeros(1, int)
        post.recv(1, values)
        print("rank 1 says", values)
    ps.Barrier(me, "end").arrive_and_wait()
