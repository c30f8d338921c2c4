/**
 * A server with builds, in a process that a test can kill. Lines of JSON on stdin start builds; it prints their logs.
 */
import { createInterface } from 'node:readline'
import { createSourceBuilder } from '../../src/dataplane/builder/source-builder.ts'
import type { LeasedClaim, RevisionLog, RevisionStep, SourceBuilder } from '../../src/dataplane/runtimes/runtime.ts'
import { NO_SOURCES, never } from '../dataplane/support.ts'
import type { BuilderSettings } from './image-builder.ts'

interface Message {
  /** only in the first message */
  settings?: BuilderSettings
  /** host of the registry */
  host: string
  /** the build */
  name: string
  claim: LeasedClaim
  step: RevisionStep
}

let builds: SourceBuilder | null = null
createInterface(process.stdin).on('line', (line) => {
  const message = JSON.parse(line) as Message
  if (message.settings) builds = open(message.settings, message.host)
  else void build(message)
})

function open(settings: BuilderSettings, host: string): SourceBuilder {
  const credentials = { username: 'token', password: 'anybody' }
  const store = {
    repository: async (id: string) => ({ name: `${host}/workspace/${id}`, insecure: true, credentials }),
    prune: async () => undefined,
  }
  return createSourceBuilder({ ...settings, store, sources: NO_SOURCES, warn: console.error })
}

async function build({ name, claim, step }: Message): Promise<void> {
  const print: RevisionLog['write'] = (_type, text) => console.log(`${name}: ${text}`)
  const said = await builds!.build(claim, step, { write: print, print }, never).then(
    ({ artifact }) => `FAILED: it has built ${artifact}`,
    (error: Error) => `FAILED: ${error.message}`,
  )
  console.log(`${name}: ${said.replaceAll('\n', ' ')}`)
}
