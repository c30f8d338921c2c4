/** The control socket of a supervisor. Limits connections: above the limit, the oldest is closed. */
import fs from 'node:fs'
import { createServer } from 'node:net'
import type { SupervisorEvent } from '../protocol.ts'
import { Connection, type ConnectionOptions } from './connection.ts'

/** `known`: after a valid hello; `unknown`: before it. */
const MAX_CONNECTIONS = { known: 8, unknown: 16 }

export interface Control {
  /** Sends an event to all connections. */
  send(event: SupervisorEvent): void
  /** Sends the state to all connections that have not got it. */
  sendState(): void
  /** Accepts no new connections and sends pending answers. */
  close(): Promise<void>
}

export interface ControlOptions extends Omit<ConnectionOptions, 'onToken'> {
  socket: string
  /** Called when the first server with the newest token connects, and when the last one leaves. */
  onServer(connected: boolean): void
}

/** Replaces an old socket file. Safe, because the caller holds the lock. */
export async function openControl(options: ControlOptions): Promise<Control> {
  const connections = new Set<Connection>()
  let connected = false

  function look(): void {
    const now = [...connections].some(({ obeyed }) => obeyed)
    if (now !== connected) options.onServer(now)
    connected = now
  }

  /** Closes the oldest connections above the limit. */
  function limit(known: boolean, max: number): void {
    const matching = [...connections].filter((connection) => connection.known === known)
    for (const { socket } of matching.slice(0, -max)) socket.destroy()
  }

  function onToken(speaker: Connection): void {
    limit(true, MAX_CONNECTIONS.known)
    const { newest } = options.fence
    for (const other of connections)
      if (other !== speaker && other.known && !other.obeyed) other.send({ say: 'stale', newest })
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
  // accept fails while no file descriptor is free; only that connection is lost
  server.on('error', () => undefined)
  fs.chmodSync(options.socket, 0o600)
  return {
    send: (event) => {
      for (const connection of connections) connection.send(event)
    },
    sendState: () => {
      for (const connection of connections) connection.sendState()
    },
    async close() {
      await new Promise<void>((resolve) => {
        // also removes the socket file
        server.close(() => resolve())
        for (const { socket } of connections) socket.end(() => socket.destroy())
      })
    },
  }
}
