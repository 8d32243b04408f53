import penstock as ps

with ps.TeamHost("tutorial", 2) as host:       # this program could be a member, too
    host.wait()                                # True when all members have ended
