/** Starts a door, and replaces a running door of another version. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { buildOf, connectToDoor } from './door-connection.ts'
import type { DoorProgram } from './messages.ts'

/** Configuration of a door: one JSON line on its standard input. */
export interface DoorConfig {
  folder: string
  /** addresses that it takes over, with its file descriptors of their listening sockets; absent: none */
  inherited?: InheritedAddress[]
}

export interface InheritedAddress {
  deployment: string
  fd: number
  port: number
  host: string
}

/** Limits V8's young generation (MB): V8 does not give back what a burst of requests made it grow by. */
const MEMORY_OPTIONS = ['--max-semi-space-size=2']

/**
 * Starts the program as a process that outlives this one. A second door ends by itself. `sockets`: file descriptors that it gets from
 * number 3 on; it then prints a line when it listens.
 */
export function spawnDoor({ node, file, folder, account }: DoorProgram, config: DoorConfig, sockets: number[] = []) {
  const errors = fs.openSync(path.join(folder, 'error.log'), 'a', 0o600)
  try {
    const child = spawn(node, [...MEMORY_OPTIONS, file], {
      cwd: '/',
      env: {},
      detached: true,
      ...(account ? { uid: account.uid, gid: account.gid } : {}),
      stdio: ['pipe', sockets.length > 0 ? 'pipe' : 'ignore', errors, ...sockets],
    })
    child.on('error', () => undefined)
    child.stdin!.on('error', () => undefined).end(`${JSON.stringify(config)}\n`)
    child.unref()
    return child
  } finally {
    fs.closeSync(errors)
  }
}

/** Replaces a running door by this program, unless it is the same. Throws with the reason when that fails. */
export async function updateDoor(program: DoorProgram): Promise<void> {
  const connection = await connectToDoor(program.folder)
  if (!connection) return
  try {
    const hello = await connection.request({ do: 'hello', deployment: null })
    if (!hello || hello.build === buildOf(program.file)) return
    const answer = await connection.request({ do: 'replace', program })
    if (answer?.problem) throw new Error(answer.problem)
  } finally {
    connection.close()
  }
}
