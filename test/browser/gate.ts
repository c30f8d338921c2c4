/** Blocks a command of another process until the test opens the gate. */
import { once } from 'node:events'
import http, { type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Gate {
  /** A shell command that ends when the gate is open. */
  command: string
  /** Lets waiting and later commands pass. */
  open(): void
  close(): void
}

export async function gate(): Promise<Gate> {
  const waiting: ServerResponse[] = []
  let isOpen = false
  const server = http.createServer((_request, response) => {
    if (isOpen) response.end()
    else waiting.push(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    command: `node -e "fetch('http://127.0.0.1:${port}/')"`,
    open() {
      isOpen = true
      for (const response of waiting) response.end()
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
