/** Starts a door, and replaces a running door of another version. */
import { type ChildProcess, spawn } from 'node:child_process'
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

/** Starts the program as a process that outlives this one. A second door ends by itself. */
export function startDoor(program: DoorProgram): void {
  const { folder, account } = program
  const errors = fs.openSync(path.join(folder, 'error.log'), 'a', 0o600)
  try {
    spawnDoor(program, { folder }, { account, stdio: ['ignore', errors] })
  } finally {
    fs.closeSync(errors)
  }
}

/** Starts the program under our account and with our stderr. It prints a line on its stdout when it listens. */
export function startNextDoor(program: DoorProgram, config: DoorConfig, sockets: number[]): ChildProcess {
  return spawnDoor(program, config, { account: null, stdio: ['pipe', 'inherit', ...sockets] })
}

interface SpawnOptions {
  account: DoorProgram['account']
  /** from stdout on */
  stdio: ('ignore' | 'pipe' | 'inherit' | number)[]
}

function spawnDoor({ node, file }: DoorProgram, config: DoorConfig, { account, stdio }: SpawnOptions): ChildProcess {
  const child = spawn(node, [...MEMORY_OPTIONS, file], {
    cwd: '/',
    env: {},
    detached: true,
    ...(account ? { uid: account.uid, gid: account.gid } : {}),
    stdio: ['pipe', ...stdio],
  })
  child.on('error', () => undefined)
  child.stdin!.on('error', () => undefined).end(`${JSON.stringify(config)}\n`)
  child.unref()
  return child
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
