// A server that starts a process with a child, says who they and their guard are, and waits to be killed.

import { startGroup } from '../../src/dataplane/runtime/process/group.ts'
import { Guard } from '../../src/dataplane/runtime/process/guard.ts'

const guard = new Guard()
await startGroup(
  guard,
  {
    command: '/bin/sh',
    // the child ignores SIGTERM
    args: ['-c', "sh -c 'trap : TERM; echo child $$; while :; do sleep 1; done' & echo parent $$; wait"],
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    account: null,
  },
  (line) => console.log(line),
)
let guardPid: number | undefined
setInterval(() => {
  if (guard.pid === guardPid) return
  guardPid = guard.pid
  if (guardPid) console.log('guard', guardPid)
}, 10)
