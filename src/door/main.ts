/** Entry point of the bundled door (README.md). Reads its configuration from standard input. */
import type { DoorConfig } from '../dataplane/process/door/start-door.ts'
import { runDoor } from './door.ts'

process.chdir('/')
process.umask(0o077)
let text = ''
for await (const chunk of process.stdin.setEncoding('utf8')) {
  text += chunk
  if (text.includes('\n')) break
}
await runDoor(JSON.parse(text) as DoorConfig)
