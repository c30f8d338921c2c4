// Starts a process, prints the ids of it and of its reaper, and waits to be killed. Arguments: the command; default:
// a shell with a child.

import { readLines } from '../../src/dataplane/output/lines.ts'
import { EMPTY_MASK } from '../../src/dataplane/output/mask.ts'
import { startGroup } from '../../src/dataplane/process/processes/process-group.ts'
import { Reaper } from '../../src/dataplane/process/processes/reaper.ts'

const [command, ...args] = process.argv.slice(2)
// the child ignores SIGTERM
const FAMILY = "sh -c 'trap : TERM; echo child $$; while :; do sleep 1; done' & echo parent $$; wait"
const reaper = new Reaper()
await startGroup(
  reaper,
  {
    command: command ?? '/bin/sh',
    args: command ? args : ['-c', FAMILY],
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    account: null,
    tagged: true,
  },
  (stream) => readLines(stream, EMPTY_MASK, (line) => console.log(line)),
)
let reaperPid: number | undefined
setInterval(() => {
  if (reaper.pid === reaperPid) return
  reaperPid = reaper.pid
  if (reaperPid) console.log('reaper', reaperPid)
}, 10)
