// A server that starts a process, says who it and its guard are, and waits to be killed. Arguments: the command;
// default: a shell with a child.

import { HIDES_NOTHING } from '../../src/dataplane/mask.ts'
import { startGroup } from '../../src/dataplane/runtime/process/group.ts'
import { Guard } from '../../src/dataplane/runtime/process/guard.ts'

const [command, ...args] = process.argv.slice(2)
// the child ignores SIGTERM
const FAMILY = "sh -c 'trap : TERM; echo child $$; while :; do sleep 1; done' & echo parent $$; wait"
const guard = new Guard()
await startGroup(
  guard,
  {
    command: command ?? '/bin/sh',
    args: command ? args : ['-c', FAMILY],
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    account: null,
    marked: true,
    mask: HIDES_NOTHING,
  },
  (line) => console.log(line),
)
let guardPid: number | undefined
setInterval(() => {
  if (guard.pid === guardPid) return
  guardPid = guard.pid
  if (guardPid) console.log('guard', guardPid)
}, 10)
