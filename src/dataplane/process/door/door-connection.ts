/** One connection to a door: requests with answers, and events. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { writeAtomically } from '../../../platform/files/atomic-file.ts'
import type { DoorRequest, FromDoor, ToDoor } from './messages.ts'

type Answer = Extract<FromDoor, { say: 'answer' }>

export interface DoorConnection {
  /** Null: the connection broke before the answer. */
  request(request: DoorRequest): Promise<Answer | null>
  /** resolves when the connection is broken */
  closed: Promise<void>
  close(): void
}

/** Path of the file that names the current door's socket. */
const pointerIn = (folder: string) => path.join(folder, 'door.json')

/** Publishes the socket of the door that clients connect to. */
export function publishSocket(folder: string, socket: string): void {
  writeAtomically(pointerIn(folder), JSON.stringify({ socket }))
}

/** Identity of a door's program: hash of its file. */
export const buildOf = (file: string): string =>
  createHash('sha256').update(fs.readFileSync(file)).digest('hex').slice(0, 16)

/** Null: no door listens. */
export async function connectToDoor(
  folder: string,
  onEvent: (event: Exclude<FromDoor, Answer>) => void = () => undefined,
): Promise<DoorConnection | null> {
  const socket = await open(folder)
  if (!socket) return null
  const pending = new Map<number, (answer: Answer | null) => void>()
  let lastId = 0
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  void closed.then(() => {
    for (const resolve of pending.values()) resolve(null)
    pending.clear()
  })
  createInterface({ input: socket })
    .on('error', () => socket.destroy())
    .on('line', (line) => {
      let message: FromDoor
      try {
        message = JSON.parse(line) as FromDoor
      } catch {
        // a door that ended inside a message must not end its keepers
        return socket.destroy()
      }
      if (message.say !== 'answer') return onEvent(message)
      pending.get(message.id)?.(message)
      pending.delete(message.id)
    })
  return {
    closed,
    close: () => socket.destroy(),
    request: (request) =>
      new Promise((resolve) => {
        if (socket.destroyed) return resolve(null)
        const id = ++lastId
        pending.set(id, resolve)
        socket.write(`${JSON.stringify({ ...request, id } satisfies ToDoor)}\n`)
      }),
  }
}

function open(folder: string): Promise<net.Socket | null> {
  return new Promise((resolve) => {
    try {
      const { socket } = JSON.parse(fs.readFileSync(pointerIn(folder), 'utf8')) as { socket: string }
      const connection = net.connect(socket, () => resolve(connection))
      connection.setEncoding('utf8')
      connection.on('error', () => resolve(null))
    } catch {
      resolve(null) // no door has ever been started here
    }
  })
}
