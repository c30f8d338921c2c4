/** The control socket of a supervisor. How many are connected is bounded: who comes last is heard, whoever else floods it. */
import fs from 'node:fs'
import { createServer } from 'node:net'
import type { Said } from '../protocol.ts'
import { Connection, type ConnectionOptions } from './connection.ts'

/** connections of servers, and of those that have not said hello; of more, the oldest goes */
const MAX_CONNECTIONS = { known: 8, unknown: 16 }

export interface Control {
  /** To all who are connected. */
  say(said: Said): void
  /** To whom it is news. */
  sayState(): void
  /** No new connections. What was answered is sent. */
  close(): Promise<void>
}

export interface ControlOptions extends Omit<ConnectionOptions, 'onToken'> {
  /** absolute path */
  socket: string
  /** Called when that changes: whether a server that is to be obeyed is connected. */
  onServer(connected: boolean): void
}

/** Whoever else had the socket is gone: its lock is ours. */
export async function openControl(options: ControlOptions): Promise<Control> {
  const connections = new Set<Connection>()
  let connected = false

  function look(): void {
    const now = [...connections].some(({ obeyed }) => obeyed)
    if (now !== connected) options.onServer(now)
    connected = now
  }

  /** The oldest of more than there may be goes. */
  function limit(known: boolean, most: number): void {
    const its = [...connections].filter((connection) => connection.known === known)
    for (const { socket } of its.slice(0, -most)) socket.destroy()
  }

  function onToken(speaker: Connection): void {
    limit(true, MAX_CONNECTIONS.known)
    const { newest } = options.fence
    for (const other of connections)
      if (other !== speaker && other.known && !other.obeyed) other.say({ say: 'stale', newest })
    look()
  }

  const server = createServer((socket) => {
    const connection = new Connection(socket, { ...options, onToken })
    connections.add(connection)
    socket.once('close', () => {
      connections.delete(connection)
      look()
    })
    limit(false, MAX_CONNECTIONS.unknown)
  })
  fs.rmSync(options.socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.socket, resolve)
  })
  // of one connection that can't be taken, while there are no more files to open
  server.on('error', () => undefined)
  fs.chmodSync(options.socket, 0o600)
  return {
    say: (said) => {
      for (const connection of connections) connection.say(said)
    },
    sayState: () => {
      for (const connection of connections) connection.sayState()
    },
    async close() {
      await new Promise<void>((resolve) => {
        // its file goes with it
        server.close(() => resolve())
        for (const { socket } of connections) socket.end(() => socket.destroy())
      })
    },
  }
}
